//! Checks for objections before tasks land from their own pull requests: people and checks are read
//! right before the branch moves, regardless of when their runs read them last.

use super::super::super::model::{
    Ask, Flow, HeldTask, Landable, Offer, Run, RunMessage, TaskState,
};
use super::super::tree;
use super::context::{with_build, with_train};
use super::offers::{last_run, take_back};

/// The commits in the train that runs offer on their own pull requests.
pub(super) fn offers(run: &Run) -> Vec<Offer> {
    let Flow::Cruise { build } = &run.flow else {
        return Vec::new();
    };
    let landing = build.tasks.iter().filter_map(|(task, record)| {
        let TaskState::Landing { head } = &record.state else {
            return None;
        };
        let (id, child, report) = last_run(run, build, task)?;
        let pull_request = report.pull_request.as_ref()?;
        // Commits that a person merged by hand stay in the train.
        child.is_live().then(|| Offer {
            task: task.clone(),
            run: id.clone(),
            head: head.clone(),
            pull_request: pull_request.number,
        })
    });
    landing.collect()
}

/// Removes tasks with objections from the train. Their runs read the objections, and offer the
/// commit again when there are none; the other tasks land without them.
pub(super) fn unheard(run: &mut Run, held: Vec<HeldTask>) {
    with_train(run, |train| train.called_off());
    for HeldTask { task, head, .. } in held {
        let Flow::Cruise { build } = &run.flow else {
            return;
        };
        let state = build.tasks.get(&task).map(|record| &record.state);
        let is_landing = state == Some(&TaskState::Landing { head: head.clone() });
        let found = last_run(run, build, &task).map(|(id, ..)| id.clone());
        let Some(id) = found.filter(|_| is_landing) else {
            continue;
        };
        let child = run.children.get_mut(&id);
        let is_live = child.as_ref().is_some_and(|child| child.is_live());
        if let Some(report) = child.and_then(|child| child.report.as_mut()) {
            report.landable = Landable::NotYet;
        }
        with_build(run, |build| take_back(build, &task, id.clone()));
        if is_live {
            let ask = Ask::Hear { head };
            tree::tell(run, id, RunMessage::AskRun { ask });
        }
    }
}
