//! `drive.prune/1`.

use super::value::Moment;
use schemars::JsonSchema;
use serde::Serialize;

/// The data that was deleted, or would be.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PruneDocument {
    /// Whether nothing was deleted.
    pub(crate) dry_run: bool,
    /// Everything older than this is deleted.
    pub(crate) before: Moment,
    /// Runs whose logs are deleted.
    pub(crate) logs: Vec<String>,
    /// Verifications whose reports are deleted.
    pub(crate) reports: Vec<String>,
    /// Refs of saved work that is deleted.
    #[schemars(inner(regex(pattern = "^refs/drive/kept/")))]
    pub(crate) kept: Vec<String>,
    /// Size of the logs and the reports.
    pub(crate) bytes: u64,
}
