//! Runs the contract on the base before anything is built: an entry that passes there already shows
//! nothing about the work, and a guard that fails there protects nothing.

use super::super::super::model::{
    Build, BuildStage, Doubt, Effect, Flow, LineAct, OutcomeStatus, Receipt, ReceiptResult, Run,
    TaskRecord, TaskState, Timer,
};
use super::super::shutdown;
use super::context::with_build;
use super::contract::contract;
use crate::ids::TaskId;
use crate::plan::{Check, Plan};
use crate::problem::{Kind, Problem};
use crate::time::{Timestamp, after};
use std::time::Duration;

/// Starts to build by running the contract on the base.
pub(super) fn begin(run: &mut Run) {
    with_build(run, |build| build.stage = BuildStage::Building);
    run_on_base(run, |_| true);
}

/// Runs the checks of these tasks on the base, because they are new or changed.
pub(super) fn again(run: &mut Run, tasks: &[TaskId]) {
    with_build(run, |build| {
        build.doubts.retain(|doubt| !tasks.contains(&doubt.task));
        if build.doubts.is_empty() {
            build.stage = BuildStage::Building;
        }
    });
    run_on_base(run, |task| tasks.contains(task));
}

/// Runs the checks of these tasks on the base before anything else starts.
fn run_on_base(run: &mut Run, counts: impl Fn(&TaskId) -> bool) {
    let Some(base) = run.request.as_ref().map(|request| request.base_sha.clone()) else {
        return;
    };
    let Flow::Cruise { build } = &mut run.flow else {
        return;
    };
    let checks = contract(build, counts);
    if checks.is_empty() {
        return;
    }
    build.stage = BuildStage::Probing;
    run.decide(Effect::OnLine {
        act: LineAct::CheckContract {
            base: base.clone(),
            commit: base,
            checks,
        },
    });
}

/// Takes the results of the contract on the base. Entries that show nothing need a person's approval.
pub(super) fn probed(run: &mut Run, receipts: &[Receipt]) {
    let Flow::Cruise { build } = &mut run.flow else {
        return;
    };
    let Some(plan) = &build.plan else {
        return;
    };
    let is_run = |doubt: &Doubt| receipts.iter().any(|one| one.task == doubt.task);
    let found = doubts(plan, receipts);
    build.doubts.retain(|doubt| !is_run(doubt));
    build.doubts.extend(found);
    if build.doubts.is_empty() {
        build.stage = BuildStage::Building;
    }
}

/// Waits for a person, up to a limit.
pub(super) fn wait(run: &mut Run, patience: Duration, now: Timestamp) {
    let Flow::Cruise { build } = &run.flow else {
        return;
    };
    if !build.doubts.is_empty() {
        let at = after(now, patience);
        run.timers.entry(Timer::Inactivity).or_insert(at);
    }
}

/// Accepts the doubtful entries for a person: those that pass already must only keep passing.
pub(super) fn accept(run: &mut Run) {
    with_build(run, |build| {
        if build.stage != BuildStage::Probing || build.doubts.is_empty() {
            return;
        }
        let doubts = std::mem::take(&mut build.doubts);
        for task in build.plan.iter_mut().flat_map(|plan| &mut plan.tasks) {
            for entry in &mut task.acceptance {
                // A command that did not run may still fail on the base.
                let is_it = |doubt: &Doubt| {
                    doubt.task == task.id && doubt.id == entry.id && doubt.not_run.is_none()
                };
                if let Check::Command(one) | Check::Observe(one) = &mut entry.check
                    && doubts.iter().any(is_it)
                {
                    one.guard = true;
                }
            }
        }
        build.stage = BuildStage::Building;
    });
}

/// Ends the wait for a person: nothing is built, or nothing more if tasks have landed.
pub(super) fn give_up(run: &mut Run, now: Timestamp) {
    let Flow::Cruise { build } = &run.flow else {
        return;
    };
    let Some(doubt) = build.doubts.first() else {
        return;
    };
    let has_landed = |task: &TaskRecord| matches!(task.state, TaskState::Landed { .. });
    if build.tasks.values().any(has_landed) {
        return with_build(run, block);
    }
    let problem = Problem::new(Kind::PlanUnsound, doubt.to_string())
        .hint("correct the entry, or mark it as `guard`, and start another cruise");
    shutdown::abandon(run, OutcomeStatus::NeedsHuman, Some(problem), now);
}

