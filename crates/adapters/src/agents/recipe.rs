use super::home::AgentFolders;
use super::locate::Program;
use drive_core::Problem;
use drive_core::agent::answer::AnswerForm;
use drive_core::agent::stream::{AgentStream, StreamSetup};
use drive_core::agent::{AgentKind, Secrets};
use drive_core::process::{LayerName, LayerState};
use drive_engine::ports::{AgentRequest, CommandSpec, IsolationMode, ProcessRunner};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The differences between the kinds of agents.
pub(super) trait Recipe: Send + Sync {
    /// The kind of agent that this recipe starts.
    fn kind(&self) -> AgentKind;

    /// The file in the home from which it reads instructions.
    fn instructions(&self) -> Option<&'static str> {
        None
    }

    /// The command with which a person logs in.
    fn login_command(&self) -> Option<&'static str> {
        None
    }

    /// A warning about a sandbox whose files the agent may execute as soon as it starts.
    fn warning(&self, _agent: &str, _sandbox: &Path) -> Option<String> {
        None
    }

    /// The program to start instead of the one that was found, which may be a wrapper.
    fn native(&self, found: Program) -> Program {
        found
    }

    /// The arguments that print the version; `None` if not all such programs support one.
    fn version_args(&self) -> Option<&'static [&'static str]>;

    /// The versions with which the flags and events were verified.
    fn verified(&self) -> &'static [&'static str];

    /// Whether a version output can be this agent's.
    fn recognises(&self, version_text: &str) -> bool;

    /// Its option for the form of the last message.
    fn form_option(&self) -> Option<FormOption> {
        None
    }

    /// How to start it for a job.
    fn launch(&self, job: &Job<'_>) -> Result<Launch, Problem>;
}

/// An option that takes a JSON Schema for the last message.
#[derive(Clone, Copy, Debug)]
pub(super) struct FormOption {
    /// The arguments that print the available options.
    pub(super) help: &'static [&'static str],
    /// The option's name, with its dashes.
    pub(super) name: &'static str,
}

/// One job, with everything prepared for it.
pub(super) struct Job<'a> {
    /// The agent's name in the settings.
    pub(super) name: &'a str,
    /// The request.
    pub(super) request: &'a AgentRequest,
    /// The file with the job as data.
    pub(super) input: Option<&'a Path>,
    /// The form that its own option requests for the last message; free if it has no such option.
    pub(super) answer: AnswerForm,
    /// The model to use.
    pub(super) model: Option<&'a str>,
    /// The private folders.
    pub(super) folders: &'a AgentFolders,
    /// The configuration of its stream parser.
    pub(super) setup: StreamSetup,
    /// The runner that starts it.
    pub(super) runner: &'a dyn ProcessRunner,
}

impl Job<'_> {
    /// The prompt, with a note if the CLI itself requests the form of the answer.
    pub(super) fn prompt(&self) -> String {
        let note = self.answer.note().map(|note| format!("\n\n{note}\n"));
        format!("{}{}", self.request.prompt, note.unwrap_or_default())
    }

    /// Whether the kernel confines the agent to the folders of its role, whatever its own flags say.
    pub(super) fn is_held_by_kernel(&self) -> bool {
        self.request.isolation != IsolationMode::Off
            && self.runner.probe().iter().any(|layer| {
                layer.name == LayerName::WriteScope && layer.state == LayerState::Active
            })
    }
}

/// How to start an agent and read its output.
pub(super) struct Launch {
    /// Arguments after the configured ones.
    pub(super) args: Vec<OsString>,
    /// Variables in addition to the allowed ones.
    pub(super) env: Vec<(OsString, OsString)>,
    /// Its standard input.
    pub(super) input: Input,
    /// Further folders that it must be able to read.
    pub(super) readable: Vec<PathBuf>,
    /// A layer that it must not run without, because its flags rely on it.
    pub(super) relies_on: Option<LayerName>,
    /// Parses the agent's output.
    pub(super) stream: Box<dyn AgentStream>,
}

/// The standard input of an agent.
pub(super) enum Input {
    /// These bytes, then end of file.
    Once(Vec<u8>),
    /// These bytes first, then the replies of its stream.
    Dialogue(Vec<u8>),
}

/// Arguments from string literals.
pub(super) fn args(literals: &[&str]) -> Vec<OsString> {
    literals.iter().map(OsString::from).collect()
}

/// A variable of the environment.
pub(super) fn variable(name: &str, value: impl Into<OsString>) -> (OsString, OsString) {
    (OsString::from(name), value.into())
}

/// The command line, for people.
pub(super) fn argv(spec: &CommandSpec, secrets: &Secrets) -> Vec<String> {
    let program = spec.program.as_os_str();
    let all = std::iter::once(program).chain(spec.args.iter().map(OsString::as_os_str));
    let all = all.map(|one| without_schema(secrets.redact(&one.to_string_lossy())));
    all.collect()
}

/// Shortens the schema of an answer in a command line, which people need not read.
fn without_schema(argument: String) -> String {
    if argument.starts_with("{\"additionalProperties\"") {
        "(schema)".to_owned()
    } else {
        argument
    }
}
