//! What happens between a forge and the runs that watch it.

mod conversation;
mod lookout;
mod permissions;

pub use conversation::Conversation;
pub use permissions::{Judgement, PERMISSION_LIFETIME, Permissions};
