//! Verified, then merged: the way of a pull request that was approved and is to be merged.
//!
//! The verdict is bound to the commit and to what its base is at that moment. Whatever happens in
//! between, the merge itself asks for both once more.

use super::super::effect::{Effect, EffectResult};
use super::super::forge_act::{ForgeAct, ForgeAnswer, VerifiedAgainst};
use super::super::outcome::OutcomeStatus;
use super::{Flight, TeamStage};
use crate::Problem;
use crate::ids::RunId;
use crate::review::LastWord;
use crate::verify::{Overall, Verification, promotable, render};
use serde::{Deserialize, Serialize};

/// How often it is verified, when its base moves each time.
const MOST_VERIFICATIONS: u32 = 3;

/// A verdict in short; the report is kept under its own name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Judged {
    /// The name of the report.
    pub run_id: RunId,
    /// The verdict.
    pub overall: Overall,
    /// The commit.
    pub head_sha: String,
    /// What it was to go to.
    pub base_sha: String,
}

impl Flight<'_> {
    /// Merges exactly the commit that every domain approved and that passes verification, or leaves
    /// it to a person.
    pub(super) fn promote(&mut self) {
        let head = self.head();
        let record = &self.team.record;
        if self.team.verdict != Some(LastWord::Approved) || !record.stale(&head).is_empty() {
            return self.not_merged("not every review approved the commit it has now");
        }
        if self.run.work.pull_request.is_none() {
            return self.not_merged("there is none");
        }
        let Some(base) = self.base() else {
            return self.not_merged("it is not known which branch it goes to");
        };
        self.team.verifications += 1;
        self.team.stage = TeamStage::Verifying;
        self.run.decide(Effect::Verify { head, base });
    }

    /// Nothing but a report that allows this very pair opens the way to the merge.
    pub(super) fn verified(&mut self, result: EffectResult) {
        let head = self.head();
        if let EffectResult::Verified { base, report } = result {
            self.team.judged = Some(Judged {
                run_id: report.run_id.clone(),
                overall: report.overall,
                head_sha: head.clone(),
                base_sha: base.clone(),
            });
            match promotable(&report, &head, &base) {
                true => self.merge(head, base),
                false => self.refuse(&head, &base, &report),
            }
        } else if let EffectResult::Failed { problem } = result {
            let hint = problem.hint.clone();
            let mut problem = not_merged(&format!("it could not be verified: {problem}"));
            if let Some(hint) = hint {
                problem = problem.hint(format!("{hint}; then merge it yourself"));
            }
            self.leave(OutcomeStatus::NeedsHuman, Some(problem));
        } else {
            self.not_merged("the verifier did not answer");
        }
    }

    fn merge(&mut self, head: String, sha: String) {
        self.team.stage = TeamStage::Merging;
        let verified = self.base().map(|base| VerifiedAgainst { base, sha });
        if !self.on_forge(ForgeAct::Merge { head, verified }) {
            self.not_merged("there is none");
        }
    }

    /// Says on the pull request what the verification came to; it stays open.
    fn refuse(&mut self, head: &str, base: &str, report: &Verification) {
        let why = match &report.failure {
            Some(failure) => format!("{}: {}", failure.category.as_str(), failure.reason),
            None => "the report is not about this commit and its base".to_owned(),
        };
        self.run.warnings.push(format!(
            "{head} was verified against {base} and did not pass: {why}"
        ));
        let again = format!("`drive verify {head} --base {base}` shows it again");
        let hint = match report.failure.as_ref().and_then(|one| one.hint.as_ref()) {
            Some(hint) => format!("{hint}; {again}"),
            None => again,
        };
        let problem = not_merged(&format!("verification did not pass: {why}")).hint(hint);
        self.team.stage = TeamStage::Refusing {
            problem: problem.clone(),
        };
        let body = render::markdown(report);
        if !self.on_forge(ForgeAct::PostComment { body }) {
            self.leave(OutcomeStatus::NeedsHuman, Some(problem));
        }
    }

    pub(super) fn refused(&mut self, problem: Problem, result: EffectResult) {
        if let EffectResult::Failed { problem } = result {
            self.run.warnings.push(format!(
                "what the verification came to does not stand on the pull request: {problem}"
            ));
        }
        self.leave(OutcomeStatus::NeedsHuman, Some(problem));
    }

    pub(super) fn merged(&mut self, result: EffectResult) {
        let reason = if let EffectResult::OnForge { answer } = result {
            match answer {
                ForgeAnswer::Merged { sha } => {
                    self.team.merged = sha.or_else(|| self.run.work.head_sha.clone());
                    return self.leave(OutcomeStatus::Succeeded, None);
                }
                ForgeAnswer::BaseMoved if self.team.verifications < MOST_VERIFICATIONS => {
                    return self.promote();
                }
                ForgeAnswer::BaseMoved => format!(
                    "the branch it goes to moved {MOST_VERIFICATIONS} times while it was verified"
                ),
                ForgeAnswer::NotMerged { reason } => reason,
                // Answers to other acts.
                ForgeAnswer::Heard { .. }
                | ForgeAnswer::Looked { .. }
                | ForgeAnswer::ReviewPosted { .. }
                | ForgeAnswer::Posted { .. }
                | ForgeAnswer::Done => "the forge did not say whether it was".to_owned(),
            }
        } else if let EffectResult::Failed { problem } = result {
            problem.to_string()
        } else {
            "the forge did not answer".to_owned()
        };
        self.not_merged(&reason);
    }

    fn not_merged(&mut self, reason: &str) {
        let problem = not_merged(reason);
        self.leave(OutcomeStatus::NeedsHuman, Some(problem));
    }

    fn head(&self) -> String {
        self.run.work.head_sha.clone().unwrap_or_default()
    }
}

fn not_merged(reason: &str) -> Problem {
    Problem::work(
        "notMerged",
        format!("the pull request was not merged: {reason}"),
    )
    .hint("it is ready: put that right and merge it yourself")
}
