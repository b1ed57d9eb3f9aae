//! What the agents of a run did, for people and for scripts: who worked how long and at what price, which
//! commands it ran and what it asked for, what reviewers said, and what became of each remark.

use super::effect::AgentJob;
use super::event::Note;
use super::forge_act::IgnoredComment;
use super::outcome::Spent;
use crate::Problem;
use crate::agent::answer::{Suggestion, Verdict};
use crate::agent::{AgentOutcome, Cost, Role, Usage};
use crate::forge::{Comment, CommentRef};
use crate::ids::CommitSha;
use crate::review::Domain;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// How many commands and permissions of one job are kept.
const MOST_NOTES: usize = 200;

/// What happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// Where it happened.
    pub sandbox: Option<String>,
    /// Every job of every agent, in order.
    pub jobs: Vec<JobRecord>,
    /// Every review, in order.
    pub reviews: Vec<ReviewRecord>,
    /// The outcome of each finding.
    pub remarks: Vec<RemarkRecord>,
    /// Ignored comments.
    pub ignored: Vec<IgnoredComment>,
}

/// One job of one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobRecord {
    /// Which agent.
    pub agent: String,
    /// As what.
    pub role: Role,
    /// How it was started, without secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// In which round.
    pub round: u32,
    /// On what.
    pub domain: Option<String>,
    /// From when.
    pub started_at: Timestamp,
    /// Until when; `None` while it works.
    pub ended_at: Option<Timestamp>,
    /// Why it failed; `None` when it did not.
    pub failure: Option<String>,
    /// Tokens.
    pub usage: Usage,
    /// Cost, if the agent reports it.
    pub cost: Option<Cost>,
    /// Commands it ran, without secrets.
    pub commands: Vec<String>,
    /// Permissions it asked for.
    pub permissions: Vec<PermissionRecord>,
}

/// One permission an agent asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRecord {
    /// For what.
    pub tool: String,
    /// Whether it was granted.
    pub granted: bool,
}

/// One review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewRecord {
    /// Of what; `None` for everything at once.
    pub domain: Option<Domain>,
    /// Review number within the domain, from 1.
    pub round: u32,
    /// The verdict; `None` when there is none.
    pub verdict: Option<Verdict>,
    /// Why there is none.
    pub failure: Option<String>,
    /// What it asks for.
    pub suggestions: Vec<Suggestion>,
    /// The commit it was given on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<CommitSha>,
}

/// The outcome of one finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemarkRecord {
    /// Its comment; `None` without one.
    pub comment: Option<CommentRef>,
    /// The file it is about.
    pub file: Option<String>,
    /// The line it is about.
    pub line: Option<u64>,
    /// The commit that answers it.
    pub commit: Option<CommitSha>,
    /// The fixer's note.
    pub note: String,
    /// Whether it was worked in.
    pub resolved: bool,
}

impl Record {
    /// Enters who was not listened to. What could not be judged before and is now, is listed as it was
    /// judged last.
    pub(in crate::run) fn overheard(&mut self, heard: &[Comment], ignored: Vec<IgnoredComment>) {
        self.ignored.retain(|known| {
            let is_heard = heard.iter().any(|one| one.key.comment() == known.comment);
            let mut again = ignored.iter().filter(|one| one.comment == known.comment);
            !is_heard && again.all(|one| one == known)
        });
        for one in ignored {
            if !self.ignored.contains(&one) {
                self.ignored.push(one);
            }
        }
    }

    pub(in crate::run) fn job_started(&mut self, job: &AgentJob, now: Timestamp) {
        self.jobs.push(JobRecord {
            agent: job.agent.clone(),
            role: job.role,
            argv: Vec::new(),
            round: job.round,
            domain: job.domain.clone(),
            started_at: now,
            ended_at: None,
            failure: None,
            usage: Usage::default(),
            cost: None,
            commands: Vec::new(),
            permissions: Vec::new(),
        });
    }

    pub(in crate::run) fn job_ended(&mut self, outcome: &AgentOutcome, now: Timestamp) {
        if let Some(job) = self.jobs.last_mut() {
            job.ended_at = Some(now);
            job.failure = outcome
                .problem(&job.agent)
                .map(|problem| problem.to_string());
        }
        self.job_used(Spent::of(outcome));
    }

    /// Adds what an agent used for the job at hand: the one that ended it, or one that died before.
    pub(in crate::run) fn job_used(&mut self, used: Spent) {
        if let Some(job) = self.jobs.last_mut() {
            let before = Spent {
                usage: job.usage,
                cost: job.cost,
            };
            let spent = before.plus(used);
            job.usage = spent.usage;
            job.cost = spent.cost;
        }
    }

    pub(in crate::run) fn job_failed(&mut self, problem: &Problem, now: Timestamp) {
        if let Some(job) = self.jobs.last_mut() {
            job.ended_at = Some(now);
            job.failure = Some(problem.to_string());
        }
    }

    /// The running agent was stopped without a result.
    pub(in crate::run) fn interrupted(&mut self, problem: &Problem, now: Timestamp) {
        if self.jobs.last().is_some_and(|job| job.ended_at.is_none()) {
            self.job_failed(problem, now);
        }
    }

    /// Takes up what the agent at work did. Only one works at a time.
    pub(in crate::run) fn note(&mut self, note: &Note) {
        let Some(job) = self.jobs.last_mut() else {
            return;
        };
        match note {
            Note::Launched { argv } => job.argv.clone_from(argv),
            Note::Command { line } if job.commands.len() < MOST_NOTES => {
                job.commands.push(line.clone());
            }
            Note::Permission { tool, granted, .. } if job.permissions.len() < MOST_NOTES => {
                job.permissions.push(PermissionRecord {
                    tool: tool.clone(),
                    granted: *granted,
                });
            }
            Note::Command { .. }
            | Note::Permission { .. }
            | Note::Waiting { .. }
            | Note::Used { .. }
            | Note::Steering { .. }
            | Note::Isolation { .. }
            | Note::Warning { .. } => {}
        }
    }

    /// Domains whose last review approved another commit than this one, each with how often it was
    /// reviewed so far.
    pub(in crate::run) fn stale(&self, head: &CommitSha) -> Vec<(Option<Domain>, u32)> {
        let mut stale = Vec::new();
        for (number, one) in self.reviews.iter().enumerate() {
            let is_last = self.reviews[number + 1..]
                .iter()
                .all(|later| later.domain != one.domain);
            let approves = one.verdict == Some(Verdict::Approved);
            if is_last && approves && one.head.as_deref() != Some(head) {
                stale.push((one.domain, one.round));
            }
        }
        stale.sort_unstable();
        stale
    }

    /// Whether a review approved this commit.
    pub(in crate::run) fn is_approved(&self, head: &CommitSha) -> bool {
        self.approved().any(|one| one.head.as_deref() == Some(head))
    }

    /// The commit that was approved last.
    pub(in crate::run) fn last_approved(&self) -> Option<&str> {
        self.approved().last().and_then(|one| one.head.as_deref())
    }

    fn approved(&self) -> impl Iterator<Item = &ReviewRecord> {
        let all = self.reviews.iter();
        all.filter(|one| one.verdict == Some(Verdict::Approved))
    }
}
