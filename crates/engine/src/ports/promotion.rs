use crate::CancelToken;
use drive_core::Problem;
use drive_core::ids::CommitSha;
use drive_core::run::{ContractCheck, Receipt};
use drive_core::verify::Verification;
use std::path::Path;

/// A commit to verify before it is promoted.
#[derive(Clone, Copy, Debug)]
pub struct Promotion<'a> {
    /// The repository of the run.
    pub repo: &'a Path,
    /// The full id of the candidate.
    pub head: &'a CommitSha,
    /// The full id of the commit it is merged into.
    pub base: &'a CommitSha,
    /// The commit whose rules count: the base, unless agents write its branch.
    pub rules: &'a CommitSha,
}

/// The isolated verifier as a gate before a merge.
pub trait PromotionGate: Send + Sync {
    /// Verifies a commit. There is a report whenever one is possible, even for failures; it is
    /// stored under its run id.
    fn judge(
        &self,
        promotion: &Promotion<'_>,
        cancel: &CancelToken,
    ) -> Result<Verification, Problem>;

    /// Runs commands one after another on the tree of `promotion.head`, isolated and limited by the
    /// rules of `promotion.rules`, after their set-up and compile commands. Returns one receipt for
    /// each check, in order; a problem means that no result is known.
    fn check(
        &self,
        promotion: &Promotion<'_>,
        checks: &[ContractCheck],
        cancel: &CancelToken,
    ) -> Result<Vec<Receipt>, Problem>;
}
