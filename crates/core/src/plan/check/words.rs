//! Judges ids: of tasks, and of their acceptance entries.

use crate::ids::BranchName;
use crate::plan::model::LONGEST_ID;
use serde_json::Value;

/// Text, or a whole number as text: ids come as both.
pub(super) fn word(value: &Value) -> Option<String> {
    match value.as_u64() {
        Some(number) => Some(number.to_string()),
        None => value.as_str().map(|text| text.trim().to_owned()),
    }
}

/// Whether an id can be a part of a branch and of a folder's name.
pub(super) fn is_plain(id: &str) -> bool {
    id.len() <= LONGEST_ID
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && BranchName::parse(id).and_then(BranchName::for_new).is_ok()
}
