//! The end of a cruise: the plan's criteria are checked, the pull request reports the result of
//! every task, and a person decides the rest.

use super::super::super::audit::{Evidence, TaskResult, audit};
use super::super::super::model::{
    Build, BuildStage, BuildTerms, ChildState, Effect, Ending, Flow, ForgeAct, Level, LineAct,
    LineTerms, OutcomeStatus, PostKey, Publish, ReceiptResult, Request, Run, TaskRecord, TaskState,
    Timer,
};
use super::super::{budget, shutdown, tree};
use super::board::Board;
use super::context::{has_train, line, stage, with_build};
use super::contract::contract;
use super::live::has_live_tasks;
use super::{amending, leave, order, probe, texts};
use crate::ids::TaskId;
use crate::problem::{Kind, Problem};
use crate::time::{Timestamp, after};
use crate::units::Period;

/// Takes the next step towards the end, if nothing is in progress.
pub(super) fn end_line(run: &mut Run, terms: &BuildTerms, line_terms: &LineTerms, now: Timestamp) {
    if !run.pending.is_empty() || has_train(run) || run.timers.contains_key(&Timer::Retry) {
        return;
    }
    match stage(run) {
        Some(BuildStage::Probing) => probe::wait(run, line_terms.patience, now),
        Some(BuildStage::Opening) | None => {}
        Some(BuildStage::Building) => {
            let board = Board::of(run, terms);
            if board.ready().next().is_some() || board.held().next().is_some() {
                return;
            }
            // In an amended plan, tasks may wait for each other.
            let mut is_stuck = board.stuck().next().is_some();
            let never: Vec<TaskId> = board.unstarted().cloned().collect();
            if !is_stuck && !never.is_empty() {
                block(run, &never);
                is_stuck = true;
            }
            if is_stuck && !amending::is_over(run) {
                let at = after(now, line_terms.patience);
                run.timers.entry(Timer::Inactivity).or_insert(at);
                return;
            }
            // The amending run ends first: people may have asked it for more.
            if is_stuck || (amending::dismiss(run) && !validate(run, line_terms)) {
                check(run);
            }
        }
        Some(BuildStage::Validating) => validated(run),
        Some(BuildStage::Checking) => check(run),
        Some(BuildStage::Reporting) => {}
    }
    if stage(run) == Some(BuildStage::Reporting) && run.pending.is_empty() {
        conclude(run, now);
    }
}

/// Starts the run that merges the landed work into the base, if there is a pull request for that.
/// Returns whether there is.
fn validate(run: &mut Run, line_terms: &LineTerms) -> bool {
    let Flow::Cruise { build } = &run.flow else {
        return false;
    };
    let is_landed = |task: &TaskRecord| matches!(task.state, TaskState::Landed { .. });
    if !build.tasks.values().any(is_landed) {
        return false;
    }
    let checks = contract(build, |task| has_landed(build, task));
    let landed = texts::count(build);
    let Some(request) = order::validating_request(run, line_terms, checks, landed) else {
        return false;
    };
    with_build(run, |build| build.stage = BuildStage::Validating);
    let share = budget::share(run, 1);
    let id = order::validating_id(&run.id);
    let task = order::validating_task();
    tree::start(run, (id, task), request, share);
    true
}

/// Takes over the check results of the commit that goes to the base.
pub(super) fn take_checked(run: &mut Run) {
    let child = run.children.get(&order::validating_id(&run.id));
    let checked = child.and_then(|child| child.report.as_ref()?.checked.clone());
    if let Some(checked) = checked {
        with_build(run, |build| {
            build.receipts = checked.receipts;
            build.opinion = checked.opinion;
            build.checked = Some(checked.commit);
        });
    }
}

/// Ends the cruise after its pull request was merged, closed or left to a person.
fn validated(run: &mut Run) {
    let child = run.children.get(&order::validating_id(&run.id));
    let Some(report) = child.and_then(|child| child.report.clone()) else {
        return;
    };
    if let Some(head) = &report.head_sha {
        run.work.head_sha = Some(head.clone());
    }
    let (mut status, mut problem) = match report.state {
        ChildState::Ended { status, failure } => (status, failure),
        ChildState::Working | ChildState::NeedsBudget { .. } | ChildState::NeedsPerson { .. } => {
            return;
        }
    };
    with_build(run, |build| build.merged = report.merged);
    if status == OutcomeStatus::Succeeded {
        problem = failure(run);
        if problem.is_some() {
            status = OutcomeStatus::NeedsHuman;
        }
    } else if status == OutcomeStatus::Failed {
        status = OutcomeStatus::NeedsHuman;
    }
    with_build(run, |build| {
        build.stage = BuildStage::Reporting;
        build.ending = Some(Ending { status, problem });
    });
    // The description reports the result first.
    if let Some(request) = run.request.clone() {
        describe(run, &request);
    }
}

