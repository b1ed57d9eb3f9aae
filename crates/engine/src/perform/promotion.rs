//! Promotes a commit: verifies it, then merges exactly what was verified.

use super::World;
use crate::executor::Task;
use crate::ports::{Forge, MergeOutcome, Place, Promotion};
use drive_core::forge::PrState;
use drive_core::ids::{CommitSha, PrNumber};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{BranchAt, EffectResult, ForgeAnswer, Request, VerifiedAgainst};

/// What a journal keeps of each tail of a report.
const TAIL_BYTES: usize = 4 << 10;

impl World<'_> {
    /// Verifies a commit against what its base is now.
    pub(super) fn verify(
        &self,
        task: &Task<'_>,
        head: &CommitSha,
        base: &BranchAt,
    ) -> Result<EffectResult, Problem> {
        let gate = self.gate.ok_or_else(|| {
            Problem::new(Kind::NoVerifier, "no verifier for this run")
                .hint("run `drive verify` by hand")
        })?;
        let request = requested(task)?;
        let Some(base) = self.tip(Place::Checkout(&request.repo), base)? else {
            return Err(
                Problem::new(Kind::BaseGone, format!("branch `{base}` no longer exists"))
                    .hint("choose another base for the pull request"),
            );
        };
        self.require_steering_approved(task, head, &base)?;
        let promotion = Promotion {
            repo: &request.repo,
            head,
            base: &base,
        };
        let report = gate.judge(&promotion, task.cancel)?;
        let report = Box::new(report.with_tails_of(TAIL_BYTES));
        Ok(EffectResult::Verified { base, report })
    }

    /// Merges, unless something is not as it was verified. The forge itself holds the head, and the
    /// local forge the base as well; for the others it is asked for right before.
    pub(super) fn merge_verified(
        &self,
        task: &Task<'_>,
        (forge, pr): (&dyn Forge, PrNumber),
        head: &CommitSha,
        verified: Option<&VerifiedAgainst>,
    ) -> Result<ForgeAnswer, Problem> {
        let Some(VerifiedAgainst { base, sha }) = verified else {
            return Ok(ForgeAnswer::NotMerged {
                reason: format!("{head} was not verified"),
            });
        };
        let request = requested(task)?;
        let place = Place::Checkout(&request.repo);
        let is_same = self.tip(place, base)?.as_ref() == Some(sha);
        // What an earlier attempt merged has moved the base itself.
        if !is_same && forge.fetch(pr)?.state != PrState::Merged {
            return Ok(ForgeAnswer::BaseMoved);
        }
        if forge.fetch(pr)?.state != PrState::Merged {
            self.require_steering_approved(task, head, sha)?;
        }
        Ok(match forge.merge(pr, head, Some(sha))? {
            MergeOutcome::Merged { sha } => ForgeAnswer::Merged { sha },
            MergeOutcome::HeadMoved => ForgeAnswer::NotMerged {
                reason: format!("its head is no longer {head}"),
            },
            MergeOutcome::BaseMoved => ForgeAnswer::BaseMoved,
            MergeOutcome::Refused { reason } => ForgeAnswer::NotMerged { reason },
        })
    }
}

fn requested<'a>(task: &Task<'a>) -> Result<&'a Request, Problem> {
    task.run
        .request
        .as_deref()
        .ok_or_else(|| Problem::new(Kind::Internal, "the run has no request"))
}
