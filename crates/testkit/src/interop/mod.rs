//! Installs the real agent CLIs once, and starts them so that they cannot do damage.
//!
//! Every start gets exactly the environment of [`AgentHome::environment`]: a private home, dummy
//! keys, and a model on loopback. Nothing of the caller's is inherited.

mod home;
mod install;

pub use home::AgentHome;
pub use install::AgentClis;

use crate::model_server::Protocol;

/// An agent CLI under test.
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
    /// All agent CLIs.
    pub const ALL: [Self; 3] = [Self::Claude, Self::Gemini, Self::Codex];

    /// Its name in files and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Gemini => "gemini",
            Self::Codex => "codex",
        }
    }

    /// The protocol in which it talks to its model.
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::Claude => Protocol::Anthropic,
            Self::Gemini => Protocol::Gemini,
            Self::Codex => Protocol::Responses,
        }
    }

    /// A model for which it offers the full set of tools.
    pub const fn model(self) -> &'static str {
        match self {
            Self::Claude => "claude-sonnet-4-5",
            Self::Gemini => "gemini-2.5-pro",
            Self::Codex => "gpt-5.5",
        }
    }
}
