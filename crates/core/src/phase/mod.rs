//! A phase of a cruise as people and tools see it, and its poll backoff.

mod backoff;
mod state_file;

pub use backoff::Backoff;
pub use state_file::{
    Evidence, LONGEST_STATE_FILE, MOST_PENDING, PhaseName, PhaseState, STATE_FILE,
    STATE_FILE_VERSION, STATE_FOLDER,
};
