use crate::problem::{Kind, Problem};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A branch name git accepts, checked before anything is touched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BranchName(String);

/// The longest name we take. Git's own limit is the file system's, which differs from place to
/// place and counts a `.lock` suffix as well.
const MAX_BYTES: usize = 200;

impl BranchName {
    /// The name, or which of git's rules it breaks.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        match broken_rule(text) {
            None => Ok(Self(text.to_owned())),
            Some(rule) => Err(Problem::new(
                Kind::BadBranchName,
                format!("branch name `{}` {rule}", text.escape_debug()),
            )
            .hint("use letters, digits, `-`, `_`, `.` and `/`, such as `feat/login`")),
        }
    }

    /// The short name, such as `feat/login`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The full name, such as `refs/heads/feat/login`.
    pub fn full(&self) -> String {
        format!("refs/heads/{}", self.0)
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn broken_rule(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("is empty");
    }
    if name.len() > MAX_BYTES {
        return Some("is longer than 200 bytes");
    }
    if name == "@" || name == "HEAD" {
        return Some("has a special meaning in git");
    }
    if matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Some("looks like a commit id");
    }
    if name.starts_with('-') {
        return Some("starts with `-`");
    }
    if name.ends_with('.') {
        return Some("ends with `.`");
    }
    if name.contains("..") {
        return Some("contains `..`");
    }
    if name.contains("@{") {
        return Some("contains `@{`");
    }
    if name
        .chars()
        .any(|c| c.is_ascii_control() || " ~^:?*[\\".contains(c))
    {
        return Some("contains a space, a control character or one of `~^:?*[\\`");
    }
    name.split('/').find_map(broken_component_rule)
}

fn broken_component_rule(component: &str) -> Option<&'static str> {
    if component.is_empty() {
        return Some("has an empty part between slashes");
    }
    if component.starts_with('.') {
        return Some("has a part that starts with `.`");
    }
    component
        .ends_with(".lock")
        .then_some("has a part that ends with `.lock`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_names_are_taken_as_they_are() {
        for name in ["main", "feat/login", "drive/r1-a", "a.b", "ünïcode", "x@y"] {
            assert_eq!(BranchName::parse(name).unwrap().as_str(), name);
        }
    }

    #[test]
    fn each_rule_of_git_is_named_when_broken() {
        let table = [
            ("", "is empty"),
            ("@", "has a special meaning in git"),
            ("HEAD", "has a special meaning in git"),
            ("-x", "starts with `-`"),
            (
                "0123456789abcdef0123456789abcdef01234567",
                "looks like a commit id",
            ),
            ("x.", "ends with `.`"),
            ("a..b", "contains `..`"),
            ("a@{1}", "contains `@{`"),
            (
                "a b",
                "contains a space, a control character or one of `~^:?*[\\`",
            ),
            ("/a", "has an empty part between slashes"),
            ("a/", "has an empty part between slashes"),
            ("a//b", "has an empty part between slashes"),
            ("a/.b", "has a part that starts with `.`"),
            ("a.lock/b", "has a part that ends with `.lock`"),
        ];
        for (name, rule) in table {
            assert_eq!(broken_rule(name), Some(rule), "{name:?}");
        }
    }

    #[test]
    fn a_refused_name_is_a_usage_problem_with_a_next_step() {
        let problem = BranchName::parse("a\nb").unwrap_err();
        assert_eq!(problem.kind, Kind::BadBranchName);
        assert_eq!(
            problem.message,
            "branch name `a\\nb` contains a space, a control character or one of `~^:?*[\\`"
        );
        assert!(problem.hint.is_some());
    }
}
