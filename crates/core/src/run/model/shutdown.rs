//! How a run that is shutting down will end, and how far it has come.

use super::outcome::OutcomeStatus;
use crate::Problem;
use serde::{Deserialize, Serialize};

/// How a run that is shutting down will end, and how far it has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Shutdown {
    /// What is being done.
    pub step: ShutdownStep,
    /// The status it will have.
    pub status: OutcomeStatus,
    /// The failure it will have.
    pub failure: Option<Problem>,
    /// Where the uncommitted work in the sandbox was saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
}

/// How far a shutdown has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ShutdownStep {
    /// Effects that were pending when a stop was asked for are being finished.
    Finishing,
    /// Child runs are being stopped.
    StoppingChildren,
    /// Processes that a dead owner left running are being ended.
    EndingProcesses,
    /// The sandbox is being removed.
    RemovingSandbox,
    /// A comment on the pull request says that the run stopped and how it goes on.
    Posting,
    /// The parent is being told how it ends.
    Reporting,
}
