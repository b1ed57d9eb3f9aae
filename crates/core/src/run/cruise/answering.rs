//! What a round came to for each of its comments, and how their authors are told.

use super::super::forge_act::{ForgeAct, ForgeAnswer};
use super::ledger::{Answer, Entry, Life};
use super::texts::reply;
use super::{Flight, Round, RoundJob, RoundStep};
use crate::Problem;
use crate::agent::answer::CommentAction;
use crate::forge::{COMMENT_NOT_FOUND, CommentKey, CommentRef, Surface};

impl Flight<'_> {
    /// What the fixer did about each of its comments, as far as it said. One that it did not name
    /// is answered too, without a claim: that a commit was made says nothing about this comment.
    pub(super) fn enter_answers(&mut self, round: &Round) {
        let RoundJob::Fix { batch } = &round.job else {
            return;
        };
        let head = self.run.work.head_sha.clone();
        let commit = head.filter(|head| round.head_before.as_ref() != Some(head));
        for key in batch {
            let Some(id) = self.cruise.ledger.get(key).map(Entry::id) else {
                continue;
            };
            let said = round.answers.iter().find(|one| one.id == id);
            let answer = Answer {
                action: said.map(|one| one.action),
                is_unsaid: said.is_none(),
                commit: commit.clone(),
                note: said.map_or(String::new(), |one| one.note.clone()),
            };
            self.cruise.ledger.set(key, Life::Answered { answer });
        }
    }

    /// Answers the next author who waits; when there is none, the round is over.
    pub(super) fn next_reply(&mut self, mut round: Round) {
        let waiting = self.cruise.ledger.entries().find_map(|entry| {
            let answer = entry.life.pushed()?;
            Some((entry.key.clone(), reply(entry, answer), entry.proof()))
        });
        let Some((key, body, proof)) = waiting else {
            return self.round_over(&round);
        };
        let to = key.comment();
        round.step = RoundStep::Reply { key };
        self.at(round);
        self.on_forge(ForgeAct::Reply { to, body }, Some(proof));
    }

    pub(super) fn answered(&mut self, round: Round, answer: &ForgeAnswer) {
        match (round.step.clone(), answer) {
            (RoundStep::Reply { key }, ForgeAnswer::Posted { comment }) => {
                self.replied(round, key, *comment);
            }
            _ => self.next_reply(round),
        }
    }

    fn replied(&mut self, mut round: Round, key: CommentKey, reply: CommentRef) {
        self.active();
        let entry = self.cruise.ledger.get(&key);
        let Some(answer) = entry.and_then(|entry| entry.life.pushed()).cloned() else {
            return self.next_reply(round);
        };
        let is_fixed = answer.action == Some(CommentAction::Fixed) && answer.commit.is_some();
        let reply = Some(reply);
        let life = Life::Replied { answer, reply };
        self.cruise.ledger.set(&key, life);
        if !is_fixed || key.surface != Surface::Inline {
            return self.next_reply(round);
        }
        let comment = key.comment();
        round.step = RoundStep::Resolve { key };
        self.at(round);
        self.on_forge(ForgeAct::ResolveThread { comment }, None);
    }
}

/// Whether a comment is not there any more. A forge that shows nothing at all may be asked again.
pub(super) fn is_lost(problem: &Problem) -> bool {
    problem.kind == COMMENT_NOT_FOUND
}
