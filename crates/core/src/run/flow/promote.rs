//! Promotion: verifies the merge of an approved pull request, merges it, and compares the landed
//! tree with the verified one.
//!
//! The verdict is bound to the commit, its base and the tree of both. The merge itself checks the
//! commits again. A forge merges into whatever the base is at that moment, so a difference is
//! detected and reported after the merge.

use super::super::model::{
    ClosingPost, Effect, EffectResult, ForgeAct, ForgeAnswer, Interrupted, Judged, OutcomeStatus,
    PollResult, PostKey, Stage, VerifiedAgainst,
};
use super::phase::{PhaseFlow, objected};
use super::promote_text::{NOT_MERGED, not_merged, not_merged_because, queued, unknown};
use super::proof::failure_of;
use super::public_text::public;
use super::retry::is_final;
use crate::forge::text::first_line;
use crate::ids::{CommitSha, EffectKey};
use crate::problem::{Kind, Problem};
use crate::process::{Layer, LayerName, LayerState, add_layers};
use crate::review::LastWord;
use crate::verify::{Overall, Verification, promotable, render};

/// How often a commit is verified again because its base moved.
const MOST_VERIFICATIONS: u32 = 3;
/// How often the forge is asked again for a merge whose answer did not arrive.
const MOST_MERGE_TRIES: u32 = 5;

