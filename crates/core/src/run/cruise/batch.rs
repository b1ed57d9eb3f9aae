//! What a fixer is told about the comments it is to deal with.

use super::super::effect::{AgentJob, JobComment};
use super::ledger::Entry;
use super::{Flight, PLAN_PATH, PlanCheck};
use crate::agent::Role;
use crate::forge::CommentKey;
use crate::prompts::{BatchComment, GivenOn, Prompt};

impl Flight<'_> {
    /// The job of a fresh fixer: these comments, and what is wrong with the plan.
    pub(super) fn fixer(&self, round: u32, batch: &[CommentKey]) -> AgentJob {
        let entries: Vec<&Entry> = batch
            .iter()
            .filter_map(|key| self.cruise.ledger.get(key))
            .collect();
        let ids: Vec<String> = entries.iter().map(|entry| entry.id()).collect();
        let head = self.run.work.head_sha.as_deref();
        let is_older = |entry: &Entry| entry.commit.is_some() && entry.commit.as_deref() != head;
        let comments: Vec<BatchComment<'_>> = entries
            .iter()
            .zip(&ids)
            .map(|(entry, id)| BatchComment {
                id,
                author: &entry.author,
                url: entry.url.as_deref(),
                file: entry.path.as_deref(),
                line: entry.line,
                given_on: match entry.commit.as_deref() {
                    None => GivenOn::Unknown,
                    Some(commit) if is_older(entry) => GivenOn::Older { commit },
                    Some(commit) => GivenOn::Head { commit },
                },
                body: &entry.body,
            })
            .collect();
        let plan_error = match &self.cruise.plan {
            PlanCheck::Invalid { errors } => Some(errors.as_str()),
            PlanCheck::Valid { .. } | PlanCheck::Unread => None,
        };
        let prompt = self.terms.prompts.render(&Prompt::FixBatch {
            task: &self.request.task,
            plan_path: PLAN_PATH,
            comments: &comments,
            plan_error,
            round,
        });
        let mut job = self.job(self.terms.fixer.clone(), Role::Fixer, prompt);
        job.round = round;
        job.input.comments = entries
            .iter()
            .zip(&ids)
            .map(|(entry, id)| JobComment {
                id: id.clone(),
                author: entry.author.clone(),
                file: entry.path.clone(),
                line: entry.line,
                body: entry.body.clone(),
                url: entry.url.clone(),
                commit: entry.commit.clone(),
                is_older: is_older(entry),
            })
            .collect();
        job
    }
}
