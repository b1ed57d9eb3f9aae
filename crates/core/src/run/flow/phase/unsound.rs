//! A plan with errors: fixers correct it while they make progress, then a person is asked.

use super::super::super::model::{Pause, PlanCheck, PostKey, Round, RoundJob};
use super::PhaseFlow;
use super::texts::unsound_comment;
use crate::plan::PlanErrors;
use std::collections::BTreeSet;

/// How many rounds without progress end the corrections.
const MOST_ROUNDS: u32 = 2;

impl PhaseFlow<'_> {
    /// Takes the result of a plan check. Different errors than before count as progress.
    pub(super) fn take_check(&mut self, round: &Round, plan: PlanCheck) {
        let is_same = is_same(&self.state.plan, &plan);
        match (&round.job, is_same) {
            (RoundJob::Fix { .. }, true) => self.state.counts.same_errors += 1,
            (_, true) => {}
            (_, false) => {
                self.state.counts.same_errors = 0;
                if let Some(Pause::Unsound { .. }) = self.state.pause {
                    self.state.pause = None;
                }
            }
        }
        self.state.plan = plan;
    }

    /// Waits for a person if fixers make no progress.
    pub(super) fn stop_correcting(&mut self, round: &Round) {
        let rounds = self.state.counts.same_errors;
        let PlanCheck::Invalid { errors } = &self.state.plan else {
            return;
        };
        let is_fix = matches!(round.job, RoundJob::Fix { .. });
        if !is_fix || rounds < MOST_ROUNDS || self.state.pause.is_some() {
            return;
        }
        let body = unsound_comment(errors, rounds, self.run);
        let why = format!("the plan has the same errors after {rounds} fixer rounds");
        self.state.pause = Some(Pause::Unsound { why });
        self.say(
            PostKey::Aside(format!("unsound/{}", self.state.rounds)),
            body,
        );
    }
}

/// Whether two checks found the same errors, at any place in the file.
fn is_same(before: &PlanCheck, after: &PlanCheck) -> bool {
    match (before, after) {
        (PlanCheck::Invalid { errors: before }, PlanCheck::Invalid { errors: after }) => {
            parts(before) == parts(after)
        }
        (PlanCheck::Unread | PlanCheck::Valid { .. } | PlanCheck::Invalid { .. }, _) => false,
    }
}

/// The errors without their lines, and the number of further errors.
fn parts(errors: &PlanErrors) -> (BTreeSet<&str>, usize) {
    let messages = errors.list().iter().map(|error| error.message.as_str());
    (messages.collect(), errors.more())
}
