//! `drive cruise retry`, `skip` and `pause`: people's decisions about the tasks of a cruise.

use super::telling::{active, name, tell};
use crate::answer::Outcome;
use crate::app::App;
use clap::Args;
use drive_core::ids::TaskId;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Ask, Flow, Run, TaskState, task_like};

/// The arguments of `drive cruise retry` and `drive cruise skip`.
#[derive(Debug, Args)]
pub(super) struct TaskArgs {
    /// Id of the task
    #[arg(value_name = "TASK")]
    task: String,

    /// Id of the cruise; optional if there is only one
    #[arg(long, value_name = "ID")]
    cruise: Option<String>,
}

/// Retries a blocked task.
pub(super) fn retry(app: &App, args: &TaskArgs) -> Outcome {
    let run = active(app, args.cruise.as_deref())?;
    let (task, state) = find(&run, &args.task)?;
    if !matches!(state, TaskState::Blocked { .. }) {
        return Err(Problem::new(
            Kind::TaskNotBlocked,
            format!("task `{task}` is not blocked, so there is nothing to retry"),
        )
        .hint(format!("`drive cruise status {}` shows every task", run.id)));
    }
    let ask = Ask::RetryTask { task };
    tell(app, &run, vec![(ask, name()?)], "retries the task")
}

/// Skips a task.
pub(super) fn skip(app: &App, args: &TaskArgs) -> Outcome {
    let run = active(app, args.cruise.as_deref())?;
    let (task, state) = find(&run, &args.task)?;
    if let TaskState::Landed { .. } = state {
        return Err(Problem::new(
            Kind::TaskLanded,
            format!("task `{task}` has landed, so it cannot be left out"),
        )
        .hint("revert its merge on the branch of the cruise instead"));
    }
    let ask = Ask::SkipTask { task };
    tell(app, &run, vec![(ask, name()?)], "leaves the task out")
}

/// Pauses the start of new tasks.
pub(super) fn pause(app: &App, id: Option<&str>) -> Outcome {
    let run = active(app, id)?;
    if !matches!(run.flow, Flow::Cruise { .. }) {
        return Err(no_tasks(&run));
    }
    tell(
        app,
        &run,
        vec![(Ask::Pause, name()?)],
        "starts no more tasks",
    )
}

fn find<'r>(run: &'r Run, task: &str) -> Result<(TaskId, &'r TaskState), Problem> {
    let Flow::Cruise { build } = &run.flow else {
        return Err(no_tasks(run));
    };
    let id = TaskId::new(task);
    if let Some(record) = build.tasks.get(&id) {
        return Ok((id, &record.state));
    }
    let problem = Problem::new(
        Kind::UnknownTask,
        format!("cruise `{}` has no task `{task}`", run.id),
    );
    Err(match task_like(run, task) {
        Some(meant) => problem.hint(format!("did you mean `{meant}`?")),
        None => problem.hint(format!("`drive cruise status {}` shows every task", run.id)),
    })
}

fn no_tasks(run: &Run) -> Problem {
    Problem::new(
        Kind::UnknownTask,
        format!("cruise `{}` only plans, so it has no tasks", run.id),
    )
    .hint("start one without `--plan-only` to build a plan")
}
