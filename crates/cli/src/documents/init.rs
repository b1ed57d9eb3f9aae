//! `drive.init/1`.

use schemars::JsonSchema;
use serde::Serialize;

/// The new settings file, and the values that were detected for it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InitDocument {
    /// The file.
    pub(crate) path: String,
    /// Agents that can run here.
    pub(crate) agents: Vec<String>,
    /// `github`, `local`, or `auto` if the forge could not be detected.
    pub(crate) forge: String,
    /// Build systems that `drive verify` recognises at the root.
    pub(crate) projects: Vec<String>,
}
