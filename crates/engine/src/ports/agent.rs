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
    /// The prompt's inputs as JSON, for programs: task, comments, diff base and pull request.
    /// `DRIVE_INPUT` names its file.
    pub input: Option<String>,
    /// The form of its last message. A CLI with an option for that is asked for it.
    pub answer: AnswerForm,
    /// The sandbox it works in. A folder below `scratch` is made when it is missing.
    pub sandbox: PathBuf,
    /// The repository's common git folder; its hooks and its configuration are never writable.
    pub git_dir: Option<PathBuf>,
    /// A folder of this run outside the sandbox, for the agent's redacted log, and for its private
    /// home and temporary folder, until [`AgentSource::tidy`] removes those.
    pub scratch: PathBuf,
    /// The model, when the caller overrides the settings.
    pub model: Option<String>,
    /// The conversation to resume.
    pub resume: Option<Session>,
    /// The repository's instructions for agents, as they were at the base. Agents read them as
    /// text.
    pub instructions: Vec<InstructionFile>,
    /// The limits.
    pub limits: Limits,
    /// The remaining budget.
    pub budget: Budget,
    /// Files in the sandbox that it may not write.
    pub held: Vec<PathBuf>,
    /// Maximum number of permission requests.
    pub max_escalations: u32,
    /// Refuse to run it without the kernel's help.
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

/// The names of files that tell agents what to do. Reviewers hold a change against them.
pub const INSTRUCTION_FILES: [&str; 4] = ["CLAUDE.md", "AGENTS.md", "GEMINI.md", "CONTRIBUTING.md"];

/// Facts about an installed agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentVersion {
    /// The adapter that runs the agent.
    pub kind: AgentKind,
    /// The program that would be started.
    pub program: PathBuf,
    /// Its version, where it has one.
    pub version: Option<String>,
    /// Set when that version is not one the adapter was verified with; names those that are.
    pub warning: Option<String>,
}

/// A coding agent.
pub trait Agent: Send + Sync {
    /// Its name in the settings.
    fn name(&self) -> &str;

    /// Whether it is installed, and in which version. Starts it, briefly, without work, secrets or
    /// network.
    fn check(
        &self,
        isolation: IsolationMode,
        cancel: &CancelToken,
    ) -> Result<AgentVersion, Problem>;

    /// Whether it is told by itself what the repository's instruction files say. Reviewers that are
    /// not get them in their prompt.
    fn takes_instructions(&self) -> bool {
        false
    }

    /// Lets it do one job, to its end.
    ///
    /// `started` is called before the agent executes its first instruction. Events are redacted,
    /// in order, and bounded in size; the outcome is what the agent's own terminal event says, and
    /// an error is what kept it from running at all.
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
    /// The agent of that name; a problem that lists the names when there is none.
    fn agent(&self, name: &str) -> Result<Box<dyn Agent>, Problem>;

    /// Removes the private folders that agents left in a scratch folder, or in those right below a
    /// run's folder. Their processes are gone by then; fine when there are none.
    fn tidy(&self, folder: &Path);
}
