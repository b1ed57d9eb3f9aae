use super::schema_as;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of a git remote, such as `origin`: a name that `git remote add` accepts. An address is
/// not a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RemoteName(String);

schema_as!(RemoteName, String);

impl RemoteName {
    /// Parses a name; `None` for text that cannot be a directory below `refs/remotes/`, or that git
    /// would take for an option.
    pub fn parse(text: &str) -> Option<Self> {
        let is_allowed = |c: char| !(c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c));
        let is_part =
            |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
        let is_name = text.chars().all(is_allowed)
            && !text.starts_with('-')
            && !text.contains("..")
            && !text.contains("@{")
            && text.split('/').all(is_part);
        is_name.then(|| Self(text.to_owned()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Dereferences to text. [`parse`](RemoteName::parse) converts text to a name.
impl std::ops::Deref for RemoteName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RemoteName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("`{}` is not a remote name", text.escape_debug()))
    }
}

impl From<RemoteName> for String {
    fn from(name: RemoteName) -> Self {
        name.0
    }
}

impl fmt::Display for RemoteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_names_are_taken_as_they_are() {
        for name in [
            "origin",
            "team/origin",
            "a.b",
            "a.",
            "me@work",
            "@",
            "\u{fc}ber",
        ] {
            assert_eq!(RemoteName::parse(name).unwrap().as_str(), name);
        }
    }

    #[test]
    fn options_addresses_and_what_no_ref_can_hold_are_refused() {
        for text in [
            "",
            "-x",
            "--upload-pack=x",
            "a b",
            "a\n",
            "a\u{7}",
            "\u{a0}",
            "https://host/o/r",
            "git@host:o/r",
            "/srv/r.git",
            "../r",
            "./r",
            "a/",
            "a//b",
            "a..b",
            "a.lock",
            "a.lock/b",
            "a@{1}",
            "a~b",
            "a*",
        ] {
            assert_eq!(RemoteName::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn it_is_stored_as_bare_text_and_what_is_no_name_is_not_read() {
        let name = RemoteName::parse("origin").unwrap();
        assert_eq!(serde_json::to_string(&name).unwrap(), "\"origin\"");
        assert_eq!(
            serde_json::from_str::<RemoteName>("\"origin\"").unwrap(),
            name
        );
        for text in ["\"\"", "\"-x\"", "\"https://host/o/r\"", "7", "null"] {
            assert!(serde_json::from_str::<RemoteName>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn its_schema_is_that_of_text() {
        assert_eq!(
            schemars::schema_for!(Option<RemoteName>),
            schemars::schema_for!(Option<String>)
        );
    }
}
