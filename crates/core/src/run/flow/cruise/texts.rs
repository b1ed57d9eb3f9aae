//! Texts of a cruise's pull request: the description with a row for every task, and the closing
//! comment.

use super::super::super::audit::audit;
use super::super::super::model::{
    Build, Flow, OutcomeStatus, Published, Request, Run, TaskRecord, TaskState,
};
use super::super::phase::receipts;
use super::contract::{contract, judged};
use super::order;
use crate::agent::answer::title_of;
use crate::forge::part::own;
use crate::ids::TaskId;
use crate::markdown::code;
use crate::problem::Problem;
use std::fmt::Write;

/// How many characters of a title or a reason a table cell shows.
const CELL_CHARS: usize = 100;

pub(super) fn title(request: &Request) -> String {
    title_of(&request.task)
}

/// The description of the pull request: the task, and the state of every task of the plan.
pub(super) fn cockpit(run: &Run, request: &Request) -> String {
    let Flow::Cruise { build } = &run.flow else {
        return String::new();
    };
    let has_own = in_order(build).any(|(_, task)| pull_request(run, task).is_some());
    let (head, rule) = if has_own {
        (" pull request |", "---|")
    } else {
        ("", "")
    };
    let ending = build.ending.as_ref();
    let ending = ending.and_then(|one| Some(ended(one.status, one.problem.as_ref()?)));
    let ending = ending.map_or_else(String::new, |line| format!(" {line}"));
    let mut text = format!(
        "{}\n\n{}{ending}\n\n| task | state |{head} attempts | cost |\n|---|---|{rule}---|---|\n",
        title_of(&request.task),
        if is_checked(build) {
            concluded(run, build)
        } else {
            count(build)
        }
    );
    for (id, task) in in_order(build) {
        let link = pull_request(run, task).map_or_else(|| "-".to_owned(), |one| one.url.clone());
        let link = if has_own {
            format!(" {link} |")
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "| {} {} | {} |{link} {} | {} |",
            code(id.as_str(), CELL_CHARS),
            cell(&task.title),
            state_cell(task),
            task.runs.len(),
            cost_cell(run, task)
        );
    }
    text.push_str(&graph(run, build));
    for (id, task) in in_order(build) {
        listed(
            &mut text,
            (id, "also changed files outside its paths"),
            &task.outside,
        );
        listed(&mut text, (id, "changed existing tests"), &task.tests);
    }
    if is_checked(build) {
        text.push_str(&entries(build));
    }
    let _ = write!(text, "\nCruise `{}`.", run.id);
    own(&run.id, &text)
}

/// The pull request of a task's last run.
fn pull_request<'r>(run: &'r Run, task: &TaskRecord) -> Option<&'r Published> {
    let last = run.children.get(task.runs.last()?)?;
    last.report.as_ref()?.pull_request.as_ref()
}

/// Adds a line that lists the files of a task, if there are any.
fn listed(text: &mut String, (id, what): (&TaskId, &str), files: &[String]) {
    if !files.is_empty() {
        let files: Vec<String> = files.iter().map(|file| code(file, CELL_CHARS)).collect();
        let id = code(id.as_str(), CELL_CHARS);
        let _ = write!(text, "\nTask {id} {what}: {}\n", files.join(", "));
    }
}

/// The dependency graph, if the approved plan does not show it already.
fn graph(run: &Run, build: &Build) -> String {
    let Some(plan) = build.plan.as_ref().filter(|plan| plan.tasks.len() > 1) else {
        return String::new();
    };
    let planning = order::planning_run(run).and_then(|id| run.children.get(&id));
    let approved = planning.and_then(|child| child.report.as_ref()?.plan.as_ref());
    let is_shown = approved.is_some_and(|approved| {
        let ids = approved.tasks.iter().map(|task| &task.id);
        ids.eq(plan.tasks.iter().map(|task| &task.id))
    });
    if is_shown {
        return String::new();
    }
    let graph = plan.graph_markdown();
    graph.map_or_else(String::new, |graph| format!("\n{graph}"))
}

