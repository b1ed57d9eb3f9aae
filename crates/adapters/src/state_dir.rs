//! The state directory: journal, sandboxes, logs.

use crate::environment::{DRIVE_STATE_DIR, Environment, HOME, XDG_STATE_HOME};
use drive_core::problem::{Kind, Problem};
use rustix::fs::{Access, access};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

const APPLICATION: &str = "infinite-improbability-drive";

/// The state directory of this user, which exists and is writable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDir {
    path: PathBuf,
}

impl StateDir {
    /// The path of the state directory: `DRIVE_STATE_DIR`, else below `XDG_STATE_HOME`, else below
    /// `~/.local/state`.
    pub fn locate(environment: &Environment) -> Result<PathBuf, Problem> {
        if let Some(path) = environment.get(DRIVE_STATE_DIR).map(PathBuf::from) {
            if path.is_absolute() {
                return Ok(path);
            }
            return Err(Problem::new(
                Kind::StateDirRelative,
                format!(
                    "`{DRIVE_STATE_DIR}` is not an absolute path: `{}`",
                    path.display()
                ),
            )
            .hint("set it to an absolute path"));
        }
        if let Some(base) = environment.absolute_path(XDG_STATE_HOME) {
            return Ok(base.join(APPLICATION));
        }
        if let Some(home) = environment.absolute_path(HOME) {
            return Ok(home.join(".local/state").join(APPLICATION));
        }
        Err(Problem::new(
            Kind::StateDirUnknown,
            "no state directory: `HOME` is not set",
        )
        .hint(format!("set `{DRIVE_STATE_DIR}` to an absolute path")))
    }

    /// Opens the state directory; creates it if it is missing, and checks that it is writable. It contains
    /// prompts and logs, so access by others is removed, and a directory of another user is refused.
    pub fn open(environment: &Environment) -> Result<Self, Problem> {
        let path = Self::locate(environment)?;
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .map_err(|error| unusable(&path, "cannot be created", &error))?;
        access(&path, Access::WRITE_OK | Access::READ_OK | Access::EXEC_OK)
            .map_err(|error| unusable(&path, "is not writable", &error.into()))?;
        close(&path)?;
        Ok(Self {
            path: without_parents(path)?,
        })
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of sandboxes, unless `sandbox.root` names another one. Not created here.
    #[must_use]
    pub fn sandboxes(&self) -> PathBuf {
        self.path.join("sandboxes")
    }

    /// The database file. Not created here.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.path.join("drive.sqlite3")
    }

    /// The folder for logs of children. Not created here.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.path.join("logs")
    }
}

/// Removes the access of all other users to the folder. Its owner could restore it, so the owner
/// must be this user, or this user must be root.
fn close(path: &Path) -> Result<(), Problem> {
    let about =
        std::fs::metadata(path).map_err(|error| unusable(path, "cannot be read", &error))?;
    let user = rustix::process::geteuid();
    if !user.is_root() && about.uid() != user.as_raw() {
        return Err(Problem::new(
            Kind::StateDirUnusable,
            format!(
                "the state directory `{}` belongs to another user (uid {})",
                path.display(),
                about.uid()
            ),
        )
        .hint(format!("set `{DRIVE_STATE_DIR}` to a folder of your own")));
    }
    let mut permissions = about.permissions();
    if permissions.mode() & OTHERS == 0 {
        return Ok(());
    }
    permissions.set_mode(permissions.mode() & 0o7777 & !OTHERS);
    std::fs::set_permissions(path, permissions)
        .map_err(|error| unusable(path, "is open to other users and cannot be closed", &error))
}

/// The permission bits of group and others.
const OTHERS: u32 = 0o077;

/// The folder's path without `..`: in the root of a confined process, the folders beside it are missing.
fn without_parents(path: PathBuf) -> Result<PathBuf, Problem> {
    if !path.components().any(|part| part == Component::ParentDir) {
        return Ok(path);
    }
    let real = path.canonicalize();
    real.map_err(|error| unusable(&path, "cannot be read", &error))
}

fn unusable(path: &Path, what: &str, error: &io::Error) -> Problem {
    Problem::new(
        Kind::StateDirUnusable,
        format!("the state directory `{}` {what}", path.display()),
    )
    .because(error)
    .hint(format!(
        "make it writable, or set `{DRIVE_STATE_DIR}` to another folder"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        Environment::from_pairs(pairs.iter().copied())
    }

    #[test]
    fn the_variable_wins_over_xdg_and_xdg_over_home() {
        let all = [
            ("DRIVE_STATE_DIR", "/srv/drive"),
            ("XDG_STATE_HOME", "/xdg"),
            ("HOME", "/home/ann"),
        ];
        let located = |pairs: &[(&str, &str)]| StateDir::locate(&environment(pairs)).unwrap();
        assert_eq!(located(&all), PathBuf::from("/srv/drive"));
        assert_eq!(
            located(&all[1..]),
            PathBuf::from("/xdg/infinite-improbability-drive")
        );
        assert_eq!(
            located(&all[2..]),
            PathBuf::from("/home/ann/.local/state/infinite-improbability-drive")
        );
    }

    #[test]
    fn without_home_the_problem_names_the_variable_to_set() {
        let problem = StateDir::locate(&environment(&[])).unwrap_err();
        assert_eq!(problem.kind, Kind::StateDirUnknown);
        assert_eq!(
            problem.hint.as_deref(),
            Some("set `DRIVE_STATE_DIR` to an absolute path")
        );
    }

    #[test]
    fn a_relative_state_directory_is_refused() {
        let problem = StateDir::locate(&environment(&[("DRIVE_STATE_DIR", "state")])).unwrap_err();
        assert_eq!(problem.kind, Kind::StateDirRelative);
    }

    #[test]
    fn it_is_made_for_its_owner_only() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a/b");
        let state =
            StateDir::open(&environment(&[("DRIVE_STATE_DIR", path.to_str().unwrap())])).unwrap();
        assert_eq!(state.path(), path);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn one_that_is_open_to_others_is_closed() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("state");
        std::fs::create_dir(&path).unwrap();
        for open in [0o777, 0o750, 0o701] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(open)).unwrap();
            StateDir::open(&environment(&[("DRIVE_STATE_DIR", path.to_str().unwrap())])).unwrap();
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{open:o}");
        }
    }

    #[test]
    fn a_path_that_goes_up_is_the_folder_it_names() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        std::fs::create_dir(home.join("a")).unwrap();
        let path = home.join("a/../state");
        let state =
            StateDir::open(&environment(&[("DRIVE_STATE_DIR", path.to_str().unwrap())])).unwrap();
        assert_eq!(state.path(), home.join("state"));
    }

    #[test]
    fn a_file_in_its_place_is_a_clear_problem() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("state");
        std::fs::File::create(&path).unwrap();
        let problem = StateDir::open(&environment(&[("DRIVE_STATE_DIR", path.to_str().unwrap())]))
            .unwrap_err();
        assert_eq!(problem.kind, Kind::StateDirUnusable);
    }
}
