//! Renders a verification for a terminal and for a pull request.

mod human;
mod markdown;

pub use human::{human, subject};
pub use markdown::{MARKDOWN_CHARS, markdown};

use super::envelope::{Candidate, Stage, StageStatus};

/// The status of a stage as people read it.
pub fn status_word(status: StageStatus) -> &'static str {
    match status {
        StageStatus::Pass => "pass",
        StageStatus::Fail => "fail",
        StageStatus::Timeout => "timeout",
        StageStatus::Error => "error",
        StageStatus::Skipped => "skipped",
    }
}

/// `850 ms`, `2.3 s`, `4 min 5 s`.
fn duration(millis: u64) -> String {
    match millis {
        0..=999 => format!("{millis} ms"),
        1_000..=59_999 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        _ => format!("{} min {} s", millis / 60_000, millis % 60_000 / 1_000),
    }
}

/// The tail that matters: what a failing command said last, on standard error unless that is empty.
fn telling_tail(stage: &Stage) -> &str {
    if stage.stderr_tail.trim().is_empty() {
        &stage.stdout_tail
    } else if stage.stdout_tail.contains("FAILED") || stage.stdout_tail.contains("FAIL\t") {
        // Test runners print their failures on standard output and noise on standard error.
        &stage.stdout_tail
    } else {
        &stage.stderr_tail
    }
}

fn short_hash(hash: Option<&str>) -> &str {
    hash.map_or("unknown", |h| h.get(..12).unwrap_or(h))
}

/// What was done with the commit and its base.
fn joined(candidate: &Candidate) -> &'static str {
    match candidate.merged_tree_sha {
        Some(_) => "merged into",
        None => "not merged into",
    }
}

/// The stage that decided, when one did.
fn deciding(stages: &[Stage]) -> Option<&Stage> {
    stages.iter().find(|stage| match stage.status {
        StageStatus::Fail | StageStatus::Timeout | StageStatus::Error => true,
        StageStatus::Pass | StageStatus::Skipped => false,
    })
}

#[cfg(test)]
#[path = "../render_tests.rs"]
mod tests;
