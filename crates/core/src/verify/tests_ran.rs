//! Counts tests from the output of test runners.
//!
//! A run that exits with code 0 without running a test proves nothing. The scanner reads the
//! whole output as it arrives, because the tail may contain only the last of many summaries.

mod failures;
mod listing;
mod node_files;
mod runners;
mod starts;
mod units;

use super::plan::TestedMember;
use super::text;
use crate::process::Stream;
use runners::{Said, said_in};

/// The longest line that is looked at; summaries are short.
const LINE_BYTES: usize = 4 * 1024;

/// The number of tests that a runner reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestsRan {
    /// No known runner printed a summary.
    Unknown,
    /// A runner reported that no tests ran.
    None,
    /// At least this many ran.
    Some(u64),
    /// A runner started and ended without a summary, so the number of tests is unknown.
    CutShort,
}

/// The totals of a test stage's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestTotals {
    /// How many tests ran.
    pub ran: TestsRan,
    /// The number of failures according to the summaries.
    pub failed: u64,
    /// The changed members that no test exercised, according to the output.
    pub untested: Vec<String>,
}

/// Reads the output of a test stage, both streams, in pieces of any size.
#[derive(Clone, Debug, Default)]
pub struct TestScan {
    lines: [Line; 2],
    counts: Counts,
    open: starts::Open,
    failed: u64,
    units: units::Units,
    node_files: node_files::NodeFiles,
    /// The command is a runner that ends with a summary.
    must_summarize: bool,
}

#[derive(Clone, Debug, Default)]
struct Line {
    bytes: Vec<u8>,
    overlong: bool,
}

/// The counts of the lines so far.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    spoke: bool,
    ran: u64,
    skipped: u64,
    /// The whole command only lists tests.
    is_listing: bool,
    /// The command that printed the last echo only lists tests.
    lists: bool,
    /// Names of Go tests without any result, as `go test -list` prints them.
    names: bool,
    /// Lines with nothing but the path of a test file, which `jest --listTests` prints.
    files: bool,
    /// Any other line.
    others: bool,
    /// CTest printed its first line.
    ctest: bool,
}

impl TestScan {
    /// A scanner for the output of this command. The dry runs of mocha (12.0.3) and RSpec (3.12)
    /// print the same summary as a real run, so only the command distinguishes them.
    pub fn of(argv: &[String]) -> Self {
        let mut scan = Self::default();
        scan.counts.is_listing = listing::lists_only(&argv.join(" "));
        scan.must_summarize = starts::must_summarize(argv);
        scan
    }

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

    /// The result, including unfinished last lines.
    pub fn finish(self) -> TestsRan {
        self.totals(&[]).ran
    }

    /// Like `finish`, with the number of failures, and which of these members no test exercised.
    pub fn totals(mut self, members: &[TestedMember]) -> TestTotals {
        self.end_line(0);
        self.end_line(1);
        let total = self.counts.total();
        let is_silent = self.must_summarize && total == TestsRan::Unknown && !self.open.has_ended();
        let is_cut = (self.open.any() && !self.counts.is_listing) || is_silent;
        TestTotals {
            ran: if is_cut { TestsRan::CutShort } else { total },
            failed: self.failed,
            untested: self.units.untested(members),
        }
    }

    fn end_line(&mut self, index: usize) {
        let line = std::mem::take(&mut self.lines[index]);
        if line.overlong {
            self.counts.others = true;
        } else if !line.bytes.is_empty() {
            let line = text::printable(&line.bytes);
            let source = if index == 0 {
                Stream::Stdout
            } else {
                Stream::Stderr
            };
            let is_empty_file = self.node_files.is_empty(line.trim());
            self.units.take(source, line.trim(), is_empty_file);
            self.counts.take(line.trim());
            if is_empty_file {
                self.counts.add(Said::Skipped(1));
            }
            self.open.take(line.trim());
            let failed = failures::failures_in(line.trim()).unwrap_or(0);
            self.failed = self.failed.saturating_add(failed);
        }
    }
}

impl Counts {
    /// A command starts whose output follows.
    fn begin(&mut self, command: &str) {
        self.lists = listing::lists_only(command);
        self.spoke |= self.lists;
    }

    fn take(&mut self, line: &str) {
        if let Some(command) = listing::echoed(line) {
            return self.begin(command);
        }
        if line.is_empty() {
            return;
        }
        match said_in(line) {
            Some(said) => self.add(said),
            None if listing::is_test_file(line) => self.files = true,
            None => self.others = true,
        }
    }

    fn add(&mut self, said: Said) {
        match said {
            Said::Name => {
                self.names = true;
                return;
            }
            Said::Run => {
                self.names = false;
                return;
            }
            Said::CtestStarts => {
                self.ctest = true;
                return;
            }
            // Others print such a total after a run.
            Said::CtestTotal if !self.ctest => return,
            Said::CtestTotal => {}
            // `go test -list` ends with the same line as a run that passed.
            Said::Package if std::mem::take(&mut self.names) => {}
            Said::Ran(_) | Said::Skipped(_) | Said::Package if self.lists || self.is_listing => {}
            Said::Ran(ran) => self.ran = self.ran.saturating_add(ran),
            Said::Skipped(skipped) => self.skipped = self.skipped.saturating_add(skipped),
            Said::Package => self.ran = self.ran.saturating_add(1),
        }
        self.spoke = true;
    }

    fn total(self) -> TestsRan {
        let lists_files = self.files && !self.others;
        match self.ran.saturating_sub(self.skipped) {
            0 if self.spoke || self.is_listing || lists_files => TestsRan::None,
            0 => TestsRan::Unknown,
            ran => TestsRan::Some(ran),
        }
    }
}

#[cfg(test)]
#[path = "tests_ran_tests.rs"]
mod tests;
