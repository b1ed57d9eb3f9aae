//! Reads token counts from a response while it passes through.

use super::dialect::Dialect;
use drive_core::agent::Usage;
use serde_json::Value;

/// The longest line or response that is parsed, in bytes; the tokens of a longer one stay unknown.
const MOST: usize = 8 * 1024 * 1024;

/// Counts the tokens of one response.
pub(super) struct Counter {
    dialect: Dialect,
    is_stream: bool,
    held: Vec<u8>,
    is_too_long: bool,
    counted: Usage,
}

impl Counter {
    pub(super) fn new(dialect: Dialect, media_type: &str) -> Self {
        Self {
            dialect,
            is_stream: media_type.starts_with("text/event-stream"),
            held: Vec::new(),
            is_too_long: false,
            counted: Usage::default(),
        }
    }

    /// Reads the next bytes; returns the additional tokens.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Usage {
        let before = self.counted;
        if self.is_stream {
            for part in bytes.split_inclusive(|byte| *byte == b'\n') {
                self.hold(part);
                if part.ends_with(b"\n") {
                    self.read();
                }
            }
        } else {
            self.hold(bytes);
        }
        self.counted.since(before)
    }

    /// Ends the response; returns the additional tokens of its last part.
    pub(super) fn finish(&mut self) -> Usage {
        let before = self.counted;
        self.read();
        self.counted.since(before)
    }

    fn hold(&mut self, bytes: &[u8]) {
        if self.held.len() + bytes.len() > MOST {
            self.is_too_long = true;
            self.held.clear();
        }
        if !self.is_too_long {
            self.held.extend_from_slice(bytes);
        }
    }

    fn read(&mut self) {
        let held = std::mem::take(&mut self.held);
        if std::mem::take(&mut self.is_too_long) {
            return;
        }
        let text = if self.is_stream {
            held.strip_prefix(b"data:")
        } else {
            Some(&held[..])
        };
        // Most events are pieces of text and need not be parsed.
        let names_tokens = |text: &&[u8]| text.windows(6).any(|part| part == b"\"usage");
        let value = text
            .filter(names_tokens)
            .and_then(|text| serde_json::from_slice::<Value>(text).ok());
        if let Some(now) = value.and_then(|value| self.dialect.tokens(&value)) {
            // Each number is a total of the response so far.
            self.counted = Usage {
                input: self.counted.input.max(now.input),
                cached: self.counted.cached.max(now.cached),
                output: self.counted.output.max(now.output),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(dialect: Dialect, media_type: &str, body: &str) -> Usage {
        let mut whole = Usage::default();
        for size in [1, 7, body.len()] {
            let mut counter = Counter::new(dialect, media_type);
            let mut sum = Usage::default();
            for part in body.as_bytes().chunks(size) {
                sum = sum.plus(counter.push(part));
            }
            whole = sum.plus(counter.finish());
        }
        whole
    }

    fn usage(input: u64, cached: u64, output: u64) -> Usage {
        Usage {
            input,
            cached,
            output,
        }
    }

    #[test]
    fn each_answer_of_each_model_is_counted_once() {
        let events = "text/event-stream; charset=utf-8";
        let json = "application/json";
        let table = [
            (
                Dialect::Anthropic,
                events,
                "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\
                 \"input_tokens\":5,\"cache_creation_input_tokens\":2,\"cache_read_input_tokens\":9,\
                 \"output_tokens\":1}}}\n\ndata: {\"type\":\"content_block_delta\"}\n\n\
                 data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":40}}\n\n",
                usage(7, 9, 40),
            ),
            (
                Dialect::Anthropic,
                json,
                r#"{"usage": {"input_tokens": 3, "output_tokens": 4}}"#,
                usage(3, 0, 4),
            ),
            (
                Dialect::Anthropic,
                json,
                r#"{"input_tokens": 3}"#,
                usage(0, 0, 0),
            ),
            (
                Dialect::OpenAi,
                events,
                "data: {\"type\":\"response.created\",\"response\":{\"usage\":null}}\r\n\r\n\
                 data: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":100,\
                 \"input_tokens_details\":{\"cached_tokens\":60},\"output_tokens\":7}}}\r\n\r\n",
                usage(40, 60, 7),
            ),
            (
                Dialect::OpenAi,
                json,
                r#"{"usage": {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}}"#,
                usage(6, 4, 2),
            ),
            (
                Dialect::Gemini,
                events,
                "data: {\"usageMetadata\":{\"promptTokenCount\":50,\"candidatesTokenCount\":1}}\n\n\
                 data: {\"usageMetadata\":{\"promptTokenCount\":50,\"cachedContentTokenCount\":20,\
                 \"candidatesTokenCount\":3,\"thoughtsTokenCount\":4}}\n\n",
                usage(50, 20, 7),
            ),
            (
                Dialect::Gemini,
                json,
                r#"[{"usageMetadata": {"promptTokenCount": 1}}, {"usageMetadata": {"promptTokenCount": 8, "candidatesTokenCount": 2}}]"#,
                usage(8, 0, 2),
            ),
            (Dialect::Gemini, json, "{\"usage", usage(0, 0, 0)),
        ];
        for (dialect, media_type, body, expected) in table {
            assert_eq!(counted(dialect, media_type, body), expected, "{body}");
        }
    }

    #[test]
    fn a_line_without_an_end_takes_no_more_than_its_limit() {
        let mut counter = Counter::new(Dialect::OpenAi, "text/event-stream");
        for _ in 0..20 {
            counter.push(&vec![b'x'; 1024 * 1024]);
            assert!(counter.held.capacity() <= 2 * MOST);
        }
        let last = "\ndata: {\"usage\":{\"input_tokens\":2}}\n";
        assert_eq!(counter.push(last.as_bytes()), usage(2, 0, 0));
    }
}
