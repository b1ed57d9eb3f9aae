//! The limits and the last words.

use super::super::effect::{Effect, EffectResult};
use super::super::forge_act::ForgeAct;
use super::super::outcome::OutcomeStatus;
use super::retrying::is_final;
use super::texts::{approved_comment, limit_comment, pull_request_body, stopped_comment};
use super::{Approved, Flight, PlanCheck, Stage, Word};
use crate::Problem;
use crate::ids::EffectKey;
use crate::review::{LastWord, Move};

/// How often the same last word is tried.
const MOST_TRIES: u32 = 5;

/// How a cruise will end.
pub(super) struct Ends {
    /// What is still to be said.
    pub(super) words: Vec<Word>,
    /// The status it will have.
    pub(super) status: OutcomeStatus,
    /// The failure it will have.
    pub(super) failure: Option<Problem>,
}

impl Flight<'_> {
    /// Which limit keeps an agent from starting, in words.
    pub(super) fn limit_reached(&self) -> Option<String> {
        let spent = self.run.spent;
        if let Some(overrun) = self.request.budget.overrun(spent.usage, spent.cost) {
            return Some(format!("the run {overrun}"));
        }
        let most = self
            .terms
            .max_rounds
            .saturating_add(self.cruise.extra_rounds);
        (self.cruise.rounds >= most).then(|| format!("{most} fixer rounds are used up"))
    }

    /// One comment says what is open and who must act.
    pub(super) fn tell_limit(&mut self, limit: String) {
        let body = limit_comment(&limit, &self.cruise.ledger);
        let proof = format!("limit/{}/{}", self.cruise.rounds, self.cruise.extra_rounds);
        self.cruise.limit = Some(limit);
        self.cruise.stage = Stage::TellingLimit;
        self.on_forge(ForgeAct::PostComment { body }, Some(proof));
    }

    pub(super) fn limit_told(&mut self, key: &EffectKey, effect: Effect, result: EffectResult) {
        if let EffectResult::Failed { problem } = result {
            return self.try_again(key, effect, &problem);
        }
        self.close_batch();
    }

    /// The approval that counts: of this very head, of a sound plan, with nothing left open. At a limit
    /// a person is asked to decide, and may approve although comments wait.
    pub(super) fn approved(&self) -> Option<Approved> {
        let waits = self.has_work();
        let is_open = waits && self.cruise.limit.is_none();
        if is_open
            || !self.cruise.injected.is_empty()
            || !matches!(self.cruise.plan, PlanCheck::Valid { .. })
        {
            return None;
        }
        let head = self.run.work.head_sha.as_ref()?;
        let given = &self.cruise.watch;
        let mut given = given.approvals.iter().chain(&given.granted);
        let by_person = given.find(|one| one.head == *head).cloned();
        by_person.or_else(|| {
            let all = matches!(self.cruise.next, Move::Done(LastWord::Approved));
            (self.terms.auto_approve && all && !waits).then(|| Approved {
                by: "--auto-approve".to_owned(),
                head: head.clone(),
            })
        })
    }

    /// The plan is approved: as far as a cruise goes.
    pub(super) fn finish(&mut self, approved: &Approved) {
        let body = pull_request_body(self.run, &self.cruise, self.request, true);
        let words = vec![
            Word {
                act: ForgeAct::SetStatus {
                    sha: approved.head.clone(),
                    passed: true,
                    description: "the plan is approved".to_owned(),
                },
                proof: None,
            },
            Word {
                act: ForgeAct::UpdateBody { body },
                proof: None,
            },
            Word {
                act: ForgeAct::PostComment {
                    body: approved_comment(approved, self.terms.plan_only, &self.cruise.ledger),
                },
                proof: Some(format!("approved/{}", approved.head)),
            },
        ];
        self.end_with(Ends {
            words,
            status: OutcomeStatus::Succeeded,
            failure: None,
        });
    }

    /// Ends it before its work is done, and says so where people wait for it.
    pub(super) fn stop(&mut self, status: OutcomeStatus, problem: Problem) {
        let word = Word {
            act: ForgeAct::PostComment {
                body: stopped_comment(&problem, &self.cruise.ledger),
            },
            proof: Some("stopped".to_owned()),
        };
        self.end_with(Ends {
            words: vec![word],
            status,
            failure: Some(problem),
        });
    }

    /// Says these words, then ends like this.
    pub(super) fn end_with(&mut self, ends: Ends) {
        let Ends {
            mut words,
            status,
            failure,
        } = ends;
        self.run.pending.clear();
        self.run.timers.clear();
        self.cruise.retry = None;
        self.cruise.tries = 0;
        if words.is_empty() {
            return self.leave(status, failure);
        }
        let word = words.remove(0);
        self.cruise.stage = Stage::Ending {
            words,
            status,
            failure: failure.clone(),
        };
        if !self.on_forge(word.act, word.proof) {
            self.leave(status, failure);
        }
    }

    /// Words that could not be said are tried again for some minutes, and are no reason to end
    /// otherwise.
    pub(super) fn said(
        &mut self,
        ends: Ends,
        key: &EffectKey,
        effect: Effect,
        result: &EffectResult,
    ) {
        if let EffectResult::Failed { problem } = result {
            if self.cruise.tries < MOST_TRIES && !is_final(problem) {
                return self.try_again(key, effect, problem);
            }
            self.run
                .warnings
                .push(format!("the pull request was not told: {problem}"));
        }
        self.end_with(ends);
    }
}
