//! The shutdown of a run: its step, and the outcome that was decided.

use super::forge_act::ForgeAct;
use super::outcome::OutcomeStatus;
use crate::Problem;
use crate::ids::CommitSha;
use serde::{Deserialize, Serialize};

/// The shutdown of a run: its step, and the outcome that was decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Shutdown {
    /// The current step.
    pub step: ShutdownStep,
    /// The status it will have.
    pub status: OutcomeStatus,
    /// The failure it will have.
    pub failure: Option<Problem>,
    /// Where the uncommitted work in the sandbox was saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<CommitSha>,
    /// Last updates of the pull request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub posts: Vec<ForgeAct>,
}

/// A step of a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ShutdownStep {
    /// Effects that were pending at the stop request are being finished.
    Finishing,
    /// Child runs are being stopped.
    StoppingChildren,
    /// Processes that a dead owner left running are being ended.
    EndingProcesses,
    /// The sandbox is being removed.
    RemovingSandbox,
    /// A comment on the pull request says that the run stopped and how to continue it.
    Posting,
    /// The outcome is being reported to the parent.
    Reporting,
}
