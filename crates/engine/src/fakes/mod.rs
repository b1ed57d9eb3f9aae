//! In-memory fakes of every port, for tests. They need the feature `fakes`, which is off by default.
//!
//! [`FakeWorld`] contains what survives a crash: the journal, the repository, the forge and running
//! agents. [`FakeOwner`] is one drive process. Its ports stop working when it dies, so a dead
//! process does nothing more, and its memory is lost.

mod agents;
mod clock;
mod file_changes;
mod forge;
mod forge_state;
mod lock;
mod machine;
mod notifier;
mod nudges;
mod phase_files;
mod promotion;
mod reports;
mod repository;
mod sandboxes;
mod store;
#[cfg(test)]
pub(crate) mod verify;
mod version_control;
mod world;

pub use agents::{AgentTurn, AgentWork, FakeAgents};
pub use clock::FakeClock;
pub use forge::FakeForge;
pub use machine::{DriveProcess, FakeMachine};
pub use notifier::FakeNotifier;
pub use nudges::FakeNudges;
pub use phase_files::FakePhaseFiles;
pub use promotion::FakeGate;
pub use reports::FakeReports;
pub use repository::{FakeRepository, Files};
pub use store::{CrashPoint, FakeStore};
pub use world::{FakeOwner, FakeWorld, REPOSITORY_PATH};
