//! `drive.serve/1`.

use schemars::JsonSchema;
use serde::Serialize;

/// The address of the server.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServeDocument {
    pub(crate) url: String,
    /// Whether the dashboard is shown.
    pub(crate) dashboard: bool,
    /// The link that logs a browser in, once; null where the dashboard is not shown.
    pub(crate) login: Option<String>,
    /// The address for webhooks; null if none are received.
    pub(crate) webhooks: Option<String>,
}
