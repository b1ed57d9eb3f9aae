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
mod model;
mod order;
mod places;
mod render;
mod task_set;
#[cfg(test)]
mod tests;
mod width;

pub use acceptance::{Acceptance, Check, CheckCommand, Expect};
pub use error::{PlanError, PlanErrors};
pub use model::{
    LONGEST_COMMAND, LONGEST_ENTRY, LONGEST_EXPECTED, LONGEST_ID, LONGEST_PATH, LONGEST_PLAN,
    LONGEST_TITLE, MOST_ENTRIES, MOST_TASKS, MOST_WORDS, Plan, PlanTask,
};
pub use order::{Implied, Order};

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
