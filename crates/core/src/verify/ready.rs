//! Readiness conditions of a program that keeps running.

use serde::{Deserialize, Serialize};

/// How many bytes of a line are compared.
const LINE_BYTES: usize = 8 * 1024;

/// The prefix of lines in which the startup helper reports why a program failed.
pub const SMOKE_PREFIX: &str = "startup smoke: ";
/// The prefix of lines in which the helper for services reports why one failed.
pub const SERVICE_PREFIX: &str = "service ";
/// The beginning of the helper's line about a service that is slow to become ready.
pub const SERVICE_WAITING: &str = "waiting for service ";
/// The helper's exit code if a service did not become ready.
pub const SERVICE_FAILED: i32 = 125;

/// The sign that a started program is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ready {
    /// A line on either stream that contains this text.
    Line(String),
    /// A TCP port on loopback that accepts a connection.
    Port(u16),
    /// A path on a loopback port that answers an HTTP GET with a status below 400.
    Http {
        /// The port.
        port: u16,
        /// The path, with its leading slash.
        path: String,
    },
}

impl Ready {
    /// The description that follows "it was not ready: ".
    pub fn describe(&self) -> String {
        match self {
            Ready::Line(text) => format!("no line contains `{text}`"),
            Ready::Port(port) => format!("port {port} on loopback accepts no connection"),
            Ready::Http { port, path } => {
                format!("`http://127.0.0.1:{port}{path}` does not answer with success")
            }
        }
    }
}

/// Looks for a line in a stream that arrives in pieces.
#[derive(Clone, Debug)]
pub struct LineWatch {
    wanted: String,
    line: Vec<u8>,
    seen: bool,
}

impl LineWatch {
    /// A watch for a line that contains `wanted`.
    pub fn new(wanted: &str) -> Self {
        Self {
            wanted: wanted.to_owned(),
            line: Vec::new(),
            seen: false,
        }
    }

    /// Takes the next bytes. Returns true once the line was seen.
    pub fn push(&mut self, bytes: &[u8]) -> bool {
        for &byte in bytes {
            if self.seen {
                break;
            }
            if byte == b'\n' {
                self.look();
                self.line.clear();
            } else if self.line.len() < LINE_BYTES {
                self.line.push(byte);
            }
        }
        // A prompt without a line end counts immediately.
        self.look();
        self.seen
    }

    fn look(&mut self) {
        if super::text::printable(&self.line).contains(&self.wanted) {
            self.seen = true;
        }
    }
}

/// Whether the beginning of an HTTP response shows that the program is ready.
pub fn http_is_ready(answer: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&answer[..answer.len().min(64)]);
    let mut words = head.split_ascii_whitespace();
    let version = words.next().unwrap_or_default();
    let status: u16 = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    version.starts_with("HTTP/1.") && (200..400).contains(&status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_seen_however_it_is_cut() {
        let bytes = b"booting\n\x1b[32mlistening on\x1b[0m :80\n";
        for cut in 0..bytes.len() {
            let mut watch = LineWatch::new("listening on :80");
            let early = watch.push(&bytes[..cut]);
            assert!(early || watch.push(&bytes[cut..]), "cut at {cut}");
        }
    }

    #[test]
    fn text_over_two_lines_is_no_line() {
        let mut watch = LineWatch::new("listening on");
        assert!(!watch.push(b"listening\n on\n"));
        assert!(!watch.push(&vec![b'x'; 100_000]));
        assert!(
            !watch.push(b"listening on"),
            "the beginning of a long line was kept"
        );
        assert!(watch.push(b"\nlistening on"));
    }

    #[test]
    fn only_a_good_http_status_is_ready() {
        let table: &[(&[u8], bool)] = &[
            (b"HTTP/1.1 200 OK\r\n", true),
            (b"HTTP/1.0 204 No Content\r\n", true),
            (b"HTTP/1.1 302 Found\r\n", true),
            (b"HTTP/1.1 404 Not Found\r\n", false),
            (b"HTTP/1.1 503 x\r\n", false),
            (b"SSH-2.0-OpenSSH 200", false),
            (b"", false),
            (b"\xff\xff", false),
        ];
        for (answer, expected) in table {
            assert_eq!(http_is_ready(answer), *expected, "{answer:?}");
        }
    }
}
