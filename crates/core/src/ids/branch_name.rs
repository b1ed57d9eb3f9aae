use super::schema_as;
use crate::problem::{Kind, Problem};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of a branch that `git check-ref-format --branch` accepts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BranchName(String);

schema_as!(BranchName, String);

/// The maximum length in bytes of a branch name that drive creates. Git's own limit is that of the
/// file system, which varies and includes a `.lock` suffix.
const MAX_BYTES: usize = 200;

impl BranchName {
    /// Parses a name; the problem says which of git's rules it breaks.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        match broken_rule(text) {
            None => Ok(Self(text.to_owned())),
            Some(rule) => Err(refused(text, rule)),
        }
    }

    /// The branch of a full ref; `None` if the ref is not a branch.
    pub fn of_ref(full: &str) -> Option<Self> {
        Self::parse(full.strip_prefix("refs/heads/")?).ok()
    }

    /// The name, unless drive should create no such branch: git allows it, but commands would
    /// mistake it for something else, or a file system may refuse it.
    pub fn for_new(self) -> Result<Self, Problem> {
        match broken_rule_for_new(&self.0) {
            None => Ok(self),
            Some(rule) => Err(refused(&self.0, rule)),
        }
    }

    /// A name from the first words of a text, with at most `most` bytes.
    pub fn of_words(text: &str, most: usize) -> Self {
        let mut name = String::new();
        for word in text
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
        {
            let separator = usize::from(!name.is_empty());
            if name.len() + separator + word.len() > most {
                if name.is_empty() {
                    name.push_str(&word[..most]);
                }
                break;
            }
            if separator == 1 {
                name.push('-');
            }
            name.push_str(word);
        }
        name.make_ascii_lowercase();
        if name.is_empty() {
            return Self("task".to_owned());
        }
        // A word may look like the id of a commit.
        let name = Self(name);
        match name.clone().for_new() {
            Ok(name) => name,
            Err(_) => Self(format!("task-{name}")),
        }
    }

    /// The name with a number appended, for use when the name is taken.
    #[must_use]
    pub fn numbered(&self, number: u32) -> Self {
        Self(format!("{}-{number}", self.0))
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

/// Dereferences to text. [`parse`](BranchName::parse) converts text to a name.
impl std::ops::Deref for BranchName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for BranchName {
    type Error = Problem;

    fn try_from(text: String) -> Result<Self, Problem> {
        Self::parse(&text)
    }
}

impl From<BranchName> for String {
    fn from(name: BranchName) -> Self {
        name.0
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

fn refused(name: &str, rule: &str) -> Problem {
    Problem::new(
        Kind::BadBranchName,
        format!("branch name `{}` {rule}", name.escape_debug()),
    )
    .hint("use letters, digits, `-`, `_`, `.` and `/`, such as `feat/login`")
}

fn broken_rule_for_new(name: &str) -> Option<&'static str> {
    if name.len() > MAX_BYTES {
        return Some("is longer than 200 bytes");
    }
    // Git allows it, but interprets it as `HEAD` in most places.
    if name == "@" {
        return Some("has a special meaning in git");
    }
    let is_commit_id =
        matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit_id.then_some("looks like a commit id")
}

fn broken_rule(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("is empty");
    }
    if name == "HEAD" {
        return Some("has a special meaning in git");
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
    use proptest::prelude::*;

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
            ("HEAD", "has a special meaning in git"),
            ("-x", "starts with `-`"),
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
    fn a_name_that_git_allows_may_be_no_name_for_a_new_branch() {
        let long = "b".repeat(MAX_BYTES + 1);
        let table = [
            ("@", "has a special meaning in git"),
            (
                "0123456789abcdef0123456789abcdef01234567",
                "looks like a commit id",
            ),
            (long.as_str(), "is longer than 200 bytes"),
        ];
        for (name, rule) in table {
            let problem = BranchName::parse(name).unwrap().for_new().unwrap_err();
            assert_eq!(problem, refused(name, rule));
        }
        let usual = BranchName::parse(&long[1..]).unwrap();
        assert_eq!(usual.clone().for_new(), Ok(usual));
    }

    #[test]
    fn a_full_ref_names_a_branch_only_below_refs_heads() {
        let main = BranchName::parse("main").unwrap();
        assert_eq!(BranchName::of_ref(&main.full()), Some(main));
        for other in [
            "main",
            "HEAD",
            "refs/heads/",
            "refs/heads/-x",
            "refs/tags/v1",
        ] {
            assert_eq!(BranchName::of_ref(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn words_and_a_number_make_a_name_that_git_allows(text: String, most in 1usize..60) {
            let name = BranchName::of_words(&text, most);
            prop_assert_eq!(BranchName::parse(&name), Ok(name.clone()));
            prop_assert!(name.len() <= most.max("task".len()), "{name}");
            prop_assert_eq!(BranchName::parse(&format!("{name}-7")), Ok(name.numbered(7)));
        }
    }

    #[test]
    fn it_is_stored_as_bare_text_and_one_that_git_refuses_is_not_read() {
        let name = BranchName::parse("feat/login").unwrap();
        assert_eq!(serde_json::to_string(&name).unwrap(), "\"feat/login\"");
        assert_eq!(
            serde_json::from_str::<BranchName>("\"feat/login\"").unwrap(),
            name
        );
        for text in ["\"\"", "\"a b\"", "\"-x\"", "7", "null"] {
            assert!(serde_json::from_str::<BranchName>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn its_schema_is_that_of_text() {
        assert_eq!(
            schemars::schema_for!(Option<BranchName>),
            schemars::schema_for!(Option<String>)
        );
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
