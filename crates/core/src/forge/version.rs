//! The version of a comment, identified by its text.
//!
//! A forge changes a comment's date for many reasons: a review is dismissed, a thread is resolved, a push
//! makes a line outdated. None of them is a new request, so only a changed text makes a new version.

use super::marker::visible;
use super::{Comment, CommentKey, CommentRef, Surface};
use crate::ids::CommentId;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The first character of a digest; a version in an earlier journal is the time of an edit instead.
const DIGEST: char = 't';
/// How many bytes of the digest are stored.
const DIGEST_BYTES: usize = 8;

/// A comment with a certain text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "Stored")]
pub struct CommentVersion {
    /// The surface.
    pub surface: Surface,
    /// The forge's id, unique within its surface.
    pub id: CommentId,
    /// The digest of the comment's text.
    pub words: Words,
}

/// The digest of a comment's text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Words(String);

impl Words {
    /// The digest of a text. Drive's own markers and spaces at the ends of lines are ignored;
    /// indentation counts, because it may be code.
    pub fn of(body: &str) -> Self {
        let mut digest = Sha256::new();
        for line in visible(body).trim().lines() {
            digest.update(line.trim_end().as_bytes());
            digest.update(b"\n");
        }
        let digest = digest.finalize();
        let hex = digest.iter().take(DIGEST_BYTES);
        let hex: String = hex.map(|byte| format!("{byte:02x}")).collect();
        Self(format!("{DIGEST}{hex}"))
    }

    /// The time of the edit, in a journal of an earlier version.
    pub fn edited_at(&self) -> Option<Timestamp> {
        Timestamp::from_millisecond(self.0.parse().ok()?).ok()
    }

    /// The digest as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl CommentVersion {
    /// The version of a comment with this text.
    pub fn new(comment: CommentRef, body: &str) -> Self {
        Self {
            surface: comment.surface,
            id: comment.id,
            words: Words::of(body),
        }
    }

    /// A key that sorts before every version of a comment.
    pub fn first(comment: CommentRef) -> Self {
        Self {
            surface: comment.surface,
            id: comment.id,
            words: Words(String::new()),
        }
    }

    /// The comment without its version.
    pub fn comment(&self) -> CommentRef {
        CommentRef {
            surface: self.surface,
            id: self.id,
        }
    }
}

/// A stored version, of this or an earlier drive.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Words {
        surface: Surface,
        id: CommentId,
        words: Words,
    },
    Time(CommentKey),
}

impl From<Stored> for CommentVersion {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Words { surface, id, words } => Self { surface, id, words },
            Stored::Time(key) => Self {
                surface: key.surface,
                id: key.id,
                words: Words(key.updated_at.as_millisecond().to_string()),
            },
        }
    }
}

/// The newest version of each comment in a reading. A reading may contain several if the comment is
/// edited meanwhile.
pub fn newest(comments: &[Comment]) -> Vec<&Comment> {
    let mut found: BTreeMap<CommentRef, usize> = BTreeMap::new();
    let mut newest: Vec<&Comment> = Vec::new();
    for comment in comments {
        let place = *found.entry(comment.key.comment()).or_insert(newest.len());
        match newest.get_mut(place) {
            Some(known) if comment.key.updated_at >= known.key.updated_at => *known = comment,
            Some(_) => {}
            None => newest.push(comment),
        }
    }
    newest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_words_are_the_same_version_and_other_words_another() {
        let words = Words::of("Rename it.\n\n    let a = 1;");
        assert_eq!(words, Words::of("\nRename it.  \r\n\r\n    let a = 1;\t\n"));
        assert_ne!(words, Words::of("Rename it.\n\nlet a = 1;"));
        assert_ne!(words, Words::of("Rename it!\n\n    let a = 1;"));
        assert_eq!(words.edited_at(), None);
    }

    #[test]
    fn a_version_of_an_earlier_journal_is_the_time_of_its_edit() {
        let old = r#"{"surface":"inline","id":5,"updatedAt":"2026-01-02T03:04:05Z"}"#;
        let version: CommentVersion = serde_json::from_str(old).unwrap();
        assert_eq!(version.words.as_str(), "1767323045000");
        let at = "2026-01-02T03:04:05Z".parse().ok();
        assert_eq!(version.words.edited_at(), at);
        let written = serde_json::to_string(&version).unwrap();
        assert_eq!(
            serde_json::from_str::<CommentVersion>(&written).unwrap(),
            version
        );
    }
}
