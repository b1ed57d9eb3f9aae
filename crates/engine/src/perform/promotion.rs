//! Promotes a commit: verifies it, then merges exactly what was verified.

use super::World;
use super::reading::{Wanted, read};
use crate::executor::Task;
use crate::forge::Conversation;
use crate::ports::{MergeOutcome, Place, Promotion, PromotionGate};
use drive_core::forge::{Comment, PrState};
use drive_core::ids::{CommitSha, PrNumber, TreeSha};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{BranchAt, EffectResult, Flow, ForgeAnswer, Request, VerifiedAgainst};
use drive_core::secrets::redact_comments;
use drive_core::verify::promotable_by;

/// What a journal keeps of each tail of a report.
pub(super) const TAIL_BYTES: usize = 4 << 10;

impl World<'_> {
    /// Verifies a commit against what its base is now.
    pub(super) fn verify(
        &self,
        task: &Task<'_>,
        head: &CommitSha,
        (base, rules): (&BranchAt, Option<&CommitSha>),
    ) -> Result<EffectResult, Problem> {
        let gate = self.require_gate()?;
        let request = requested(task)?;
        let Some(base) = self.tip(Place::Checkout(&request.repo), base)? else {
            return Err(gone(base));
        };
        let promotion = Promotion {
            repo: &request.repo,
            head,
            base: &base,
            rules: rules.unwrap_or(&base),
        };
        let report = gate.judge(&promotion, task.cancel)?;
        self.report_verification(task, head, &report);
        if promotable_by(promotion.rules, &report, head, &base).is_some() {
            self.require_approved(task, head, &report.protected_changes)?;
        }
        let report = Box::new(report.with_tails_of(TAIL_BYTES));
        Ok(EffectResult::Verified { base, report })
    }

    /// Compares what a merge left on its base with what was verified. Another tree is verified now.
    pub(super) fn check_landed(
        &self,
        task: &Task<'_>,
        landed: Option<&CommitSha>,
        base: &BranchAt,
        verified: (&CommitSha, &TreeSha),
    ) -> Result<EffectResult, Problem> {
        let (onto, tree) = verified;
        let request = requested(task)?;
        let place = Place::Checkout(&request.repo);
        // Brings the commit here, whoever made it.
        let tip = self.tip(place, base)?;
        let Some(sha) = landed.cloned().or(tip) else {
            return Err(gone(base));
        };
        let found = self.history.commit_object(place, &sha)?;
        let report = if found.tree == *tree {
            None
        } else if landed.is_none() {
            // The tip may be somebody else's work.
            return Err(Problem::new(
                Kind::NotMerged,
                "the forge does not say which commit it made",
            ));
        } else {
            // Against the base that was verified: its rules count, and all that came since.
            let promotion = Promotion {
                repo: &request.repo,
                head: &sha,
                base: onto,
                rules: onto,
            };
            let report = self.require_gate()?.judge(&promotion, task.cancel)?;
            if let Some(head) = &task.run.work.head_sha {
                self.report_verification(task, head, &report);
            }
            Some(Box::new(report.with_tails_of(TAIL_BYTES)))
        };
        let (unread, missing) = match self.unread(task) {
            Ok(unread) => (unread, None),
            Err(problem) => (Vec::new(), Some(problem.to_string())),
        };
        Ok(EffectResult::Landed {
            is_merge: found.parents.len() > 1,
            sha,
            report,
            unread,
            missing,
        })
    }

    /// What people wrote between the last reading and the merge.
    fn unread(&self, task: &Task<'_>) -> Result<Vec<Comment>, Problem> {
        let Some(pr) = &task.run.work.pull_request else {
            return Ok(Vec::new());
        };
        let talk = self.require_forge()?;
        let wanted = Wanted {
            since: None,
            opinions: false,
            checks: None,
        };
        let poll = read(talk, task.run, pr.number, wanted)?;
        if let Some(missing) = poll.missing {
            return Err(Problem::new(Kind::ForgeAnswer, missing));
        }
        let mut comments = poll.comments;
        redact_comments(&self.secrets.secrets(), &mut comments);
        Ok(comments)
    }

    fn require_gate(&self) -> Result<&dyn PromotionGate, Problem> {
        self.gate.ok_or_else(|| {
            Problem::new(Kind::NoVerifier, "no verifier for this run")
                .hint("run `drive verify` by hand")
        })
    }

    /// Merges, unless something is not as it was verified. The forge itself holds the head, and the
    /// local forge the base as well; for the others it is asked for right before.
    pub(super) fn merge_verified(
        &self,
        task: &Task<'_>,
        (talk, pr): (&Conversation, PrNumber),
        head: &CommitSha,
        verified: Option<&VerifiedAgainst>,
    ) -> Result<ForgeAnswer, Problem> {
        let Some(VerifiedAgainst {
            base,
            sha,
            protected,
        }) = verified
        else {
            return Ok(ForgeAnswer::NotMerged {
                reason: format!("{head} was not verified"),
            });
        };
        let forge = talk.forge.as_ref();
        let request = requested(task)?;
        let place = Place::Checkout(&request.repo);
        let is_same = self.tip(place, base)?.as_ref() == Some(sha);
        // What an earlier attempt merged has moved the base itself.
        if !is_same && forge.fetch(pr)?.state != PrState::Merged {
            return Ok(ForgeAnswer::BaseMoved);
        }
        if forge.fetch(pr)?.state != PrState::Merged {
            self.require_approved(task, head, protected)?;
            // The last thing before the merge: whoever wrote until now is heard.
            forge.await_write_turn()?;
            let wanted = Wanted {
                since: None,
                opinions: true,
                checks: Some(head),
            };
            let mut poll = read(talk, task.run, pr, wanted)?;
            // The run knows their words without secrets.
            redact_comments(&self.secrets.secrets(), &mut poll.comments);
            if let Flow::Phase { phase } = &task.run.flow
                && phase.is_unheard(&poll)
            {
                return Ok(ForgeAnswer::Unheard {
                    poll: Box::new(poll),
                });
            }
        }
        Ok(match forge.merge(pr, head, Some(sha))? {
            MergeOutcome::Merged { sha } => ForgeAnswer::Merged { sha },
            MergeOutcome::HeadMoved => ForgeAnswer::NotMerged {
                reason: format!("its head is no longer {head}"),
            },
            MergeOutcome::BaseMoved => ForgeAnswer::BaseMoved,
            MergeOutcome::Queued => ForgeAnswer::Queued,
            MergeOutcome::Refused { reason } => ForgeAnswer::NotMerged { reason },
        })
    }
}

fn gone(base: &BranchAt) -> Problem {
    Problem::new(Kind::BaseGone, format!("branch `{base}` no longer exists"))
        .hint("choose another base for the pull request")
}

pub(super) fn requested<'a>(task: &Task<'a>) -> Result<&'a Request, Problem> {
    task.run
        .request
        .as_deref()
        .ok_or_else(|| Problem::new(Kind::Internal, "the run has no request"))
}
