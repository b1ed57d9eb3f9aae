//! The wire protocols, and the module of each.

use super::dialect::{Answer, Ask, Rendered, items, names};
use super::{anthropic, gemini, responses};
use serde_json::Value;

/// A wire protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Anthropic Messages, used by claude.
    Anthropic,
    /// Gemini `generateContent`, used by gemini.
    Gemini,
    /// OpenAI Responses, used by codex.
    Responses,
}

impl Protocol {
    /// The protocol to which a path belongs.
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

    /// An event with this piece of the answer's text.
    pub(super) fn delta(self, answer: &Answer, text: &str) -> String {
        match self {
            Self::Anthropic => anthropic::delta(text),
            Self::Gemini => gemini::delta(answer, text),
            Self::Responses => responses::delta(answer, text),
        }
    }

    /// The answer in one piece, for a request without streaming.
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
