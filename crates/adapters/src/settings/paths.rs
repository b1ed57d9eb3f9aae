use crate::environment::{Environment, HOME, XDG_CONFIG_HOME};
use std::path::{Component, Path, PathBuf};

const USER_FILE: &str = "infinite-improbability-drive/config.toml";
const REPOSITORY_FILE: &str = "drive.toml";

/// The files from which settings are read, lowest precedence first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsPaths {
    /// Files that may be missing.
    pub optional: Vec<PathBuf>,
    /// The file that the user named; it has the highest precedence.
    pub required: Option<PathBuf>,
    /// The root of the checkout: files in it belong to the repository, not to the user.
    pub checkout: Option<PathBuf>,
    /// The user's home, shown as `~`.
    pub home: Option<PathBuf>,
    /// The folder to which paths in messages are relative.
    pub current: Option<PathBuf>,
}

impl SettingsPaths {
    /// The user's file, then the file of `--config`, else `drive.toml` at the root of the checkout.
    #[must_use]
    pub fn locate(
        environment: &Environment,
        current: &Path,
        checkout: Option<&Path>,
        config: Option<&Path>,
    ) -> Self {
        let home = environment.absolute_path(HOME);
        let user_base = environment
            .absolute_path(XDG_CONFIG_HOME)
            .or_else(|| home.as_ref().map(|home| home.join(".config")));
        let mut optional: Vec<PathBuf> =
            user_base.iter().map(|base| base.join(USER_FILE)).collect();
        if config.is_none() {
            optional.extend(checkout.map(|root| root.join(REPOSITORY_FILE)));
        }
        Self {
            optional,
            required: config.map(|path| current.join(path)),
            checkout: checkout.map(Path::to_path_buf),
            home,
            current: Some(current.to_path_buf()),
        }
    }

    /// Whether a file belongs to the repository, so that others can write it. The user's own file
    /// is theirs, even if their whole home is a checkout.
    pub(super) fn is_of_repository(&self, path: &Path) -> bool {
        let Some(root) = &self.checkout else {
            return false;
        };
        path == root.join(REPOSITORY_FILE)
            || self.required.as_deref() == Some(path) && inside(root, path).is_some()
    }

    /// The repository's file, relative to the root of the checkout; `None` if the user named their
    /// own file instead.
    #[must_use]
    pub fn repository_file(&self) -> Option<String> {
        let Some(path) = &self.required else {
            return Some(REPOSITORY_FILE.to_owned());
        };
        inside(self.checkout.as_deref()?, path)
    }

    /// A path in the form in which the user would write it.
    #[must_use]
    pub fn label(&self, path: &Path) -> String {
        let below = |base: &Option<PathBuf>| {
            let rest = path.strip_prefix(base.as_deref()?).ok()?;
            Some(rest.display().to_string())
        };
        if let Some(rest) = below(&self.current) {
            return rest;
        }
        match below(&self.home) {
            Some(rest) => format!("~/{rest}"),
            None => path.display().to_string(),
        }
    }
}

/// The path relative to the root of a checkout, if it is inside by its name or after links are
/// resolved: whoever can write the checkout can create links out of it and into it.
fn inside(root: &Path, path: &Path) -> Option<String> {
    let by_name = plain(path);
    let by_name = by_name
        .strip_prefix(plain(root))
        .ok()
        .map(Path::to_path_buf);
    let led = || {
        let (root, path) = (root.canonicalize().ok()?, path.canonicalize().ok()?);
        path.strip_prefix(root).ok().map(Path::to_path_buf)
    };
    let rest = by_name.or_else(led)?;
    Some(rest.to_string_lossy().into_owned())
}

/// A path without `.` and `..`, computed from its text alone.
fn plain(path: &Path) -> PathBuf {
    path.components()
        .fold(PathBuf::new(), |mut plain, part| match part {
            Component::CurDir => plain,
            Component::ParentDir => {
                plain.pop();
                plain
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                plain.push(part);
                plain
            }
        })
}

