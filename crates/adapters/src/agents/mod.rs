//! Coding agents over the bounded runner: five kinds, one way to run them.
//!
//! What differs between the agents is in one file each (`claude`, `gemini`, `codex`, `acp`,
//! `command`): flags for a role, files they need, the versions that were verified. What is the same
//! is not: finding the program (`locate`), the private home (`home`), what it holds of the user's
//! settings (`projection`, `instructions`), the keys that stay outside (`keys`), what the kernel lets them touch (`confine`), and the conversation with its redaction, its log and its stops (`session`).

mod acp;
mod claude;
mod codex;
mod command;
mod confine;
mod files;
mod gemini;
mod home;
mod instructions;
mod keys;
mod locate;
mod login;
mod projection;
mod prompt;
mod recipe;
mod runner;
mod session;
mod transcript;
mod version;

pub use home::discard_homes;
pub use runner::{AgentHost, AnyAgent, agent};
pub use transcript::TRANSCRIPT;
