//! Lands reviewed tasks on the line: their commits are merged one after another, the result is
//! verified, and the branch moves there.
//!
//! The line never points at a tree that was not verified: the train lands only verified trees, and
//! git refuses the push if somebody else moved the branch.

use super::super::super::model::{
    BranchAt, BuildStage, CarOrder, Child, ChildState, CommitSummary, Diagnosis, Effect, Flow,
    Line, LineAct, LineAnswer, OutcomeStatus, Run, RunKind, Tally, TaskState, Timer,
};
use super::super::proof::{cause_of, failure_of, is_proof};
use super::super::retry::{is_final, keep_key, pause};
use super::super::shutdown;
use super::context::{did_not_land, line, stage, take_plan, with_build, with_train};
use super::{amending, hearing, leave, offers, order, pad, pauses, probe};
use crate::cruise::{Car, Cause, Left, Move, Verdict, Why};
use crate::forge::text::fit;
use crate::ids::{BranchName, CommitSha, EffectKey, TaskId, TreeSha};
use crate::problem::{Kind, Problem};
use crate::time::{Timestamp, after};
use crate::verify::{Fault, Stage, Verification, promotable_by, render};

/// How many effects may fail in a row before the cruise asks a person.
const MOST_TRIES: u32 = 12;
/// How many bytes of the report on a failed tree are stored.
const LONGEST_REPORT: usize = 8 << 10;

/// Chooses a name for the line.
pub(super) fn begin_line(run: &mut Run) {
    let Some(request) = run.request.clone() else {
        return;
    };
    let line = match &request.kind {
        RunKind::Build(terms) => terms.line.as_ref(),
        RunKind::Spawn | RunKind::Team(_) | RunKind::Cruise(_) => None,
    };
    let is_named = line.is_some_and(|line| line.named);
    run.decide(Effect::ChooseBranch {
        wanted: request.branch.clone(),
        exact: is_named,
        remote: request.publish.remote().cloned(),
    });
}

/// Creates the line at the commit where the cruise began.
pub(super) fn branch_chosen(run: &mut Run, branch: BranchName) {
    let Some(request) = run.request.clone() else {
        return;
    };
    let at = request.base_sha.clone();
    let line = BranchAt {
        remote: request.publish.remote().cloned(),
        branch,
    };
    run.decide(Effect::OnLine {
        act: LineAct::BeginLine { line, at },
    });
}

/// Whether the line exists. A plan that was written and approved comes with its branch.
pub(super) fn is_open(run: &mut Run, now: Timestamp) -> bool {
    if line(run).is_some() {
        return true;
    }
    let planning = run.children.get(&order::planning_id(&run.id));
    let Some(planning) = planning.filter(|child| !child.is_live()) else {
        return false;
    };
    let report = planning.report.clone();
    let found = report.as_ref().and_then(|report| {
        let (branch, tip) = (report.branch.clone()?, report.head_sha.clone()?);
        Some((report.plan.clone()?, branch, tip))
    });
    match found.filter(|_| planning.has_succeeded()) {
        Some((plan, branch, tip)) => {
            run.work.pull_request = report.and_then(|report| report.pull_request);
            with_build(run, |build| take_plan(build, plan));
            open(run, branch, tip);
            true
        }
        None => {
            let (status, failure) = match report.map(|report| report.state) {
                Some(ChildState::Ended { status, failure }) => (status, failure),
                Some(_) | None => (OutcomeStatus::Failed, None),
            };
            // A plan whose pull request a person merged or closed is not built.
            let failure = failure.or_else(|| {
                Some(Problem::new(
                    Kind::TasksFailed,
                    "the plan was not approved, so nothing was built",
                ))
            });
            let status = if status == OutcomeStatus::Succeeded {
                OutcomeStatus::NeedsHuman
            } else {
                status
            };
            shutdown::abandon(run, status, failure, now);
            false
        }
    }
}

