use crate::CancelToken;
use drive_core::Problem;
use drive_core::verify::Verification;
use std::path::Path;

/// What is to be judged before it is promoted.
#[derive(Clone, Copy, Debug)]
pub struct Promotion<'a> {
    /// The repository of the run: the rules are those of the caller's checkout there.
    pub repo: &'a Path,
    /// The candidate, by its full hash.
    pub head: &'a str,
    /// What it is to go to, by its full hash.
    pub base: &'a str,
}

/// The isolated verifier, for whoever promotes.
pub trait PromotionGate: Send + Sync {
    /// Judges. There is a report whenever anything can be said at all, a failing one included; it is
    /// kept under its own name.
    fn judge(
        &self,
        promotion: &Promotion<'_>,
        cancel: &CancelToken,
    ) -> Result<Verification, Problem>;
}
