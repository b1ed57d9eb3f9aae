use super::schema_as;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A forge's number of a comment, unique within its surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommentId(u64);

schema_as!(CommentId, u64);

impl CommentId {
    /// Wraps a forge's number of a comment.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number, for a request or a database.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for CommentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_stored_as_a_bare_number_and_nothing_else_is_read() {
        let id = CommentId::new(200);
        assert_eq!(serde_json::to_string(&id).unwrap(), "200");
        assert_eq!(serde_json::from_str::<CommentId>("200").unwrap(), id);
        for text in ["\"200\"", "-1", "1.5", "null", "\"\""] {
            assert!(serde_json::from_str::<CommentId>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn its_schema_is_that_of_a_number() {
        assert_eq!(
            schemars::schema_for!(Option<CommentId>),
            schemars::schema_for!(Option<u64>)
        );
    }
}