fn open(run: &mut Run, branch: BranchName, tip: CommitSha) {
    run.work.branch = Some(branch.clone());
    run.work.head_sha = Some(tip.clone());
    with_build(run, |build| {
        build.line = Some(Line {
            branch,
            began_at: tip.clone(),
            tip,
        });
    });
    probe::begin(run);
}

/// Decides the train's next action.
pub(super) fn run_train(run: &mut Run) {
    let Some(request) = run.request.clone() else {
        return;
    };
    let offers = hearing::offers(run);
    let Flow::Cruise { build } = &mut run.flow else {
        return;
    };
    let (Some(train), Some(line)) = (&mut build.train, &build.line) else {
        return;
    };
    if build.away_until.is_some() {
        return;
    }
    let at = BranchAt {
        remote: request.publish.remote().cloned(),
        branch: line.branch.clone(),
    };
    let mut acts = Vec::new();
    for step in train.next(&line.tip) {
        acts.push(match step {
            Move::Assemble { onto, cars } => LineAct::Assemble {
                onto,
                cars: cars
                    .into_iter()
                    .map(|car| car_order(&build.tasks, car))
                    .collect(),
            },
            Move::Verify {
                onto, commit, tree, ..
            } => LineAct::VerifyTrain {
                onto,
                commit,
                tree,
                rules: request.base_sha.clone(),
            },
            Move::Land {
                from,
                commit,
                tree,
                tasks,
            } => LineAct::Land {
                line: at.clone(),
                from,
                commit,
                tree,
                offers: offers
                    .iter()
                    .filter(|one| tasks.contains(&one.task))
                    .cloned()
                    .collect(),
            },
        });
    }
    for act in acts {
        run.decide(Effect::OnLine { act });
    }
}

fn car_order(
    tasks: &std::collections::BTreeMap<TaskId, super::super::super::model::TaskRecord>,
    car: Car,
) -> CarOrder {
    let title = tasks.get(&car.task).map(|task| task.title.clone());
    CarOrder {
        title: title.unwrap_or_default(),
        task: car.task,
        head: car.head,
    }
}

