//! The debrief of a cruise: comments and their outcome, time and cost of each role, and the
//! parallelism. It is read from the cruise and from its children.

use super::flow::{planning_run, validating_run};
use super::model::{Answer, Entry, FixerResult, Flow, Life, Run, Spent, Tally};
use crate::agent::{Cost, Role};
use crate::forge::CommentVersion;
use crate::ids::RunId;
use crate::time::Timestamp;
use std::collections::BTreeMap;

/// The debrief of a cruise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Debrief {
    /// Comments of people and programs on its pull requests, the oldest first.
    pub said: Vec<Said>,
    /// Time and cost of each phase.
    pub phases: Vec<PhaseTook>,
    /// Time, tokens and cost of each role's agents.
    pub roles: Vec<RoleTook>,
    /// Average number of tasks that were built at the same time; `None` before one ended.
    pub parallelism: Option<f64>,
    /// Counters of how the tasks landed.
    pub trains: Tally,
}

/// A comment and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The author.
    pub author: String,
    /// The comment's text.
    pub body: String,
    /// The comment's address on the forge.
    pub url: Option<String>,
    /// The outcome, in a few words.
    pub became: String,
    /// Whether it waits for a person.
    pub is_open: bool,
    seen_at: Timestamp,
}

/// Time and cost of one phase.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseTook {
    /// `planning`, `building` or `validating`.
    pub name: &'static str,
    /// When its first run began and when its last one ended.
    pub times: (Option<Timestamp>, Option<Timestamp>),
    /// Tokens and cost of its agents.
    pub spent: Spent,
}

/// Time, tokens and cost of one role's agents.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleTook {
    /// The role.
    pub role: Role,
    /// How many agents were started.
    pub agents: u32,
    /// Their working time added up, in milliseconds.
    pub duration_ms: i64,
    /// Tokens, without those read from the model's cache.
    pub tokens: u64,
    /// Their cost, as far as agents report it.
    pub cost: Option<Cost>,
}

/// The debrief of this cruise and its children.
pub fn debrief(run: &Run, children: &[Run]) -> Debrief {
    let mut debrief = Debrief {
        trains: match &run.flow {
            Flow::Cruise { build } => build.tally,
            Flow::Awaiting | Flow::Spawn { .. } | Flow::Phase { .. } => Tally::default(),
        },
        phases: phases(run, children),
        parallelism: parallelism(run, children),
        ..Debrief::default()
    };
    let mut roles: BTreeMap<Role, RoleTook> = BTreeMap::new();
    let mut heard: BTreeMap<CommentVersion, &Entry> = BTreeMap::new();
    for child in children {
        let Flow::Phase { phase } = &child.flow else {
            continue;
        };
        let comments = phase
            .ledger
            .entries()
            .filter(|entry| entry.review.is_none());
        for entry in comments {
            let known = heard.entry(entry.key.clone()).or_insert(entry);
            // This run read the comment after another run had answered it: the entry of that run knows more.
            if known.life.action() == Some(FixerResult::Unknown) {
                *known = entry;
            }
        }
        for job in &phase.record.jobs {
            let took = roles.entry(job.role).or_insert(RoleTook {
                role: job.role,
                agents: 0,
                duration_ms: 0,
                tokens: 0,
                cost: None,
            });
            let ended = job.ended_at.unwrap_or(job.started_at);
            took.agents += 1;
            took.duration_ms += millis(job.started_at, ended);
            took.tokens += job.usage.reported().unwrap_or(0);
            took.cost = match (took.cost, job.cost) {
                (Some(sum), Some(cost)) => Some(sum.plus(cost)),
                (sum, cost) => sum.or(cost),
            };
        }
    }
    debrief.said = heard.into_values().filter_map(said).collect();
    debrief.said.sort_by_key(|one| one.seen_at);
    debrief.roles = roles.into_values().collect();
    debrief
}

fn millis(began: Timestamp, ended: Timestamp) -> i64 {
    ended.as_millisecond() - began.as_millisecond()
}

