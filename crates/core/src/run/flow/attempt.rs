//! Text that tells an agent where the work of an earlier, interrupted attempt is.

use super::super::model::Run;
use crate::ids::CommitSha;
use crate::prompts::{self, Attempt};

/// The text that tells an agent where the work of the earlier attempt is; empty for the first attempt.
pub(super) fn earlier_attempt(run: &Run, base: &CommitSha) -> String {
    let Some(resumption) = &run.resumption else {
        return String::new();
    };
    prompts::earlier_attempt(&Attempt {
        base: base.as_str(),
        is_follow_up: resumption.follows.is_some(),
        has_commits: !run.work.commits.is_empty(),
        saved: resumption.saved.as_ref().map(CommitSha::as_str),
    })
}

/// Whether the agent added no commit although it was given more to do.
pub(super) fn added_nothing(run: &Run) -> bool {
    let follows = run.resumption.as_ref().and_then(|one| one.follows.as_ref());
    follows.is_some() && follows == run.work.head_sha.as_ref()
}
