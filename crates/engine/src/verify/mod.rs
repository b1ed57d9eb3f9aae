//! The isolated verifier: preflight, workspace, stages in order, and a report in every case.

mod envelope;
#[cfg(test)]
mod fake_world;
mod ports;
mod second_look;
mod service;
mod stage;
mod stage_env;

pub use envelope::{ReportDraft, lost};
pub use ports::{Candidates, Merging, Projects, Reports, Slot, Slots, Workspace, Workspaces};
pub use service::{Verified, Verifier, VerifyRequest};
pub use stage_env::StageEnv;
