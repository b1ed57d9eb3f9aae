//! Commands whose answer is a text: `drive.help/1`, `drive.version/1` and `drive.completions/1`.

use schemars::JsonSchema;
use serde::Serialize;

/// The help of a command.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HelpDocument {
    pub(crate) help: String,
}

/// The version of drive.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VersionDocument {
    pub(crate) version: String,
}

/// Completions for a shell.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CompletionsDocument {
    pub(crate) shell: String,
    pub(crate) script: String,
}
