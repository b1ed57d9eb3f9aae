//! What agents print, read as it comes.
//!
//! Each agent's stream is a pure reader: bytes go in, typed events and answers come out, and at the
//! end a verdict that rests on the agent's own terminal event. Chunks may end anywhere, key order
//! does not matter, unknown events are counted, and no input makes a reader fail or grow.

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

use super::event::AgentEvent;
use super::outcome::{AgentOutcome, Session};
use super::permission::PermissionRules;
use super::redact::Secrets;
use super::role::Role;
use super::usage::Budget;
use crate::process::End;

pub use acp::{AcpJob, acp_stream};
pub use claude::{claude_stream, claude_user_message};
pub use codex::codex_stream;
pub use gemini::gemini_stream;
pub use program::program_stream;

/// What a reader must know to answer and to judge.
#[derive(Clone, Debug)]
pub struct StreamSetup {
    /// What the agent is.
    pub role: Role,
    /// What it may be granted.
    pub permissions: PermissionRules,
    /// How often it may ask.
    pub max_escalations: u32,
    /// What it may still use.
    pub budget: Budget,
    /// The conversation it goes on with.
    pub resume: Option<Session>,
    /// What nobody may read in what it says.
    pub secrets: Secrets,
}

/// Where bytes came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How far a run is, as its stream tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It works.
    Working,
    /// Its terminal event came, or a reviewer wrote that its review is complete: nothing more is to
    /// be said, and it should exit.
    Done,
    /// It must not go on: out of budget, out of permissions, or no agent at all.
    Abandoned,
}

/// One agent's stream.
pub trait AgentStream: Send {
    /// Reads the next bytes.
    fn push(&mut self, source: Source, bytes: &[u8]) -> Vec<AgentEvent>;

    /// Frames to write to the agent's standard input, in order, since the last call.
    fn outgoing(&mut self) -> Vec<Vec<u8>>;

    /// How far the run is.
    fn phase(&self) -> Phase;

    /// The last events, and what came of it all.
    fn finish(&mut self, end: &End) -> (Vec<AgentEvent>, AgentOutcome);
}
