//! Promotes a commit: verifies it, then merges exactly the verified commit.

use super::World;
use super::reading::{Wanted, read};
use crate::executor::Task;
use crate::forge::Conversation;
use crate::ports::{MergeOutcome, Place, Promotion, PromotionGate};
use drive_core::forge::PrState;
use drive_core::ids::{CommitSha, PrNumber, TreeSha};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{
    BranchAt, CommitSummary, EffectResult, Flow, ForgeAnswer, HeldTask, LandedAs, Offer,
    PollResult, Request, Run, VerifiedAgainst, against_landing,
};
use drive_core::secrets::redact_comments;
use drive_core::verify::promotable_by;

/// How many bytes of each tail of a report the journal stores.
pub(super) const TAIL_BYTES: usize = 4 << 10;

impl World<'_> {
    /// Verifies a commit against its base's current commit.
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

    /// Compares the merged commit on the base with the verified tree. A different tree is verified now.
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
        // Fetches the commit, whoever made it.
        let tip = self.tip(place, base)?;
        let Some(sha) = landed.cloned().or(tip) else {
            return Err(gone(base));
        };
        let found = self.history.commit_object(place, &sha)?;
        let report = if found.tree == *tree {
            None
        } else if landed.is_none() {
            // The tip may be another person's work.
            return Err(Problem::new(
                Kind::NotMerged,
                "the forge does not say which commit it made",
            ));
        } else {
            // The commit is verified against the base of the first verification, whose rules count,
            // so everything that came since is covered.
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
        let (poll, missing) = match self.unread(task) {
            Ok(poll) => (poll, None),
            Err(problem) => (PollResult::default(), Some(problem.to_string())),
        };
        let made = match found.parents.len() {
            0 | 1 => LandedAs::Commits(self.landed_in_a_row(task, onto, &sha)?),
            _ => LandedAs::Merge,
        };
        Ok(EffectResult::Landed {
            made,
            sha,
            report,
            unread: poll.comments,
            objections: poll.objections.unwrap_or_default(),
            missing,
        })
    }

    /// The number of the run's commits with which the landed history ends. A forge that rebases
    /// commits keeps their messages.
    fn landed_in_a_row(
        &self,
        task: &Task<'_>,
        onto: &CommitSha,
        landed: &CommitSha,
    ) -> Result<usize, Problem> {
        let place = Place::Checkout(&requested(task)?.repo);
        let Some(head) = &task.run.work.head_sha else {
            return Ok(1);
        };
        let ours = self.history.commits(place, onto.as_str(), head.as_str())?;
        let there = self
            .history
            .commits(place, onto.as_str(), landed.as_str())?;
        Ok(in_a_row(&ours, &there))
    }

    /// Reads the comments and objections that arrived between the last reading and the merge.
    fn unread(&self, task: &Task<'_>) -> Result<PollResult, Problem> {
        let Some(pr) = &task.run.work.pull_request else {
            return Ok(PollResult::default());
        };
        let talk = self.require_forge()?;
        let wanted = Wanted {
            since: None,
            opinions: true,
            checks: None,
        };
        let mut poll = read(talk, task.run, pr.number, wanted)?;
        if let Some(missing) = poll.missing {
            return Err(Problem::new(Kind::ForgeAnswer, missing));
        }
        redact_comments(&self.secrets.secrets(), &mut poll.comments);
        Ok(poll)
    }

    fn require_gate(&self) -> Result<&dyn PromotionGate, Problem> {
        self.gate.ok_or_else(|| {
            Problem::new(Kind::NoVerifier, "no verifier for this run")
                .hint("run `drive verify` by hand")
        })
    }

    /// Merges, unless something changed since the verification. The forge checks the head itself,
    /// and the local forge also the base; on other forges the base is read right before the merge.
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
        // If an earlier attempt merged, that itself moved the base.
        if !is_same && forge.fetch(pr)?.state != PrState::Merged {
            return Ok(ForgeAnswer::BaseMoved);
        }
        if forge.fetch(pr)?.state != PrState::Merged {
            self.require_approved(task, head, protected)?;
        }
        // The pull request is read right before each merge request, so that the latest comments count.
        let mut unheard = None;
        let mut go_ahead = || {
            let poll = self.read_before_merge(task.run, (talk, pr), head)?;
            if let Flow::Phase { phase } = &task.run.flow
                && phase.is_unheard(&poll)
            {
                unheard = Some(Box::new(poll));
            }
            Ok(unheard.is_none())
        };
        Ok(match forge.merge_if(pr, head, Some(sha), &mut go_ahead)? {
            MergeOutcome::Merged { sha } => ForgeAnswer::Merged { sha },
            MergeOutcome::HeadMoved => ForgeAnswer::NotMerged {
                reason: format!("its head is no longer {head}"),
            },
            MergeOutcome::BaseMoved => ForgeAnswer::BaseMoved,
            MergeOutcome::Queued => ForgeAnswer::Queued,
            MergeOutcome::Refused { reason } => ForgeAnswer::NotMerged { reason },
            MergeOutcome::Stopped => match unheard {
                Some(poll) => ForgeAnswer::Unheard { poll },
                None => ForgeAnswer::NotMerged {
                    reason: "the merge was stopped".to_owned(),
                },
            },
        })
    }

    /// Everything that people and checks say about a head, without secrets.
    pub(super) fn read_before_merge(
        &self,
        run: &Run,
        (talk, pr): (&Conversation, PrNumber),
        head: &CommitSha,
    ) -> Result<PollResult, Problem> {
        let wanted = Wanted {
            since: None,
            opinions: true,
            checks: Some(head),
        };
        let mut poll = read(talk, run, pr, wanted)?;
        redact_comments(&self.secrets.secrets(), &mut poll.comments);
        Ok(poll)
    }

    /// The tasks that must not land, because of the current state of their pull requests.
    pub(super) fn unheard(
        &self,
        task: &Task<'_>,
        offers: &[Offer],
    ) -> Result<Vec<HeldTask>, Problem> {
        let mut held = Vec::new();
        for offer in offers {
            let talk = self.require_forge()?;
            let poll = self.read_before_merge(
                &task.require_run(&offer.run)?,
                (talk, offer.pull_request),
                &offer.head,
            )?;
            // Its run may have continued while the pull request was read.
            let run = task.require_run(&offer.run)?;
            if let Some(why) = against_landing(&run, &offer.head, &poll) {
                held.push(HeldTask {
                    task: offer.task.clone(),
                    head: offer.head.clone(),
                    why,
                });
            }
        }
        Ok(held)
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

/// The number of a run's commits with which the landed history ends; both are oldest first. If none
/// matches, the landed commit contains all of them.
fn in_a_row(ours: &[CommitSummary], there: &[CommitSummary]) -> usize {
    // A rebase leaves merges out.
    let ours = ours.iter().rev();
    let ours = ours.filter(|one| !one.subject.starts_with("Merge "));
    let pairs = ours.zip(there.iter().rev());
    let same = pairs.take_while(|(ours, there)| ours.subject == there.subject);
    same.count().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rebased_commits_are_known_by_their_messages() {
        let commits = |subjects: &[&str]| -> Vec<CommitSummary> {
            let commit = |subject: &&str| CommitSummary {
                sha: CommitSha::new("1111111111111111111111111111111111111111"),
                subject: (*subject).to_owned(),
            };
            subjects.iter().map(commit).collect()
        };
        let ours = commits(&["a", "b", "Merge branch 'main'", "c"]);
        for (there, expected) in [
            (vec!["a", "b", "c"], 3),
            (vec!["theirs", "a", "b", "c"], 3),
            (vec!["theirs", "Add all of it (#7)"], 1),
            (vec![], 1),
        ] {
            assert_eq!(in_a_row(&ours, &commits(&there)), expected, "{there:?}");
        }
    }
}
