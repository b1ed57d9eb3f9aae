//! Words and texts that several renderings share.

use crate::private_paths::without_private_paths;
use crate::verify::envelope::{Candidate, Stage, StageStatus, Verification};

/// How many failed tests a report for people lists.
pub(super) const MOST_TESTS: usize = 10;

/// A text for publication: the workspace is replaced by the word `workspace`, and homes by `~`.
pub(super) fn public(text: &str, report: &Verification) -> String {
    let workspace = report.workspace.path.as_deref();
    without_private_paths(text, workspace.map(|path| (path, "workspace")))
}

/// The status of a stage, for people.
pub fn status_word(status: StageStatus) -> &'static str {
    match status {
        StageStatus::Pass => "pass",
        StageStatus::Fail => "fail",
        StageStatus::Timeout => "timeout",
        StageStatus::Error => "error",
        StageStatus::Skipped => "skipped",
    }
}

/// A duration such as `850 ms`, `2.3 s` or `4 min 5 s`.
pub(super) fn duration(millis: u64) -> String {
    match millis {
        0..=999 => format!("{millis} ms"),
        1_000..=59_999 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        _ => format!("{} min {} s", millis / 60_000, millis % 60_000 / 1_000),
    }
}

/// The tail that explains a failure: standard error, unless it is empty.
pub(super) fn telling_tail(stage: &Stage) -> &str {
    if stage.stderr_tail.trim().is_empty() {
        &stage.stdout_tail
    } else if stage.stdout_tail.contains("FAILED") || stage.stdout_tail.contains("FAIL\t") {
        // Test runners print failures on standard output and other messages on standard error.
        &stage.stdout_tail
    } else {
        &stage.stderr_tail
    }
}

/// The duration of a stage, and the number of its tests if known: `2.3 s, 12 tests`.
pub(super) fn took(stage: &Stage) -> String {
    let took = duration(stage.duration_ms);
    match stage.tests.map(|tests| tests.ran) {
        None => took,
        Some(1) => format!("{took}, 1 test"),
        Some(ran) => format!("{took}, {ran} tests"),
    }
}

pub(super) fn short_hash(hash: Option<&str>) -> &str {
    hash.map_or("unknown", |h| h.get(..12).unwrap_or(h))
}

/// Whether the commit was merged into its base, as words.
pub(super) fn joined(candidate: &Candidate) -> &'static str {
    match candidate.merged_tree_sha {
        Some(_) => "merged into",
        None => "not merged into",
    }
}

/// The title of a stage, such as `targeted tests (api)`.
pub(super) fn stage_title(stage: &Stage) -> String {
    format!("{} ({})", stage.name.words(), stage.route)
}

/// Whether a stage prevents the verification from passing.
pub(super) fn is_red(stage: &Stage) -> bool {
    match stage.status {
        StageStatus::Fail | StageStatus::Timeout | StageStatus::Error => true,
        StageStatus::Pass | StageStatus::Skipped => false,
    }
}

/// The stage that decided the verdict, if one did.
pub(super) fn deciding(stages: &[Stage]) -> Option<&Stage> {
    stages.iter().find(|stage| is_red(stage))
}

/// The counts of stages, such as `2 passed, 1 failed, 1 skipped`; zero counts are left out.
pub(super) fn counts(stages: &[Stage]) -> String {
    let of = |wanted: StageStatus| stages.iter().filter(|s| s.status == wanted).count();
    let counted = [
        (of(StageStatus::Pass), "passed"),
        (of(StageStatus::Fail), "failed"),
        (of(StageStatus::Timeout), "timed out"),
        (of(StageStatus::Error), "not judged"),
        (of(StageStatus::Skipped), "skipped"),
    ];
    let counted = counted.iter().filter(|(count, _)| *count > 0);
    let counted: Vec<String> = counted.map(|(n, word)| format!("{n} {word}")).collect();
    counted.join(", ")
}

/// The first [`MOST_TESTS`] names, and the number of the others.
pub(super) fn first_tests(names: &[String]) -> (Vec<String>, usize) {
    let shown = names.iter().take(MOST_TESTS);
    let shown = shown.map(|name| crate::verify::text::one_line(name));
    (shown.collect(), names.len().saturating_sub(MOST_TESTS))
}
