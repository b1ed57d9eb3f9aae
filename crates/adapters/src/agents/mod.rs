//! Coding agents, started by the bounded runner: five kinds, and one way to run them.
//!
//! Each kind has one file (`claude`, `gemini`, `codex`, `acp`, `command`) with its flags for a
//! role, the files it needs, and the verified versions. The other files are shared: finding the
//! program (`locate`), the private home (`home`), the user's settings in it (`projection`,
//! `instructions`), the keys that stay outside (`keys`), the isolation (`sight`, `confine`), and
//! the conversation with its redaction, its log and its stops (`session`).

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