/// The cost of a task's runs so far; `-` if no agent reports it.
fn cost_cell(run: &Run, task: &TaskRecord) -> String {
    let runs = task.runs.iter().filter_map(|id| run.children.get(id));
    let costs: Vec<f64> = runs
        .filter_map(|child| Some(child.spent().cost?.usd()))
        .collect();
    if costs.is_empty() {
        "-".to_owned()
    } else {
        format!("${:.2}", costs.iter().sum::<f64>())
    }
}

/// The closing comment.
pub(super) fn outcome(run: &Run, failure: Option<(OutcomeStatus, &Problem)>) -> String {
    let Flow::Cruise { build } = &run.flow else {
        return String::new();
    };
    let mut text = match failure {
        None => format!(
            "{} The branch is at {}. Merge this pull request when you agree.",
            concluded(run, build),
            build.line.as_ref().map_or("-", |line| line.tip.short())
        ),
        Some((status, problem)) => ended(status, problem),
    };
    for (id, task) in in_order(build) {
        if let TaskState::Blocked { why, .. } = &task.state {
            let first = why.lines().next().unwrap_or_default();
            let _ = write!(
                text,
                "\n\n- {} is blocked: {}",
                code(id.as_str(), CELL_CHARS),
                cell(first)
            );
        }
    }
    text.push_str(&entries(build));
    text
}

/// Whether results of the acceptance criteria are known.
fn is_checked(build: &Build) -> bool {
    build.checked.is_some() || build.opinion.is_some() || !build.receipts.is_empty()
}

/// The summary of the cruise, in one sentence.
fn concluded(run: &Run, build: &Build) -> String {
    match audit(run) {
        Some(audit) => format!("{}.", audit.conclusion()),
        None => count(build),
    }
}

/// The results of the acceptance criteria of landed tasks.
fn entries(build: &Build) -> String {
    let has_landed = |task: &TaskId| {
        let task = build.tasks.get(task);
        task.is_some_and(|task| matches!(task.state, TaskState::Landed { .. }))
    };
    let (contract, judged) = (contract(build, has_landed), judged(build));
    receipts(
        (&contract, &judged),
        &build.receipts,
        build.opinion.as_ref(),
    )
}

/// Why the cruise ended early, in one line.
fn ended(status: OutcomeStatus, problem: &Problem) -> String {
    let what = match status {
        OutcomeStatus::Cancelled => "was stopped",
        OutcomeStatus::TimedOut => "ended",
        OutcomeStatus::Succeeded | OutcomeStatus::Failed | OutcomeStatus::NeedsHuman => "needs you",
    };
    format!("The cruise {what}: {}.", problem.message)
}

/// How many tasks landed and how many were skipped.
pub(super) fn count(build: &Build) -> String {
    let all = build.tasks.len();
    let of = |which: fn(&TaskState) -> bool| {
        let tasks = build.tasks.values();
        tasks.filter(|task| which(&task.state)).count()
    };
    let landed = of(|state| matches!(state, TaskState::Landed { .. }));
    let skipped = of(|state| matches!(state, TaskState::Skipped));
    let tasks = if all == 1 { "task" } else { "tasks" };
    match skipped {
        0 => format!("{landed} of {all} {tasks} landed."),
        skipped => format!("{landed} of {all} {tasks} landed, {skipped} left out."),
    }
}

/// The tasks in the order of the plan.
fn in_order(build: &Build) -> impl Iterator<Item = (&TaskId, &TaskRecord)> {
    let tasks = build.plan.iter().flat_map(|plan| &plan.tasks);
    tasks.filter_map(|task| build.tasks.get_key_value(&task.id))
}

fn state_cell(task: &TaskRecord) -> String {
    match &task.state {
        TaskState::Waiting { diagnosis: None } => "waiting".to_owned(),
        TaskState::Waiting { diagnosis: Some(_) } => "waiting for another attempt".to_owned(),
        TaskState::Building { .. } => "being built".to_owned(),
        TaskState::Landing { .. } => "being verified".to_owned(),
        TaskState::Landed { commit } => format!("landed as {}", commit.short()),
        TaskState::Blocked { why, .. } => {
            format!("blocked: {}", cell(why.lines().next().unwrap_or_default()))
        }
        TaskState::Skipped => "left out".to_owned(),
    }
}

/// Foreign text, shortened and escaped for a table cell.
fn cell(text: &str) -> String {
    let text: String = text.chars().take(CELL_CHARS).collect();
    text.replace('|', "\\|")
}
