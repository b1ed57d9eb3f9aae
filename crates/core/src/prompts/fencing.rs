//! Fences text of others, and keeps names from outside on one line.

use std::fmt::Write;

/// Text of others between fences that are longer than any run of backticks in it.
pub fn fenced(text: &str, language: &str) -> String {
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let mut out = String::with_capacity(text.len() + 2 * fence.len() + 8);
    let _ = write!(out, "{fence}{language}\n{}\n{fence}", text.trim_end());
    out
}

/// A name from outside that must not start a new line.
pub(super) fn one_line(text: &str) -> String {
    let clean: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
    clean.replace('`', "'")
}

/// A place of a comment or finding, as an agent reads it.
pub(super) fn place(file: Option<&str>, line: Option<u64>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("`{}` line {line}", one_line(file)),
        (Some(file), None) => format!("`{}`", one_line(file)),
        (None, _) => "the pull request".to_owned(),
    }
}
