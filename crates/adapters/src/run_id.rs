//! Generates run ids.

use drive_core::ids::RunId;
use drive_core::problem::{Kind, Problem};
use drive_core::time::Timestamp;

/// A new, unique run id.
pub fn fresh_run_id(now: Timestamp) -> Result<RunId, Problem> {
    let mut entropy = [0; 4];
    getrandom::fill(&mut entropy).map_err(|error| {
        Problem::new(Kind::NoRandomness, "the system provides no random numbers")
            .cause(error.to_string())
    })?;
    Ok(RunId::compose(now, u32::from_le_bytes(entropy)))
}
