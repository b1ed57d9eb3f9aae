//! Services between a forge and the runs that watch it.

mod conversation;
mod permissions;
mod poll_coalescer;

pub use conversation::Conversation;
pub use permissions::{Judgement, PERMISSION_LIFETIME, Permissions};
