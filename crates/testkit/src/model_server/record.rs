use super::dialect::ToolResult;
use super::protocol::Protocol;
use serde_json::Value;
use std::collections::BTreeMap;

/// One request as the server understood it.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedRequest {
    /// The protocol its path belongs to; `None` for a path of none.
    pub protocol: Option<Protocol>,
    /// The HTTP method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// How it was answered.
    pub purpose: Purpose,
    /// The model that was asked for.
    pub model: String,
    /// The text of the last message of the user, without what the CLI put before it.
    pub prompt: String,
    /// The results of tool calls since the model's last turn.
    pub tool_results: Vec<ToolResult>,
    /// The names of the tools the CLI offered.
    pub tools: Vec<String>,
    /// The headers, those that carry keys left out.
    pub headers: BTreeMap<String, String>,
    /// The whole body; null when it was no JSON.
    pub body: Value,
}

/// How a request was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// From the script, with the turn at this position.
    Turn(usize),
    /// As a call on the side: a title, a count, a list of models.
    Side,
    /// Not at all: the path or the body is of no protocol known here.
    Unknown,
}
