//! Counts tests from the output of test runners.
//!
//! A run that exits with code 0 without selecting a test proves nothing. The scanner reads the
//! whole output as it arrives, because the tail may contain only the last of many summaries.

use super::text;
use crate::process::Stream;
use std::ops::ControlFlow;

/// The longest line that is looked at; summaries are short.
const LINE_BYTES: usize = 4 * 1024;

/// The number of tests that a runner reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestsRan {
    /// No known runner printed a summary.
    Unknown,
    /// A runner said that none ran.
    None,
    /// At least this many ran.
    Some(u64),
}

/// Reads the output of a test stage, both streams, in pieces of any size.
#[derive(Clone, Debug, Default)]
pub struct TestScan {
    lines: [Line; 2],
    spoke: bool,
    ran: u64,
}

#[derive(Clone, Debug, Default)]
struct Line {
    bytes: Vec<u8>,
    overlong: bool,
}

impl TestScan {
    /// Takes the next bytes of one stream.
    pub fn push(&mut self, source: Stream, bytes: &[u8]) {
        let index = match source {
            Stream::Stdout => 0,
            Stream::Stderr => 1,
        };
        for piece in bytes.split_inclusive(|&b| b == b'\n') {
            let line = &mut self.lines[index];
            if line.bytes.len() + piece.len() <= LINE_BYTES {
                line.bytes.extend_from_slice(piece);
            } else {
                line.overlong = true;
            }
            if piece.ends_with(b"\n") {
                self.end_line(index);
            }
        }
    }

    /// What was said, the unfinished last lines included.
    pub fn finish(mut self) -> TestsRan {
        self.end_line(0);
        self.end_line(1);
        match (self.spoke, self.ran) {
            (false, _) => TestsRan::Unknown,
            (true, 0) => TestsRan::None,
            (true, ran) => TestsRan::Some(ran),
        }
    }

    fn end_line(&mut self, index: usize) {
        let line = std::mem::take(&mut self.lines[index]);
        if line.overlong || line.bytes.is_empty() {
            return;
        }
        if let Some(ran) = ran_in(text::printable(&line.bytes).trim()) {
            self.spoke = true;
            self.ran = self.ran.saturating_add(ran);
        }
    }
}

/// The number of tests that one line reports; `None` if it is not a summary.
fn ran_in(line: &str) -> Option<u64> {
    let readers: [fn(&str) -> Option<u64>; 9] = [
        libtest, nextest, pytest, unittest, go, node, jest, vitest, mocha,
    ];
    let found = readers.iter().try_for_each(|read| match read(line) {
        Some(ran) => ControlFlow::Break(ran),
        None => ControlFlow::Continue(()),
    });
    found.break_value()
}

/// `test result: ok. 3 passed; 1 failed; 0 ignored; 2 measured; 0 filtered out; finished in 0.00s`
fn libtest(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("test result: ")?;
    let (_, counts) = rest.split_once(". ")?;
    Some(count(counts, &["passed", "failed", "measured"]))
}

/// `Summary [   0.006s] 1 test run: 1 passed, 1 skipped`
fn nextest(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("Summary [")?;
    let (_, rest) = rest.split_once(']')?;
    let (head, _) = rest.split_once(" run:")?;
    // An interrupted run prints `3/7 tests run`.
    let number = head.split_whitespace().next()?;
    number.split('/').next()?.parse().ok()
}

/// `=== 1 failed, 2 passed, 1 skipped in 0.02s ===`, or without the rules under `-q`.
fn pytest(line: &str) -> Option<u64> {
    let inner = line.trim_matches('=').trim();
    let (counts, time) = inner.rsplit_once(" in ")?;
    let seconds = time.split_whitespace().next()?.strip_suffix('s')?;
    seconds.parse::<f64>().ok()?;
    if counts == "no tests ran" {
        return Some(0);
    }
    const WORDS: [&str; 10] = [
        "passed",
        "failed",
        "error",
        "errors",
        "skipped",
        "deselected",
        "xfailed",
        "xpassed",
        "warning",
        "warnings",
    ];
    let all_counts = counts.split(", ").all(|part| {
        let mut words = part.split(' ');
        let number = words.next().is_some_and(|n| n.parse::<u64>().is_ok());
        number && words.next().is_some_and(|w| WORDS.contains(&w)) && words.next().is_none()
    });
    all_counts.then(|| {
        count(
            counts,
            &["passed", "failed", "error", "errors", "xfailed", "xpassed"],
        )
    })
}

