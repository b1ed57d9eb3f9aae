//! The state of a cruise's tasks: ready, held or blocked.

use super::super::super::model::{BuildTerms, Flow, Run, TaskState};
use super::super::tree;
use crate::ids::TaskId;
use std::collections::BTreeSet;

/// The tasks of a cruise in the order of their plan.
pub(super) struct Board {
    items: Vec<Item>,
}

struct Item {
    id: TaskId,
    after: Vec<TaskId>,
    place: Place,
}

/// The state of a task, as far as other tasks depend on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Unstarted,
    /// The task starts after a pause.
    Held,
    Underway,
    Through,
    Stuck,
    /// The task cannot start, because one that it depends on is stuck.
    Shut,
}

impl Board {
    pub(super) fn of(run: &Run, terms: &BuildTerms) -> Self {
        let mut board = Self {
            items: match &terms.line {
                Some(_) => landing(run),
                None => plain(run, terms),
            },
        };
        // One pass for each task is enough, in any order.
        for _ in 0..board.items.len() {
            let stuck: BTreeSet<TaskId> = board
                .of_place(|place| matches!(place, Place::Stuck | Place::Shut))
                .cloned()
                .collect();
            let mut is_changed = false;
            for item in &mut board.items {
                let is_shut = item.after.iter().any(|task| stuck.contains(task));
                if matches!(item.place, Place::Unstarted | Place::Held) && is_shut {
                    item.place = Place::Shut;
                    is_changed = true;
                }
            }
            if !is_changed {
                break;
            }
        }
        board
    }

    fn of_place(&self, which: impl Fn(Place) -> bool) -> impl Iterator<Item = &TaskId> {
        let items = self.items.iter();
        items
            .filter(move |item| which(item.place))
            .map(|item| &item.id)
    }

    /// Tasks that may still start.
    pub(super) fn unstarted(&self) -> impl Iterator<Item = &TaskId> {
        self.of_place(|place| matches!(place, Place::Unstarted | Place::Held))
    }

    /// Tasks whose dependencies are done.
    pub(super) fn ready(&self) -> impl Iterator<Item = &TaskId> {
        let through: BTreeSet<&TaskId> = self.of_place(|place| place == Place::Through).collect();
        let items = self.items.iter();
        let free = items.filter(move |item| {
            item.place == Place::Unstarted && item.after.iter().all(|task| through.contains(task))
        });
        free.map(|item| &item.id)
    }

    /// Tasks that start after a pause.
    pub(super) fn held(&self) -> impl Iterator<Item = &TaskId> {
        self.of_place(|place| place == Place::Held)
    }

    /// Tasks that only a person can unblock.
    pub(super) fn stuck(&self) -> impl Iterator<Item = &TaskId> {
        self.of_place(|place| place == Place::Stuck)
    }

    /// Tasks that cannot start because of stuck ones.
    pub(super) fn shut(&self) -> impl Iterator<Item = &TaskId> {
        self.of_place(|place| place == Place::Shut)
    }
}

/// The tasks of a root without a plan: each is done when its run is.
fn plain(run: &Run, terms: &BuildTerms) -> Vec<Item> {
    let item = |order: &super::super::super::model::TaskOrder| {
        let child = run.children.get(&tree::child_id(&run.id, &order.id));
        Item {
            id: order.id.clone(),
            after: order.after.clone(),
            place: match child {
                None => Place::Unstarted,
                Some(child) if child.is_live() => Place::Underway,
                Some(child) if child.has_succeeded() => Place::Through,
                Some(_) => Place::Stuck,
            },
        }
    };
    terms.tasks.iter().map(item).collect()
}

/// The tasks of a plan: each is done when it has landed.
fn landing(run: &Run) -> Vec<Item> {
    let Flow::Cruise { build } = &run.flow else {
        return Vec::new();
    };
    let Some(plan) = &build.plan else {
        return Vec::new();
    };
    let is_held = |id: &TaskId| {
        let task = build.tasks.get(id);
        task.is_some_and(|task| task.held_until.is_some())
    };
    let item = |id: &TaskId| Item {
        id: id.clone(),
        after: build
            .tasks
            .get(id)
            .map_or_else(Vec::new, |task| task.after.clone()),
        place: match build.tasks.get(id).map(|task| &task.state) {
            Some(TaskState::Waiting { .. }) | None if is_held(id) => Place::Held,
            Some(TaskState::Waiting { .. }) | None => Place::Unstarted,
            Some(TaskState::Building { .. } | TaskState::Landing { .. }) => Place::Underway,
            Some(TaskState::Landed { .. } | TaskState::Skipped) => Place::Through,
            Some(TaskState::Blocked { .. }) => Place::Stuck,
        },
    };
    plan.tasks.iter().map(|task| item(&task.id)).collect()
}
