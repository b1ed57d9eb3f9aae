//! A plan: prose, then one fenced `json tasks` block.
//!
//! An agent writes it, so it is checked before use. All errors are reported at once: one at a time
//! would cost a fixer round each.

mod block;
mod check;
mod error;
mod graph;
mod places;
mod render;
#[cfg(test)]
mod tests;

pub use error::{PlanError, PlanErrors};

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
    pub acceptance: Vec<String>,
    /// Ids of the tasks it depends on.
    #[serde(default)]
    pub depends_on: Vec<TaskId>,
    /// The files it is about, relative to the repository.
    #[serde(default)]
    pub paths: Vec<String>,
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

    /// The tasks that can be worked on at the same time: each group needs only earlier ones.
    ///
    /// Tasks that wait for each other in a circle, which no parsed plan has, are the last group.
    pub fn groups(&self) -> Vec<Vec<&str>> {
        let edges = graph::edges(&self.tasks);
        let (mut layers, stuck) = graph::layers(&edges);
        if !stuck.is_empty() {
            layers.push(stuck);
        }
        let id = |index: usize| self.tasks[index].id.as_str();
        layers
            .into_iter()
            .map(|layer| layer.into_iter().map(id).collect())
            .collect()
    }

    /// What depends on what, as a Mermaid graph. Nothing in a title is syntax.
    pub fn mermaid(&self) -> String {
        render::mermaid(&self.tasks, render::Labels::Titles)
    }

    /// The plan for a pull request, in at most `room` characters: the graph, the groups and a table
    /// of the tasks. What does not fit is left out, and that is said.
    pub fn summary_markdown(&self, room: usize) -> String {
        render::summary(self, room)
    }
}
