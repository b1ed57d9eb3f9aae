use super::{NotAnId, schema_as};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The full id of a commit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommitSha(String);

schema_as!(CommitSha, String);

impl CommitSha {
    /// Accepts any text, for tests and fakes. Other code uses [`parse`](CommitSha::parse), and a
    /// test of the project checks that.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Parses an id that git or a forge wrote: 40 or 64 lowercase hexadecimal digits. `None` for
    /// anything else, such as an abbreviation, a branch name or empty text.
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_full = matches!(text.len(), 40 | 64) && text.bytes().all(is_digit);
        is_full.then(|| Self(text.to_owned()))
    }

    /// The first ten digits, for people.
    pub fn short(&self) -> &str {
        self.0.get(..10).unwrap_or(&self.0)
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for CommitSha {
    type Error = NotAnId;

    fn try_from(text: String) -> Result<Self, NotAnId> {
        Self::parse(&text).ok_or(NotAnId(text))
    }
}

impl From<CommitSha> for String {
    fn from(sha: CommitSha) -> Self {
        sha.0
    }
}

/// Dereferences to text, for use as a revision. [`parse`](CommitSha::parse) converts text to an id.
impl std::ops::Deref for CommitSha {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CommitSha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA1: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn full_ids_of_both_lengths_are_taken() {
        for text in [SHA1.to_owned(), "f".repeat(64)] {
            assert_eq!(CommitSha::parse(&text), Some(CommitSha::new(text)));
        }
    }

    #[test]
    fn what_is_no_full_id_is_refused() {
        let upper = SHA1.to_uppercase();
        let long = format!("{SHA1}0");
        let spaced = format!("{SHA1}\n");
        let table = [
            "",
            "HEAD",
            "main",
            "0123456",
            &upper,
            &long,
            &spaced,
            &SHA1[1..],
        ];
        for text in table {
            assert_eq!(CommitSha::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn it_is_stored_as_bare_text() {
        let sha = CommitSha::new(SHA1);
        let text = serde_json::to_string(&sha).unwrap();
        assert_eq!(text, format!("\"{SHA1}\""));
        assert_eq!(serde_json::from_str::<CommitSha>(&text).unwrap(), sha);
    }

    #[test]
    fn a_stored_text_that_is_no_full_id_is_refused() {
        for text in ["\"\"", "\"HEAD\"", "\"0123456\"", "7", "null"] {
            let error = serde_json::from_str::<CommitSha>(text).unwrap_err();
            assert!(error.is_data(), "{text}: {error}");
        }
        let error = serde_json::from_str::<CommitSha>("\"HEAD\"").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`HEAD` is not the full id of a git object"
        );
    }

    #[test]
    fn its_schema_is_that_of_text() {
        assert_eq!(
            schemars::schema_for!(Option<CommitSha>),
            schemars::schema_for!(Option<String>)
        );
    }
}
