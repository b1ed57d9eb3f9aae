//! Collects lines of a change that look like a reviewer's answer, whether reviewers see them or
//! not: an answer that equals them was quoted.

use std::collections::VecDeque;

/// How many lines before and after the key of an answer are stored.
const AROUND: usize = 40;
/// The maximum size of the stored text.
const MOST_BYTES: usize = 256 * 1024;
/// The keys of answers.
const KEYS: [&str; 2] = ["\"verdict\"", "\"findings\""];

/// Collects such lines while the diff is read.
#[derive(Debug, Default)]
pub(super) struct Quotes {
    /// The last lines that are not stored yet.
    recent: VecDeque<String>,
    /// How many of the next lines are stored.
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

    /// Ends a block, because lines of another hunk cannot continue it.
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
