//! Coding agents over the bounded runner: five kinds, one way to run them.
//!
//! What differs between the agents is in one file each (`claude`, `gemini`, `codex`, `acp`,
//! `command`): flags for a role, files they need, the versions that were verified. What is the same
//! is not: finding the program (`locate`), the private home (`home`), what it holds of the user's
//! settings (`projection`, `instructions`), the keys that stay outside (`keys`), what the agent sees
//! and the kernel lets it touch (`sight`, `confine`), and the conversation with its redaction, its log
//! and its stops (`session`).

mod acp;
mod check;
mod claude;
mod codex;
mod command;
mod confine;
mod event_log;
mod files;
mod form;
mod gemini;
mod home;
mod host;
mod instructions;
mod keys;
mod locate;
mod login;
mod projection;
mod prompt;
mod recipe;
mod runner;
mod session;
mod sight;
mod transcript;
mod version;

pub use event_log::{AgentEnd, AgentHead, EVENT_LOG, LoggedEvent, load_head, parse_events};
pub use home::discard_homes;
pub use host::{AgentHost, LoginState};
pub use runner::{AnyAgent, agent};
pub use transcript::TRANSCRIPT;
