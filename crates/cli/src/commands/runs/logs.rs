//! `drive runs logs`: the logs of a run's agents.

use super::agent_logs::{AgentLog, Wanted, agents};
use super::rendered::{Rendered, header};
use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::documents::{AgentHeadDocument, AgentLogDocument, RunLogDocument, path_text};
use crate::output::Printable;
use crate::wiring::Wiring;
use clap::{Args, ValueEnum};
use drive_adapters::agents::{LoggedEvent, TRANSCRIPT, parse_events};
use drive_adapters::files::{load_from, load_tail};
use drive_core::agent;
use drive_core::ids::RunId;
use drive_core::problem::{Kind, Problem};
use drive_core::run::Run;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many bytes of a log are shown at most.
const LOG_BYTES: u64 = 4 * 1024 * 1024;
/// How often a followed log is read.
const FOLLOW_EVERY: Duration = Duration::from_millis(200);

/// What is shown of the logs, for runs and cruises alike.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct LogOptions {
    /// Show only this agent, by its number
    #[arg(long, value_name = "N")]
    agent: Option<usize>,
    /// Show only agents in this role
    #[arg(long, value_enum)]
    role: Option<Role>,
    /// Print the output of the last agent as it is
    #[arg(long)]
    raw: bool,
    /// Print on a terminal too, instead of opening a pager (`PAGER`, else `less`)
    #[arg(long)]
    no_pager: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Role {
    Namer,
    Planner,
    Coder,
    Reviewer,
    Fixer,
    Validator,
}

impl From<Role> for agent::Role {
    fn from(role: Role) -> Self {
        match role {
            Role::Namer => agent::Role::Namer,
            Role::Planner => agent::Role::Planner,
            Role::Coder => agent::Role::Coder,
            Role::Reviewer => agent::Role::Reviewer,
            Role::Fixer => agent::Role::Fixer,
            Role::Validator => agent::Role::Validator,
        }
    }
}

impl LogOptions {
    fn wanted(&self) -> Wanted {
        Wanted {
            number: self.agent,
            role: self.role.map(agent::Role::from),
        }
    }
}

/// Prints what was logged so far.
pub(crate) fn logs(wiring: &Wiring, run: &Run, options: &LogOptions) -> Outcome {
    let wanted = options.wanted();
    let agents = agents(wiring, run, wanted)?;
    let newest = if wanted.is_all() {
        newest_log(wiring, run)
    } else {
        agents.last().map(AgentLog::stream)
    };
    let path = newest.ok_or_else(|| no_log(run, wanted))?;
    let log = load_text(&path)?;
    let mut documents = Vec::new();
    let mut text = String::new();
    for agent in &agents {
        let (document, lines) = whole(agent)?;
        documents.push(document);
        text.push_str(&lines);
    }
    if options.raw {
        text = if wanted.is_all() {
            log.clone()
        } else {
            let streams = agents.iter().map(|agent| load_text(&agent.stream()));
            streams.collect::<Result<String, Problem>>()?
        };
    }
    let document = RunLogDocument {
        run_id: run.id.to_string(),
        path: Some(path_text(&path)),
        log: Some(log),
        agents: documents,
    };
    let answer = Answer::new(&document, Printable(&text).to_string())?;
    Ok(if options.no_pager {
        answer
    } else {
        answer.paged()
    })
}

/// The log of one agent from its beginning; of a very long log, only the end.
fn whole(agent: &AgentLog) -> Result<(AgentLogDocument, String), Problem> {
    let Some(head) = &agent.head else {
        let text = load_text(&agent.stream())?;
        let name = agent.effect();
        let text = format!("== agent {}: {name}\n{}\n", agent.number, text.trim_end());
        return Ok((document(agent, None), text));
    };
    let events = load_events(&agent.events(), 0)?.0;
    let mut rendered = Rendered::default();
    let mut lines: Vec<String> = events.iter().flat_map(|one| rendered.push(one)).collect();
    lines.extend(rendered.flush());
    let until = rendered.last.unwrap_or(head.started_at);
    let mut text = header(agent.number, head, &agent.task, until);
    text.push('\n');
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    text.push('\n');
    let end = events.iter().rev().find_map(|one| one.ended.clone());
    let head = AgentHeadDocument::new(head, until, end.as_ref());
    Ok((document(agent, Some(head)), text))
}

fn document(agent: &AgentLog, head: Option<AgentHeadDocument>) -> AgentLogDocument {
    AgentLogDocument {
        number: agent.number,
        run_id: agent.run.clone(),
        effect: agent.effect(),
        path: path_text(&agent.stream()),
        events: head.is_some().then(|| path_text(&agent.events())),
        head,
    }
}

