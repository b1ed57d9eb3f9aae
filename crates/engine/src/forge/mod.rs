//! What happens between a forge and the runs that watch it.

mod permissions;

pub use permissions::{Judgement, PERMISSION_LIFETIME, Permissions};
