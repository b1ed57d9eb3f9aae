//! Messages for a pull request that was not merged.

use crate::problem::{Kind, Problem};

/// The beginning of every message about a merge that was not made.
pub(super) const NOT_MERGED: &str = "the pull request was not merged: ";

/// The reason without that beginning.
pub(super) fn not_merged_because(problem: &Problem) -> &str {
    let message = problem.message.as_str();
    message.strip_prefix(NOT_MERGED).unwrap_or(message)
}

pub(super) fn not_merged(reason: &str) -> Problem {
    Problem::new(Kind::NotMerged, format!("{NOT_MERGED}{reason}"))
        .hint("resolve that, then merge it by hand")
}

/// The problem of a pull request in a merge queue. The queue merges onto a base that is not known
/// yet, so drive cannot have verified the result.
pub(super) fn queued() -> Problem {
    Problem::new(
        Kind::MergeQueued,
        "the pull request waits in the merge queue of its base",
    )
    .hint("the forge merges it when its checks pass; drive did not verify what will land")
}

/// The problem of a merge whose result the forge did not report.
pub(super) fn unknown(problem: &Problem) -> Problem {
    let message = format!("it is unknown whether the pull request was merged: {problem}");
    Problem::new(Kind::NotMerged, message)
        .hint("look at the pull request, and merge it by hand if it is still open")
}
