//! The process environment: every variable that drive reads, and the one place that reads them.
//!
//! The environment is read once into a value that is passed on, so that tests can supply their own
//! and all parts of a run see the same values.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Moves the state directory.
pub const DRIVE_STATE_DIR: &str = "DRIVE_STATE_DIR";
/// What drive logs on standard error, such as `debug` or `drive::git=debug`.
pub const DRIVE_LOG: &str = "DRIVE_LOG";
/// The user's home, below which settings and state live by default.
pub const HOME: &str = "HOME";
/// Where the user's settings live; default `~/.config`.
pub const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
/// Where state that outlives a run lives; default `~/.local/state`.
pub const XDG_STATE_HOME: &str = "XDG_STATE_HOME";
/// Where programs are looked up.
pub const PATH: &str = "PATH";
/// Any value but the empty one turns colour off.
pub const NO_COLOR: &str = "NO_COLOR";
/// `dumb` turns colour off.
pub const TERM: &str = "TERM";
/// The program that shows long texts.
pub const PAGER: &str = "PAGER";
/// A token for GitHub, as its own CLI reads it.
pub const GH_TOKEN: &str = "GH_TOKEN";

/// `true` where a workflow of GitHub Actions, or of a forge like it, runs drive.
pub const GITHUB_ACTIONS: &str = "GITHUB_ACTIONS";
/// The file that the Markdown summary of a workflow's step is appended to.
pub const GITHUB_STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// A snapshot of the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// The environment this process was started with.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the environment"
    )]
    pub fn load() -> Self {
        Self::from_pairs(std::env::vars_os())
    }

    /// An environment made of exactly these variables. A search path keeps its absolute folders only:
    /// a relative or empty one would find programs in whatever folder a program is started in, and
    /// an agent may have written what lies there.
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

    /// A variable's value. An empty one counts as absent, as the XDG specification asks.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
            .filter(|value| !value.is_empty())
    }

    /// A variable's value where it is text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(OsStr::to_str)
    }

    /// A variable that must be an absolute path to count; a relative one is ignored, as the XDG
    /// specification asks.
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
    // A folder of the list never holds the list's separator: it came out of such a list.
    std::env::join_paths(folders).unwrap_or_default()
}

/// Who sits in front of the terminal, as far as the environment says.
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
