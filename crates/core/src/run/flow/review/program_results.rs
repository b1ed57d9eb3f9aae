//! Results of verification for the reviewers of a commit.

use super::super::phase::PhaseFlow;
use crate::forge::checks::CheckState;
use crate::forge::text::plain_line;
use std::fmt::Write;

/// The longest name or reason, in characters.
const TEXT_CHARS: usize = 300;
/// The most checks that are listed.
const MOST_CHECKS: usize = 50;

impl PhaseFlow<'_> {
    /// The checks and the verification of exactly this head, as text; empty if there are none.
    pub(super) fn program_results(&self) -> String {
        let Some(head) = self.run.work.head_sha.as_ref() else {
            return String::new();
        };
        let mut text = String::new();
        let known = self.verified_of(head);
        let judged = known
            .map(|known| &known.judged)
            .or(self.state.judged.as_ref());
        if let Some(judged) = judged.filter(|judged| judged.head_sha == *head) {
            let (base, overall) = (judged.base_sha.short(), judged.overall.as_str());
            let _ = write!(text, "drive verify, merged into {base}: {overall}");
            text.push_str(&because(judged.why.as_deref()));
        }
        if let Some(known) = known.filter(|known| !known.failing.is_empty()) {
            let failing: Vec<&str> = known.failing.iter().map(String::as_str).collect();
            let failing = plain_line(&failing.join(", "), TEXT_CHARS);
            let _ = writeln!(text, "failed stages: {failing}");
        }
        let report = known.and_then(|known| known.report.as_deref());
        if let Some(report) = report {
            let _ = writeln!(text, "{report}");
        }
        let known = self.state.ci.of(Some(head));
        let all = known.map_or(&[][..], |known| known.checks.as_slice());
        for check in all.iter().filter(|check| !check.is_own()).take(MOST_CHECKS) {
            let state = match check.state {
                CheckState::Pending => "has not ended",
                CheckState::Passed => "passed",
                CheckState::Failed => "failed",
                CheckState::Neutral => "neutral or skipped",
            };
            let name = plain_line(&check.name, TEXT_CHARS);
            let _ = write!(text, "check {name}: {state}");
            text.push_str(&because(check.summary.as_deref()));
        }
        text.trim_end().to_owned()
    }
}

/// The end of a line, with the reason if there is one.
fn because(why: Option<&str>) -> String {
    match why {
        Some(why) => format!(" ({})\n", plain_line(why, TEXT_CHARS)),
        None => "\n".to_owned(),
    }
}