impl PhaseFlow<'_> {
    /// Merges exactly the commit that every domain approved and that passed verification, or leaves
    /// it to a person.
    pub(super) fn promote(&mut self) {
        let Some(head) = self.head() else {
            return self.not_merged("its branch has no commit");
        };
        if self.last_word() != LastWord::Approved {
            return self.not_merged("not every review approved its current commit");
        }
        if self.run.work.pull_request.is_none() {
            return self.not_merged("no pull request is open");
        }
        if let Some(problem) = self.standing() {
            return self.say_not_merged(problem);
        }
        let Some(base) = self.base() else {
            return self.not_merged("its base branch is unknown");
        };
        self.state.counts.verifications += 1;
        self.state.stage = Stage::Verifying;
        self.run.decide(Effect::Verify {
            head,
            base,
            rules: None,
        });
    }

    /// Handles the result of a verification. Only a report that allows exactly this commit and base
    /// leads to the merge.
    pub(super) fn verified(&mut self, result: EffectResult) {
        let Some(head) = self.head() else {
            return self.not_merged("its branch has no commit");
        };
        if let EffectResult::Verified { base, report } = result {
            add_layers(&mut self.run.layers, missing_of(&report));
            let tree = promotable(&report, &head, &base).cloned();
            self.state.judged = Some(Judged {
                run_id: report.run_id.clone(),
                overall: report.overall,
                head_sha: head.clone(),
                base_sha: base.clone(),
                tree_sha: report.candidate.merged_tree_sha.clone(),
                why: (report.overall != Overall::Pass).then(|| failure_of(&report)),
            });
            match tree {
                Some(_) if self.terms.whole().is_some() => {
                    self.whole_verified(report.protected_changes);
                }
                Some(_) => self.merge_pull_request(head, base, report.protected_changes),
                None => self.refuse(&head, &base, &report),
            }
        } else if let EffectResult::Failed { problem } = result {
            if self.terms.whole().is_some() {
                return self.announce(Some(problem));
            }
            if problem.kind == Kind::SteeringUnapproved {
                return self.leave(OutcomeStatus::NeedsHuman, Some(problem));
            }
            let hint = problem.hint.clone();
            let status = format!("could not be verified: {problem}");
            let mut problem = not_merged(&format!("could not verify it: {problem}"));
            if let Some(hint) = hint {
                problem = problem.hint(format!("{hint}; then merge it by hand"));
            }
            self.close_unverified(status, None, problem);
        } else {
            self.not_merged("the verifier returned no report");
        }
    }

    pub(super) fn merge_pull_request(
        &mut self,
        head: CommitSha,
        sha: CommitSha,
        protected: Vec<String>,
    ) {
        self.state.stage = Stage::Promoting;
        let verified = self.base().map(|base| VerifiedAgainst {
            base,
            sha,
            protected,
        });
        if !self.on_forge(ForgeAct::Merge { head, verified }, None) {
            self.not_merged("no pull request is open");
        }
    }

    /// Posts on the pull request, which stays open, that verification failed.
    fn refuse(&mut self, head: &CommitSha, base: &CommitSha, report: &Verification) {
        if self.terms.whole().is_some() && self.fix_unverified(head, report) {
            return;
        }
        let why = failure_of(report);
        let (head, base) = (head.short(), base.short());
        self.run.warnings.push(format!(
            "verification of {head} against {base} failed: {why}"
        ));
        let again = format!("reproduce it with `drive verify {head} --base {base}`");
        let hint = match report.failure.as_ref().and_then(|one| one.hint.as_ref()) {
            Some(hint) => format!("{hint}; {again}"),
            None => again,
        };
        let problem = not_merged(&format!("verification failed: {why}")).hint(hint);
        let status = format!("verification failed: {why}");
        self.close_unverified(status, Some(render::markdown(report)), problem);
    }

    pub(super) fn merged(&mut self, (key, effect): (&EffectKey, Effect), result: EffectResult) {
        let reason = if let EffectResult::OnForge { answer } = result {
            match answer {
                ForgeAnswer::Merged { sha } => return self.check_landed(sha),
                ForgeAnswer::BaseMoved => {
                    self.state.counts.base_moves += 1;
                    if self.state.counts.base_moves < MOST_VERIFICATIONS {
                        return self.promote();
                    }
                    format!("its base moved during all {MOST_VERIFICATIONS} verifications")
                }
                ForgeAnswer::NotMerged { reason } => reason,
                ForgeAnswer::Unheard { poll } => return self.interrupted(*poll),
                ForgeAnswer::Queued => return self.queued(),
                // Answers to other actions.
                ForgeAnswer::Polled { .. }
                | ForgeAnswer::ReviewPosted { .. }
                | ForgeAnswer::Posted { .. }
                | ForgeAnswer::Done => "the forge did not confirm the merge".to_owned(),
            }
        } else if let EffectResult::Failed { problem } = result {
            if problem.kind == Kind::SteeringUnapproved {
                return self.leave(OutcomeStatus::NeedsHuman, Some(problem));
            }
            if !is_final(&problem) {
                // The answer may be lost. The next try first checks whether the merge happened.
                return if self.state.tries < MOST_MERGE_TRIES {
                    self.try_again(key, effect, &problem)
                } else {
                    self.unknown_whether_merged(&problem)
                };
            }
            problem.to_string()
        } else {
            "no answer from the forge".to_owned()
        };
        self.not_merged(&reason);
    }

    /// Ends because the forge could not be asked whether the merge happened.
    fn unknown_whether_merged(&mut self, problem: &Problem) {
        let problem = unknown(problem);
        if self.terms.whole().is_some() {
            return self.announce(Some(problem));
        }
        self.leave(OutcomeStatus::NeedsHuman, Some(problem));
    }

    /// Ends because the forge merges later, into its base at that time.
    fn queued(&mut self) {
        if self.terms.whole().is_some() {
            self.state.whole.queued = self.head();
            return self.announce(Some(queued()));
        }
        let body = "Added to the merge queue. Drive has not verified what the queue will merge.";
        let post = ClosingPost {
            act: ForgeAct::PostComment {
                body: body.to_owned(),
            },
            key: self
                .head()
                .map(|head| PostKey::Step(format!("queued/{head}"))),
        };
        self.close_with(vec![post], OutcomeStatus::NeedsHuman, Some(queued()));
    }

    /// Handles comments or requests for changes that arrived during the verification, before the merge.
    fn interrupted(&mut self, poll: PollResult) {
        let missing = poll.missing.clone();
        let unread = self.unread(&poll.comments);
        if let Some(first) = unread.first() {
            self.state.watch.interrupted = Some(Interrupted {
                by: first.author.clone(),
                words: first_line(&first.body),
            });
        }
        self.state.stage = Stage::Watching;
        if self.take_up(poll, true) {
            return;
        }
        if let Some(missing) = missing {
            return self.not_merged(&format!("could not read all of it: {missing}"));
        }
        if self.has_work() {
            // The verdicts stay with their commit; the comments are answered first.
            self.state.end = None;
            return self.close_batch();
        }
        if let Some(problem) = self.objected_to() {
            return self.say_not_merged(problem);
        }
        if self.pending_checks().is_some() {
            // The phase waits for the checks, up to their timeout.
            self.state.end = None;
            return self.close_batch();
        }
        if let Some(problem) = self.against_merge() {
            return self.say_not_merged(problem);
        }
        match self.interruption() {
            Some(problem) => self.say_not_merged(problem),
            None => self.not_merged("the pull request changed right before the merge"),
        }
    }

    /// The problem of a comment that a person wrote during the merge: it prevents the merge,
    /// whatever a fixer does about it.
    fn interruption(&self) -> Option<Problem> {
        let Interrupted { by, words } = self.state.watch.interrupted.as_ref()?;
        let message = format!("{NOT_MERGED}{by} wrote right before the merge: {words}");
        let problem = Problem::new(Kind::Objected, message);
        Some(problem.hint("read the answer on the pull request, then merge it by hand"))
    }

    /// The problem of a person's comment that no fixer fixed.
    fn unfixed(&self) -> Option<Problem> {
        let entry = self.state.ledger.unfixed()?;
        let message = format!(
            "{NOT_MERGED}a comment of {} is answered, but not fixed: {}",
            entry.author,
            first_line(&entry.body)
        );
        let problem = Problem::new(Kind::CommentsOpen, message);
        Some(problem.hint("settle it on the pull request, then merge it by hand"))
    }

    /// The known objections of people and checks against a merge of the commit.
    pub(super) fn standing(&self) -> Option<Problem> {
        self.objected_to()
            .or_else(|| self.interruption())
            .or_else(|| self.unfixed())
            .or_else(|| self.against_merge())
    }

    /// The problem of a standing request for changes.
    pub(super) fn objected_to(&self) -> Option<Problem> {
        self.objection()?;
        let who = objected(&self.state.watch.objections);
        let problem = Problem::new(Kind::Objected, format!("{NOT_MERGED}{who}"));
        Some(problem.hint("resolve what the review asks for, or dismiss it, then merge it by hand"))
    }

    /// Posts on the pull request, which stays open, why it was not merged.
    fn say_not_merged(&mut self, problem: Problem) {
        if self.terms.whole().is_some() {
            return self.announce(Some(problem));
        }
        let number = self.state.counts.verifications;
        let name = match self.head() {
            Some(head) => format!("notMerged/{head}/{number}"),
            None => format!("notMerged/{number}"),
        };
        let body = format!(
            "Not merged: {}.",
            public(not_merged_because(&problem), self.run)
        );
        let post = ClosingPost {
            act: ForgeAct::PostComment { body },
            key: Some(PostKey::Step(name)),
        };
        self.close_with(vec![post], OutcomeStatus::NeedsHuman, Some(problem));
    }

    fn not_merged(&mut self, reason: &str) {
        let problem = not_merged(reason);
        if self.run.work.pull_request.is_none() {
            return self.leave(OutcomeStatus::NeedsHuman, Some(problem));
        }
        self.say_not_merged(problem);
    }
}

fn missing_of(report: &Verification) -> Vec<Layer> {
    let layer = |name: &str| {
        let mut all = LayerName::ALL.into_iter();
        all.find(|layer| layer.as_str() == name)
    };
    let missing = report.workspace.missing.iter().filter_map(|one| {
        Some(Layer {
            name: layer(&one.name)?,
            state: LayerState::Missing(one.consequence.clone()),
        })
    });
    missing.collect()
}
