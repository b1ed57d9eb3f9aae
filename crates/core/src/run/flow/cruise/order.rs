//! The run that builds one task: its id, its branch and its briefing.

use super::super::super::model::{
    BuildTerms, ChangeDone, ContractCheck, Flow, Line, LineTerms, Makes, PLAN_PATH, PerTask,
    PhaseTerms, PlanFrom, Publish, Request, Run, RunKind, TaskOrder, TaskScope, WholeTerms,
    is_among,
};
use super::super::tree;
use super::briefing::describe_task;
use super::contract::judged;
use crate::agent::answer::title_of;
use crate::ids::{BranchName, RunId, TaskId};
use crate::plan::{Plan, PlanTask};

/// The text that tells the fixers of a plan that its tasks are being built.
const AMENDING: &str = "\
    The plan is approved, and other agents build its tasks now, on this very branch. Change only the \
    plan; change no other file. A comment that asks for something else in the code becomes a task: \
    change the task that it is about, or add one. Keep the ids of all other tasks. A task that has \
    landed is built once more, on top of what landed, where you change its entry. A task that is \
    blocked starts again where you change its entry: put what the comment advises into its \
    description. A task that is taken out is left out.";

/// The id of the run that writes the plan. No task id contains `+`.
pub(super) fn planning_id(root: &RunId) -> RunId {
    tree::child_id(root, &TaskId::new("+plan"))
}

/// The run that writes the plan of this cruise, if there is one.
pub fn planning_run(run: &Run) -> Option<RunId> {
    let id = planning_id(&run.id);
    run.children.contains_key(&id).then_some(id)
}

/// Continues the run that writes the plan, after its pull request was reopened.
pub(in crate::run::flow) fn plan_again(run: &mut Run) {
    let id = planning_id(&run.id);
    tree::revive(run, &id);
}

/// The planning run's task in listings.
pub(super) fn planning_task() -> TaskId {
    TaskId::new("plan")
}

/// The id of the run that merges the work into the base.
pub(super) fn validating_id(root: &RunId) -> RunId {
    tree::child_id(root, &TaskId::new("+validate"))
}

/// The run that merges this cruise's work into the base, if there is one.
pub fn validating_run(run: &Run) -> Option<RunId> {
    let id = validating_id(&run.id);
    run.children.contains_key(&id).then_some(id)
}

/// The validating run's task in listings.
pub(super) fn validating_task() -> TaskId {
    TaskId::new("validate")
}

/// The request of the run that merges the landed work into the base; `None` if there is no pull
/// request for that.
pub(super) fn validating_request(
    run: &Run,
    line_terms: &LineTerms,
    contract: Vec<ContractCheck>,
    landed: String,
) -> Option<Request> {
    let Flow::Cruise { build } = &run.flow else {
        return None;
    };
    let (finish, line) = (line_terms.finish?, build.line.as_ref()?);
    let request = run.request.as_ref()?;
    let whole = WholeTerms {
        head: line.tip.clone(),
        pull_request: run.work.pull_request.clone()?,
        landed,
        // A plan that a person provided is on no branch.
        drops_plan: !finish.land_plan && matches!(line_terms.plan, PlanFrom::Phase { .. }),
        reviewed: finish.review,
        contract,
        judged: judged(build),
        level: line_terms.level,
        max_waves: finish.max_waves,
    };
    let terms = PhaseTerms {
        makes: Makes::Whole {
            whole: Box::new(whole),
            auto_merge: finish.auto_merge,
        },
        branch: Some(line.branch.clone()),
        title: Some(title_of(&request.task)),
        watch: Some(finish.watch),
        ..line_terms.task.as_ref().clone()
    };
    Some(Request {
        kind: RunKind::Cruise(Box::new(terms)),
        branch: line.branch.clone(),
        // The model that a person chose is for the planning agent.
        model: None,
        ..request.as_ref().clone()
    })
}

/// The id of an amending run, which takes up comments while tasks are built.
pub(super) fn amending_id(root: &RunId, number: u32) -> RunId {
    let task = match number {
        0 | 1 => TaskId::new("+amend"),
        number => TaskId::new(format!("+amend-{number}")),
    };
    tree::child_id(root, &task)
}

/// The amending run's task in listings.
pub(super) fn amending_task() -> TaskId {
    TaskId::new("amend")
}

/// The request of an amending run; `None` if the plan is on no branch or has no pull request.
pub(super) fn amending_request(run: &Run, line_terms: &LineTerms) -> Option<Request> {
    let Flow::Cruise { build } = &run.flow else {
        return None;
    };
    let (finish, line) = (line_terms.finish?, build.line.as_ref()?);
    let PlanFrom::Phase { request: planned } = &line_terms.plan else {
        return None;
    };
    let request = run.request.as_ref()?;
    let terms = PhaseTerms {
        makes: Makes::Amendments {
            head: line.tip.clone(),
            pull_request: run.work.pull_request.clone()?,
        },
        branch: Some(line.branch.clone()),
        title: Some(title_of(&request.task)),
        watch: Some(finish.watch),
        adopted: None,
        ..planned.kind.phase_terms()?.clone()
    };
    Some(Request {
        kind: RunKind::Cruise(Box::new(terms)),
        branch: line.branch.clone(),
        task: format!("{}\n\n{AMENDING}", request.task),
        // The model that a person chose is for the planning agent.
        model: None,
        ..request.as_ref().clone()
    })
}

