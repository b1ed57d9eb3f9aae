use crate::environment::{Environment, HOME, XDG_CONFIG_HOME};
use std::path::{Path, PathBuf};

const USER_FILE: &str = "infinite-improbability-drive/config.toml";
const REPOSITORY_FILE: &str = "drive.toml";

/// Which files settings are read from, lowest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsPaths {
    /// Files that may be absent.
    pub optional: Vec<PathBuf>,
    /// The file the user named; it lies over the others.
    pub required: Option<PathBuf>,
    /// The root of the checkout: what lies in it is the repository's, not the user's own.
    pub checkout: Option<PathBuf>,
    /// The user's home, shown as `~`.
    pub home: Option<PathBuf>,
    /// Where paths are shown from.
    pub current: Option<PathBuf>,
}

impl SettingsPaths {
    /// The user's file, then the file named with `--config`, else `drive.toml` at the root of the
    /// checkout.
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

    /// Whether the repository has a file, so that others than the user write it. The user's own file
    /// is theirs also where their whole home is a checkout.
    pub(super) fn is_of_repository(&self, path: &Path) -> bool {
        let Some(root) = &self.checkout else {
            return false;
        };
        path == root.join(REPOSITORY_FILE)
            || self.required.as_deref() == Some(path) && path.starts_with(root)
    }

    /// A path as the user would write it.
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

/// The root of the checkout a folder is in: the nearest one upwards that holds `.git`.
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
        // A home that is a checkout itself.
        let paths = at("/repo", None);
        let found: Vec<bool> = paths
            .optional
            .iter()
            .map(|path| paths.is_of_repository(path))
            .collect();
        assert_eq!(found, [false, true]);
        for (config, expected) in [("ci/drive.toml", true), ("/etc/drive.toml", false)] {
            let paths = at("/home/ann", Some(config));
            let required = paths.required.clone().unwrap();
            assert_eq!(paths.is_of_repository(&required), expected, "{config}");
        }
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
