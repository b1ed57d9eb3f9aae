//! Sandboxes: folders with their own repository that borrows the objects of the user's repository.
//!
//! Each step is recorded outside the sandbox before it is performed, so that after a crash the next
//! sweep can finish or undo it.

mod bring;
mod create;
mod elsewhere;
mod evidence;
mod inside;
mod keep;
pub mod kept;
pub(crate) mod lock;
mod mend;
mod nested;
mod phase_files;
mod port;
mod problems;
mod record;
mod refs;
mod remove;
mod repository;
mod roll_back;
mod sandboxes;
mod saver;
mod steps;
mod sweep;
mod trash;

pub use sandboxes::{GitSandboxes, is_anything_left};
pub use steps::Step;
