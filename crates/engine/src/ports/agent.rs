use super::process::Started;
use crate::CancelToken;
use drive_core::Problem;
use drive_core::agent::answer::AnswerForm;
use drive_core::agent::{AgentEvent, AgentKind, AgentOutcome, Budget, Role, Session};
use drive_core::ids::RunId;
use drive_core::process::Limits;
use drive_core::settings::IsolationMode;
use std::path::{Path, PathBuf};

/// One job for one agent.
#[derive(Clone, Debug)]
pub struct AgentRequest {
    /// The run.
    pub run: RunId,
    /// The agent's role.
    pub role: Role,
    /// The round of the run.
    pub round: u32,
    /// The review domain.
    pub domain: Option<String>,
    /// The prompt.
    pub prompt: String,
    /// The prompt's inputs as JSON, for `command` agents: task, comments, diff base and pull
    /// request. `DRIVE_INPUT` names its file.
    pub input: Option<String>,
    /// The form of its last message, which is requested from a CLI that has an option for it.
    pub answer: AnswerForm,
    /// The sandbox it works in. If it is below `scratch`, it is created if missing.
    pub sandbox: PathBuf,
    /// The repository's common git directory; its hooks and its configuration are never writable.
    pub git_dir: Option<PathBuf>,
    /// A folder of this run outside the sandbox. It contains the agent's redacted log, and its
    /// private home and temporary folder until [`AgentSource::tidy`] removes those.
    pub scratch: PathBuf,
    /// The model, if the caller overrides the settings.
    pub model: Option<String>,
    /// The conversation to resume.
    pub resume: Option<Session>,
    /// The repository's instructions for agents at the base, which agents get as text.
    pub instructions: Vec<InstructionFile>,
    /// The limits.
    pub limits: Limits,
    /// The remaining budget.
    pub budget: Budget,
    /// Files in the sandbox that it may not write.
    pub held: Vec<PathBuf>,
    /// Maximum number of permission requests.
    pub max_escalations: u32,
    /// Whether to refuse to run it without full isolation.
    pub isolation: IsolationMode,
}

/// A file with instructions for agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionFile {
    /// Its name, such as `AGENTS.md`.
    pub name: String,
    /// The file's text.
    pub text: String,
}

/// The names of files with instructions for agents. Reviewers check changes against them.
pub const INSTRUCTION_FILES: [&str; 4] = ["CLAUDE.md", "AGENTS.md", "GEMINI.md", "CONTRIBUTING.md"];

/// Facts about an installed agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentVersion {
    /// The adapter that runs the agent.
    pub kind: AgentKind,
    /// The program that would run.
    pub program: PathBuf,
    /// Its version, if it reports one.
    pub version: Option<String>,
    /// A warning if the adapter was not verified with this version; it names the verified ones.
    pub warning: Option<String>,
}

/// A coding agent.
pub trait Agent: Send + Sync {
    /// Its name in the settings.
    fn name(&self) -> &str;

    /// Checks whether it is installed, and in which version. This briefly starts it, without work,
    /// secrets or network.
    fn check(
        &self,
        isolation: IsolationMode,
        cancel: &CancelToken,
    ) -> Result<AgentVersion, Problem>;

    /// Whether it gets the repository's instruction files without drive's prompt. Other reviewers
    /// get them in their prompt.
    fn takes_instructions(&self) -> bool {
        false
    }

    /// Runs one job to its end.
    ///
    /// `started` is called before the agent executes its first instruction. Events are redacted, in
    /// order, and limited in size. The outcome follows from the agent's own terminal event; an
    /// error means that the agent could not run at all.
    fn run(
        &self,
        request: &AgentRequest,
        cancel: &CancelToken,
        started: &mut Started<'_>,
        on_event: &mut dyn FnMut(AgentEvent),
    ) -> Result<AgentOutcome, Problem>;
}

/// Agents by their name in the settings.
pub trait AgentSource: Send + Sync {
    /// The agent of this name; the problem for an unknown name lists the known ones.
    fn agent(&self, name: &str) -> Result<Box<dyn Agent>, Problem>;

    /// Removes the private folders that agents left in a scratch folder, or in those directly below
    /// a run's folder. Their processes have ended by then.
    fn tidy(&self, folder: &Path);
}
