//! The idempotency key of a post, and who waits for it.

use serde::{Deserialize, Serialize};
use std::fmt;

const INJECTED: &str = "injected/";
const OBJECTION: &str = "said/objection/";
const ASIDE: &str = "said/";
const WAITS: &str = "waits/";

/// The idempotency key of a post. The kind decides what follows when it has been posted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum PostKey {
    /// A comment from the command line, by its id. Its text is a person's own.
    Injected(String),
    /// A comment that names whose request for changes stands.
    Objection(String),
    /// Another comment that is posted once, and that no step waits for.
    Aside(String),
    /// A reply that says what a comment waits for, by the key of the answer it will get.
    Waits(String),
    /// A post that a step of a flow waits for.
    Step(String),
}

impl PostKey {
    /// Whether no step of a flow waits for the post.
    pub fn is_aside(&self) -> bool {
        match self {
            PostKey::Objection(_) | PostKey::Aside(_) | PostKey::Waits(_) => true,
            PostKey::Injected(_) | PostKey::Step(_) => false,
        }
    }
}

impl From<String> for PostKey {
    /// Reads what the journal holds. The longer of two beginnings comes first.
    fn from(text: String) -> Self {
        let rest = |beginning: &str| text.strip_prefix(beginning).map(str::to_owned);
        None.or_else(|| rest(INJECTED).map(PostKey::Injected))
            .or_else(|| rest(OBJECTION).map(PostKey::Objection))
            .or_else(|| rest(ASIDE).map(PostKey::Aside))
            .or_else(|| rest(WAITS).map(PostKey::Waits))
            .unwrap_or(PostKey::Step(text))
    }
}

impl From<PostKey> for String {
    fn from(key: PostKey) -> Self {
        key.to_string()
    }
}

impl fmt::Display for PostKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PostKey::Injected(id) => write!(out, "{INJECTED}{id}"),
            PostKey::Objection(name) => write!(out, "{OBJECTION}{name}"),
            PostKey::Aside(name) => write!(out, "{ASIDE}{name}"),
            PostKey::Waits(name) => write!(out, "{WAITS}{name}"),
            PostKey::Step(name) => out.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_same_after_it_was_stored() {
        let keys = [
            (PostKey::Injected("c1".into()), "injected/c1"),
            (PostKey::Objection("a/ann".into()), "said/objection/a/ann"),
            (PostKey::Aside("check/7".into()), "said/check/7"),
            (
                PostKey::Waits("reply/inline-5".into()),
                "waits/reply/inline-5",
            ),
            (PostKey::Step("outcome".into()), "outcome"),
        ];
        for (key, text) in keys {
            assert_eq!(key.to_string(), text);
            assert_eq!(PostKey::from(text.to_owned()), key);
        }
    }

    #[test]
    fn only_comments_that_no_step_waits_for_stand_aside() {
        let is_aside = |text: &str| PostKey::from(text.to_owned()).is_aside();
        assert!(is_aside("said/check/7"));
        assert!(is_aside("said/objection/a/ann"));
        assert!(is_aside("waits/reply/inline-5"));
        assert!(!is_aside("injected/c1"));
        assert!(!is_aside("reply/inline-5"));
    }
}
