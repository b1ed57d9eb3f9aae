//! The record of a run's agents, for people and scripts: role, time and cost, commands and
//! permission requests, reviews, and the outcome of each finding.

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

/// How many commands and permission requests of one job are recorded.
const MOST_NOTES: usize = 200;

/// The record of a run's agents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The sandbox of the run.
    pub sandbox: Option<String>,
    /// Every job of every agent, in order.
    pub jobs: Vec<JobRecord>,
    /// Every review, in order.
    pub reviews: Vec<ReviewRecord>,
    /// The outcome of each finding.
    pub remarks: Vec<RemarkRecord>,
    /// Changes of each fixer round beyond its findings.
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
    /// The agent's role.
    pub role: Role,
    /// The command line, without secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// The fixer or review round.
    pub round: u32,
    /// The review domain, if any.
    pub domain: Option<String>,
    /// The effect that runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<EffectKey>,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended; `None` while it works.
    pub ended_at: Option<Timestamp>,
    /// Why it failed; `None` if it did not.
    pub failure: Option<String>,
    /// The tokens used.
    pub usage: Usage,
    /// Cost, if the agent reports it.
    pub cost: Option<Cost>,
    /// Commands it ran, without secrets.
    pub commands: Vec<String>,
    /// Permissions that it requested.
    pub permissions: Vec<PermissionRecord>,
}

/// One permission that an agent requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRecord {
    /// The tool.
    pub tool: String,
    /// Whether it was granted.
    pub granted: bool,
}

/// One review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewRecord {
    /// The review domain; `None` for everything at once.
    pub domain: Option<Domain>,
    /// Review number within the domain, from 1.
    pub round: u32,
    /// The verdict; `None` if the review gave none.
    pub verdict: Option<Verdict>,
    /// Why the whole review, or the review of one part, gave no verdict.
    pub failure: Option<String>,
    /// The findings, under the names that reviewers use in their answers.
    #[serde(rename = "suggestions")]
    pub findings: Vec<Finding>,
    /// The reviewed commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<CommitSha>,
    /// How many of its findings had their lines changed afterwards; `None` before the next round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
}

/// The outcome of one finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemarkRecord {
    /// The finding's comment, if it was posted as one.
    pub comment: Option<CommentRef>,
    /// The file it is about.
    pub file: Option<String>,
    /// The line it is about.
    pub line: Option<u64>,
    /// The commit that answers it.
    pub commit: Option<CommitSha>,
    /// The fixer's note.
    pub note: String,
    /// Whether it was resolved.
    pub resolved: bool,
    /// The fixer's result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<FixerResult>,
    /// The review it belongs to; `None` for a person's comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewOf>,
    /// The reviewer's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Record {
    /// Updates the list of ignored comments. A comment whose author became trusted is removed; one
    /// that is judged differently now is listed with the new reason.
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

    /// The job that an effect runs. Records of older versions have no effect keys: there it is the last job.
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

    /// Adds an agent's usage to its job. The agent may be the one that ended the job or an earlier
    /// one that died.
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

    /// Ends the jobs of agents that were stopped without a result.
    pub(in crate::run) fn interrupted(&mut self, problem: &Problem, now: Timestamp) {
        for job in self.jobs.iter_mut().filter(|job| job.ended_at.is_none()) {
            job.ended_at = Some(now);
            job.failure = Some(problem.to_string());
        }
    }

    /// Records a note about an agent at work.
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

    /// Domains that reviewed an older commit and did not object, each with its number of reviews so far.
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

    /// The domains that do not approve a commit, each with its number of reviews so far.
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

    /// How many reviews a domain gave. A repeated review counts once.
    fn reviews_by(&self, domain: Option<&Domain>) -> u32 {
        let mut latest = self.reviews.iter().rev();
        let last = latest.find(|review| review.domain.as_ref() == domain);
        last.map_or(0, |review| review.round)
    }

    /// The last review of each domain that asked for changes.
    pub fn objections(&self) -> impl Iterator<Item = &ReviewRecord> {
        let all = self.reviews.iter().enumerate();
        all.filter_map(|(number, one)| {
            // A later review without a verdict withdraws nothing.
            let mut later = self.reviews[number + 1..].iter();
            let is_last = later.all(|later| later.domain != one.domain || later.verdict.is_none());
            (is_last && one.verdict == Some(Verdict::NeedsChanges)).then_some(one)
        })
    }

    /// The number of security findings per severity, each finding counted once.
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

    /// Whether there are objections, and all of them are to other commits than this one.
    pub(in crate::run) fn is_changed_since_objections(&self, head: &CommitSha) -> bool {
        let mut objections = self.objections().peekable();
        objections.peek().is_some() && objections.all(|one| one.head.as_ref() != Some(head))
    }

    /// The commit of the last approval.
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
    /// The domain approves the commit.
    Approved,
    /// The commit contains nothing for this domain.
    NotApplicable,
    /// The domain did not object to an older commit, after this number of reviews.
    Stale { reviews: u32 },
    /// The domain's last review asked for changes.
    Objects,
    /// The domain has no verdict.
    Unclear,
}

#[cfg(test)]
mod tests;
