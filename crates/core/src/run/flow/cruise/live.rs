//! The runs of a cruise that work on tasks.

use super::super::super::model::{Child, Run};
use super::amending;

/// The live children of a cruise, without the one that only amends the plan.
pub(super) fn live_tasks(run: &Run) -> impl Iterator<Item = &Child> + Clone {
    let live = run.children.iter().filter(|(_, child)| child.is_live());
    live.filter(|(id, _)| !amending::is_listener(run, id))
        .map(|(_, child)| child)
}

pub(super) fn has_live_tasks(run: &Run) -> bool {
    live_tasks(run).next().is_some()
}
