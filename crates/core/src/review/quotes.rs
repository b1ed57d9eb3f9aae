//! Lines of a change that read like a reviewer's answer, whether reviewers are shown them or not: an answer
//! that stands there was quoted.

use std::collections::VecDeque;

/// How many lines before and after the key of an answer are kept.
const AROUND: usize = 40;
/// Most text that is kept.
const MOST_BYTES: usize = 256 * 1024;
/// The keys of answers.
const KEYS: [&str; 2] = ["\"verdict\"", "\"findings\""];

/// Collects such lines while the diff is read.
#[derive(Debug, Default)]
pub(super) struct Quotes {
    /// The last lines that are not kept yet.
    recent: VecDeque<String>,
    /// How many of the next lines are kept.
    after: usize,
    text: String,
}

impl Quotes {
    /// Takes a line of a hunk, with its sign.
    pub(super) fn take(&mut self, line: &str) {
        let lower = line.to_ascii_lowercase();
        if KEYS.iter().any(|key| lower.contains(key)) {
            for before in std::mem::take(&mut self.recent) {
                self.keep(&before);
            }
            self.after = AROUND + 1;
        }
        if self.after > 0 {
            self.after -= 1;
            return self.keep(line);
        }
        if self.recent.len() == AROUND {
            self.recent.pop_front();
        }
        self.recent.push_back(line.to_owned());
    }

    /// Lines of another hunk are in no block with these.
    pub(super) fn end_hunk(&mut self) {
        self.recent.clear();
        self.after = 0;
    }

    fn keep(&mut self, line: &str) {
        if self.text.len() + line.len() < MOST_BYTES {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}
