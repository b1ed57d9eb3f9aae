use super::{CommitSha, NotAnId, schema_as};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The full id of a tree, which covers all files of a commit but not its author or date.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TreeSha(String);

schema_as!(TreeSha, String);

impl TreeSha {
    /// Parses an id that git wrote; `None` for anything but 40 or 64 lowercase hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        // Ids of all kinds of objects have the same form.
        CommitSha::parse(text).map(|id| Self(id.as_str().to_owned()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first ten digits, for people.
    pub fn short(&self) -> &str {
        self.0.get(..10).unwrap_or(&self.0)
    }
}

impl TryFrom<String> for TreeSha {
    type Error = NotAnId;

    fn try_from(text: String) -> Result<Self, NotAnId> {
        Self::parse(&text).ok_or(NotAnId(text))
    }
}

impl From<TreeSha> for String {
    fn from(sha: TreeSha) -> Self {
        sha.0
    }
}

impl fmt::Display for TreeSha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_full_ids_are_taken() {
        let full = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(TreeSha::parse(full).unwrap().as_str(), full);
        for text in ["", "HEAD^{tree}", &full[1..]] {
            assert_eq!(TreeSha::parse(text), None, "{text:?}");
        }
    }
}