fn said(entry: &Entry) -> Option<Said> {
    let became = match &entry.life {
        Life::Superseded => return None,
        Life::Seen | Life::Dispatched { .. } => "waits for an answer".to_owned(),
        Life::Pushed { answer } | Life::Replied { answer, .. } => outcome(answer),
        Life::Asked { .. } => "answered with a question".to_owned(),
        Life::Unanswerable { why } => format!("no reply could be posted: {why}"),
        Life::Left => "left to a person".to_owned(),
        Life::Withdrawn { .. } => "set aside by a person".to_owned(),
    };
    Some(Said {
        author: entry.author.clone(),
        body: entry.body.clone(),
        url: entry.url.clone(),
        became,
        is_open: match &entry.life {
            Life::Asked { .. } | Life::Left => true,
            Life::Seen
            | Life::Dispatched { .. }
            | Life::Pushed { .. }
            | Life::Replied { .. }
            | Life::Unanswerable { .. }
            | Life::Superseded
            | Life::Withdrawn { .. } => false,
        },
        seen_at: entry.seen_at,
    })
}

fn outcome(answer: &Answer) -> String {
    let what = match answer.action {
        FixerResult::Fixed => "fixed",
        FixerResult::Declined => "declined",
        FixerResult::Question => "answered with a question",
        FixerResult::Unsaid => "answered",
        FixerResult::Failed => "no fixer could resolve it",
        FixerResult::Unknown => "answered before",
    };
    match (&answer.commit, answer.action) {
        (Some(commit), FixerResult::Fixed | FixerResult::Unsaid) => {
            format!("{what} in {}", commit.short())
        }
        (_, _) => what.to_owned(),
    }
}

/// Time and cost of planning, building and validating, taken from the runs themselves.
fn phases(run: &Run, children: &[Run]) -> Vec<PhaseTook> {
    let (planning, validating) = (planning_run(run), validating_run(run));
    let name = |id: &RunId| match id {
        id if Some(id) == planning.as_ref() => "planning",
        id if Some(id) == validating.as_ref() => "validating",
        _ => "building",
    };
    ["planning", "building", "validating"]
        .into_iter()
        .filter_map(|phase| {
            let runs = children.iter().filter(|child| name(&child.id) == phase);
            let runs: Vec<&Run> = runs.collect();
            let began = runs.iter().filter_map(|child| child.started_at).min();
            let ends = runs.iter().map(|child| ended_at(child));
            let ended = ends.collect::<Option<Vec<Timestamp>>>();
            let spent = runs.iter().map(|child| child.spent_in_all());
            (!runs.is_empty() || phase == "building").then(|| PhaseTook {
                name: phase,
                times: (began, ended.and_then(|ended| ended.into_iter().max())),
                spent: spent.fold(Spent::default(), Spent::plus),
            })
        })
        .collect()
}

fn ended_at(run: &Run) -> Option<Timestamp> {
    run.outcome.as_ref().map(|outcome| outcome.ended_at)
}

/// The working time of all task runs divided by the time in which at least one of them worked.
fn parallelism(run: &Run, children: &[Run]) -> Option<f64> {
    let Flow::Cruise { build } = &run.flow else {
        return None;
    };
    let tasks: Vec<&RunId> = build.tasks.values().flat_map(|task| &task.runs).collect();
    let tasks = children.iter().filter(|child| tasks.contains(&&child.id));
    let mut spans: Vec<(i64, i64)> = tasks
        .filter_map(|child| Some((child.started_at?, ended_at(child)?)))
        .map(|(began, ended)| (began.as_millisecond(), ended.as_millisecond()))
        .collect();
    spans.sort_unstable();
    let worked: i64 = spans.iter().map(|(began, ended)| ended - began).sum();
    let (mut busy, mut until) = (0, i64::MIN);
    for (began, ended) in spans {
        busy += (ended - began.max(until)).max(0);
        until = until.max(ended);
    }
    (busy > 0).then(|| worked as f64 / busy as f64)
}
