//! A plan: prose, then one fenced `json tasks` block.
//!
//! An agent writes it, so it is checked before use. All errors are reported at once: one at a time
//! would cost a fixer round each.

mod acceptance;
mod block;
mod check;
mod claims;
mod error;
mod graph;
mod hot;
mod order;
mod places;
mod render;
mod task_set;
#[cfg(test)]
mod tests;
mod width;

pub use acceptance::{Acceptance, Check, CheckCommand, Expect};
pub use error::{PlanError, PlanErrors};
pub use order::{Implied, Order};

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

impl Plan {
    /// The plan, or everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Plan, PlanErrors> {
        if text.len() > LONGEST_PLAN {
            let bytes = text.len();
            let message = format!("it has {bytes} bytes; the limit is {LONGEST_PLAN}");
            return Err(PlanErrors::one(None, message));
        }
        let block = block::tasks_block(text)?;
        check::tasks(&block).map(|tasks| Plan { tasks })
    }

    /// Which tasks wait for which, and which cannot run side by side.
    ///
    /// Besides its dependencies a task waits for an earlier one where both may change the same
    /// files. A task that names no `paths` may change any file, so it runs alone.
    pub fn order(&self) -> Order {
        Order::of(&self.tasks)
    }

    /// What waits for what, as a Mermaid graph: dotted where a task waits only because of the files
    /// it changes. Nothing in a title is syntax.
    pub fn mermaid(&self) -> String {
        render::mermaid(&self.tasks, &self.order(), render::Labels::Titles)
    }

    /// What waits for what, as a forge draws it; `None` where that is too large.
    pub fn graph_markdown(&self) -> Option<String> {
        render::drawing(&self.tasks, &self.order())
    }

    /// The plan for a pull request, in at most `room` characters: the graph, the order and a table
    /// of the tasks. What does not fit is left out, and that is said.
    pub fn summary_markdown(&self, room: usize) -> String {
        render::summary(self, room)
    }
}