/// Blocks the tasks whose entries show nothing; the others are built.
fn block(build: &mut Build) {
    for doubt in std::mem::take(&mut build.doubts) {
        if let Some(record) = build.tasks.get_mut(&doubt.task)
            && let TaskState::Waiting { diagnosis } = &record.state
        {
            record.state = TaskState::Blocked {
                why: doubt.to_string(),
                diagnosis: diagnosis.clone(),
            };
        }
    }
    build.stage = BuildStage::Building;
}

/// The decision that a person must make before anything is built.
pub(super) fn waits_for(run: &Run) -> Option<String> {
    let Flow::Cruise { build } = &run.flow else {
        return None;
    };
    let first = build.doubts.first()?;
    let more = match build.doubts.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    Some(format!(
        "{first}{more}; accept it with `drive cruise approve {}`, or end the cruise with `drive cruise \
         cleanup {}`",
        run.id, run.id
    ))
}

fn doubts(plan: &Plan, receipts: &[Receipt]) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    for task in &plan.tasks {
        for entry in &task.acceptance {
            let Some(check) = entry.check.command() else {
                continue;
            };
            let mut found = receipts.iter();
            let found = found.find(|one| one.task == task.id && one.id == entry.id);
            let Some(found) = found else {
                continue;
            };
            let not_run = match (check.guard, found.result, found.ran) {
                (false, ReceiptResult::Proven | ReceiptResult::Judged, _)
                | (true, ReceiptResult::Failed, true) => None,
                (false, ReceiptResult::Failed, true) => continue,
                // Only a command that ran shows that the entry is not met before the work.
                (false, ReceiptResult::Failed | ReceiptResult::Unproven, _) => {
                    let why = found.why.as_deref().unwrap_or("its command was not tried");
                    Some(why.to_owned())
                }
                // A guard must pass after the work. Only a failure of its command on the base makes
                // it doubtful.
                (true, ReceiptResult::Failed, false)
                | (
                    true,
                    ReceiptResult::Proven | ReceiptResult::Judged | ReceiptResult::Unproven,
                    _,
                ) => continue,
            };
            doubts.push(Doubt {
                task: task.id.clone(),
                id: entry.id.clone(),
                is_guard: check.guard,
                not_run,
            });
        }
    }
    doubts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubts_of(guard: bool, result: ReceiptResult, ran: bool) -> Vec<String> {
        let guard = if guard { r#", "guard": true"# } else { "" };
        let tasks = format!(
            r#"[{{"id": "login", "title": "Log in", "description": "d", "depends_on": [], "acceptance":
            [{{"id": "a1", "kind": "command", "text": "it runs", "command": ["./login"]{guard}}}]}}]"#
        );
        let plan = Plan::parse(&format!("```json tasks\n{tasks}\n```")).unwrap();
        let receipt = Receipt {
            task: TaskId::new("login"),
            id: "a1".to_owned(),
            result,
            exit: None,
            output: String::new(),
            duration_ms: 0,
            why: Some("not run: compile failed".to_owned()),
            ran,
        };
        let found = doubts(&plan, &[receipt]);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_entry_that_could_not_run_on_the_base_waits_for_a_person() {
        let not_run = "acceptance entry `a1` of task `login` could not run on the base, so it may show \
                       nothing: not run: compile failed";
        for result in [ReceiptResult::Failed, ReceiptResult::Unproven] {
            assert_eq!(doubts_of(false, result, false), [not_run], "{result:?}");
            assert_eq!(doubts_of(true, result, false), [""; 0], "{result:?}");
        }
        assert_eq!(doubts_of(false, ReceiptResult::Failed, true), [""; 0]);
        assert_eq!(doubts_of(false, ReceiptResult::Proven, true).len(), 1);
        assert_eq!(doubts_of(true, ReceiptResult::Failed, true).len(), 1);
    }
}
