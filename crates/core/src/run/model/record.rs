//! The record of a run's agents, for people and scripts: role, time and price, commands and permission
//! requests, reviews, and the outcome of each remark.

use super::comment_answer::FixerResult;
use super::event::Note;
use super::forge_act::IgnoredComment;
use super::job::AgentJob;
use super::outcome::Spent;
use super::remark::ReviewOf;
use super::round::RoundRecord;
use crate::Problem;
use crate::agent::answer::{Finding, Severity, Verdict};
use crate::agent::{AgentOutcome, Cost, Role, Usage};
use crate::forge::{Comment, CommentRef};
use crate::ids::{CommitSha, EffectKey};
use crate::review::{Domain, LastWord, Resolution, merged};
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many commands and permissions of one job are kept.
const MOST_NOTES: usize = 200;

/// The record of a run's agents.
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
    /// Changes of each fixer's round beyond its findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<RoundRecord>,
    /// Ignored comments.
    pub ignored: Vec<IgnoredComment>,
}

/// One job of one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobRecord {
    /// The agent's name in the settings.
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
    /// The effect that runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<EffectKey>,
    /// From when.
    pub started_at: Timestamp,
    /// Until when; `None` while it works.
    pub ended_at: Option<Timestamp>,
    /// Why it failed; `None` when it did not.
    pub failure: Option<String>,
    /// The tokens used.
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
    /// Why there is none, or none of a part of the change.
    pub failure: Option<String>,
    /// Its findings, under the names that reviewers answer with.
    #[serde(rename = "suggestions")]
    pub findings: Vec<Finding>,
    /// The commit it was given on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<CommitSha>,
    /// How many of its findings were touched afterwards; `None` before the first round after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
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
    /// The fixer's result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<FixerResult>,
    /// From which review it is; `None` for what a person wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewOf>,
    /// The reviewer's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
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

    pub(in crate::run) fn job_started(&mut self, key: &EffectKey, job: &AgentJob, now: Timestamp) {
        self.jobs.push(JobRecord {
            agent: job.agent.clone(),
            role: job.role,
            argv: Vec::new(),
            round: job.round,
            domain: job.domain.clone(),
            effect: Some(key.clone()),
            started_at: now,
            ended_at: None,
            failure: None,
            usage: Usage::default(),
            cost: None,
            commands: Vec::new(),
            permissions: Vec::new(),
        });
    }

    /// The job that an effect runs; the last one where an older version wrote none.
    fn job_of(&mut self, key: &EffectKey) -> Option<&mut JobRecord> {
        let mut all = self.jobs.iter();
        let place = all.rposition(|job| job.effect.as_ref() == Some(key));
        let last = self.jobs.len().checked_sub(1);
        self.jobs.get_mut(place.or(last)?)
    }

    pub(in crate::run) fn job_ended(
        &mut self,
        key: &EffectKey,
        outcome: &AgentOutcome,
        now: Timestamp,
    ) {
        if let Some(job) = self.job_of(key) {
            job.ended_at = Some(now);
            job.failure = outcome
                .problem(&job.agent)
                .map(|problem| problem.to_string());
        }
        self.job_used(key, Spent::of(outcome));
    }

    /// Adds what an agent used for a job: the one that ended it, or one that died before.
    pub(in crate::run) fn job_used(&mut self, key: &EffectKey, used: Spent) {
        if let Some(job) = self.job_of(key) {
            let before = Spent {
                usage: job.usage,
                cost: job.cost,
            };
            let spent = before.plus(used);
            job.usage = spent.usage;
            job.cost = spent.cost;
        }
    }

    pub(in crate::run) fn job_failed(
        &mut self,
        key: &EffectKey,
        problem: &Problem,
        now: Timestamp,
    ) {
        if let Some(job) = self.job_of(key) {
            job.ended_at = Some(now);
            job.failure = Some(problem.to_string());
        }
    }

    /// The agents at work were stopped without a result.
    pub(in crate::run) fn interrupted(&mut self, problem: &Problem, now: Timestamp) {
        for job in self.jobs.iter_mut().filter(|job| job.ended_at.is_none()) {
            job.ended_at = Some(now);
            job.failure = Some(problem.to_string());
        }
    }

    /// Takes up what an agent at work did.
    pub(in crate::run) fn note(&mut self, key: &EffectKey, note: &Note) {
        let Some(job) = self.job_of(key) else {
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
            | Note::ForgeLimit { .. }
            | Note::Used { .. }
            | Note::Steering { .. }
            | Note::Isolation { .. }
            | Note::Warning { .. } => {}
        }
    }

    /// A domain's verdict on a commit.
    fn standing(&self, domain: Option<&Domain>, head: &CommitSha) -> Standing {
        let mut latest = self.reviews.iter().rev();
        let last = latest.find(|review| review.domain.as_ref() == domain);
        match last.and_then(|review| Some((review, review.verdict?))) {
            None => Standing::Unclear,
            Some((_, Verdict::NeedsChanges)) => Standing::Objects,
            Some((review, _)) if review.head.as_ref() != Some(head) => Standing::Stale {
                reviews: review.round,
            },
            Some((_, Verdict::Approved)) => Standing::Approved,
            Some((_, Verdict::NotApplicable)) => Standing::NotApplicable,
        }
    }

    /// The combined verdict of these domains on a commit.
    pub fn last_word(&self, domains: &[Option<Domain>], head: &CommitSha) -> LastWord {
        let all = domains.iter().map(|one| self.standing(one.as_ref(), head));
        let all: Vec<Standing> = all.collect();
        let is_against = |one: &Standing| matches!(one, Standing::Objects | Standing::Stale { .. });
        if all.iter().any(is_against) {
            LastWord::NeedsChanges
        } else if all.contains(&Standing::Approved) && !all.contains(&Standing::Unclear) {
            LastWord::Approved
        } else {
            LastWord::Inconclusive
        }
    }

    /// Domains that judged an older commit than this one and had nothing against it, each with how
    /// often it was reviewed so far.
    pub(in crate::run) fn stale(
        &self,
        domains: &[Option<Domain>],
        head: &CommitSha,
    ) -> Vec<(Option<Domain>, u32)> {
        let stale = |one: &Option<Domain>| match self.standing(one.as_ref(), head) {
            Standing::Stale { reviews } => Some((one.clone(), reviews)),
            Standing::Approved
            | Standing::NotApplicable
            | Standing::Objects
            | Standing::Unclear => None,
        };
        domains.iter().filter_map(stale).collect()
    }

    /// The domains that do not approve a commit, each with how often it was reviewed so far.
    pub(in crate::run) fn not_content(
        &self,
        domains: &[Option<Domain>],
        head: &CommitSha,
    ) -> Vec<(Option<Domain>, u32)> {
        let is_content = |one: &&Option<Domain>| {
            let standing = self.standing(one.as_ref(), head);
            matches!(standing, Standing::Approved | Standing::NotApplicable)
        };
        let open = domains.iter().filter(|one| !is_content(one));
        open.map(|one| (one.clone(), self.reviews_by(one.as_ref())))
            .collect()
    }

    /// How often a domain was reviewed. A review that is asked for once more counts once.
    fn reviews_by(&self, domain: Option<&Domain>) -> u32 {
        let mut latest = self.reviews.iter().rev();
        let last = latest.find(|review| review.domain.as_ref() == domain);
        last.map_or(0, |review| review.round)
    }

    /// The last reviews that ask for changes, one for each domain that does.
    pub fn objections(&self) -> impl Iterator<Item = &ReviewRecord> {
        let all = self.reviews.iter().enumerate();
        all.filter_map(|(number, one)| {
            // A later review that came to nothing takes nothing back.
            let mut later = self.reviews[number + 1..].iter();
            let is_last = later.all(|later| later.domain != one.domain || later.verdict.is_none());
            (is_last && one.verdict == Some(Verdict::NeedsChanges)).then_some(one)
        })
    }

    /// How many findings of each severity the reviews for security had, each counted once.
    pub fn security_findings(&self) -> SeverityTotals {
        let is_security =
            |one: &&ReviewRecord| one.domain == Some(Domain::Security) && one.verdict.is_some();
        let reviews = self.reviews.iter().filter(is_security);
        let found = reviews.flat_map(|one| &one.findings);
        let all: Vec<Finding> = found
            .filter(|finding| finding.refuted.is_none() && !finding.pre_existing)
            .cloned()
            .collect();
        let mut totals = SeverityTotals::default();
        for finding in merged(&all) {
            match finding.severity {
                Severity::Blocker => totals.blocker += 1,
                Severity::Major => totals.major += 1,
                Severity::Minor => totals.minor += 1,
            }
        }
        totals
    }

    /// Whether somebody objected, and each objection was to another commit than this one.
    pub(in crate::run) fn is_changed_since_objections(&self, head: &CommitSha) -> bool {
        let mut objections = self.objections().peekable();
        objections.peek().is_some() && objections.all(|one| one.head.as_ref() != Some(head))
    }

    /// The commit that was approved last.
    pub(in crate::run) fn last_approved(&self) -> Option<&CommitSha> {
        let mut latest = self.reviews.iter().rev();
        let approved = latest.find(|one| one.verdict == Some(Verdict::Approved));
        approved.and_then(|one| one.head.as_ref())
    }
}

/// How many findings there are of each severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SeverityTotals {
    /// Findings of severity `blocker`.
    pub blocker: u32,
    /// Findings of severity `major`.
    pub major: u32,
    /// Findings of severity `minor`.
    pub minor: u32,
}

/// A domain's verdict on a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It approves it.
    Approved,
    /// It has nothing to judge in it.
    NotApplicable,
    /// It had nothing against an older one, and was reviewed so often.
    Stale { reviews: u32 },
    /// It asked for changes last.
    Objects,
    /// It has no verdict.
    Unclear,
}

#[cfg(test)]
mod tests;