/// Prints new events until the run ends or the reader closes the pipe.
pub(crate) fn follow(app: &App, wiring: &Wiring, run: Run, options: &LogOptions) -> Outcome {
    if options.raw {
        return follow_raw(app, wiring, run, options);
    }
    let id = run.id.clone();
    let mut run = run;
    let mut shown: Option<Shown> = None;
    let mut told = 0;
    loop {
        let is_last = !run.is_active();
        let agents = agents(wiring, &run, options.wanted())?;
        for agent in &agents {
            // Agents that work at the same time are shown one after the other.
            if agent.number <= told {
                continue;
            }
            let one = shown.get_or_insert_with(|| Shown::new(agent));
            if one.number != agent.number {
                break;
            }
            if one.print(app, agent)?.is_break() {
                return followed(&id, agents.last());
            }
            if !one.rendered.ended && !agent.is_over {
                break;
            }
            if one.flush(app).is_break() {
                return followed(&id, agents.last());
            }
            told = agent.number;
            shown = None;
        }
        if is_last || app.cancel()?.asked().is_some() {
            return followed(&id, agents.last());
        }
        std::thread::sleep(FOLLOW_EVERY);
        run = wiring.journal().require(&id)?;
    }
}

/// The agent whose log is being followed.
struct Shown {
    number: usize,
    offset: u64,
    rendered: Rendered,
    has_header: bool,
}

impl Shown {
    fn new(agent: &AgentLog) -> Self {
        Self {
            number: agent.number,
            offset: 0,
            rendered: Rendered::default(),
            has_header: false,
        }
    }

    /// Prints the agent's new events.
    fn print(&mut self, app: &App, agent: &AgentLog) -> Result<ControlFlow<()>, Problem> {
        let mut lines = Vec::new();
        let Some(head) = &agent.head else {
            return Ok(ControlFlow::Continue(()));
        };
        if !self.has_header {
            lines.push(header(agent.number, head, &agent.task, head.started_at));
            self.has_header = true;
        }
        let (events, read) = load_events(&agent.events(), self.offset)?;
        self.offset += read;
        for event in &events {
            lines.extend(self.rendered.push(event));
        }
        Ok(print(app, lines))
    }

    fn flush(&mut self, app: &App) -> ControlFlow<()> {
        print(app, self.rendered.flush())
    }
}

fn print(app: &App, lines: impl IntoIterator<Item = String>) -> ControlFlow<()> {
    for line in lines {
        app.output().line(Printable(&line))?;
    }
    ControlFlow::Continue(())
}

fn followed(run: &RunId, last: Option<&AgentLog>) -> Outcome {
    let document = RunLogDocument {
        run_id: run.to_string(),
        path: last.map(|agent| path_text(&agent.stream())),
        log: None,
        agents: Vec::new(),
    };
    Answer::new(&document, "")
}

/// Prints new lines of the agents' output. Every log is checked in each turn.
fn follow_raw(app: &App, wiring: &Wiring, mut run: Run, options: &LogOptions) -> Outcome {
    let mut offsets: BTreeMap<PathBuf, u64> = BTreeMap::new();
    let mut is_read = true;
    loop {
        let is_last = !run.is_active();
        let agents = agents(wiring, &run, options.wanted())?;
        for path in agents.iter().map(AgentLog::stream) {
            let shown = offsets.entry(path.clone()).or_default();
            let fresh = match load_from(&path, *shown, LOG_BYTES) {
                Ok(fresh) => fresh,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(unreadable(&path, &error)),
            };
            let whole = fresh.iter().rposition(|byte| *byte == b'\n');
            let whole = whole.map_or(0, |end| end + 1);
            for line in String::from_utf8_lossy(&fresh[..whole]).lines() {
                is_read = is_read && app.output().line(Printable(line)).is_continue();
            }
            *shown += whole as u64;
        }
        if is_last || !is_read || app.cancel()?.asked().is_some() {
            return followed(&run.id, agents.last());
        }
        std::thread::sleep(FOLLOW_EVERY);
        run = wiring.journal().require(&run.id)?;
    }
}

/// The log of the agent that was active last.
fn newest_log(wiring: &Wiring, run: &Run) -> Option<PathBuf> {
    let ids = run.children.keys().chain([&run.id]);
    let folders = ids.filter_map(|id| std::fs::read_dir(wiring.runs_dir.join(id.as_str())).ok());
    let logs = folders
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join(TRANSCRIPT)));
    logs.filter_map(|log| Some((log.metadata().ok()?.modified().ok()?, log)))
        .max()
        .map(|(_, log)| log)
}

fn load_text(path: &Path) -> Result<String, Problem> {
    match load_tail(path, LOG_BYTES) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(unreadable(path, &error)),
    }
}

/// The events from an offset on, and the number of bytes read.
fn load_events(path: &Path, from: u64) -> Result<(Vec<LoggedEvent>, u64), Problem> {
    let bytes = load_from(path, from, MOST_EVENT_BYTES);
    let bytes = bytes.map_err(|error| unreadable(path, &error))?;
    let (events, whole) = parse_events(&bytes);
    Ok((events, whole as u64))
}

/// The maximum size of an event log.
const MOST_EVENT_BYTES: u64 = 32 << 20;

fn no_log(run: &Run, wanted: Wanted) -> Problem {
    let message = if wanted.is_all() {
        format!("no agent of run `{}` has a log", run.id)
    } else {
        format!("run `{}` has no such agent with a log", run.id)
    };
    Problem::new(Kind::NoLog, message)
        .hint(format!("see its progress: `drive runs show {}`", run.id))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Problem {
    Problem::new(
        Kind::LogUnreadable,
        format!("cannot read `{}`", path.display()),
    )
    .because(error)
}
