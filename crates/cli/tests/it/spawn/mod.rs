//! `drive spawn` by the real binary: real repositories, the local forge, and agents that are small
//! shell scripts, well-behaved and not.

pub(crate) mod support;

mod aftermath;
mod agents;
mod crowd;
mod deaths;
mod flight;
mod github;
mod homes;
mod memory;
mod mistakes;
mod narration;
mod secrets;
mod stops;
mod surroundings;
mod waits;
mod wreckers;