/// Ends a cruise that exceeded its maximum duration: runs are stopped, and landed work stays.
pub(super) fn too_old(run: &mut Run, now: Timestamp) {
    let age = match super::context::terms(run).and_then(|terms| terms.line.as_ref()) {
        Some(line) => Period::new(line.max_age),
        None => return,
    };
    let problem = Problem::new(
        Kind::CruiseTooOld,
        format!("the cruise reached its time limit (`max_age`, {age})"),
    )
    .hint("a longer `max_age` in `[cruise]` allows more time; start another cruise for the rest");
    leave::leave(run, OutcomeStatus::TimedOut, problem, now);
}

/// Ends a cruise whose blocked tasks nobody helped; landed work stays.
pub(super) fn give_up(run: &mut Run) {
    // Comments that were written meanwhile are taken up first.
    if stage(run) == Some(BuildStage::Building) {
        with_build(run, |build| build.amending.over = true);
        if amending::dismiss(run) {
            check(run);
        }
    }
}

/// Blocks tasks that cannot start, so that a person can change them.
fn block(run: &mut Run, tasks: &[TaskId]) {
    with_build(run, |build| {
        for id in tasks {
            if let Some(record) = build.tasks.get_mut(id) {
                record.state = TaskState::Blocked {
                    why: "it and another task wait for each other".to_owned(),
                    diagnosis: None,
                };
            }
        }
    });
}

/// Runs the acceptance checks of the landed tasks.
fn check(run: &mut Run) {
    run.timers.remove(&Timer::Inactivity);
    let Flow::Cruise { build } = &mut run.flow else {
        return;
    };
    let checks = contract(build, |task| has_landed(build, task));
    let Some(line) = build.line.clone().filter(|_| !checks.is_empty()) else {
        build.stage = BuildStage::Reporting;
        return;
    };
    build.stage = BuildStage::Checking;
    run.decide(Effect::OnLine {
        act: LineAct::CheckContract {
            base: line.began_at,
            commit: line.tip,
            checks,
        },
    });
}

fn has_landed(build: &Build, task: &TaskId) -> bool {
    let state = build.tasks.get(task).map(|task| &task.state);
    matches!(state, Some(TaskState::Landed { .. }))
}

/// Opens the pull request once something has landed, and keeps its description up to date.
pub(super) fn describe(run: &mut Run, request: &Request) {
    let Publish::PullRequest { .. } = request.publish else {
        return;
    };
    let (Some(line), Some(base)) = (line(run).cloned(), request.base_branch.clone()) else {
        return;
    };
    let is_describing = |effect: &Effect| {
        matches!(
            effect,
            Effect::OpenPullRequest { .. }
                | Effect::OnForge {
                    act: ForgeAct::UpdateBody { .. },
                    ..
                }
        )
    };
    let has_landed = line.tip != line.began_at || run.work.pull_request.is_some();
    let is_waiting = |build: &Build| build.retries.iter().any(is_describing);
    let is_waiting = matches!(&run.flow, Flow::Cruise { build } if is_waiting(build));
    if !has_landed || is_waiting || run.pending.values().any(is_describing) {
        return;
    }
    let body = texts::cockpit(run, request);
    if body == described(run) {
        return;
    }
    with_build(run, |build| build.described.clone_from(&body));
    match run.work.pull_request.as_ref().map(|pr| pr.number) {
        Some(pr) => run.decide(Effect::OnForge {
            pr,
            act: ForgeAct::UpdateBody { body },
            idempotency_key: None,
        }),
        None => run.decide(Effect::OpenPullRequest {
            branch: line.branch,
            base,
            title: texts::title(request),
            body,
            draft: true,
        }),
    };
}

fn described(run: &Run) -> &str {
    match &run.flow {
        Flow::Cruise { build } => &build.described,
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Phase { .. } => "",
    }
}

/// Posts the result on the pull request, and then ends the cruise.
fn conclude(run: &mut Run, now: Timestamp) {
    let Flow::Cruise { build } = &run.flow else {
        return;
    };
    if let Some(Ending { status, problem }) = build.ending.clone() {
        return shutdown::abandon(run, status, problem, now);
    }
    let failure = failure(run);
    let status = match &failure {
        None => OutcomeStatus::Succeeded,
        Some(_) => OutcomeStatus::NeedsHuman,
    };
    let pr = run.work.pull_request.as_ref().map(|pr| pr.number);
    let Some(pr) = pr.filter(|_| !leave::is_told(run)) else {
        return shutdown::abandon(run, status, failure, now);
    };
    with_build(run, |build| build.told = true);
    if failure.is_none() {
        run.decide(Effect::OnForge {
            pr,
            act: ForgeAct::MarkReady,
            idempotency_key: None,
        });
    }
    let body = texts::outcome(run, failure.as_ref().map(|problem| (status, problem)));
    run.decide(Effect::OnForge {
        pr,
        act: ForgeAct::PostComment { body },
        idempotency_key: Some(PostKey::Step("outcome".to_owned())),
    });
}

