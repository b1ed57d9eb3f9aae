//! The tasks of a cruise as people see them.

use super::model::{Build, Child, Flow, Run, TaskRecord, TaskState};
use crate::did_you_mean::nearest;
use crate::ids::{BranchName, PrNumber, RunId, TaskId};
use crate::plan::PlanTask;
use schemars::JsonSchema;
use serde::Serialize;

/// One task of a cruise.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskView {
    /// The task.
    pub id: TaskId,
    /// The task's title, in one line.
    pub title: String,
    /// The task's state, as one label.
    pub state: TaskLabel,
    /// The tasks that it depends on in the plan.
    pub depends_on: Vec<TaskId>,
    /// The last run that was started for it.
    pub run: Option<RunId>,
    /// The branch of that run.
    pub branch: Option<BranchName>,
    /// The pull request of that run.
    pub pull_request: Option<PrNumber>,
    /// How many runs were started for it.
    pub attempts: u32,
    /// The cost of its runs.
    pub cost_usd: Option<f64>,
    /// Why the task is blocked, or why its last attempt failed.
    pub reason: Option<String>,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TaskLabel {
    /// Others come first.
    Pending,
    /// It can start.
    Ready,
    /// An agent builds it.
    Running,
    /// It is being reviewed and fixed.
    InReview,
    /// It is being verified together with others.
    Verifying,
    /// It is on the branch of the cruise.
    Landed,
    /// Only a person can help.
    Blocked,
    /// A person left it out.
    Skipped,
}

impl TaskLabel {
    /// The label's name in lists.
    pub fn as_str(self) -> &'static str {
        match self {
            TaskLabel::Pending => "pending",
            TaskLabel::Ready => "ready",
            TaskLabel::Running => "running",
            TaskLabel::InReview => "in review",
            TaskLabel::Verifying => "verifying",
            TaskLabel::Landed => "landed",
            TaskLabel::Blocked => "blocked",
            TaskLabel::Skipped => "skipped",
        }
    }
}

/// The tasks of a cruise, in the order of its plan; empty before there is a plan.
pub fn tasks(run: &Run) -> Vec<TaskView> {
    let Flow::Cruise { build } = &run.flow else {
        return Vec::new();
    };
    let planned = build.plan.iter().flat_map(|plan| &plan.tasks);
    let view = |task: &PlanTask| Some(view(run, build, task, build.tasks.get(&task.id)?));
    planned.filter_map(view).collect()
}

/// The existing task whose name is nearest to an unknown name.
pub fn task_like<'r>(run: &'r Run, name: &str) -> Option<&'r str> {
    match &run.flow {
        Flow::Cruise { build } => nearest(name, build.tasks.keys().map(TaskId::as_str)),
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Phase { .. } => None,
    }
}

fn view(run: &Run, build: &Build, task: &PlanTask, record: &TaskRecord) -> TaskView {
    let last = record.runs.last().and_then(|id| run.children.get(id));
    let costs = record.runs.iter().filter_map(|id| run.children.get(id));
    let costs: Vec<f64> = costs
        .filter_map(|child| Some(child.spent().cost?.usd()))
        .collect();
    TaskView {
        id: task.id.clone(),
        title: task.title.clone(),
        state: label(build, record, last),
        depends_on: task.depends_on.clone(),
        run: record.runs.last().cloned(),
        branch: last.and_then(|child| child.report.as_ref()?.branch.clone()),
        pull_request: last
            .and_then(|child| Some(child.report.as_ref()?.pull_request.as_ref()?.number)),
        attempts: u32::try_from(record.runs.len()).unwrap_or(u32::MAX),
        cost_usd: (!costs.is_empty()).then(|| costs.iter().sum()),
        reason: reason(record),
    }
}

fn label(build: &Build, record: &TaskRecord, last: Option<&Child>) -> TaskLabel {
    match &record.state {
        TaskState::Waiting { .. } => {
            let is_through = |id: &TaskId| build.tasks.get(id).is_some_and(TaskRecord::is_through);
            if record.after.iter().all(is_through) {
                TaskLabel::Ready
            } else {
                TaskLabel::Pending
            }
        }
        TaskState::Building { .. } => {
            let report = last.and_then(|child| child.report.as_ref());
            match report.and_then(|report| report.head_sha.as_ref()) {
                Some(_) => TaskLabel::InReview,
                None => TaskLabel::Running,
            }
        }
        TaskState::Landing { .. } => TaskLabel::Verifying,
        TaskState::Landed { .. } => TaskLabel::Landed,
        TaskState::Blocked { .. } => TaskLabel::Blocked,
        TaskState::Skipped => TaskLabel::Skipped,
    }
}

fn reason(record: &TaskRecord) -> Option<String> {
    match &record.state {
        TaskState::Blocked { why, .. } => Some(why.clone()),
        TaskState::Waiting { diagnosis } => diagnosis.as_ref().map(|one| one.what.clone()),
        TaskState::Building { .. }
        | TaskState::Landing { .. }
        | TaskState::Landed { .. }
        | TaskState::Skipped => None,
    }
}
