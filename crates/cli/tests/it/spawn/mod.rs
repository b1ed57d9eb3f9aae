//! Tests `drive spawn` with the real binary: real repositories, the local forge, and small shell
//! scripts as agents, well-behaved and not.

pub(crate) mod support;

mod agents;
mod background;
mod bombs;
mod cleaning;
mod continuing;
mod crowd;
pub(crate) mod deaths;
mod end_to_end;
mod github;
mod homes;
mod layers;
mod listing;
mod logging;
mod memory;
mod mistakes;
mod narration;
mod preflight;
mod private;
mod recovery;
mod resuming;
mod secrets;
mod signing;
mod start_warnings;
mod stopping;
mod stops;
mod surroundings;
mod waits;
mod without_id;
mod wreckers;