/// The run to start for a task now, with its id.
pub(super) fn request_of(run: &Run, terms: &BuildTerms, task: &TaskId) -> Option<(RunId, Request)> {
    let Some(line_terms) = &terms.line else {
        let is_it = |order: &&TaskOrder| order.id == *task;
        let order = terms.tasks.iter().find(is_it)?;
        return Some((tree::child_id(&run.id, task), order.request.clone()));
    };
    let Flow::Cruise { build } = &run.flow else {
        return None;
    };
    let (plan, line) = (build.plan.as_ref()?, build.line.as_ref()?);
    let planned = plan.tasks.iter().find(|one| one.id == *task)?;
    let record = build.tasks.get(task)?;
    let id = attempt_id(&run.id, task, record.runs.len());
    let request = run.request.as_ref()?;
    let branch = branch_of(line, task);
    let phase = phase_terms(line_terms, plan, planned, &branch);
    let request = Request {
        kind: RunKind::Team(Box::new(phase)),
        task: describe_task(build, planned, record),
        base_sha: line.tip.clone(),
        base_branch: Some(line.branch.clone()),
        branch,
        publish: match line_terms.per_task {
            Some(_) => request.publish.clone(),
            None => Publish::BranchOnly,
        },
        // The model that a person chose is for the planning agent.
        model: None,
        ..request.as_ref().clone()
    };
    Some((id, request))
}

/// The id of an attempt. Each attempt is a run of its own. A task's run has no children, so the ids
/// cannot clash.
fn attempt_id(root: &RunId, task: &TaskId, earlier: usize) -> RunId {
    let first = tree::child_id(root, task);
    match earlier {
        0 => first,
        earlier => RunId::new(format!("{first}+{}", earlier + 1)),
    }
}

/// The branch of a task, next to the line: git cannot have a branch `x/y` below a branch `x`.
fn branch_of(line: &Line, task: &TaskId) -> BranchName {
    let name = format!("{}-{task}", line.branch);
    BranchName::parse(&name).unwrap_or_else(|_| line.branch.numbered(2))
}

fn phase_terms(terms: &LineTerms, plan: &Plan, task: &PlanTask, branch: &BranchName) -> PhaseTerms {
    let mut kept = checks_of_others(plan, task);
    // Only people may change the approved plan.
    if let PlanFrom::Phase { .. } = terms.plan {
        kept.push(PLAN_PATH.to_owned());
    }
    PhaseTerms {
        makes: Makes::Change {
            done: match terms.per_task {
                Some(PerTask { approve, .. }) => ChangeDone::Landed { approve },
                None => ChangeDone::Reviewed { auto_merge: false },
            },
        },
        branch: Some(branch.clone()),
        title: Some(task.title.clone()),
        scope: Some(TaskScope {
            paths: task.paths.clone(),
            checks: task.checks.clone(),
            kept,
        }),
        watch: terms.per_task.map(|one| one.watch),
        ..terms.task.as_ref().clone()
    }
}

/// The files that hold the checks of other tasks, except those that the plan assigns to this task.
fn checks_of_others(plan: &Plan, task: &PlanTask) -> Vec<String> {
    let others = plan.tasks.iter().filter(|other| other.id != task.id);
    let mut checks: Vec<String> = others
        .flat_map(|other| &other.checks)
        .filter(|check| !task.paths.contains(check) && !is_among(&task.paths, check))
        .filter(|check| !task.checks.contains(check))
        .cloned()
        .collect();
    checks.sort();
    checks.dedup();
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_cannot_change_the_checks_of_another() {
        let task = |id: &str, paths: &[&str], checks: &[&str]| {
            serde_json::json!({
                "id": id, "title": "Log in", "description": "d", "depends_on": [],
                "paths": paths, "checks": checks, "acceptance": ["it works"],
            })
        };
        let tasks = serde_json::json!([
            task(
                "login",
                &["src/login.rs"],
                &["tests/login.rs", "tests/both.rs"]
            ),
            task(
                "logout",
                &["src/logout.rs", "tests/mine"],
                &["tests/both.rs", "tests/mine/a.rs"]
            ),
            task("docs", &["docs"], &[]),
        ]);
        let plan = Plan::parse(&format!("```json tasks\n{tasks}\n```")).unwrap();
        let kept = |at: usize| checks_of_others(&plan, &plan.tasks[at]);
        assert_eq!(kept(0), ["tests/mine/a.rs"]);
        assert_eq!(kept(1), ["tests/login.rs"]);
        assert_eq!(
            kept(2),
            ["tests/both.rs", "tests/login.rs", "tests/mine/a.rs"]
        );
    }
}
