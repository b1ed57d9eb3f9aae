use super::script::Turn;
use serde_json::Value;

/// What a request wants.
#[derive(Debug, PartialEq)]
pub(super) enum Ask {
    /// The next turn of a conversation.
    Turn(Asked),
    /// A call on the side, answered with this body.
    Side(Value),
    /// A call on the side that expects a stream: this text.
    SideText { text: String, streamed: bool },
    /// Nothing this server knows.
    Unknown,
}

/// A conversation so far.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Asked {
    /// The first prompt, which tells conversations apart.
    pub(super) opening: String,
    /// How many turns of the model the history holds.
    pub(super) position: usize,
    pub(super) prompt: String,
    pub(super) tool_results: Vec<ToolResult>,
    pub(super) streamed: bool,
}

/// An answer to render.
#[derive(Debug)]
pub(super) struct Answer {
    /// Part of every id in it. Ids repeat in no conversation: claude drops a call whose id it knows.
    pub(super) id: String,
    pub(super) turn: Turn,
    pub(super) model: String,
    /// The tools the request offered.
    pub(super) offered: Vec<String>,
}

/// A streamed answer around its text, so that the text can be sent in any pieces.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    pub(super) head: Vec<String>,
    pub(super) tail: Vec<String>,
}

/// A JSON array's items, none where it is no array.
pub(super) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A JSON string, empty where it is none.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// How many unbroken runs of the model's own items a history holds.
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

/// What a tool call of the model led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The call's id on the wire, or the tool's name where the protocol has no ids.
    pub call: String,
    /// What the CLI reported.
    pub text: String,
    /// Whether the CLI flagged it as an error, in protocols that can.
    pub is_error: bool,
}
