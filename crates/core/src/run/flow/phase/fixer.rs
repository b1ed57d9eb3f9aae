//! The comments and findings in a fixer's prompt.

use super::super::super::model::{AgentJob, Entry, JobComment, PLAN_PATH, PlanCheck, Remark};
use super::super::reply::FINDINGS_ID;
use super::PhaseFlow;
use crate::agent::Role;
use crate::forge::CommentKey;
use crate::prompts::{BatchComment, GivenOn, Prompt};

impl PhaseFlow<'_> {
    /// The job of a fresh fixer: these findings, or these comments and the errors of the plan.
    pub(super) fn fixer(&self, round: u32, batch: &[CommentKey], findings: &[Remark]) -> AgentJob {
        let entries: Vec<&Entry> = batch
            .iter()
            .filter_map(|key| self.state.ledger.get(key))
            .collect();
        let prompt = match (findings, entries.as_slice()) {
            ([finding, ..], _) => self.terms.prompts.render(&Prompt::Fix {
                task: &self.request.task,
                remarks: &finding.body,
            }),
            ([], [entry]) if !self.terms.is_watched() => self.resolve_prompt(entry),
            ([], entries) => self.batch_prompt(round, entries),
        };
        let mut job = self.phase_job(&self.terms.fixer, Role::Fixer, prompt);
        job.round = round;
        let head = self.run.work.head_sha.as_deref();
        job.input.comments = findings.iter().map(finding_input).collect();
        job.input
            .comments
            .extend(entries.iter().map(|entry| comment_input(entry, head)));
        job
    }

    /// One comment with its thread.
    fn resolve_prompt(&self, entry: &Entry) -> String {
        let thread = entry.thread.map_or(String::new(), |thread| {
            self.state.threads.before(thread, entry.key.id)
        });
        self.terms.prompts.render(&Prompt::Resolve {
            task: &self.request.task,
            id: &entry.id(),
            author: &entry.author,
            file: entry.path.as_deref(),
            line: entry.line,
            body: &entry.body,
            thread: &thread,
        })
    }

    /// All waiting comments, and the errors of the plan.
    fn batch_prompt(&self, round: u32, entries: &[&Entry]) -> String {
        let ids: Vec<String> = entries.iter().map(|entry| entry.id()).collect();
        let head = self.run.work.head_sha.as_deref();
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
                    Some(commit) if is_older(entry, head) => GivenOn::Older { commit },
                    Some(commit) => GivenOn::Head { commit },
                },
                body: &entry.body,
            })
            .collect();
        let plan_error = match &self.state.plan {
            PlanCheck::Invalid { errors } => Some(errors.as_str()),
            PlanCheck::Valid { .. } | PlanCheck::Unread => None,
        };
        self.terms.prompts.render(&Prompt::FixBatch {
            task: &self.request.task,
            plan_path: PLAN_PATH,
            comments: &comments,
            plan_error,
            round,
        })
    }
}

/// Whether the branch has moved on since the commit that a comment was given on.
fn is_older(entry: &Entry, head: Option<&str>) -> bool {
    entry.commit.is_some() && entry.commit.as_deref() != head
}

fn comment_input(entry: &Entry, head: Option<&str>) -> JobComment {
    JobComment {
        id: entry.id(),
        author: entry.author.clone(),
        file: entry.path.clone(),
        line: entry.line,
        body: entry.body.clone(),
        url: entry.url.clone(),
        commit: entry.commit.clone(),
        is_older: is_older(entry, head),
    }
}

fn finding_input(finding: &Remark) -> JobComment {
    JobComment {
        id: FINDINGS_ID.to_owned(),
        author: finding.author.clone(),
        file: finding.file.clone(),
        line: finding.line,
        body: finding.body.clone(),
        url: None,
        commit: None,
        is_older: false,
    }
}
