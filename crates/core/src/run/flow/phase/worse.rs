//! Verifies each commit of a coder or fixer before it is published. Reviewers get the result, and a
//! fix that makes verification worse is taken back.

use super::super::super::model::{
    Effect, Judged, Makes, Mark, RollBackCost, Round, RoundJob, RoundStep, RoundVerified,
};
use super::super::proof::{failure_of, is_proof};
use super::PhaseFlow;
use super::whole::LONGEST_REPORT;
use crate::forge::text::fit;
use crate::ids::{CommitSha, EffectKey};
use crate::problem::{Class, Kind, Problem};
use crate::review::resolution;
use crate::verify::{Overall, StageStatus, Verification, promotable, render};

/// How many results are stored.
const MOST_VERIFIED: usize = 4;

impl PhaseFlow<'_> {
    /// Whether the head is verified before it is published.
    pub(super) fn verifies(&self, round: &Round) -> bool {
        let is_wanted =
            self.terms.review.verify && matches!(self.terms.makes, Makes::Change { .. });
        let is_new = self.head().is_some() && self.state.pushed != self.run.work.head_sha;
        let is_ours = match round.job {
            RoundJob::Make | RoundJob::Fix { .. } => true,
            RoundJob::Adopt | RoundJob::CatchUp | RoundJob::CheckBase => false,
        };
        is_wanted && is_new && is_ours && self.base().is_some()
    }

    /// Verifies the head, or continues with its known result.
    pub(super) fn verify_round(&mut self, mut round: Round) {
        let Some(head) = self.head() else {
            return self.publish_verified(round);
        };
        if let Some(known) = self.verified_of(&head).cloned() {
            return self.weigh_round(round, &known);
        }
        round.step = RoundStep::Verify;
        self.verify_commit(round, head);
    }

    fn verify_commit(&mut self, round: Round, head: CommitSha) {
        let Some(base) = self.base() else {
            return self.publish_verified(round);
        };
        self.at(round);
        self.run.decide(Effect::Verify {
            head,
            base,
            rules: None,
        });
    }

    /// The newest result for a commit.
    pub(in crate::run) fn verified_of(&self, head: &CommitSha) -> Option<&RoundVerified> {
        let mut newest = self.state.verified.iter().rev();
        newest.find(|one| one.judged.head_sha == *head)
    }

    /// Stores a result. Only the newest one and the head's keep their report.
    pub(super) fn note_verified(
        &mut self,
        head: &CommitSha,
        base: &CommitSha,
        report: &Verification,
    ) {
        let is_passed = report.overall == Overall::Pass;
        let mark = if promotable(report, head, base).is_some() {
            Mark::Passed
        } else if is_proof(report) {
            Mark::Failed
        } else {
            Mark::Unknown
        };
        let stages = |status: StageStatus| {
            let those = report.stages.iter().filter(move |one| one.status == status);
            those.map(|one| format!("{}/{}", one.route, one.name.as_str()))
        };
        let one = RoundVerified {
            judged: Judged {
                run_id: report.run_id.clone(),
                overall: report.overall,
                head_sha: head.clone(),
                base_sha: base.clone(),
                tree_sha: report.candidate.merged_tree_sha.clone(),
                why: (!is_passed).then(|| failure_of(report)),
            },
            mark,
            failing: stages(StageStatus::Fail).collect(),
            skipped: stages(StageStatus::Skipped).collect(),
            report: (!is_passed).then(|| fit(&render::markdown(report), LONGEST_REPORT)),
        };
        let current = self.head();
        let all = &mut self.state.verified;
        for older in all.iter_mut() {
            if Some(&older.judged.head_sha) != current.as_ref() {
                older.report = None;
            }
        }
        all.push(one);
        let more = all.len().saturating_sub(MOST_VERIFIED);
        all.drain(..more);
    }

    /// Takes the result of verifying the head or the commit before the round.
    pub(super) fn round_verified(
        &mut self,
        round: Round,
        effect: &Effect,
        base: &CommitSha,
        report: &Verification,
    ) {
        let Effect::Verify { head, .. } = effect else {
            return;
        };
        let head = head.clone();
        if round.step == RoundStep::VerifyBefore {
            let after = self
                .head()
                .and_then(|head| self.verified_of(&head).cloned());
            self.note_verified(&head, base, report);
            let before = self.verified_of(&head).cloned();
            if let (Some(after), Some(before)) = (after, before) {
                return self.compare(round, &after, &before);
            }
            return self.publish_verified(round);
        }
        self.note_verified(&head, base, report);
        self.verify_round(round);
    }

    /// Decides what a result means. A failure on a coder's commit is left to its reviewers; a
    /// failure on a fixer's commit is compared with the result of the commit before.
    fn weigh_round(&mut self, mut round: Round, after: &RoundVerified) {
        let before = match (&round.job, after.mark) {
            (RoundJob::Fix { .. }, Mark::Failed) => round.head_before.clone(),
            (RoundJob::Fix { .. }, Mark::Passed | Mark::Unknown)
            | (
                RoundJob::Make | RoundJob::Adopt | RoundJob::CatchUp | RoundJob::CheckBase,
                Mark::Passed | Mark::Failed | Mark::Unknown,
            ) => None,
        };
        let Some(before) = before else {
            return self.publish_verified(round);
        };
        let known = self.verified_of(&before).cloned();
        match known.filter(|known| known.judged.base_sha == after.judged.base_sha) {
            Some(before) => self.compare(round, after, &before),
            None => {
                round.step = RoundStep::VerifyBefore;
                self.verify_commit(round, before);
            }
        }
    }

    fn compare(&mut self, round: Round, after: &RoundVerified, before: &RoundVerified) {
        let is_same_base = after.judged.base_sha == before.judged.base_sha;
        let is_worse = match before.mark {
            Mark::Passed => true,
            // A stage that was skipped before is not known to be worse.
            Mark::Failed => after
                .failing
                .iter()
                .any(|stage| !before.failing.contains(stage) && !before.skipped.contains(stage)),
            Mark::Unknown => false,
        };
        if is_same_base && is_worse {
            self.take_back(round, after);
        } else {
            self.publish_verified(round);
        }
    }

    /// Moves the branch back to the commit before the round; the next fixer gets the report.
    fn take_back(&mut self, round: Round, after: &RoundVerified) {
        let dropped = after.judged.head_sha.clone();
        let why = after.judged.why.as_deref().unwrap_or("it failed");
        let why = format!(
            "{} did not pass verification, and the commit before it did better: {why}. It was taken \
             back",
            dropped.short()
        );
        self.state.whole.red = after.report.clone().or_else(|| after.judged.why.clone());
        self.run.work.head_sha.clone_from(&round.head_before);
        let commits = &mut self.run.work.commits;
        let kept = commits
            .iter()
            .position(|commit| Some(&commit.sha) == round.head_before.as_ref());
        match kept {
            Some(last) => commits.truncate(last + 1),
            None => commits.retain(|commit| commit.sha != dropped),
        }
        self.unmeasure(&round, &dropped);
        self.roll_back(round, why, RollBackCost::Try);
    }

    /// Removes the measurements of a commit that was taken back. The next commit measures the older
    /// reviews again.
    fn unmeasure(&mut self, round: &Round, dropped: &CommitSha) {
        let record = &mut self.state.record;
        let is_dropped =
            |number: u32, head: Option<&CommitSha>| number == round.number && head == Some(dropped);
        record
            .rounds
            .retain(|one| !is_dropped(one.number, one.head.as_ref()));
        for review in &mut record.reviews {
            if review.resolution.is_some() {
                let is_current = review.head == round.head_before;
                review.resolution = is_current.then(|| resolution(&review.findings, &[]));
            }
        }
    }

    /// Continues after the verifier failed to answer, which delays no work and proves nothing against it.
    pub(super) fn round_unverified(
        &mut self,
        round: Round,
        key: &EffectKey,
        effect: Effect,
        problem: Problem,
    ) {
        if problem.class() == Class::Interrupted {
            return self.try_again_or_fail(key, effect, problem);
        }
        // The commit passed; only its merge needs a person's approval.
        let is_passed = problem.kind == Kind::SteeringUnapproved;
        if is_passed && round.step == RoundStep::VerifyBefore {
            let after = self
                .head()
                .and_then(|head| self.verified_of(&head).cloned());
            if let Some(after) = after {
                return self.take_back(round, &after);
            }
        }
        if !is_passed {
            let head = self.head().unwrap_or_else(|| self.base_sha());
            self.warn(format!("could not verify {}: {problem}", head.short()));
        }
        self.publish_verified(round);
    }

    fn publish_verified(&mut self, round: Round) {
        self.state.whole.red = None;
        self.push_round(round);
    }
}
