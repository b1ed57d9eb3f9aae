use super::dialect::ToolResult;
use super::protocol::Protocol;
use serde_json::Value;
use std::collections::BTreeMap;

/// A recorded request.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedRequest {
    /// The protocol of its path; `None` for an unknown path.
    pub protocol: Option<Protocol>,
    /// The HTTP method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// How it was answered.
    pub purpose: Purpose,
    /// The requested model.
    pub model: String,
    /// The text of the last user message, without what the CLI put before it.
    pub prompt: String,
    /// The results of tool calls since the model's last turn.
    pub tool_results: Vec<ToolResult>,
    /// The names of the tools that the CLI offered.
    pub tools: Vec<String>,
    /// The headers, without those that contain keys.
    pub headers: BTreeMap<String, String>,
    /// The whole body; null if it was not JSON.
    pub body: Value,
}

/// How a request was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// From the script, with the turn at this position.
    Turn(usize),
    /// As a side call: a title, a count, a list of models.
    Side,
    /// Not at all: the protocol of the path or body is unknown.
    Unknown,
}
