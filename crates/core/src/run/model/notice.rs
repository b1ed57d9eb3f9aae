//! A notice: a message that a program of the person's own delivers at once.

use super::request::RunCommand;
use crate::ids::{RunId, TaskId};
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A notification for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// The event that the notice reports.
    pub event: NoticeEvent,
    /// The run that the person started.
    pub run_id: RunId,
    /// The command of the run.
    pub kind: RunCommand,
    /// The repository.
    pub repo: PathBuf,
    /// One line for a headline.
    pub title: String,
    /// The reason, or more details.
    pub reason: String,
    /// The task that it is about, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The command that helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The address of the pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// When it happened.
    pub at: Timestamp,
}

/// An event that the user can be notified of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NoticeEvent {
    /// The run waits for a person.
    NeedsYou,
    /// A task landed on the branch of its cruise.
    Landed,
    /// A task is blocked; others go on.
    Blocked,
    /// The run succeeded.
    Done,
    /// The run failed.
    Failed,
    /// Most of the budget is used, or all of it.
    Budget,
}
