//! Finds the folders of the tools that a confined program may use.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Entries beside a `bin` folder that its programs need: `npm` is a link into `lib`, and a virtual
/// environment of Python needs its settings.
const BESIDE_BIN: [&str; 4] = ["lib", "lib64", "libexec", "pyvenv.cfg"];

/// The folders of a search path, with the entries that their programs need. Never the whole home.
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

/// Whether a path exists and exposes neither the home nor the whole machine.
pub(crate) fn is_narrow(path: &Path, home: Option<&Path>) -> bool {
    let Some(real) = path.canonicalize().ok().filter(|_| path.is_absolute()) else {
        return false;
    };
    let home = home.and_then(|home| home.canonicalize().ok());
    real.parent().is_some() && !home.is_some_and(|home| home.starts_with(&real))
}

/// Whether a path that settings mention may be visible. The settings may be a repository's, so
/// within the home only files outside of hidden folders, which contain keys and logins, may be, and
/// nothing within `state`.
pub(crate) fn is_mentionable(path: &Path, home: Option<&Path>, state: &Path) -> bool {
    let canonical = |path: &Path| path.canonicalize().ok();
    let Some(real) = canonical(path).filter(|_| is_narrow(path, home)) else {
        return false;
    };
    if canonical(state).is_some_and(|state| real.starts_with(&state) || state.starts_with(&real)) {
        return false;
    }
    let is_hidden = |part: &OsStr| part.as_encoded_bytes().starts_with(b".");
    let home = home.and_then(canonical);
    match home.and_then(|home| real.strip_prefix(home).ok()) {
        Some(below) => real.is_file() && !below.iter().any(is_hidden),
        None => true,
    }
}

/// The path that a program needs: its folder, or only its file if that folder is the home, contains
/// the home, or is a checkout.
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
    fn settings_can_mention_files_of_the_home_but_no_folder_and_nothing_hidden() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for folder in ["home/.ssh", "home/tool", "opt/.x", "box/state/runs"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        for file in ["home/.ssh/id", "home/tool/run.py", "opt/.x/run.py"] {
            std::fs::File::create(at(file)).unwrap();
        }
        std::os::unix::fs::symlink(at("home/.ssh/id"), at("home/tool/key")).unwrap();
        for (name, expected) in [
            ("home/tool/run.py", true),
            ("opt/.x/run.py", true),
            ("opt", true),
            ("home/tool", false),
            ("home/tool/key", false),
            ("home/.ssh/id", false),
            ("home", false),
            ("box/state/runs", false),
            ("box", false),
            ("absent", false),
        ] {
            let is = is_mentionable(&at(name), Some(&at("home")), &at("box/state"));
            assert_eq!(is, expected, "{name}");
        }
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
