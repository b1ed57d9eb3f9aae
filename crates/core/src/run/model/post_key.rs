//! The idempotency key of a post, and whether a step waits for it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The idempotency key of a post. Its kind decides what happens after the post.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum PostKey {
    /// A comment from the command line, by its id. A person wrote its text.
    Injected(String),
    /// A comment that names the author of a standing request for changes.
    Objection(String),
    /// Another comment that is posted once and that no step waits for.
    Aside(String),
    /// A reply that says what a comment waits for, by the key of its later answer.
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

/// The text of an unknown key.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the key of a post")]
pub struct NotAPostKey(String);

/// Parses the stored form: the kind, a colon, and the rest.
impl TryFrom<String> for PostKey {
    type Error = NotAPostKey;

    fn try_from(text: String) -> Result<Self, NotAPostKey> {
        let of = match text.split_once(':') {
            Some(("injected", name)) => PostKey::Injected(name.to_owned()),
            Some(("objection", name)) => PostKey::Objection(name.to_owned()),
            Some(("aside", name)) => PostKey::Aside(name.to_owned()),
            Some(("waits", name)) => PostKey::Waits(name.to_owned()),
            Some(("step", name)) => PostKey::Step(name.to_owned()),
            Some(_) | None => return Err(NotAPostKey(text)),
        };
        Ok(of)
    }
}

/// The stored form. It contains the kind, which the name in a marker does not.
impl From<PostKey> for String {
    fn from(key: PostKey) -> Self {
        match key {
            PostKey::Injected(id) => format!("injected:{id}"),
            PostKey::Objection(name) => format!("objection:{name}"),
            PostKey::Aside(name) => format!("aside:{name}"),
            PostKey::Waits(name) => format!("waits:{name}"),
            PostKey::Step(name) => format!("step:{name}"),
        }
    }
}

/// The name in the marker of a post.
impl fmt::Display for PostKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PostKey::Injected(id) => write!(out, "injected/{id}"),
            PostKey::Objection(name) => write!(out, "said/objection/{name}"),
            PostKey::Aside(name) => write!(out, "said/{name}"),
            PostKey::Waits(name) => write!(out, "waits/{name}"),
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
            (PostKey::Injected("c1".into()), "injected:c1"),
            (PostKey::Objection("a/ann".into()), "objection:a/ann"),
            (PostKey::Aside("check/7".into()), "aside:check/7"),
            (
                PostKey::Waits("reply/inline-5".into()),
                "waits:reply/inline-5",
            ),
            (PostKey::Step("outcome".into()), "step:outcome"),
        ];
        for (key, text) in keys {
            assert_eq!(String::from(key.clone()), text);
            assert_eq!(PostKey::try_from(text.to_owned()), Ok(key));
        }
    }

    #[test]
    fn the_name_of_a_step_never_makes_it_another_kind() {
        for name in ["said/check/7", "injected/c1", "waits/x", "aside:x", ""] {
            let key = PostKey::Step(name.to_owned());
            let stored = serde_json::to_string(&key).unwrap();
            assert_eq!(serde_json::from_str::<PostKey>(&stored).unwrap(), key);
        }
    }

    #[test]
    fn a_text_without_a_known_kind_is_no_key() {
        for text in ["outcome", "said/check/7", "other:x", ""] {
            let read = PostKey::try_from(text.to_owned());
            assert_eq!(read, Err(NotAPostKey(text.to_owned())));
        }
    }

    #[test]
    fn only_comments_that_no_step_waits_for_stand_aside() {
        let name = || "reply/inline-5".to_owned();
        assert!(PostKey::Aside(name()).is_aside());
        assert!(PostKey::Objection(name()).is_aside());
        assert!(PostKey::Waits(name()).is_aside());
        assert!(!PostKey::Injected(name()).is_aside());
        assert!(!PostKey::Step(name()).is_aside());
    }
}
