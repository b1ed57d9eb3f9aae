//! What happens.
//!
//! The ports (what drive needs of the world), journal-then-act, recovery, and the service behind
//! each command. No concrete tool is named here: git, GitHub, SQLite and the agents are adapters.

pub mod cancel;
pub mod ports;
mod stdin_channel;

pub use cancel::CancelToken;
pub use stdin_channel::{StdinClosed, StdinSource, StdinWriter, stdin_channel};
