//! The public state of a cruise's phase, and its poll backoff.

mod backoff;
mod state_file;

pub use backoff::Backoff;
pub use state_file::{
    Evidence, LONGEST_STATE_FILE, MOST_PENDING, PhaseName, PhaseState, STATE_FILE,
    STATE_FILE_VERSION, STATE_FOLDER,
};
