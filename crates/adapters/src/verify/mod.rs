//! Adapters of the verifier: commits, workspaces, detectors, slots, reports.

mod candidates;
mod environment;
mod inside;
mod liveness;
mod private;
mod projects;
mod reports;
mod seal;
mod seed_times;
mod services;
mod slots;
mod started;
mod startup;
mod surroundings;
mod workspaces;

pub use candidates::GitCandidates;
pub use projects::ProjectReader;
pub use reports::FileReports;
pub use services::{SERVICES, services_if_asked};
pub use slots::FileSlots;
pub use startup::{STARTUP, startup_if_asked};
pub use workspaces::VerifyWorkspaces;
