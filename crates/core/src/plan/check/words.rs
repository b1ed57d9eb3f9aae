//! Checks the ids of tasks and of their acceptance entries.

use crate::ids::BranchName;
use crate::plan::model::LONGEST_ID;
use serde_json::Value;

/// The text, or a whole number as text: agents write ids as both.
pub(super) fn word(value: &Value) -> Option<String> {
    match value.as_u64() {
        Some(number) => Some(number.to_string()),
        None => value.as_str().map(|text| text.trim().to_owned()),
    }
}

/// Whether an id can be part of the names of a branch and a directory.
pub(super) fn is_plain(id: &str) -> bool {
    id.len() <= LONGEST_ID
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && BranchName::parse(id).and_then(BranchName::for_new).is_ok()
}
