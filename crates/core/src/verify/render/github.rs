use super::markdown::markdown;
use super::place::Place;
use super::reasons::{Reason, Weight, reasons};
use super::status::status_text;
use super::words::first_tests;
use crate::verify::envelope::{Overall, Verification};
use crate::verify::text;
use std::fmt::Write;

/// The largest step summary that GitHub accepts, in bytes.
pub const SUMMARY_BYTES: usize = 1 << 20;
/// How many annotations of each kind GitHub shows for one step.
const MOST_ANNOTATIONS: usize = 10;
/// The longest message of an annotation.
const MESSAGE_CHARS: usize = 2_000;
/// The note at the end of a summary that was cut.
const CUT: &str = "\n\n*This summary was cut: a step may write 1 MiB.*\n";

/// The verification as workflow commands of GitHub Actions, one line for each reason.
pub fn annotations(report: &Verification) -> String {
    let mut out = String::new();
    let all = reasons(report);
    for (weight, command) in [(Weight::Error, "error"), (Weight::Warning, "warning")] {
        let of_weight = || all.iter().filter(|reason| reason.weight == weight);
        for reason in of_weight().take(MOST_ANNOTATIONS) {
            annotation(&mut out, command, reason);
        }
    }
    if report.overall == Overall::Pass {
        let said = format!("verification passed: {}", status_text(report));
        let _ = writeln!(out, "::notice title=drive verify::{}", data(&said));
    }
    out
}

fn annotation(out: &mut String, command: &str, reason: &Reason) {
    let _ = write!(out, "::{command} ");
    if let Some(Place { path, line, column }) = reason.places.first() {
        let _ = write!(out, "file={},", property(path));
        for (name, number) in [("line", line), ("col", column)] {
            if let Some(number) = number {
                let _ = write!(out, "{name}={number},");
            }
        }
    }
    let title = format!("drive verify: {}", reason.category.as_str());
    let mut message = text::one_line(&reason.message);
    let (tests, more) = first_tests(&reason.failed_tests);
    for test in tests {
        let _ = write!(message, "\nfailing: {test}");
    }
    if more > 0 {
        let _ = write!(message, "\nand {more} more");
    }
    if let Some(hint) = &reason.hint {
        let _ = write!(message, "\nhint: {}", text::one_line(hint));
    }
    if message.chars().count() > MESSAGE_CHARS {
        message = message.chars().take(MESSAGE_CHARS).collect();
        message.push('…');
    }
    let _ = writeln!(out, "title={}::{}", property(&title), data(&message));
}

/// The verification as Markdown, for a step summary that already has `written` bytes. If it does
/// not fit, it is cut between characters.
pub fn summary(report: &Verification, written: u64) -> String {
    let written = usize::try_from(written).unwrap_or(usize::MAX);
    fitted(markdown(report), SUMMARY_BYTES.saturating_sub(written))
}

fn fitted(mut text: String, room: usize) -> String {
    if text.len() <= room {
        return text;
    }
    let Some(left) = room.checked_sub(CUT.len()) else {
        return String::new();
    };
    text.truncate(text.floor_char_boundary(left));
    text + CUT
}

/// Text that may contain output of a candidate, between commands that make the runner ignore all
/// other commands. `token` must be random, so that no candidate can end this early.
pub fn shielded(text: &str, token: &str) -> String {
    let text = inert(text);
    let text = text.trim_end_matches('\n');
    format!("::stop-commands::{token}\n{text}\n::{token}::\n")
}

/// The text without anything that a runner would take as a workflow command: `::` at the start of a
/// line after white space, and `##[` anywhere in a line.
pub fn inert(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive([
        '\n', '\r', '\u{85}', '\u{2028}', '\u{2029}', '\u{b}', '\u{c}',
    ]) {
        let is_blank = |c: char| c.is_whitespace() || c.is_control() || text::is_invisible(c);
        let start = line.find(|c| !is_blank(c)).unwrap_or(line.len());
        let (blank, rest) = line.split_at(start);
        out.push_str(blank);
        if rest.starts_with("::") {
            out.push_str("| ");
        }
        out.push_str(&rest.replace("##[", "## ["));
    }
    out
}

/// The text as the message of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// The text as a property's value of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_that_does_not_fit_is_cut_between_characters_and_says_so() {
        let text = "é".repeat(100);
        assert_eq!(fitted(text.clone(), 200), text);
        for room in [199, 198, 60] {
            let cut = fitted(text.clone(), room);
            assert!(cut.len() <= room && cut.ends_with(CUT), "{cut}");
        }
        assert_eq!(fitted(text, CUT.len() - 1), "");
    }

    #[test]
    fn no_line_of_inert_text_is_a_workflow_command() {
        for (text, expected) in [
            ("::error::x\n", "| ::error::x\n"),
            ("  \t::add-mask::x", "  \t| ::add-mask::x"),
            ("a\r::error::x", "a\r| ::error::x"),
            ("\u{200b}::error::x", "\u{200b}| ::error::x"),
            ("a ##[error]x ##[b]", "a ## [error]x ## [b]"),
            ("###[error]", "### [error]"),
            ("std::fs::write", "std::fs::write"),
        ] {
            assert_eq!(inert(text), expected);
        }
    }

    #[test]
    fn values_cannot_leave_their_place_in_a_command() {
        assert_eq!(data("50%\r\n::error::x"), "50%25%0D%0A::error::x");
        assert_eq!(property("a:b,c%"), "a%3Ab%2Cc%25");
    }
}
