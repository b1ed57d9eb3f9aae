//! Finds secrets in text that is about to be published.

use super::forms::Meeting;
use super::redactor::Secrets;
use super::shapes::{Rest, SHAPES, Shape};

/// How many characters of a key must follow its first line: a text about keys may name that line too.
const KEY_CHARS: usize = 16;
/// The most bytes between the first line of a key and the key itself, such as escaped line ends.
const KEY_GAP: usize = 8;

impl Secrets {
    /// The position of the first secret in `text`. This is stricter than redaction, which may hide too much:
    /// a match stops the work, so a token must stand alone, and words around it are not enough.
    pub fn find(&self, text: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            if self.may_begin(rest) && (self.is_value(rest) || is_token(text, at)) {
                return Some(at);
            }
            at += 1;
        }
        None
    }

    fn is_value(&self, rest: &[u8]) -> bool {
        let mut forms = self.forms_beginning_with(rest[0]);
        forms.any(|form| matches!(form.meets(rest), Meeting::Whole(_)))
    }
}

fn is_token(text: &[u8], at: usize) -> bool {
    let is_alone = |shape: &Shape| {
        let before = &text[..at];
        let before = match shape.before {
            Some(first) => before.strip_suffix(&[first]),
            None => Some(before),
        };
        let last = before.map(|before| before.last());
        last.is_some_and(|last| !last.is_some_and(u8::is_ascii_alphanumeric))
    };
    let mut shapes = SHAPES.iter().filter(|shape| !shape.keep_prefix);
    shapes.any(|shape| match shape.rest {
        Rest::Block => begins_key(shape, &text[at..]),
        Rest::While(belongs) => is_alone(shape) && is_real(shape, &text[at..], belongs),
    })
}

fn is_real(shape: &Shape, rest: &[u8], belongs: fn(u8) -> bool) -> bool {
    let Some(body) = rest.strip_prefix(shape.prefix) else {
        return false;
    };
    let length = body.iter().take_while(|byte| belongs(**byte)).count();
    // Example keys in Amazon's documentation end like this.
    length >= shape.min && !body[..length].ends_with(b"EXAMPLE")
}

fn begins_key(shape: &Shape, rest: &[u8]) -> bool {
    let Some(body) = rest.strip_prefix(shape.prefix) else {
        return false;
    };
    let is_gap = |byte: &&u8| matches!(byte, b'\n' | b'\r' | b' ' | b'\t' | b'\\' | b'"' | b'+');
    let gap = body.iter().take(KEY_GAP).take_while(is_gap).count();
    // The escaped character follows its backslash.
    let body = &body[gap..];
    let body = body.strip_prefix(b"n").unwrap_or(body);
    let is_key = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    body.starts_with(b"Proc-Type:") || body.iter().take_while(is_key).count() >= KEY_CHARS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> String {
        format!("ghp{}{}", "_", "a1B2".repeat(9))
    }

    fn key(line_end: &str) -> String {
        let dashes = "-----";
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC";
        format!(
            "{dashes}BEGIN PRIVATE KEY{dashes}{line_end}{body}{line_end}{dashes}END PRIVATE KEY{dashes}"
        )
    }

    #[test]
    fn values_tokens_and_keys_are_found_where_they_begin() {
        let secrets = Secrets::new(["correct-horse-battery"]);
        let table = [
            ("x = correct-horse-battery".to_owned(), Some(4)),
            ("correct%2Dhorse".to_owned(), None),
            (
                "x 636f72726563742d686f7273652d62617474657279".to_owned(),
                Some(2),
            ),
            ("Y29ycmVjdC1ob3JzZS1i\nYXR0ZXJ5".to_owned(), Some(0)),
            (format!("a\n{}", token()), Some(2)),
            (format!("a{}", token()), None),
            (format!("\"{}\"", token()), Some(1)),
            (format!(" {}", key("\n")), Some(1)),
            (format!(" {}", key("\\n")), Some(1)),
            (
                "-----BEGIN PRIVATE KEY----- is its first line".to_owned(),
                None,
            ),
            (
                "Authorization: Bearer abcdefghijklmnopqrst".to_owned(),
                None,
            ),
            (format!("{}IOSFODNN7EXAMPLE", "AKIA"), None),
            (format!("{}IOSFODNN7EXAMPLF", "AKIA"), Some(0)),
            (
                format!("=eyJhbGciOiJIUzI1NiJ9.{0}.{0}", "a1B2".repeat(9)),
                Some(2),
            ),
            (
                format!("=xeyJhbGciOiJIUzI1NiJ9.{0}.{0}", "a1B2".repeat(9)),
                None,
            ),
            (String::new(), None),
        ];
        for (text, at) in table {
            assert_eq!(secrets.find(text.as_bytes()), at, "{text}");
        }
    }
}
