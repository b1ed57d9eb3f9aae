//! The isolated verifier: preflight, workspace and stages, with a report in every case.

mod contract;
mod envelope;
mod known;
mod ports;
mod rule_changes;
mod second_look;
mod service;
mod stage;
mod stage_env;
mod verifier;

pub use envelope::{ReportDraft, lost};
pub use ports::{
    Candidates, KeptReports, Merging, Projects, Reports, Slot, Slots, Workspace, Workspaces,
};
pub use stage_env::StageEnv;
pub use verifier::{Helpers, Verified, Verifier, VerifyRequest};