/// Handles the result of an action on the line.
pub(super) fn answered(run: &mut Run, act: LineAct, answer: LineAnswer, now: Timestamp) {
    match (act, answer) {
        (LineAct::BeginLine { line, at }, LineAnswer::LineBegun) => open(run, line.branch, at),
        (LineAct::Assemble { onto, .. }, LineAnswer::Assembled { cars, conflict }) => {
            let mut left = Vec::new();
            let conflicts = u32::from(conflict.is_some());
            with_build(run, |build| build.tally.conflicts += conflicts);
            with_train(run, |train| left = train.assembled(&onto, cars, conflict));
            leave(run, left);
        }
        (
            LineAct::VerifyTrain {
                onto,
                commit,
                tree,
                rules,
            },
            LineAnswer::TrainVerified { report },
        ) => {
            let verdict = match promotable_by(&rules, &report, &commit, &onto) {
                Some(passed) if *passed == tree => Verdict::Green,
                Some(_) | None if is_proof(&report) => Verdict::Red,
                Some(_) | None => Verdict::Unknown {
                    why: failure_of(&report),
                    cause: cause_of(&report),
                },
            };
            with_build(run, |build| count(&mut build.tally, &verdict, &report));
            let is_to_blame = match &verdict {
                Verdict::Red => true,
                Verdict::Unknown { cause, .. } => *cause == Cause::Candidate,
                Verdict::Green => false,
            };
            if is_to_blame {
                let why = fit(&render::markdown(&report), LONGEST_REPORT);
                with_build(run, |build| {
                    build.reds.insert(tree.clone(), why);
                });
            }
            let away = match &verdict {
                Verdict::Unknown { why, cause } => (*cause == Cause::Machine).then(|| why.clone()),
                Verdict::Green | Verdict::Red => None,
            };
            let mut left = Vec::new();
            with_train(run, |train| left = train.verified(&tree, verdict));
            pauses::hold_train(run, away, now);
            leave(run, left);
        }
        (LineAct::Land { commit, .. }, LineAnswer::CarsLanded) => {
            let mut tasks = Vec::new();
            with_train(run, |train| tasks = train.landed(&commit));
            let longest = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
            with_build(run, |build| {
                build.tally.landings += 1;
                build.tally.longest = build.tally.longest.max(longest);
            });
            arrived(run, &commit, tasks);
        }
        (
            LineAct::Land { line, .. },
            LineAnswer::LineMoved {
                tip: Some(tip),
                is_rewritten,
            },
        ) => {
            if is_rewritten {
                let problem = Problem::new(
                    Kind::BranchDeleted,
                    format!(
                        "`{line}` was rewritten from outside, without the tasks that had landed"
                    ),
                )
                .hint("the tasks are on their own branches: `drive runs list`");
                return leave::leave(run, OutcomeStatus::NeedsHuman, problem, now);
            }
            // The amending run lands its commits there, too.
            if amending::amending_run(run).is_none() {
                run.warnings.push(format!(
                    "`{line}` was pushed to from outside; the tasks land on top of {}",
                    tip.short()
                ));
            }
            let mut tasks = Vec::new();
            with_train(run, |train| tasks = train.moved(&tip));
            arrived(run, &tip, tasks);
        }
        (LineAct::Land { .. }, LineAnswer::Unheard { tasks }) => hearing::unheard(run, tasks),
        (LineAct::Land { line, .. }, LineAnswer::LineMoved { tip: None, .. }) => {
            let problem = Problem::new(
                Kind::BranchDeleted,
                format!("branch `{line}` no longer exists, so no task can land on it"),
            )
            .hint("the tasks that were built are on their own branches: `drive runs list`");
            leave::leave(run, OutcomeStatus::NeedsHuman, problem, now);
        }
        (LineAct::CheckContract { .. }, LineAnswer::ContractChecked { receipts })
            if stage(run) == Some(BuildStage::Probing) =>
        {
            probe::probed(run, &receipts);
        }
        (LineAct::CheckContract { .. }, LineAnswer::ContractChecked { receipts })
            if stage(run) == Some(BuildStage::Checking) =>
        {
            with_build(run, |build| {
                build.receipts = receipts;
                build.stage = BuildStage::Reporting;
            });
        }
        // Results that belong to other actions.
        (_, _) => {}
    }
}

/// Counts a verification of the train in the tally.
fn count(tally: &mut Tally, verdict: &Verdict, report: &Verification) {
    tally.verified += 1;
    match verdict {
        Verdict::Green => {}
        Verdict::Red => tally.red += 1,
        Verdict::Unknown { .. } => tally.unknown += 1,
    }
    let is_flaky = |stage: &Stage| stage.fault == Some(Fault::Flaky);
    tally.flaky += u32::from(report.stages.iter().any(is_flaky));
}

/// Records that the line moved to this commit with these tasks. A task that was taken back
/// meanwhile is on the line as well; its next commits land on top.
fn arrived(run: &mut Run, commit: &CommitSha, tasks: Vec<TaskId>) {
    run.work.head_sha = Some(commit.clone());
    let Flow::Cruise { build } = &mut run.flow else {
        return;
    };
    if let Some(line) = &mut build.line {
        line.tip = commit.clone();
    }
    let mut landed = Vec::new();
    for task in tasks {
        let Some(record) = build.tasks.get_mut(&task) else {
            continue;
        };
        let head = match &record.state {
            TaskState::Building { run: id } if run.children.get(id).is_some_and(Child::is_live) => {
                continue;
            }
            TaskState::Landing { head } => Some(head.clone()),
            TaskState::Building { .. }
            | TaskState::Waiting { .. }
            | TaskState::Landed { .. }
            | TaskState::Blocked { .. }
            | TaskState::Skipped => None,
        };
        if head.is_some() {
            record.landed.clone_from(&head);
        }
        record.state = TaskState::Landed {
            commit: commit.clone(),
        };
        pad::note(&mut build.scratchpad, &task, record.handoff.as_ref());
        run.work.commits.push(CommitSummary {
            sha: commit.clone(),
            subject: format!("{task}: {}", record.title),
        });
        landed.extend(head.map(|head| (task, head)));
    }
    for (task, head) in landed {
        offers::landed(run, &task, head);
    }
}

