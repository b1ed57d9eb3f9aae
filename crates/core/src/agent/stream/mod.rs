//! Parsers of agents' output streams.
//!
//! Each parser is pure: it takes bytes and returns typed events, and at the end a verdict that
//! rests on the agent's own terminal event. Chunks may end anywhere, key order does not matter,
//! unknown events are counted, and no input makes a parser fail or use unbounded memory.

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
    /// The form that the CLI's own option gives the last message; free where it is not used.
    pub answer: AnswerForm,
    /// Secrets to redact from the output.
    pub secrets: Secrets,
}

/// The progress of a run according to its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The agent is working.
    Working,
    /// Its terminal event came, or a reviewer wrote that its review is complete: nothing more is to
    /// be said, and it should exit.
    Done,
    /// The agent must be stopped: it exceeded its budget or permissions, or is not an agent of this
    /// kind.
    Abandoned,
}

/// A parser of one agent's output.
pub trait AgentStream: Send {
    /// Reads the next bytes.
    fn push(&mut self, source: Stream, bytes: &[u8]) -> Vec<AgentEvent>;

    /// Takes in the tokens of this run so far as they were counted on the way to the model. They stop
    /// a run that passes its budget; at the end, what the agent itself reports goes before them.
    fn counted(&mut self, _usage: Usage) -> Vec<AgentEvent> {
        Vec::new()
    }

    /// Frames to write to the agent's standard input, in order, since the last call.
    fn outgoing(&mut self) -> Vec<Vec<u8>>;

    /// The progress of the run.
    fn phase(&self) -> Phase;

    /// The last events, and what came of it all.
    fn finish(&mut self, end: &End) -> (Vec<AgentEvent>, AgentOutcome);
}
