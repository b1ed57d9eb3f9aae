//! Access to the state and the terms of a cruise for its decisions.

use super::super::super::model::{
    Build, BuildStage, BuildTerms, Diagnosis, Flow, Line, Run, RunKind, TaskRecord, TaskState,
};
use crate::cruise::Train;
use crate::ids::TaskId;
use crate::plan::Plan;

/// How many runs are started for a task before a person is asked.
pub(super) const MOST_ATTEMPTS: u32 = 3;

pub(super) fn terms(run: &Run) -> Option<&BuildTerms> {
    match &run.request.as_ref()?.kind {
        RunKind::Build(terms) => Some(terms),
        RunKind::Spawn | RunKind::Team(_) | RunKind::Cruise(_) => None,
    }
}

/// Changes the state of a cruise.
pub(super) fn with_build(run: &mut Run, change: impl FnOnce(&mut Build)) {
    if let Flow::Cruise { build } = &mut run.flow {
        change(build);
    }
}

/// Changes the train of the tasks that are about to land, where there is one.
pub(super) fn with_train(run: &mut Run, change: impl FnOnce(&mut Train)) {
    with_build(run, |build| {
        if let Some(train) = &mut build.train {
            change(train);
        }
    });
}

/// The line that tasks land on, once it exists.
pub(super) fn line(run: &Run) -> Option<&Line> {
    match &run.flow {
        Flow::Cruise { build } => build.line.as_ref(),
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Phase { .. } => None,
    }
}

/// The stage of a cruise.
pub(super) fn stage(run: &Run) -> Option<BuildStage> {
    match &run.flow {
        Flow::Cruise { build } => Some(build.stage),
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Phase { .. } => None,
    }
}

/// Creates the records of a plan's tasks.
pub(super) fn take_plan(build: &mut Build, plan: Plan) {
    let order = plan.order();
    for task in &plan.tasks {
        let after = order.waits_for(&task.id).to_vec();
        let record = TaskRecord::new(task.title.clone(), after);
        build.tasks.insert(task.id.clone(), record);
    }
    build.amending.agreed = Some(plan.clone());
    build.plan = Some(plan);
}

/// Schedules the next attempt of a task, or blocks it until a person helps.
pub(super) fn did_not_land(build: &mut Build, task: &TaskId, diagnosis: Diagnosis, is_final: bool) {
    let Some(record) = build.tasks.get_mut(task) else {
        return;
    };
    record.state = if is_final || record.attempts >= MOST_ATTEMPTS {
        TaskState::Blocked {
            why: diagnosis.what.clone(),
            diagnosis: Some(diagnosis),
        }
    } else {
        TaskState::Waiting {
            diagnosis: Some(diagnosis),
        }
    };
}

/// Whether no further task will land.
pub(super) fn is_over(run: &Run) -> bool {
    match stage(run) {
        Some(BuildStage::Checking | BuildStage::Validating | BuildStage::Reporting) => true,
        Some(BuildStage::Opening | BuildStage::Probing | BuildStage::Building) | None => false,
    }
}

pub(super) fn is_paused(run: &Run) -> bool {
    matches!(&run.flow, Flow::Cruise { build } if build.paused || !build.retries.is_empty())
}

/// Whether tasks are about to land.
pub(super) fn has_train(run: &Run) -> bool {
    let train = match &run.flow {
        Flow::Cruise { build } => build.train.as_ref(),
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Phase { .. } => None,
    };
    train.is_some_and(|train| !train.is_empty())
}
