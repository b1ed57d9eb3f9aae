use super::text::{cut, push_bounded};
use crate::agent::redact::{Redactor, Secrets};
use crate::verify::text::tail;

/// How many bytes of text are kept for the outcome.
pub(super) const MAX_SAID: usize = 256 * 1024;
/// Bytes of text in one event.
pub(super) const MAX_EVENT_TEXT: usize = 64 * 1024;
/// How many bytes of the last message people see.
const MAX_SUMMARY: usize = 4000;
/// How many bytes of a long text are redacted at once.
const PIECE: usize = 16 * 1024;

/// The stored messages of an agent. They are redacted as they arrive, so that no cut leaves a part
/// of a secret.
#[derive(Debug)]
pub(super) struct Spoken {
    redactor: Redactor,
    said: String,
    message: String,
    is_open: bool,
}

impl Spoken {
    pub(super) fn new(secrets: Secrets) -> Self {
        Self {
            redactor: Redactor::new(secrets),
            said: String::new(),
            message: String::new(),
            is_open: false,
        }
    }

    /// Whether an unfinished message has begun.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Adds the next piece of a message, or begins a new one. Returns the text that can be shown now.
    pub(super) fn piece(&mut self, text: &str) -> Option<String> {
        if !self.is_open {
            self.message.clear();
            if !self.said.is_empty() {
                self.said.push_str("\n\n");
            }
        }
        self.is_open = true;
        let mut shown = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(rest.floor_char_boundary(PIECE));
            let clean = self.redactor.push(piece.as_bytes());
            self.keep(&clean, &mut shown);
            rest = later;
        }
        bounded(&shown)
    }

    /// Ends the message, and returns the text that was held back.
    pub(super) fn close(&mut self) -> Option<String> {
        self.is_open = false;
        let mut shown = String::new();
        let clean = self.redactor.finish();
        self.keep(&clean, &mut shown);
        bounded(&shown)
    }

    /// Whether the agent wrote nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    /// Whether the messages end with this text.
    pub(super) fn ends_with(&self, clean: &str) -> bool {
        self.said.ends_with(clean)
    }

    /// All messages, or their end if they are too long.
    pub(super) fn said(&self) -> &str {
        tail(&self.said, MAX_SAID)
    }

    /// The last message, shortened for people.
    pub(super) fn summary(&self) -> String {
        cut(self.message.trim(), MAX_SUMMARY)
    }

    fn keep(&mut self, clean: &[u8], shown: &mut String) {
        let clean = String::from_utf8_lossy(clean);
        push_bounded(&mut self.message, &clean, MAX_SUMMARY * 2);
        push_bounded(&mut self.said, &clean, MAX_SAID);
        if shown.len() <= MAX_EVENT_TEXT {
            shown.push_str(&clean);
        }
    }
}

fn bounded(shown: &str) -> Option<String> {
    (!shown.is_empty()).then(|| cut(shown, MAX_EVENT_TEXT))
}
