//! The pre-push hook of a repository, which verifies what is pushed.

use crate::files;
use crate::git::{Git, Touches};
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::{Place, VersionControl};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The hook's script. It asks git for everything, so that a person can read what it does.
const SCRIPT: &str = include_str!("hooks/pre-push.sh");
/// The placeholder in the script for the path of drive.
const DRIVE: &str = "@DRIVE@";
/// The line by which drive recognizes its own hook.
const MARK: &str = "Written by `drive hooks install`";
/// The maximum size of a hook that is read.
const HOOK_BYTES: u64 = 1 << 20;

/// The result of a change to a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The path of the hook's file.
    pub path: PathBuf,
    /// Whether the file was written or removed.
    pub changed: bool,
    /// Whether other repositories may use the same hook, because `core.hooksPath` names a folder
    /// outside the repository.
    pub shared: bool,
}

/// Installs the hook in the repository that contains `folder`. `drive` is the program that it calls
/// if the search path has none.
pub fn install(git: &Git, folder: &Path, drive: &Path) -> Result<Hook, Problem> {
    let found = Found::look(git, folder)?;
    let script = script(drive);
    let changed = match found.standing {
        Standing::Foreign => return Err(foreign(&found.hook.path)),
        Standing::Own(ref text) => *text != script || !is_executable(&found.hook.path),
        Standing::None => true,
    };
    if changed {
        files::deliver(&found.hook.path, &script)
            .and_then(|()| {
                let executable = std::fs::Permissions::from_mode(0o755);
                std::fs::set_permissions(&found.hook.path, executable)
            })
            .map_err(|error| failed("write", &found.hook.path, error))?;
    }
    Ok(Hook {
        changed,
        ..found.hook
    })
}

/// Removes the hook. A hook that drive did not write is left alone.
pub fn uninstall(git: &Git, folder: &Path) -> Result<Hook, Problem> {
    let found = Found::look(git, folder)?;
    let changed = matches!(found.standing, Standing::Own(_));
    if changed {
        files::remove_file(&found.hook.path)
            .map_err(|error| failed("remove", &found.hook.path, error))?;
    }
    Ok(Hook {
        changed,
        ..found.hook
    })
}

/// The file that exists at the hook's path.
enum Standing {
    None,
    /// A hook of drive, of any version.
    Own(Vec<u8>),
    Foreign,
}

struct Found {
    hook: Hook,
    standing: Standing,
}

impl Found {
    fn look(git: &Git, folder: &Path) -> Result<Self, Problem> {
        let hooks = hooks_folder(git, folder)?;
        let path = hooks.join("pre-push");
        let standing = match std::fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Standing::None,
            Err(error) => return Err(failed("read", &path, error)),
            Ok(known) if !known.is_file() => Standing::Foreign,
            Ok(_) => {
                let text = files::load_plain(&path, HOOK_BYTES)
                    .map_err(|error| failed("read", &path, error))?;
                if String::from_utf8_lossy(&text).contains(MARK) {
                    Standing::Own(text)
                } else {
                    Standing::Foreign
                }
            }
        };
        let shared = !is_inside(git, folder, &hooks);
        let hook = Hook {
            path,
            changed: false,
            shared,
        };
        Ok(Self { hook, standing })
    }
}

/// The folder from which git runs the hooks of this repository. Respects `core.hooksPath` and
/// linked worktrees.
fn hooks_folder(git: &Git, folder: &Path) -> Result<PathBuf, Problem> {
    let call = |dir: &Path| {
        let call = git.call(Place::Checkout(dir), Touches::Objects);
        // Drive's own calls disable hooks. This one needs the person's settings, and runs no hook either.
        call.env("GIT_CONFIG_COUNT", "0").arg("rev-parse")
    };
    let top = call(folder).arg("--show-toplevel").run()?;
    // A relative `core.hooksPath` is relative to the top of the work tree.
    let start = if top.code == 0 {
        top.path()
    } else {
        folder.to_owned()
    };
    let answer = call(&start)
        .args(["--path-format=absolute", "--git-path", "hooks"])
        .run()?;
    if answer.code != 0 {
        // This call explains why the folder is no repository.
        git.discover(folder)?;
    }
    Ok(answer.require()?.path())
}

fn is_inside(git: &Git, folder: &Path, hooks: &Path) -> bool {
    let Ok(repository) = git.discover(folder) else {
        return true;
    };
    let top = repository.top.iter().map(PathBuf::as_path);
    let mut own = top.chain([repository.common_dir.as_path()]);
    own.any(|own| hooks.starts_with(own))
}

fn script(drive: &Path) -> Vec<u8> {
    let (before, after) = SCRIPT.split_once(DRIVE).unwrap_or((SCRIPT, ""));
    [before.as_bytes(), &quoted(drive), after.as_bytes()].concat()
}

/// A path as one quoted word for a shell.
fn quoted(path: &Path) -> Vec<u8> {
    let mut out = vec![b'\''];
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'\'' => out.extend(b"'\\''"),
            byte => out.push(*byte),
        }
    }
    out.push(b'\'');
    out
}

fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|known| known.permissions().mode() & 0o100 != 0)
}

fn foreign(path: &Path) -> Problem {
    let message = format!("`{}` is a hook that drive did not write", path.display());
    Problem::new(Kind::HookForeign, message).hint(
        "call `drive verify` from that hook, or move it away and run `drive hooks install` again",
    )
}

fn failed(what: &str, path: &Path, error: io::Error) -> Problem {
    let message = format!("cannot {what} the hook `{}`", path.display());
    Problem::new(Kind::HookUnusable, message)
        .because(error)
        .hint("check the folder and its permissions; `git config core.hooksPath` may name it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn the_script_names_drive_as_one_word() {
        let script = script(Path::new(OsStr::from_bytes(b"/a b/d'\xff")));
        let line = b"\ndrive='/a b/d'\\''\xff'\n";
        assert!(script.windows(line.len()).any(|part| part == line));
        assert!(String::from_utf8_lossy(&script).contains(MARK));
    }
}
