//! A plan: prose, then one fenced `json tasks` block.
//!
//! An agent writes the plan, so it is checked before use. All errors are reported together, because
//! each fixer round costs money.

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
    /// Parses a plan, or returns all of its errors.
    pub fn parse(text: &str) -> Result<Plan, PlanErrors> {
        if text.len() > LONGEST_PLAN {
            let bytes = text.len();
            let message = format!("it has {bytes} bytes; the limit is {LONGEST_PLAN}");
            return Err(PlanErrors::one(None, message));
        }
        let block = block::tasks_block(text)?;
        check::tasks(&block).map(|tasks| Plan { tasks })
    }

    /// Which tasks wait for which others, and which cannot run at the same time.
    ///
    /// A task waits for its dependencies, and for an earlier task if both may change the same
    /// files. A task that names no `paths` may change any file, so it runs alone.
    pub fn order(&self) -> Order {
        Order::of(&self.tasks)
    }

    /// The order of the tasks as a Mermaid graph. A dotted edge shows a wait that only comes from
    /// shared files. Titles are escaped.
    pub fn mermaid(&self) -> String {
        render::mermaid(&self.tasks, &self.order(), render::Labels::Titles)
    }

    /// The graph as Markdown for a forge; `None` if it is too large.
    pub fn graph_markdown(&self) -> Option<String> {
        render::drawing(&self.tasks, &self.order())
    }

    /// The plan for a pull request, in at most `room` characters: the graph, the order and a table
    /// of the tasks. A note says what was left out.
    pub fn summary_markdown(&self, room: usize) -> String {
        render::summary(self, room)
    }
}