/// Handles tasks that left the train: each gets its next attempt, or waits for a person.
fn leave(run: &mut Run, left: Vec<Left>) {
    for Left { task, head, why } in left {
        let with = match &why {
            Why::Conflicts { with, .. } | Why::Red { with, .. } | Why::Unverified { with, .. } => {
                with
            }
        };
        let with: Vec<&str> = with.iter().map(TaskId::as_str).collect();
        let beside = match with.as_slice() {
            [] => String::new(),
            with => format!(" together with `{}`", with.join("`, `")),
        };
        let what = match &why {
            Why::Conflicts { files, .. } => {
                format!("Its commits{beside} conflict in: {}", files.join(", "))
            }
            Why::Red { tree, .. } => {
                let report = report_on(run, tree);
                format!("Merged{beside}, it did not pass verification.{report}")
            }
            Why::Unverified { tree, reason, .. } => {
                let report = report_on(run, tree);
                format!("Merged{beside}, it could not be verified: {reason}.{report}")
            }
        };
        if offers::mend(run, &task, &head, &what) {
            continue;
        }
        let diagnosis = Diagnosis {
            what,
            head: Some(head),
        };
        with_build(run, |build| did_not_land(build, &task, diagnosis, false));
    }
}

/// The report on a failed tree, as a paragraph of its own.
fn report_on(run: &Run, tree: &TreeSha) -> String {
    let Flow::Cruise { build } = &run.flow else {
        return String::new();
    };
    let report = build.reds.get(tree);
    report.map_or(String::new(), |text| format!("\n\n{text}"))
}

/// Takes apart a train that only a person can move: its tasks are blocked with the reason.
pub(super) fn unblock_train(run: &mut Run) {
    let mut blocked = Vec::new();
    with_build(run, |build| {
        let Some(train) = &mut build.train else {
            return;
        };
        if train.is_empty() {
            build.reds.clear();
        }
        let Some(why) = train.stopped().map(str::to_owned) else {
            return;
        };
        let mut waiting = Vec::new();
        for (id, task) in &build.tasks {
            if let TaskState::Landing { head } = &task.state {
                waiting.push((id.clone(), head.clone()));
                train.remove(id);
            }
        }
        train.resume();
        blocked = waiting.iter().map(|(task, _)| task.clone()).collect();
        for (task, head) in waiting {
            let diagnosis = Diagnosis {
                what: format!("could not verify it: {why}"),
                head: Some(head),
            };
            did_not_land(build, &task, diagnosis, true);
        }
    });
    for task in blocked {
        offers::end(run, &task);
    }
}

/// Retries a failed effect after a pause, or asks a person if retries do not help. Returns whether
/// the cruise continues without it.
pub(super) fn failed(
    run: &mut Run,
    key: &EffectKey,
    mut effect: Effect,
    problem: Problem,
    now: Timestamp,
) -> bool {
    keep_key(&mut effect, key);
    let mut before = 0;
    with_build(run, |build| {
        before = build.tries;
        build.tries += 1;
    });
    let is_enough = is_final(&problem) || before + 1 >= MOST_TRIES;
    // A failed update of the pull request does not stop the cruise.
    let is_courtesy = matches!(
        effect,
        Effect::OnForge { .. } | Effect::OpenPullRequest { .. }
    );
    if is_courtesy && is_enough {
        let warning = format!("could not bring the pull request up to date: {problem}");
        if !run.warnings.contains(&warning) {
            run.warnings.push(warning);
        }
        return true;
    }
    if is_enough {
        let mut status = OutcomeStatus::of_problem(&problem);
        if status == OutcomeStatus::Failed {
            status = OutcomeStatus::NeedsHuman;
        }
        leave::leave(run, status, problem, now);
        return false;
    }
    with_build(run, |build| {
        build.trouble = Some(problem.to_string());
        build.retries.push(effect);
    });
    run.timers.insert(Timer::Retry, after(now, pause(before)));
    false
}
