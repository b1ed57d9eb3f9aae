use crate::CancelToken;
use drive_core::Problem;
use drive_core::ids::CommitSha;
use drive_core::run::{ContractCheck, Receipt};
use drive_core::verify::Verification;
use std::path::Path;

/// A commit to judge before it is promoted.
#[derive(Clone, Copy, Debug)]
pub struct Promotion<'a> {
    /// The repository of the run.
    pub repo: &'a Path,
    /// The candidate, by its full hash.
    pub head: &'a CommitSha,
    /// The commit it is merged into, by its full hash.
    pub base: &'a CommitSha,
    /// The commit whose rules count: the base, unless agents write the branch it is on.
    pub rules: &'a CommitSha,
}

/// The isolated verifier as a gate before a merge.
pub trait PromotionGate: Send + Sync {
    /// Verifies a commit. There is a report in every case where one is possible, including
    /// failures; it is stored under its run id.
    fn judge(
        &self,
        promotion: &Promotion<'_>,
        cancel: &CancelToken,
    ) -> Result<Verification, Problem>;

    /// Runs commands one after another on the tree of `promotion.head`, isolated and limited by the
    /// rules of `promotion.rules`, after the set-up and compile commands of those rules. There is a
    /// receipt for each check, in order; a problem means that nothing is known about any.
    fn check(
        &self,
        promotion: &Promotion<'_>,
        checks: &[ContractCheck],
        cancel: &CancelToken,
    ) -> Result<Vec<Receipt>, Problem>;
}
