//! The agents of a run and of its children, in the order of their starts.

use crate::wiring::Wiring;
use drive_adapters::agents::{AgentHead, EVENT_LOG, TRANSCRIPT, load_head};
use drive_core::agent::Role;
use drive_core::problem::Problem;
use drive_core::run::{Effect, Run};
use drive_core::time::Timestamp;
use drive_engine::ports::Store;
use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;

/// How many runs of a tree are searched for agents.
const MOST_RUNS: usize = 1000;

/// One agent.
#[derive(Clone, Debug)]
pub(super) struct AgentLog {
    /// Its number among all agents of the run, from 1.
    pub(super) number: usize,
    /// The run it worked for, and that run's task in a cruise.
    pub(super) run: String,
    pub(super) task: String,
    folder: PathBuf,
    /// The agent's data; `None` for an agent of an older version, and before the agent starts.
    pub(super) head: Option<AgentHead>,
    started: Timestamp,
    /// Whether no agent will write there any more.
    pub(super) is_over: bool,
}

impl AgentLog {
    /// The file with the agent's events.
    pub(super) fn events(&self) -> PathBuf {
        self.folder.join(EVENT_LOG)
    }

    /// The file with the agent's output.
    pub(super) fn stream(&self) -> PathBuf {
        self.folder.join(TRANSCRIPT)
    }

    /// The name of its folder: the effect that started it, with its attempt.
    pub(super) fn effect(&self) -> String {
        let name = self.folder.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

/// A filter for agents.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wanted {
    pub(super) number: Option<usize>,
    pub(super) role: Option<Role>,
}

impl Wanted {
    pub(super) fn is_all(self) -> bool {
        self.number.is_none() && self.role.is_none()
    }

    fn has(self, agent: &AgentLog) -> bool {
        let role = agent.head.as_ref().map(|head| head.role);
        self.number.is_none_or(|number| number == agent.number)
            && self.role.is_none_or(|wanted| role == Some(wanted))
    }
}

/// The agents that pass the filter, numbered among all of them.
pub(super) fn agents(wiring: &Wiring, run: &Run, wanted: Wanted) -> Result<Vec<AgentLog>, Problem> {
    let mut all = Vec::new();
    let mut open = VecDeque::from([run.clone()]);
    let mut seen = 0;
    while let Some(run) = open.pop_front() {
        all.extend(agents_of(wiring, &run));
        seen += 1;
        for child in run.children.keys() {
            if seen + open.len() < MOST_RUNS {
                open.extend(wiring.store.load(child)?);
            }
        }
    }
    all.sort_by(|a, b| (a.started, &a.folder).cmp(&(b.started, &b.folder)));
    for (index, agent) in all.iter_mut().enumerate() {
        agent.number = index + 1;
    }
    all.retain(|agent| wanted.has(agent));
    Ok(all)
}

fn agents_of(wiring: &Wiring, run: &Run) -> Vec<AgentLog> {
    let entries = fs::read_dir(wiring.runs_dir.join(run.id.as_str()));
    let entries = entries.into_iter().flatten().flatten();
    let names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let task = run.parent().map_or("", |parent| parent.task.as_str());
    let logs = names.iter().filter_map(|name| {
        let folder = wiring.runs_dir.join(run.id.as_str()).join(name);
        let head = load_head(&folder);
        let begun = || folder.join(TRANSCRIPT).metadata().ok()?.modified().ok();
        let started = match &head {
            Some(head) => head.started_at,
            None => Timestamp::try_from(begun()?).ok()?,
        };
        Some(AgentLog {
            number: 0,
            run: run.id.to_string(),
            task: task.to_owned(),
            is_over: !run.is_active() || !is_at_work(run, name, &names),
            folder,
            head,
            started,
        })
    });
    logs.collect()
}

/// Whether the effect that started the agent is pending, and this is its last attempt.
fn is_at_work(run: &Run, name: &str, names: &[String]) -> bool {
    let Some((effect, attempt)) = attempt_of(name) else {
        return false;
    };
    let is_pending = run.pending.iter().any(|(key, pending)| {
        matches!(pending, Effect::RunAgent { .. }) && key.as_str().replace('/', "-") == effect
    });
    let later = names.iter().filter_map(|other| attempt_of(other));
    let mut later = later.filter(|(other, number)| *other == effect && *number > attempt);
    is_pending && later.next().is_none()
}

fn attempt_of(name: &str) -> Option<(&str, u32)> {
    let (effect, attempt) = name.rsplit_once('-')?;
    Some((effect, attempt.parse().ok()?))
}
