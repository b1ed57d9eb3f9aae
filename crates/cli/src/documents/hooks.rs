//! `drive.hooks/1`.

use super::value::path_text;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// The pre-push hook of a repository.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HooksDocument {
    /// The file of the hook.
    path: String,
    state: HooksState,
}

impl HooksDocument {
    pub(crate) fn new(path: &Path, state: HooksState) -> Self {
        Self {
            path: path_text(path),
            state,
        }
    }
}

/// The result of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum HooksState {
    /// The hook was written.
    Installed,
    /// The hook was there already.
    Unchanged,
    /// The hook was removed.
    Removed,
    /// There was no hook of drive to remove.
    Absent,
}
