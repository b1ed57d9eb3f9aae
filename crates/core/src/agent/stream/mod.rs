//! Parsers of agents' output streams.
//!
//! Each parser is pure: it takes bytes and returns typed events, and at the end an outcome based on
//! the agent's own terminal event. Chunks may end anywhere, key order does not matter, unknown
//! events are counted, and no input makes a parser fail or use unbounded memory.

mod acp;
mod asking;
mod calls;
mod claude;
mod codex;
mod diagnosis;
mod gemini;
mod json_lines;
mod lines;
mod program;
mod progress;
mod spoken;
mod text;
mod verdict;

use super::answer::AnswerForm;
use super::event::AgentEvent;
use super::outcome::{AgentOutcome, Session};
use super::permission::PermissionRules;
use super::redact::Secrets;
use super::role::Role;
use super::usage::{Budget, Usage};
use crate::process::{End, Stream};

pub use acp::{AcpJob, acp_stream};
pub use claude::{claude_stream, claude_user_message};
pub use codex::codex_stream;
pub use gemini::gemini_stream;
pub use program::program_stream;

/// The configuration of a stream parser.
#[derive(Clone, Debug)]
pub struct StreamSetup {
    /// The role of the agent.
    pub role: Role,
    /// Rules that answer permission requests.
    pub permissions: PermissionRules,
    /// The number of allowed permission requests.
    pub max_escalations: u32,
    /// The remaining budget.
    pub budget: Budget,
    /// The conversation to resume.
    pub resume: Option<Session>,
    /// The form that the CLI's own option requests for the last message; free if the option is not used.
    pub answer: AnswerForm,
    /// Secrets to redact from the output.
    pub secrets: Secrets,
}

/// The progress of a run according to its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The agent is working.
    Working,
    /// The terminal event arrived, or a reviewer marked its review as complete: the agent has
    /// finished and should exit.
    Done,
    /// The agent must be stopped: it exceeded its budget or permissions, or is not an agent of this
    /// kind.
    Abandoned,
}

/// A parser of one agent's output.
pub trait AgentStream: Send {
    /// Parses the next bytes.
    fn push(&mut self, source: Stream, bytes: &[u8]) -> Vec<AgentEvent>;

    /// Takes the token count of this run so far, as counted on the way to the model. It stops a run
    /// that exceeds its budget; at the end, the agent's own report takes precedence.
    fn counted(&mut self, _usage: Usage) -> Vec<AgentEvent> {
        Vec::new()
    }

    /// Frames to write to the agent's standard input, in order, since the last call.
    fn outgoing(&mut self) -> Vec<Vec<u8>>;

    /// The progress of the run.
    fn phase(&self) -> Phase;

    /// Returns the last events and the outcome.
    fn finish(&mut self, end: &End) -> (Vec<AgentEvent>, AgentOutcome);
}
