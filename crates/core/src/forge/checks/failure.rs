//! Details of a failed check, and a fingerprint to recognise the same failure again.

use crate::verify::text::{one_line, printable, tail_lines};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt::Write;

/// How many annotations of one check are stored.
pub const ANNOTATIONS: usize = 20;
/// How many bytes of a log are stored.
pub const LOG_BYTES: usize = 8 * 1024;
/// The longest message of an annotation, in characters.
const MESSAGE_CHARS: usize = 1000;
/// How many lines at the end of a log make up the fingerprint.
const TELLING_LINES: usize = 40;
/// The minimum number of hexadecimal digits at which a word counts as an id.
const HEX_DIGITS: usize = 7;

/// A message about a place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CheckAnnotation")]
pub struct Annotation {
    /// The file, relative to the root.
    pub path: String,
    /// The line, counted from one; the first one of several.
    pub line: u64,
    /// The message.
    pub message: String,
}

/// Details of a failed check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckFailure {
    /// The job.
    pub job: String,
    /// Its first failed step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The first annotations, at most [`ANNOTATIONS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub annotations: Vec<Annotation>,
    /// The last lines of the log up to the error, at most [`LOG_BYTES`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

impl CheckFailure {
    /// A failure, shortened to its limits. `log` is the whole log, or its end.
    pub fn new(
        job: impl Into<String>,
        step: Option<String>,
        annotations: Vec<Annotation>,
        log: Option<&[u8]>,
    ) -> Self {
        let mut annotations = annotations;
        annotations.truncate(ANNOTATIONS);
        for annotation in &mut annotations {
            let message: String = annotation.message.chars().take(MESSAGE_CHARS).collect();
            annotation.message = message;
        }
        Self {
            job: job.into(),
            step,
            annotations,
            log: log.map(excerpt).filter(|log| !log.is_empty()),
        }
    }
}

/// The end of a job's log, up to its last error, which leaves out later cleanup steps.
fn excerpt(log: &[u8]) -> String {
    let log = printable(log);
    let lines: Vec<&str> = log.lines().map(without_time).collect();
    let end = lines.iter().rposition(|line| line.contains("##[error]"));
    let end = end.map_or(lines.len(), |last| last + 1);
    let text = lines[..end].join("\n");
    tail_lines(text.trim(), LOG_BYTES).to_owned()
}

/// A line of a log without the time that GitHub Actions writes before it.
fn without_time(line: &str) -> &str {
    let Some((first, rest)) = line.split_once(' ') else {
        return line;
    };
    let is_instant = first.len() >= 20
        && first.ends_with('Z')
        && first.as_bytes().get(10) == Some(&b'T')
        && first.starts_with(|c: char| c.is_ascii_digit());
    if is_instant { rest } else { line }
}

/// An identifier of a failure of the check `name`: another run that fails for the same reason has
/// the same one.
pub(super) fn fingerprint(name: &str, failure: Option<&CheckFailure>, summary: &str) -> String {
    let mut lines = BTreeSet::new();
    if let Some(failure) = failure {
        lines.insert(format!("job {}", failure.job));
        lines.extend(failure.step.iter().map(|step| format!("step {step}")));
        let annotations = failure.annotations.iter();
        lines.extend(annotations.map(|one| {
            let message = one_line(&one.message);
            format!("{}: {}", one.path, normalised(&message))
        }));
        let log = failure.log.as_deref().unwrap_or_default().lines();
        let log = log.map(normalised).filter(|line| !line.is_empty());
        lines.extend(log.rev().take(TELLING_LINES));
    } else {
        lines.insert(normalised(&one_line(summary)));
    }
    let mut digest = Sha256::new();
    digest.update(name.as_bytes());
    for line in lines {
        digest.update(b"\0");
        digest.update(line.as_bytes());
    }
    let mut fingerprint = String::new();
    for byte in digest.finalize().iter().take(16) {
        let _ = write!(fingerprint, "{byte:02x}");
    }
    fingerprint
}

/// A line without the parts that differ between two runs.
fn normalised(line: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in line.trim().chars().chain([' ']) {
        if c.is_alphanumeric() {
            word.push(c);
            continue;
        }
        push_word(&mut out, &word);
        word.clear();
        out.push(c);
    }
    out.trim_end().to_owned()
}

fn push_word(out: &mut String, word: &str) {
    let is_hex = word.len() >= HEX_DIGITS
        && word.chars().all(|c| c.is_ascii_hexdigit())
        && word.contains(|c: char| c.is_ascii_digit());
    if is_hex {
        out.push('#');
        return;
    }
    let mut in_number = false;
    for c in word.chars() {
        if !c.is_ascii_digit() {
            out.push(c);
        } else if !in_number {
            out.push('#');
        }
        in_number = c.is_ascii_digit();
    }
}
