//! The validator's prompt.

use super::batch::id_list;
use super::fencing::{fenced, one_line};
use std::fmt::Write;

/// One entry that a validator judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgeEntry<'a> {
    /// The task.
    pub task: &'a str,
    /// The entry's id within its task.
    pub id: &'a str,
    /// The acceptance criterion.
    pub text: &'a str,
}

/// The result of a program for one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownReceipt<'a> {
    /// The task.
    pub task: &'a str,
    /// The entry's id within its task.
    pub id: &'a str,
    /// The acceptance criterion.
    pub text: &'a str,
    /// The command.
    pub command: &'a [String],
    /// The result, in one word.
    pub result: &'a str,
    /// The end of its output.
    pub output: &'a str,
}

/// How many receipts are listed, and how many characters of each output.
const MOST_RECEIPTS: usize = 100;
const OUTPUT_CHARS: usize = 500;

pub(super) fn entries(entries: &[JudgeEntry<'_>]) -> String {
    let one = |entry: &JudgeEntry<'_>| {
        format!(
            "Task `{}`, entry `{}`:\n\n{}",
            one_line(entry.task),
            one_line(entry.id),
            fenced(entry.text, "")
        )
    };
    let each: Vec<String> = entries.iter().map(one).collect();
    each.join("\n\n")
}

pub(super) fn receipts(receipts: &[ShownReceipt<'_>]) -> String {
    if receipts.is_empty() {
        return "No entry is checked by a program.".to_owned();
    }
    let mut text = String::new();
    for one in receipts.iter().take(MOST_RECEIPTS) {
        let output: String = one.output.chars().take(OUTPUT_CHARS).collect();
        let told = format!("{}\n$ {}\n{output}", one.text, one.command.join(" "));
        let _ = write!(
            text,
            "Task `{}`, entry `{}`: {}\n\n{}\n\n",
            one_line(one.task),
            one_line(one.id),
            one.result,
            fenced(&told, "")
        );
    }
    let more = receipts.len().saturating_sub(MOST_RECEIPTS);
    if more > 0 {
        let _ = write!(text, "{more} more entries are checked by programs.");
    }
    text.trim_end().to_owned()
}

/// The tasks of the entries, each once.
pub(super) fn ids(entries: &[JudgeEntry<'_>]) -> String {
    let mut tasks: Vec<&str> = entries.iter().map(|entry| entry.task).collect();
    tasks.dedup();
    id_list(tasks.into_iter())
}
