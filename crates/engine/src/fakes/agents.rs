//! Scripted agents, one script per role.

use super::lock::lock;
use super::machine::{DriveProcess, FakeMachine};
use super::repository::{FakeRepository, Files};
use crate::cancel::CancelToken;
use crate::ports::{Agent, AgentRequest, AgentSource, AgentVersion, IsolationMode, Started};
use drive_core::agent::{
    AgentEvent, AgentKind, AgentOutcome, Ending, Failure, Ignored, Role, Usage,
};
use drive_core::problem::{Kind, Problem};
use drive_core::run::JobInput;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The beginning of every half-written file.
const HALF: &str = "half of ";

/// The inputs of an agent at its start.
#[derive(Clone, Debug)]
pub struct AgentTurn {
    /// The agent's role.
    pub role: Role,
    /// The round of the run.
    pub round: u32,
    /// The review domain.
    pub domain: Option<String>,
    /// The prompt.
    pub prompt: String,
    /// The prompt's inputs as data.
    pub input: JobInput,
    /// The files of its sandbox; empty for a job without one.
    pub files: Files,
    /// Whether the sandbox contained uncommitted changes.
    pub dirty: bool,
}

/// The work of a scripted agent.
#[derive(Clone, Debug)]
pub struct AgentWork {
    /// Files that it writes. Each is written in two steps, with an event between them.
    pub writes: Vec<(String, String)>,
    /// Whether it commits its files; else they stay uncommitted for drive.
    pub commits: bool,
    /// The answer.
    pub answer: String,
    /// The ending.
    pub ending: Ending,
}

impl AgentWork {
    /// Work that is only an answer.
    pub fn answer(text: impl Into<String>) -> Self {
        Self {
            writes: Vec::new(),
            commits: false,
            answer: text.into(),
            ending: Ending::Succeeded,
        }
    }

    /// Adds a file to write.
    #[must_use]
    pub fn write(mut self, path: &str, text: &str) -> Self {
        self.writes.push((path.to_owned(), text.to_owned()));
        self
    }

    /// Makes the agent commit everything at its end.
    #[must_use]
    pub fn commit(mut self) -> Self {
        self.commits = true;
        self
    }
}

type Script = dyn Fn(&AgentTurn) -> AgentWork + Send + Sync;

/// The agents of a world. An agent survives the drive process that started it, until it is killed.
#[derive(Clone)]
pub struct FakeAgents {
    scripts: Arc<Mutex<BTreeMap<Role, Arc<Script>>>>,
    turns: Arc<Mutex<Vec<AgentTurn>>>,
    repository: FakeRepository,
    machine: FakeMachine,
    process: DriveProcess,
}

impl FakeAgents {
    /// Agents that work on this repository. Each role needs a script.
    pub fn new(repository: FakeRepository, machine: FakeMachine, process: DriveProcess) -> Self {
        Self {
            scripts: Arc::default(),
            turns: Arc::default(),
            repository,
            machine,
            process,
        }
    }

    /// The same agents, as used by another process.
    pub fn of(&self, process: DriveProcess) -> Self {
        Self {
            process,
            ..self.clone()
        }
    }

    /// Sets the script of a role. A script that depends on files rather than on counters repeats
    /// its work after a crash.
    pub fn script(
        &self,
        role: Role,
        script: impl Fn(&AgentTurn) -> AgentWork + Send + Sync + 'static,
    ) {
        lock(&self.scripts).insert(role, Arc::new(script));
    }

    /// Every start of an agent so far.
    pub fn turns(&self) -> Vec<AgentTurn> {
        lock(&self.turns).clone()
    }

    /// Whether a text is from an agent that died while writing.
    pub fn is_half_written(text: &str) -> bool {
        text.starts_with(HALF)
    }
}

impl AgentSource for FakeAgents {
    fn agent(&self, name: &str) -> Result<Box<dyn Agent>, Problem> {
        self.process.check()?;
        Ok(Box::new(FakeAgent {
            name: name.to_owned(),
            all: self.clone(),
        }))
    }

    fn tidy(&self, _: &Path) {}
}

struct FakeAgent {
    name: String,
    all: FakeAgents,
}

impl FakeAgent {
    fn turn(&self, request: &AgentRequest) -> AgentTurn {
        let found = self.all.repository.look_into(&request.sandbox);
        let (files, dirty) = found.unwrap_or_default();
        let input = request.input.as_deref().map(serde_json::from_str);
        AgentTurn {
            role: request.role,
            round: request.round,
            domain: request.domain.clone(),
            prompt: request.prompt.clone(),
            input: input.and_then(Result::ok).unwrap_or_default(),
            files,
            dirty,
        }
    }
}

impl Agent for FakeAgent {
    fn name(&self) -> &str {
        &self.name
    }

    fn check(&self, _: IsolationMode, _: &CancelToken) -> Result<AgentVersion, Problem> {
        self.all.process.check()?;
        Ok(AgentVersion {
            kind: AgentKind::Command,
            program: self.name.clone().into(),
            version: None,
            warning: None,
        })
    }

    fn run(
        &self,
        request: &AgentRequest,
        cancel: &CancelToken,
        started: &mut Started<'_>,
        on_event: &mut dyn FnMut(AgentEvent),
    ) -> Result<AgentOutcome, Problem> {
        let FakeAgents {
            scripts,
            turns,
            repository,
            machine,
            process,
        } = &self.all;
        process.check()?;
        let script = lock(scripts).get(&request.role).cloned();
        let script = script.ok_or_else(|| {
            Problem::new(
                Kind::AgentNotInstalled,
                format!("no script for a {}", request.role),
            )
        })?;
        let identity = machine.prepare_agent();
        started(&identity)?;
        machine.let_run(&identity, &request.run, request.role.name());
        let turn = self.turn(request);
        lock(turns).push(turn.clone());
        on_event(AgentEvent::Launched {
            argv: vec![self.name.clone()],
        });
        process.check()?;
        let work = script(&turn);
        for (path, text) in &work.writes {
            repository.agent_writes(&request.sandbox, path, &format!("{HALF}{text}"));
        }
        // If drive dies from here on, the agent keeps running and leaves half-written files.
        on_event(used(100));
        process.check()?;
        for (path, text) in &work.writes {
            repository.agent_writes(&request.sandbox, path, text);
        }
        if work.commits {
            repository.agent_commits(&request.sandbox, "By the agent");
        }
        on_event(used(200));
        process.check()?;
        machine.agent_ended(&identity);
        let ending = match cancel.asked() {
            None => work.ending,
            Some(_) => Ending::Failed {
                reason: Failure::Cancelled,
                message: String::new(),
            },
        };
        Ok(AgentOutcome {
            ending,
            summary: format!("The {} is done.", request.role),
            text: work.answer,
            document: None,
            usage: usage(200),
            cost: None,
            session: None,
            escalations: 0,
            ignored: Ignored::default(),
        })
    }
}

fn usage(input: u64) -> Usage {
    Usage {
        input,
        cached: 0,
        output: 0,
    }
}

fn used(input: u64) -> AgentEvent {
    AgentEvent::Usage {
        usage: usage(input),
        cost: None,
    }
}