/// The failure of a cruise that has handled all its tasks; `None` if it succeeded.
fn failure(run: &Run) -> Option<Problem> {
    let Flow::Cruise { build } = &run.flow else {
        return None;
    };
    let open: Vec<&str> = build
        .tasks
        .iter()
        .filter(|(_, task)| !task.is_through())
        .map(|(id, _)| id.as_str())
        .collect();
    if !open.is_empty() {
        let what = match open.as_slice() {
            [task] => format!("task `{task}` did not land"),
            tasks => format!(
                "{} tasks did not land: `{}`",
                tasks.len(),
                tasks.join("`, `")
            ),
        };
        let hint = format!("see why with `drive cruise status {}`", run.id);
        return Some(Problem::new(Kind::TasksFailed, what).hint(hint));
    }
    let is_landed = |task: &TaskRecord| matches!(task.state, TaskState::Landed { .. });
    if !build.tasks.values().any(is_landed) {
        let problem = Problem::new(
            Kind::TasksFailed,
            "every task was left out, so nothing landed",
        );
        return Some(problem.hint("start another cruise with what you want built"));
    }
    let checked = build
        .checked
        .as_ref()
        .filter(|_| build.level != Level::Basic);
    if let (Some(checked), Some(head)) = (checked, &run.work.head_sha)
        && checked != head
    {
        let message = format!(
            "the acceptance entries were checked at {}, but the branch was merged at {}",
            checked.short(),
            head.short()
        );
        let hint = "check the acceptance entries of the merged commit yourself";
        return Some(Problem::new(Kind::AcceptanceFailed, message).hint(hint));
    }
    let counts = |one: &&Evidence| match build.level {
        Level::Basic => false,
        // An entry that an agent judges fails only if a command failed.
        Level::Functional => !one.command.is_empty(),
        Level::Strict => true,
    };
    let audit = audit(run)?;
    let landed = audit
        .tasks
        .iter()
        .filter(|task| task.status != TaskResult::Missing);
    let mut entries = landed.flat_map(|task| task.evidence.iter().map(move |one| (task, one)));
    let open = entries.find(|(_, one)| counts(one) && !one.result.is_met());
    let hint = format!("read the receipts with `drive cruise report {}`", run.id);
    let Some((task, open)) = open else {
        let mut findings = audit.findings.iter();
        let found = findings.find(|one| build.level == Level::Strict && one.is_critical())?;
        let message = format!("a critical finding is confirmed: {}", found.title);
        return Some(Problem::new(Kind::AcceptanceFailed, message).hint(hint));
    };
    let what = match open.result {
        ReceiptResult::Failed => "is not met",
        ReceiptResult::Unproven | ReceiptResult::Proven | ReceiptResult::Judged => {
            "has no evidence"
        }
    };
    let message = format!(
        "an acceptance entry of task `{}` {what}: {}",
        task.id, open.criterion
    );
    let problem = Problem::new(Kind::AcceptanceFailed, message).hint(hint);
    Some(match &open.actual {
        Some(actual) => problem.cause(actual.clone()),
        None => problem,
    })
}

/// What only a person can end, for a cruise without live children.
pub(super) fn waits_for(run: &Run) -> Option<String> {
    let Flow::Cruise { build } = &run.flow else {
        return None;
    };
    let is_at_work = has_live_tasks(run) || has_train(run) || !run.pending.is_empty();
    if is_at_work || run.outcome.is_some() {
        return None;
    }
    let blocked = build.tasks.iter().find_map(|(id, task)| match &task.state {
        TaskState::Blocked { why, .. } => Some((id, why)),
        TaskState::Waiting { .. }
        | TaskState::Building { .. }
        | TaskState::Landing { .. }
        | TaskState::Landed { .. }
        | TaskState::Skipped => None,
    });
    match blocked {
        Some((id, why)) => {
            let why = why.lines().next().unwrap_or_default();
            let guide = if amending::amending_run(run).is_some() {
                "guide it by a comment on the pull request, "
            } else {
                ""
            };
            Some(format!(
                "task `{id}` is blocked: {why}; {guide}try it again with `drive cruise retry {id}`, \
                 or leave it out with `drive cruise skip {id}`"
            ))
        }
        None if build.paused => Some(format!(
            "it is paused; continue with `drive cruise resume {}`",
            run.id
        )),
        None => None,
    }
}
