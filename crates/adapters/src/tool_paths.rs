//! Which folders hold the tools that a confined program may use.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What stands beside a `bin` folder and belongs to its programs: `npm` is a link into `lib`, and a
/// virtual environment of Python needs its settings.
const BESIDE_BIN: [&str; 4] = ["lib", "lib64", "libexec", "pyvenv.cfg"];

/// The folders of a search path with what belongs to them; never the home as a whole.
pub(crate) fn of_search_path(search_path: &OsStr, home: Option<&Path>) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for folder in std::env::split_paths(search_path) {
        if !is_narrow(&folder, home) {
            continue;
        }
        if folder.ends_with("bin") {
            let beside = BESIDE_BIN.iter().map(|name| folder.with_file_name(name));
            all.extend(beside.filter(|path| path.exists()));
        }
        all.push(folder);
    }
    all
}

/// Whether a path exists and can be shown without showing the home, or the whole machine.
pub(crate) fn is_narrow(path: &Path, home: Option<&Path>) -> bool {
    let Some(real) = path.canonicalize().ok().filter(|_| path.is_absolute()) else {
        return false;
    };
    let home = home.and_then(|home| home.canonicalize().ok());
    real.parent().is_some() && !home.is_some_and(|home| home.starts_with(&real))
}

/// What a program needs beside itself: the folder it is in, or the file alone where that folder is the
/// home, holds it, or is a checkout.
pub(crate) fn of_program(root: &Path, program: &Path, home: Option<&Path>) -> PathBuf {
    let is_checkout = root.join(".git").exists();
    if is_narrow(root, home) && !is_checkout {
        root.to_path_buf()
    } else {
        program.to_path_buf()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_path_shows_its_folders_and_what_their_programs_need() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("home");
        for folder in ["home/node/bin", "home/node/lib", "home/node/share", "tools"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let path = std::env::join_paths([
            home.join("node/bin"),
            home.clone(),
            root.path().to_path_buf(),
            root.path().join("tools"),
            root.path().join("absent"),
            PathBuf::from("/"),
            PathBuf::from("relative"),
        ])
        .unwrap();
        assert_eq!(
            of_search_path(&path, Some(&home)),
            [
                home.join("node/lib"),
                home.join("node/bin"),
                root.path().join("tools")
            ]
        );
    }

    #[test]
    fn a_program_in_the_home_or_in_a_checkout_is_shown_alone() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("home");
        for folder in ["home/tool", "home/repo/.git"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let shown = |folder: &Path| of_program(folder, &folder.join("agent"), Some(&home));
        let (tool, repo) = (home.join("tool"), home.join("repo"));
        assert_eq!(shown(&tool), tool);
        for folder in [&home, &repo, root.path(), Path::new("/")] {
            assert_eq!(shown(folder), folder.join("agent"));
        }
    }
}
