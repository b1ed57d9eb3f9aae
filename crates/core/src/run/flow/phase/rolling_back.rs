//! Rolls a sandbox back to its last commit: the work is saved, and its comments wait again.

use super::super::super::model::{
    Answer, Effect, FixerResult, Life, MOST_TRIES, RollBackCost, Round, RoundJob, RoundStep, Stage,
};
use super::PhaseFlow;
use crate::sandbox::KeptWork;

impl PhaseFlow<'_> {
    /// Saves uncommitted changes of the sandbox, and resets it to the last commit.
    pub(in crate::run) fn roll_back(&mut self, mut round: Round, why: String, cost: RollBackCost) {
        let to = round.head_before.clone();
        round.step = RoundStep::RollBack { why, cost };
        self.at(round);
        self.run.decide(Effect::RollBack {
            sandbox: self.run.sandbox_id(),
            to: to.unwrap_or_else(|| self.base_sha()),
        });
    }

    /// A comment that outlived all its tries is given back to its author.
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
            // Only an agent that retries the same work is told of it.
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
                // An agent that left nothing has not taken over the work that was saved before it.
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

    /// The sandbox is at the last commit again, and the round can begin.
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
