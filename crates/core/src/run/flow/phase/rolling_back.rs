//! Rolls a sandbox back to its last commit: its uncommitted work is saved, and its comments wait again.

use super::super::super::model::{
    Answer, Effect, FixerResult, Life, MOST_TRIES, RollBackCost, Round, RoundJob, RoundStep, Stage,
};
use super::PhaseFlow;
use crate::sandbox::KeptWork;

impl PhaseFlow<'_> {
    /// Saves uncommitted changes of the sandbox, and resets the sandbox to the last commit.
    pub(in crate::run) fn roll_back(&mut self, mut round: Round, why: String, cost: RollBackCost) {
        let to = round.head_before.clone();
        round.step = RoundStep::RollBack { why, cost };
        self.at(round);
        self.run.decide(Effect::RollBack {
            sandbox: self.run.sandbox_id(),
            to: to.unwrap_or_else(|| self.base_sha()),
        });
    }

    /// Gives the comments of the round back. A comment that used up its tries gets a reply instead.
    pub(super) fn rolled_back(&mut self, mut round: Round, kept: Option<KeptWork>) {
        let RoundStep::RollBack { why, cost } = round.step.clone() else {
            return;
        };
        let costs_time = cost == RollBackCost::Time;
        let mut note = why;
        if let Some(kept) = &kept {
            note = format!(
                "{note}. The unfinished work is saved as `{}`.",
                kept.reference
            );
            // Only an agent that retries the same work is told where the saved work is.
            if costs_time {
                self.state.saved = Some(kept.sha.clone());
            }
        }
        let RoundJob::Fix { batch, findings } = &mut round.job else {
            return self.tidied(round);
        };
        let most = if self.terms.is_watched() {
            MOST_TRIES
        } else {
            1
        };
        for key in batch.iter() {
            let tries = self.state.ledger.get(key).map_or(0, |entry| entry.tries);
            let life = if !costs_time && tries >= most {
                let answer = Answer {
                    action: FixerResult::Failed,
                    commit: None,
                    note: note.clone(),
                };
                self.record_answer(key, &answer);
                Life::Pushed { answer }
            } else {
                // An agent that left nothing did not take over the work that was saved before.
                if let Some(kept) = &kept {
                    self.state.saved = Some(kept.sha.clone());
                }
                Life::Seen
            };
            if costs_time {
                self.state.ledger.untry(key);
            }
            self.state.ledger.give_back(key, life);
        }
        let findings = std::mem::take(findings);
        if costs_time {
            let later = std::mem::replace(&mut self.state.findings, findings);
            self.state.findings.extend(later);
        } else {
            for finding in &findings {
                let answer = Answer {
                    action: FixerResult::Failed,
                    commit: None,
                    note: note.clone(),
                };
                self.enter_finding(finding, answer);
            }
        }
        self.next_reply(round);
    }

    /// Continues with the round, after the sandbox was reset to the last commit.
    fn tidied(&mut self, round: Round) {
        match round.job {
            RoundJob::Make => {
                self.state.stage = Stage::Watching;
                self.proceed();
            }
            RoundJob::Adopt | RoundJob::CatchUp | RoundJob::CheckBase | RoundJob::Fix { .. } => {
                self.check(round);
            }
        }
    }
}
