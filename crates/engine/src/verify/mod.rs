//! The isolated verifier: preflight, a workspace of its own, stages in order, a report in any case.

mod envelope;
#[cfg(test)]
mod fake_world;
mod ports;
mod room;
mod service;
mod stage;

pub use envelope::{ReportDraft, lost};
pub use ports::{Candidates, Projects, Reports, Slot, Slots, Workspace, Workspaces};
pub use room::Room;
pub use service::{Verified, Verifier, VerifyRequest};
