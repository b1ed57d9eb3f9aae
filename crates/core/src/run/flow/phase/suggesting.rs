//! Applies people's suggestions unchanged, without an agent. A suggestion that does not fit the
//! file goes to a fixer like any other comment.

use super::super::super::model::{Effect, Entry, Life, Round, RoundJob, RoundStep, Stage};
use super::PhaseFlow;
use crate::agent::answer::{CommentAction, CommentAnswer};
use crate::forge::suggestion::{Replacement, applied};
use crate::forge::{CommentVersion, Surface};
use crate::ids::CommitSha;

impl PhaseFlow<'_> {
    /// Begins a round for the suggestions in one file. Returns whether there are any.
    pub(super) fn apply_suggestions(&mut self, number: u32) -> bool {
        let head = self.head();
        let waiting = self.state.ledger.open();
        let waiting = waiting.filter_map(|entry| suggestion(entry, head.as_ref()));
        let mut waiting: Vec<(CommentVersion, String, Replacement)> = waiting.collect();
        let Some(path) = waiting.first().map(|(_, path, _)| path.clone()) else {
            return false;
        };
        let Some(head) = head else {
            return false;
        };
        waiting.retain(|(_, other, _)| *other == path);
        let batch: Vec<CommentVersion> = waiting.iter().map(|(key, _, _)| key.clone()).collect();
        let edits = waiting.into_iter().map(|(_, _, edit)| edit).collect();
        let entries = batch.iter().filter_map(|key| self.state.ledger.get(key));
        let answers = entries.map(|entry| CommentAnswer {
            id: entry.id(),
            action: CommentAction::Fixed,
            note: "Applied the suggestion unchanged.".to_owned(),
        });
        let answers: Vec<CommentAnswer> = answers.collect();
        self.state.ledger.dispatch_these(number, &batch);
        self.at(Round {
            number,
            job: RoundJob::Fix {
                batch,
                findings: Vec::new(),
            },
            step: RoundStep::Apply {
                path: path.clone(),
                edits,
            },
            head_before: Some(head.clone()),
            answers,
        });
        self.run.decide(Effect::ReadFile {
            sandbox: self.run.sandbox_id(),
            commit: head,
            path,
        });
        true
    }

    /// Applies the suggestions to the text of the file.
    pub(super) fn apply_to(&mut self, round: Round, text: Option<&str>) {
        let RoundStep::Apply { path, edits } = &round.step else {
            return;
        };
        let Some(text) = text.and_then(|text| applied(text, edits)) else {
            return self.leave_to_fixer(round);
        };
        self.state.rounds += 1;
        self.run.decide(Effect::WriteFile {
            sandbox: self.run.sandbox_id(),
            path: path.clone(),
            text: Some(text),
        });
        self.at(round);
    }

    /// Leaves the suggestions to a fixer, because they could not be applied; that counts as one try.
    pub(super) fn leave_to_fixer(&mut self, round: Round) {
        let RoundJob::Fix { batch, .. } = round.job else {
            return;
        };
        for key in &batch {
            self.state.ledger.give_back(key, Life::Seen);
        }
        self.state.stage = Stage::Watching;
        self.proceed();
    }
}

/// The suggestion in a comment, if the comment has one and nobody tried to apply it yet.
fn suggestion(
    entry: &Entry,
    head: Option<&CommitSha>,
) -> Option<(CommentVersion, String, Replacement)> {
    let is_fresh = entry.life == Life::Seen && entry.tries == 0 && entry.review.is_none();
    if !is_fresh || entry.key.surface != Surface::Inline {
        return None;
    }
    let is_current = entry.commit.as_ref() == head;
    let edit = Replacement::of(&entry.body, entry.line?, entry.origin.as_ref(), is_current)?;
    Some((entry.key.clone(), entry.path.clone()?, edit))
}