/// `Ran 0 tests in 0.000s`
fn unittest(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("Ran ")?;
    let (number, after) = rest.split_once(' ')?;
    after.strip_prefix("test").filter(|s| s.contains(" in "))?;
    number.parse().ok()
}

/// `ok pkg 0.002s`, `ok pkg 0.002s [no tests to run]` or `? pkg [no test files]`, with tabs between; also
/// within the lines of `-json`.
fn go(line: &str) -> Option<u64> {
    let inner = line
        .split_once("\"Output\":\"")
        .map_or(line.to_owned(), |(_, rest)| {
            rest.replace("\\t", "\t").replace("\\n\"}", "")
        });
    let mut fields = inner.split('\t');
    let verdict = fields.next()?.trim();
    let package = fields.next()?;
    if package.is_empty() || package.contains(' ') {
        return None;
    }
    let rest = fields.collect::<Vec<_>>().join(" ");
    match verdict {
        "?" => rest.contains("[no test files]").then_some(0),
        "ok" => Some(u64::from(!rest.contains("[no tests to run]"))),
        "FAIL" => Some(1),
        _ => None,
    }
}

/// `# pass 1`, `ℹ pass 1`, `# fail 0`: the counts of node's own runner, one a line.
fn node(line: &str) -> Option<u64> {
    let rest = line
        .strip_prefix("# ")
        .or_else(|| line.strip_prefix("ℹ "))?;
    let (word, number) = rest.split_once(' ')?;
    let number: u64 = number.parse().ok()?;
    match word {
        "pass" | "fail" => Some(number),
        _ => None,
    }
}

/// `Tests:       1 failed, 1 skipped, 1 passed, 3 total`, or `No tests found, exiting with code 0`.
fn jest(line: &str) -> Option<u64> {
    if line.starts_with("No tests found, exiting with code") {
        return Some(0);
    }
    let counts = line.strip_prefix("Tests:")?.trim();
    counts
        .ends_with(" total")
        .then(|| count(counts, &["passed", "failed"]))
}

/// `Tests  1 failed | 1 passed | 1 skipped (3)`, or `No test files found, exiting with code 0`.
fn vitest(line: &str) -> Option<u64> {
    if line.starts_with("No test files found, exiting with code") {
        return Some(0);
    }
    let (counts, total) = line.strip_prefix("Tests  ")?.trim().rsplit_once(" (")?;
    total.strip_suffix(')')?.parse::<u64>().ok()?;
    Some(count(&counts.replace('|', ","), &["passed", "failed"]))
}

/// `0 passing (1ms)` and `1 failing`, one a line.
fn mocha(line: &str) -> Option<u64> {
    let (number, rest) = line.split_once(' ')?;
    let number = number.parse().ok()?;
    let is_time = |rest: &str| rest.starts_with(" (") && rest.ends_with(')');
    match rest.strip_prefix("passing") {
        Some(time) => is_time(time).then_some(number),
        None => (rest == "failing").then_some(number),
    }
}

/// The sum of the numbers before any of `words` in text such as `3 passed; 1 failed, 2 skipped`.
fn count(text: &str, words: &[&str]) -> u64 {
    text.split([';', ','])
        .filter_map(|part| part.trim().split_once(' '))
        .filter(|(_, word)| words.contains(word))
        .filter_map(|(number, _)| number.parse::<u64>().ok())
        .fold(0, u64::saturating_add)
}

#[cfg(test)]
#[path = "tests_ran_tests.rs"]
mod tests;
