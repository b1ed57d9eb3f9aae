//! Requests and answers as plain values, independent of the server.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A complete request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Percent-encoded, without the base path.
    pub(crate) path: String,
    pub(crate) raw_query: String,
    /// Names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
    /// The caller's base URL of the API, for links.
    pub(crate) api: String,
    /// The caller's base URL of web pages, for links.
    pub(crate) html: String,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> String {
        self.headers.get(name).cloned().unwrap_or_default()
    }

    pub(crate) fn query(&self) -> BTreeMap<String, String> {
        self.raw_query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                (decode(name), decode(&value.replace('+', " ")))
            })
            .collect()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(status: u16, value: &Value) -> Self {
        Self {
            status,
            headers: vec![(
                "content-type".to_owned(),
                "application/json; charset=utf-8".to_owned(),
            )],
            body: value.to_string().into_bytes(),
        }
    }

    pub(crate) fn text(status: u16, text: &str) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
            body: text.as_bytes().to_vec(),
        }
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

/// Why GitHub refuses a request.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) message: String,
    pub(crate) errors: Vec<Value>,
}

impl Refusal {
    pub(crate) fn new(status: u16, message: &str) -> Self {
        Self {
            status,
            message: message.to_owned(),
            errors: Vec::new(),
        }
    }

    pub(crate) fn not_found() -> Self {
        Self::new(404, "Not Found")
    }

    /// GitHub's usual 422 with one entry.
    pub(crate) fn invalid(entry: Value) -> Self {
        Self {
            status: 422,
            message: "Validation Failed".to_owned(),
            errors: vec![entry],
        }
    }

    pub(crate) fn answer(&self) -> Answer {
        let mut body = json!({
            "message": self.message,
            "documentation_url": "https://docs.github.com/rest",
        });
        if !self.errors.is_empty() {
            body["errors"] = Value::Array(self.errors.clone());
        }
        Answer::json(self.status, &body)
    }
}

/// Percent-decodes a text; invalid escapes are kept as they are.
pub(crate) fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        if let Some(byte) = hex {
            out.push(byte);
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
