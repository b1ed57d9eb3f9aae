use super::record::ToolResult;
use super::script::Turn;
use super::{anthropic, gemini, responses};
use serde_json::Value;

/// A wire protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Anthropic Messages, spoken by claude.
    Anthropic,
    /// Gemini `generateContent`, spoken by gemini.
    Gemini,
    /// OpenAI Responses, spoken by codex.
    Responses,
}

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

impl Protocol {
    /// The protocol a path belongs to.
    pub(super) fn of(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or(path);
        if path.starts_with("/v1/messages") {
            Some(Self::Anthropic)
        } else if path.starts_with("/v1beta/") {
            Some(Self::Gemini)
        } else if path == "/v1/models" || path.starts_with("/v1/responses") {
            Some(Self::Responses)
        } else {
            None
        }
    }

    pub(super) fn read(self, path: &str, body: &Value) -> Ask {
        match self {
            Self::Anthropic => anthropic::read(path, body),
            Self::Gemini => gemini::read(path, body),
            Self::Responses => responses::read(path, body),
        }
    }

    pub(super) fn tools(self, body: &Value) -> Vec<String> {
        match self {
            Self::Anthropic | Self::Responses => names(&body["tools"]),
            Self::Gemini => items(&body["tools"])
                .iter()
                .flat_map(|tool| names(&tool["functionDeclarations"]))
                .collect(),
        }
    }

    pub(super) fn render(self, answer: &Answer) -> Rendered {
        match self {
            Self::Anthropic => anthropic::render(answer),
            Self::Gemini => gemini::render(answer),
            Self::Responses => responses::render(answer),
        }
    }

    /// One event with this piece of the answer's text.
    pub(super) fn delta(self, answer: &Answer, text: &str) -> String {
        match self {
            Self::Anthropic => anthropic::delta(text),
            Self::Gemini => gemini::delta(answer, text),
            Self::Responses => responses::delta(answer, text),
        }
    }

    /// The answer in one piece, for a request that does not want a stream.
    pub(super) fn whole(self, answer: &Answer) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(answer),
            Self::Gemini => gemini::whole(answer),
            Self::Responses => responses::whole(answer),
        }
    }

    /// The body of an error answer.
    pub(super) fn error(self, status: u16) -> Value {
        let message = format!("scripted fault {status}");
        match self {
            Self::Anthropic => anthropic::error(status, &message),
            Self::Gemini => gemini::error(status, &message),
            Self::Responses => responses::error(status, &message),
        }
    }
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

fn names(tools: &Value) -> Vec<String> {
    items(tools)
        .iter()
        .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
        .collect()
}
