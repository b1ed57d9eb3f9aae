//! Escapes foreign text for use in drive's Markdown.

use crate::forge::inert::{Said, plain, shown};
use crate::verify::text::one_line;

/// The text as one table cell: without column separators, tags, mentions, links and line breaks;
/// cut after `most` characters.
pub(crate) fn cell(text: &str, most: usize) -> String {
    let line = plain(&one_line(text), &Said::default());
    let mut out = String::new();
    for c in line.chars().take(most) {
        match c {
            '\\' => out.push_str("\\\\"),
            '|' => out.push_str("\\|"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '[' => out.push_str("\\["),
            c => out.push(c),
        }
    }
    if line.chars().count() > most {
        out.push('…');
    }
    out
}

/// The text as inline code, cut after `most` characters; empty text stays empty.
pub fn code(text: &str, most: usize) -> String {
    let line: String = one_line(&shown(text)).chars().take(most).collect();
    let ticks = "`".repeat(longest_run(&line, '`') + 1);
    let pad = if line.starts_with('`') || line.ends_with('`') {
        " "
    } else {
        ""
    };
    if line.is_empty() {
        String::new()
    } else {
        format!("{ticks}{pad}{line}{pad}{ticks}")
    }
}

/// The text as inline code in a table cell.
pub(crate) fn code_cell(text: &str, most: usize) -> String {
    code(text, most).replace('|', "\\|")
}

/// The length of the longest row of a character.
pub(crate) fn longest_run(text: &str, wanted: char) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}
