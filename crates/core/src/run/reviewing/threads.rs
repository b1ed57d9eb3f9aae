//! What was said in the threads on lines, so that whoever resolves a comment knows what came before it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many of the last words of a thread are kept.
const MOST_WORDS: usize = 20;
/// How much of each.
const WORD_CHARS: usize = 2_000;

/// Threads by the id of the comment that began them. Strangers' words are not among them.
///
/// The ids are text: numbers as keys do not read back from within a tagged state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Threads(BTreeMap<String, Vec<String>>);

impl Threads {
    /// Whether nothing was said on any line.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Somebody says something in a thread.
    pub(in crate::run) fn said(&mut self, thread: u64, author: &str, text: &str) {
        let words = self.0.entry(thread.to_string()).or_default();
        let text: String = text.chars().take(WORD_CHARS).collect();
        words.push(format!("{author}: {}", text.trim_end()));
        if words.len() > MOST_WORDS {
            words.remove(0);
        }
    }

    /// What was said in a thread so far, oldest first.
    pub(in crate::run) fn so_far(&self, thread: u64) -> String {
        let words = self
            .0
            .get(&thread.to_string())
            .map_or(&[][..], Vec::as_slice);
        words.join("\n\n")
    }
}
