use drive_core::problem::{Kind, Problem};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A program that exists and may be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// The file to start.
    pub(super) path: PathBuf,
    /// The folder of the program and its parts, which must stay readable.
    pub(super) root: PathBuf,
}

/// Finds `command` in the search path or, if it is a path, relative to `base`. It is never searched
/// in the sandbox, whose files an agent may have written.
pub(super) fn find(
    agent: &str,
    command: &str,
    search_path: &OsStr,
    base: &Path,
) -> Result<Program, Problem> {
    if command.contains('/') {
        let path = base.join(command);
        return match judge(&path) {
            Found::Executable => Ok(program(path)),
            Found::NotExecutable => Err(not_executable(agent, &path)),
            Found::Nothing => Err(missing(agent, command)),
        };
    }
    let mut blocked = None;
    for folder in std::env::split_paths(search_path).filter(|folder| folder.is_absolute()) {
        let candidate = folder.join(command);
        match judge(&candidate) {
            Found::Executable => return Ok(program(candidate)),
            Found::NotExecutable => blocked = blocked.or(Some(candidate)),
            Found::Nothing => {}
        }
    }
    match blocked {
        Some(path) => Err(not_executable(agent, &path)),
        None => Err(missing(agent, command)),
    }
}

/// The native program in an npm package for this machine, if `found` is in such a package: the
/// script that starts it may be a placeholder, and needs an additional node process.
pub(super) fn native(found: Program, package: &str, inside: &[&str]) -> Program {
    let native = node_modules(&found.path)
        .into_iter()
        .flat_map(|modules| inside.iter().map(move |file| modules.join(file)))
        .find(|path| matches!(judge(path), Found::Executable));
    match native {
        Some(path) => Program {
            root: package_root(&path, package).unwrap_or_else(|| found.root.clone()),
            path,
        },
        None => found,
    }
}

/// Every `node_modules` folder above or next to the real file.
fn node_modules(path: &Path) -> Vec<PathBuf> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    real.ancestors()
        .flat_map(|folder| {
            let named = folder.file_name() == Some(OsStr::new("node_modules"));
            let own = named.then(|| folder.to_path_buf());
            let below = Some(folder.join("node_modules")).filter(|modules| modules.is_dir());
            own.into_iter().chain(below)
        })
        .collect()
}

fn package_root(path: &Path, package: &str) -> Option<PathBuf> {
    path.ancestors()
        .find(|folder| folder.ends_with(package))
        .map(Path::to_path_buf)
}

fn program(path: PathBuf) -> Program {
    let real = path.canonicalize().unwrap_or_else(|_| path.clone());
    // A package's script needs its whole package.
    let modules = real
        .ancestors()
        .filter(|folder| folder.file_name() == Some(OsStr::new("node_modules")))
        .last();
    let root = modules.or(real.parent()).unwrap_or(&real).to_path_buf();
    // It is started by its own name, because a shim is a link whose name selects the program.
    Program { path, root }
}

enum Found {
    Executable,
    NotExecutable,
    Nothing,
}

fn judge(path: &Path) -> Found {
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => match rustix::fs::access(path, rustix::fs::Access::EXEC_OK) {
            Ok(()) => Found::Executable,
            Err(_) => Found::NotExecutable,
        },
        Ok(_) => Found::NotExecutable,
        Err(_) => Found::Nothing,
    }
}

fn missing(agent: &str, command: &str) -> Problem {
    Problem::new(
        Kind::AgentNotInstalled,
        format!("agent `{agent}` is not installed: command `{command}` not found"),
    )
    .hint(format!(
        "install it, or set `command` in `[agents.{agent}]`; `drive doctor` shows what is installed"
    ))
}

fn not_executable(agent: &str, path: &Path) -> Problem {
    Problem::new(
        Kind::AgentNotExecutable,
        format!(
            "cannot start agent `{agent}`: `{}` is not executable",
            path.display()
        ),
    )
    .hint(format!(
        "run `chmod +x {}`, or set another `command` in `[agents.{agent}]`",
        path.display()
    ))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write their own fixtures")]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn file(path: &Path, mode: u32) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_missing_program_and_one_that_is_not_executable_are_told_apart() {
        let root = tempfile::tempdir().unwrap();
        file(&root.path().join("plain"), 0o644);
        let search = root.path().as_os_str();
        let kind = |command: &str| find("mine", command, search, root.path()).unwrap_err().kind;
        assert_eq!(kind("absent"), Kind::AgentNotInstalled);
        assert_eq!(kind("./absent"), Kind::AgentNotInstalled);
        assert_eq!(kind("plain"), Kind::AgentNotExecutable);
        assert_eq!(kind("./plain"), Kind::AgentNotExecutable);
    }

    #[test]
    fn the_native_binary_is_taken_in_place_of_its_wrapper() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let modules = root.join("node_modules");
        file(&modules.join("@x/tool/bin/tool.js"), 0o755);
        file(&modules.join("@x/tool-linux/bin/tool"), 0o755);
        std::fs::create_dir_all(root.join("bin")).unwrap();
        std::os::unix::fs::symlink(modules.join("@x/tool/bin/tool.js"), root.join("bin/tool"))
            .unwrap();
        let found = find("mine", "tool", root.join("bin").as_os_str(), &root).unwrap();
        assert_eq!(found.path, root.join("bin/tool"));
        assert_eq!(found.root, modules);
        assert_eq!(
            native(found.clone(), "@x/tool-linux", &["@x/tool-linux/bin/tool"]),
            Program {
                path: modules.join("@x/tool-linux/bin/tool"),
                root: modules.join("@x/tool-linux"),
            }
        );
        assert_eq!(native(found.clone(), "@x/other", &["@x/other/tool"]), found);
    }
}