/// The root of the checkout that contains a folder: the nearest ancestor with a `.git`.
#[must_use]
pub fn checkout_root(start: &Path) -> Option<PathBuf> {
    let mut folders = start.ancestors();
    folders
        .find(|folder| folder.join(".git").exists())
        .map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_file_lies_under_the_repositorys() {
        let environment = Environment::from_pairs([("HOME", "/home/ann")]);
        let paths = SettingsPaths::locate(
            &environment,
            Path::new("/home/ada/repo/src"),
            Some(Path::new("/home/ada/repo")),
            None,
        );
        assert_eq!(
            paths.optional,
            [
                PathBuf::from("/home/ann/.config/infinite-improbability-drive/config.toml"),
                PathBuf::from("/home/ada/repo/drive.toml"),
            ]
        );
        assert_eq!(paths.required, None);
        let labels: Vec<String> = paths
            .optional
            .iter()
            .map(|path| paths.label(path))
            .collect();
        assert_eq!(
            labels,
            [
                "~/.config/infinite-improbability-drive/config.toml",
                "/home/ada/repo/drive.toml"
            ]
        );
    }

    #[test]
    fn a_file_named_by_the_user_stands_for_the_repositorys() {
        let environment = Environment::from_pairs([("XDG_CONFIG_HOME", "/cfg")]);
        let paths = SettingsPaths::locate(
            &environment,
            Path::new("/home/ada/repo"),
            Some(Path::new("/home/ada/repo")),
            Some(Path::new("ci/drive.toml")),
        );
        assert_eq!(
            paths.optional,
            [PathBuf::from(
                "/cfg/infinite-improbability-drive/config.toml"
            )]
        );
        assert_eq!(
            paths.required,
            Some(PathBuf::from("/home/ada/repo/ci/drive.toml"))
        );
        assert_eq!(
            paths.label(Path::new("/home/ada/repo/ci/drive.toml")),
            "ci/drive.toml"
        );
    }

    #[test]
    fn files_in_the_checkout_are_the_repositorys_and_the_users_file_is_not() {
        let at = |home: &str, config: Option<&str>| {
            SettingsPaths::locate(
                &Environment::from_pairs([("HOME", home)]),
                Path::new("/repo"),
                Some(Path::new("/repo")),
                config.map(Path::new),
            )
        };
        // The home is itself a checkout.
        let paths = at("/repo", None);
        let found: Vec<bool> = paths
            .optional
            .iter()
            .map(|path| paths.is_of_repository(path))
            .collect();
        assert_eq!(found, [false, true]);
        for (config, expected) in [
            ("ci/drive.toml", Some("ci/drive.toml")),
            ("x/../ci/drive.toml", Some("ci/drive.toml")),
            ("/etc/drive.toml", None),
            ("../etc/drive.toml", None),
        ] {
            let paths = at("/home/ann", Some(config));
            let required = paths.required.clone().unwrap();
            assert_eq!(paths.is_of_repository(&required), expected.is_some());
            assert_eq!(paths.repository_file().as_deref(), expected, "{config}");
        }
        assert_eq!(at("/", None).repository_file().unwrap(), "drive.toml");
    }

    #[test]
    fn a_link_makes_no_file_of_the_repository_the_users_own() {
        let folder = tempfile::tempdir().unwrap();
        let (repo, own) = (folder.path().join("repo"), folder.path().join("own"));
        for dir in [&repo, &own] {
            std::fs::create_dir(dir).unwrap();
            std::fs::File::create(dir.join("drive.toml")).unwrap();
        }
        std::os::unix::fs::symlink(own.join("drive.toml"), repo.join("out.toml")).unwrap();
        std::os::unix::fs::symlink(repo.join("drive.toml"), own.join("in.toml")).unwrap();
        let file = |config: PathBuf| {
            let none = Environment::from_pairs([("HOME", "/home/ann")]);
            SettingsPaths::locate(&none, &repo, Some(&repo), Some(&config)).repository_file()
        };
        assert_eq!(file(repo.join("out.toml")).unwrap(), "out.toml");
        assert_eq!(file(own.join("in.toml")).unwrap(), "drive.toml");
        assert_eq!(file(own.join("drive.toml")), None);
    }

    #[test]
    fn the_root_is_found_from_below_also_in_a_linked_worktree() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::File::create(folder.path().join("a/.git")).unwrap();
        assert_eq!(checkout_root(&inner), Some(folder.path().join("a")));
    }
}
