//! The real agent CLIs, installed once and started so that they can harm nothing.
//!
//! Every start gets exactly the environment of [`AgentHome::environment`]: a private home, dummy
//! keys, and a model on loopback. Nothing of the caller's is inherited.

mod home;
mod install;

pub use home::AgentHome;
pub use install::AgentClis;

use crate::model_server::Protocol;

/// One of the agent CLIs under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cli {
    /// Claude Code.
    Claude,
    /// Gemini CLI.
    Gemini,
    /// The Codex CLI.
    Codex,
}

impl Cli {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Claude, Self::Gemini, Self::Codex];

    /// Its name in files and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Gemini => "gemini",
            Self::Codex => "codex",
        }
    }

    /// What it speaks to its model.
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::Claude => Protocol::Anthropic,
            Self::Gemini => Protocol::Gemini,
            Self::Codex => Protocol::Responses,
        }
    }

    /// A model it has the full set of tools for.
    pub const fn model(self) -> &'static str {
        match self {
            Self::Claude => "claude-sonnet-4-5",
            Self::Gemini => "gemini-2.5-pro",
            Self::Codex => "gpt-5.5",
        }
    }
}
