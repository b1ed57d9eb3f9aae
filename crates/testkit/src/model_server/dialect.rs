use super::script::Turn;
use serde_json::Value;

/// The purpose of a request.
#[derive(Debug, PartialEq)]
pub(super) enum Ask {
    /// The next turn of a conversation.
    Turn(Asked),
    /// A side call, answered with this body.
    Side(Value),
    /// A side call, answered with this text as a stream.
    SideText { text: String, streamed: bool },
    /// An unknown request.
    Unknown,
}

/// The state of a conversation.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Asked {
    /// The first prompt, which identifies the conversation.
    pub(super) opening: String,
    /// How many turns of the model the history contains.
    pub(super) position: usize,
    pub(super) prompt: String,
    pub(super) tool_results: Vec<ToolResult>,
    pub(super) streamed: bool,
}

/// An answer to be rendered.
#[derive(Debug)]
pub(super) struct Answer {
    /// A part of every id in the answer. Ids never repeat within a conversation: claude drops a
    /// call with a known id.
    pub(super) id: String,
    pub(super) turn: Turn,
    pub(super) model: String,
    /// The tools that the request offered.
    pub(super) offered: Vec<String>,
}

/// A streamed answer without its text, which is sent in pieces between its parts.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    pub(super) head: Vec<String>,
    pub(super) tail: Vec<String>,
}

/// The items of a JSON array; empty for other values.
pub(super) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The text of a JSON string; empty for other values.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// How many uninterrupted sequences of the model's own items a history contains.
pub(super) fn runs(of_model: impl Iterator<Item = bool>) -> usize {
    let mut before = false;
    let mut count = 0;
    for now in of_model {
        if now && !before {
            count += 1;
        }
        before = now;
    }
    count
}

pub(super) fn names(tools: &Value) -> Vec<String> {
    items(tools)
        .iter()
        .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
        .collect()
}

/// The result of a tool call of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The call's id on the wire, or the tool's name in protocols without ids.
    pub call: String,
    /// The text that the CLI reported.
    pub text: String,
    /// Whether the CLI marked it as an error, in protocols that can.
    pub is_error: bool,
}
