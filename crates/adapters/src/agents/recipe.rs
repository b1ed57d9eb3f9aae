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

/// What is special about one kind of agent.
pub(super) trait Recipe: Send + Sync {
    /// The kind of agent that this recipe starts.
    fn kind(&self) -> AgentKind;

    /// The file of the home that it takes instructions from.
    fn instructions(&self) -> Option<&'static str> {
        None
    }

    /// The command that logs a person in.
    fn login_command(&self) -> Option<&'static str> {
        None
    }

    /// What to tell about a sandbox whose files the agent may execute as soon as it starts there.
    fn warning(&self, _agent: &str, _sandbox: &Path) -> Option<String> {
        None
    }

    /// The program to start in place of the one that was found: some are wrappers.
    fn native(&self, found: Program) -> Program {
        found
    }

    /// How to ask for the version; `None` where there is no way that all such programs know.
    fn version_args(&self) -> Option<&'static [&'static str]>;

    /// The versions the flags and events were verified with.
    fn verified(&self) -> &'static [&'static str];

    /// Whether text that a program prints about its version can be this agent's.
    fn recognises(&self, version_text: &str) -> bool;

    /// Its option for the form of the last message.
    fn form_option(&self) -> Option<FormOption> {
        None
    }

    /// How to start it for a job.
    fn launch(&self, job: &Job<'_>) -> Result<Launch, Problem>;
}

/// An option that gives the last message the form of a JSON Schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct FormOption {
    /// How to ask which options there are.
    pub(super) help: &'static [&'static str],
    /// The option's name, with its dashes.
    pub(super) name: &'static str,
}

/// One job, with what was prepared for it.
pub(super) struct Job<'a> {
    /// The agent's name in the settings.
    pub(super) name: &'a str,
    /// What is to be done.
    pub(super) request: &'a AgentRequest,
    /// The file that says what is to be done as data.
    pub(super) input: Option<&'a Path>,
    /// The form that its own option is to give its last message; free where it has no such option.
    pub(super) answer: AnswerForm,
    /// The model to use.
    pub(super) model: Option<&'a str>,
    /// The private folders.
    pub(super) folders: &'a AgentFolders,
    /// What its stream must know.
    pub(super) setup: StreamSetup,
    /// Who starts it.
    pub(super) runner: &'a dyn ProcessRunner,
}

impl Job<'_> {
    /// The prompt, with what it does not say about an answer that the CLI itself asks for.
    pub(super) fn prompt(&self) -> String {
        let note = self.answer.note().map(|note| format!("\n\n{note}\n"));
        format!("{}{}", self.request.prompt, note.unwrap_or_default())
    }

    /// Whether the kernel will hold the agent to the folders of its role, whatever its own flags
    /// say.
    pub(super) fn is_held_by_kernel(&self) -> bool {
        self.request.isolation != IsolationMode::Off
            && self.runner.probe().iter().any(|layer| {
                layer.name == LayerName::WriteScope && layer.state == LayerState::Active
            })
    }
}

/// How an agent is started and listened to.
pub(super) struct Launch {
    /// Arguments after the configured ones.
    pub(super) args: Vec<OsString>,
    /// Variables besides the allowed ones.
    pub(super) env: Vec<(OsString, OsString)>,
    /// What it reads.
    pub(super) input: Input,
    /// Folders it must be able to read besides.
    pub(super) readable: Vec<PathBuf>,
    /// A layer without which it must not have run: it was started on the strength of it.
    pub(super) relies_on: Option<LayerName>,
    /// Parses the agent's output.
    pub(super) stream: Box<dyn AgentStream>,
}

/// What an agent reads.
pub(super) enum Input {
    /// This, then the end.
    Once(Vec<u8>),
    /// This first, then whatever its stream answers.
    Dialogue(Vec<u8>),
}

/// Arguments from literals.
pub(super) fn args(literals: &[&str]) -> Vec<OsString> {
    literals.iter().map(OsString::from).collect()
}

/// One variable.
pub(super) fn variable(name: &str, value: impl Into<OsString>) -> (OsString, OsString) {
    (OsString::from(name), value.into())
}

/// How an agent is started, as people may read it.
pub(super) fn argv(spec: &CommandSpec, secrets: &Secrets) -> Vec<String> {
    let program = spec.program.as_os_str();
    let all = std::iter::once(program).chain(spec.args.iter().map(OsString::as_os_str));
    let all = all.map(|one| without_schema(secrets.redact(&one.to_string_lossy())));
    all.collect()
}

/// People need not read the form of an answer in a command line.
fn without_schema(argument: String) -> String {
    if argument.starts_with("{\"additionalProperties\"") {
        "(schema)".to_owned()
    } else {
        argument
    }
}
