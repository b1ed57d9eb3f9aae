//! `drive.init/1`.

use schemars::JsonSchema;
use serde::Serialize;

/// The settings file that was written, and what was found for it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InitDocument {
    /// The file.
    pub(crate) path: String,
    /// Agents that can run here.
    pub(crate) agents: Vec<String>,
    /// `github`, `local`, or `auto` where it could not be found out.
    pub(crate) forge: String,
    /// Build systems that `drive verify` recognises at the root.
    pub(crate) projects: Vec<String>,
}
