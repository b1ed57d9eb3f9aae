//! The comments and findings in a fixer's prompt.

use super::super::super::model::{AgentJob, Entry, JobComment, PLAN_PATH, PlanCheck, Remark};
use super::super::reply::finding_id;
use super::PhaseFlow;
use crate::agent::Role;
use crate::forge::{CommentVersion, LineOrigin};
use crate::prompts::{BatchComment, GivenOn, Prompt};

impl PhaseFlow<'_> {
    /// The job of a new fixer: these findings, or these comments and the errors of the plan.
    pub(super) fn fixer(
        &self,
        round: u32,
        batch: &[CommentVersion],
        findings: &[Remark],
    ) -> AgentJob {
        let entries: Vec<&Entry> = batch
            .iter()
            .filter_map(|key| self.state.ledger.get(key))
            .collect();
        let prompt = self.fixer_prompt(round, &entries, findings);
        let mut job = self.phase_job(&self.terms.fixer, Role::Fixer, prompt);
        job.round = round;
        let head = self.run.work.head_sha.as_deref();
        let findings = findings.iter().enumerate();
        job.input.comments = findings.map(finding_input).collect();
        for entry in &entries {
            job.input.comments.extend(comment_inputs(entry, head));
        }
        job
    }

    /// The fixer's prompt: the findings or comments, and the errors of the plan.
    fn fixer_prompt(&self, round: u32, entries: &[&Entry], findings: &[Remark]) -> String {
        let asked: Vec<Asked<'_>> = entries.iter().flat_map(|entry| asked(entry)).collect();
        let threads = asked.iter().map(|one| self.thread(one.entry));
        let threads: Vec<String> = threads.collect();
        let finding_ids: Vec<String> = (0..findings.len()).map(finding_id).collect();
        let head = self.run.work.head_sha.as_deref();
        let findings = findings.iter().zip(&finding_ids);
        let mut comments: Vec<BatchComment<'_>> = findings
            .map(|(finding, id)| BatchComment {
                id,
                author: &finding.author,
                url: None,
                file: finding.file.as_deref(),
                line: finding.line,
                origin: None,
                given_on: head.map_or(GivenOn::Unknown, |commit| GivenOn::Head { commit }),
                body: &finding.body,
                thread: "",
            })
            .collect();
        let of_entries = asked.iter().zip(&threads);
        comments.extend(of_entries.map(|(one, thread)| BatchComment {
            id: &one.id,
            author: &one.entry.author,
            url: one.entry.url.as_deref(),
            file: one.file,
            line: one.line,
            origin: origin_to_tell(one.entry, head),
            given_on: match one.entry.commit.as_deref() {
                None => GivenOn::Unknown,
                Some(commit) if is_older(one.entry, head) => GivenOn::Older { commit },
                Some(commit) => GivenOn::Head { commit },
            },
            body: one.body,
            thread,
        }));
        let plan_error = match &self.state.plan {
            PlanCheck::Invalid { errors } => Some(errors.to_string()),
            PlanCheck::Valid { .. } | PlanCheck::Unread => None,
        };
        self.terms.prompts.render(&Prompt::Fix {
            task: &self.request.task,
            plan_path: self.terms.is_about_plan().then_some(PLAN_PATH),
            comments: &comments,
            plan_error: plan_error.as_deref(),
            round,
        })
    }

    /// The earlier posts of a comment's thread. Without threads, the questions that the comment answers.
    fn thread(&self, entry: &Entry) -> String {
        if let Some(thread) = entry.thread {
            return self.state.threads.before(thread, entry.key.id);
        }
        let asked = entry.answers.iter();
        let asked = asked.filter_map(|key| self.state.ledger.get(key));
        let texts = asked.map(|asked| {
            let question = asked.life.note().unwrap_or_default();
            let (author, fixer) = (&asked.author, &self.terms.fixer);
            format!("{author}: {}\n\n{fixer}: {question}", asked.body)
        });
        texts.collect::<Vec<_>>().join("\n\n")
    }
}

/// Whether the comment was written on an older commit than the head.
fn is_older(entry: &Entry, head: Option<&str>) -> bool {
    entry.commit.is_some() && entry.commit.as_deref() != head
}

/// The place where a comment was written, if its line is gone or may have moved.
fn origin_to_tell<'e>(entry: &'e Entry, head: Option<&str>) -> Option<&'e LineOrigin> {
    let is_gone = entry.line.is_none() || is_older(entry, head);
    let origin = entry.origin.as_ref();
    origin.filter(|origin| is_gone || origin.first_line.is_some())
}

/// One item that a fixer answers.
struct Asked<'e> {
    id: String,
    entry: &'e Entry,
    file: Option<&'e str>,
    line: Option<u64>,
    body: &'e str,
}

/// The comment as one item, or each of the findings that it lists.
fn asked(entry: &Entry) -> Vec<Asked<'_>> {
    if entry.parts.is_empty() {
        return vec![Asked {
            id: entry.id(),
            entry,
            file: entry.path.as_deref(),
            line: entry.line,
            body: &entry.body,
        }];
    }
    let parts = entry.parts.iter().enumerate();
    let parts = parts.map(|(place, part)| Asked {
        id: entry.part_id(place),
        entry,
        file: part.file.as_deref(),
        line: part.line,
        body: &part.body,
    });
    parts.collect()
}

fn comment_inputs(entry: &Entry, head: Option<&str>) -> Vec<JobComment> {
    let asked = asked(entry).into_iter();
    let inputs = asked.map(|one| JobComment {
        id: one.id,
        author: entry.author.clone(),
        file: one.file.map(str::to_owned),
        line: one.line,
        origin: origin_to_tell(entry, head).cloned(),
        body: one.body.to_owned(),
        url: entry.url.clone(),
        commit: entry.commit.clone(),
        is_older: is_older(entry, head),
    });
    inputs.collect()
}

fn finding_input((place, finding): (usize, &Remark)) -> JobComment {
    JobComment {
        id: finding_id(place),
        author: finding.author.clone(),
        file: finding.file.clone(),
        line: finding.line,
        origin: None,
        body: finding.body.clone(),
        url: None,
        commit: None,
        is_older: false,
    }
}
