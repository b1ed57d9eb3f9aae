//! The process environment: every variable that drive reads, and the one place that reads them.
//!
//! The environment is read once into a value that is passed on, so that tests can supply their own
//! and all parts of a run see the same values.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Sets the state directory.
pub const DRIVE_STATE_DIR: &str = "DRIVE_STATE_DIR";
/// What drive logs on standard error, such as `debug` or `drive::git=debug`.
pub const DRIVE_LOG: &str = "DRIVE_LOG";
/// The user's home directory, which contains settings and state by default.
pub const HOME: &str = "HOME";
/// The parent of the user's settings; default `~/.config`.
pub const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
/// The parent of state that outlives a run; default `~/.local/state`.
pub const XDG_STATE_HOME: &str = "XDG_STATE_HOME";
/// The search path of programs.
pub const PATH: &str = "PATH";
/// Any non-empty value disables colour.
pub const NO_COLOR: &str = "NO_COLOR";
/// `dumb` disables colour.
pub const TERM: &str = "TERM";
/// The program that shows long texts.
pub const PAGER: &str = "PAGER";
/// A token for GitHub, also read by GitHub's own CLI.
pub const GH_TOKEN: &str = "GH_TOKEN";

/// `true` if a workflow of GitHub Actions, or of a compatible forge, runs drive.
pub const GITHUB_ACTIONS: &str = "GITHUB_ACTIONS";
/// The file for the Markdown summary of a workflow's step.
pub const GITHUB_STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// A snapshot of the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// The environment with which this process was started.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the environment"
    )]
    pub fn load() -> Self {
        Self::from_pairs(std::env::vars_os())
    }

    /// An environment of exactly these variables. Only the absolute folders of a search path are
    /// kept: a relative or empty one would find programs in the current folder, where an agent may
    /// have written files.
    pub fn from_pairs<K, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: Into<OsString>,
        V: Into<OsString>,
    {
        let variables = pairs
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .map(|(name, value)| {
                if name == PATH {
                    (name, absolute_only(&value))
                } else {
                    (name, value)
                }
            })
            .collect();
        Self { variables }
    }

    /// The value of a variable. An empty value counts as absent, as the XDG specification requires.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
            .filter(|value| !value.is_empty())
    }

    /// The value of a variable, if it is text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(OsStr::to_str)
    }

    /// The value of a variable that must be an absolute path; a relative one is ignored, as the XDG
    /// specification requires.
    #[must_use]
    pub fn absolute_path(&self, name: &str) -> Option<PathBuf> {
        self.get(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    }

    /// Every variable, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

fn absolute_only(search_path: &OsStr) -> OsString {
    let folders = std::env::split_paths(search_path).filter(|folder| folder.is_absolute());
    // The folders were split from such a list, so none contains the separator.
    std::env::join_paths(folders).unwrap_or_default()
}

/// The name of the person at the terminal, according to the environment.
pub fn user_name(environment: &Environment) -> String {
    let names = ["LOGNAME", "USER"].map(|name| environment.text(name));
    let name = names.into_iter().flatten().find(|name| !name.is_empty());
    name.unwrap_or("a user at the command line").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_counts_as_absent() {
        let environment = Environment::from_pairs([("HOME", ""), ("PATH", "/bin")]);
        assert_eq!(environment.get(HOME), None);
        assert_eq!(environment.text(PATH), Some("/bin"));
    }

    #[test]
    fn a_search_path_has_absolute_folders_only() {
        let path = ":/usr/bin:.:./node_modules/.bin:bin:/bin:";
        let environment = Environment::from_pairs([("PATH", path)]);
        assert_eq!(environment.text(PATH), Some("/usr/bin:/bin"));
    }

    #[test]
    fn a_relative_path_is_ignored_where_an_absolute_one_is_needed() {
        let environment =
            Environment::from_pairs([("XDG_STATE_HOME", "state"), ("HOME", "/home/ann")]);
        assert_eq!(environment.absolute_path(XDG_STATE_HOME), None);
        assert_eq!(
            environment.absolute_path(HOME),
            Some(PathBuf::from("/home/ann"))
        );
    }
}
