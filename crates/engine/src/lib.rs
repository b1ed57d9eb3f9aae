//! Ports, journal-then-act, recovery, and the service behind each command.
//!
//! This crate names no concrete tool: git, GitHub, SQLite and the agents are adapters.

pub mod cancel;
pub mod cruise;
mod dispatch;
pub mod executor;
#[cfg(any(test, feature = "fakes"))]
pub mod fakes;
pub mod forge;
pub mod journal;
pub mod lease;
pub mod perform;
pub mod ports;
pub mod recovery;
pub mod resume;
mod sandbox_guard;
pub mod start;
mod stdin_channel;
pub mod stop;
mod tree;
pub mod verify;

pub use cancel::CancelToken;
pub use sandbox_guard::SandboxGuard;
pub use stdin_channel::{StdinClosed, StdinSource, StdinWriter, stdin_channel};
