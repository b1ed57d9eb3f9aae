//! The tasks of a plan, and how large a plan may be.

use super::acceptance::{self, Acceptance};
use crate::ids::TaskId;
use serde::{Deserialize, Serialize};

/// The longest plan, in bytes.
pub const LONGEST_PLAN: usize = 1024 * 1024;
/// The most tasks a plan may have.
pub const MOST_TASKS: usize = 200;
/// The most entries of one list of a task.
pub const MOST_ENTRIES: usize = 200;
/// The longest id of a task, in characters.
pub const LONGEST_ID: usize = 64;
/// The longest title of a task, in characters.
pub const LONGEST_TITLE: usize = 200;
/// The longest text of an acceptance entry, in characters.
pub const LONGEST_ENTRY: usize = 2000;
/// The most words of the command of an acceptance entry, its program included.
pub const MOST_WORDS: usize = 100;
/// The longest command of an acceptance entry, in bytes.
pub const LONGEST_COMMAND: usize = 8 * 1024;
/// The longest text that the output of a command is searched for, in characters.
pub const LONGEST_EXPECTED: usize = 1000;
/// The longest path of a task, in bytes.
pub const LONGEST_PATH: usize = 4096;

/// The tasks of a plan, in the order they were written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The tasks.
    pub tasks: Vec<PlanTask>,
}

/// One task of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanTask {
    /// Its name within the plan: plain enough for a branch and a folder.
    pub id: TaskId,
    /// What it is, in one line.
    pub title: String,
    /// The full description.
    #[serde(default)]
    pub description: String,
    /// What must be true when it is done.
    #[serde(with = "acceptance::stored")]
    pub acceptance: Vec<Acceptance>,
    /// Ids of the tasks it depends on.
    #[serde(default)]
    pub depends_on: Vec<TaskId>,
    /// The files it is about, relative to the repository.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Files that hold its checks, relative to the repository: its coder may not write them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
}
