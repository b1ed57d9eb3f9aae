//! Pauses of tasks whose model or machine is away. A pause costs time but no attempt.

use super::super::super::model::{Diagnosis, Flow, Run, TaskState, Timer};
use super::super::outage;
use super::context::with_build;
use crate::ids::TaskId;
use crate::problem::{Class, Kind, Problem};
use crate::time::Timestamp;

/// Whether only waiting helps, because the work itself did not fail.
pub(super) fn is_away(problem: &Problem) -> bool {
    problem.class() == Class::Environment && problem.kind != Kind::AgentLoginExpired
}

/// Restarts a task after a pause, which does not count as an attempt. Returns false after too many
/// pauses in a row.
pub(super) fn hold(run: &mut Run, task: &TaskId, diagnosis: &Diagnosis, now: Timestamp) -> bool {
    let Flow::Cruise { build } = &mut run.flow else {
        return false;
    };
    let Some(record) = build.tasks.get_mut(task) else {
        return false;
    };
    if !outage::is_patient(record.outages) {
        return false;
    }
    let until = outage::held_until(record.outages, None, now);
    record.outages += 1;
    record.attempts = record.attempts.saturating_sub(1);
    record.held_until = Some(until);
    record.state = TaskState::Waiting {
        diagnosis: diagnosis.head.as_ref().map(|_| diagnosis.clone()),
    };
    wake_held(run);
    true
}

/// Pauses verification after the machine could not verify: no task is blocked until that lasted for
/// hours. Any other result ends the row of failures.
pub(super) fn hold_train(run: &mut Run, away: Option<String>, now: Timestamp) {
    let Flow::Cruise { build } = &mut run.flow else {
        return;
    };
    let Some(why) = away else {
        build.away = 0;
        return;
    };
    // Verifications that ran at the same time failed for the same reason.
    if build.away_until.is_some_and(|at| at > now) {
        return;
    }
    if !outage::is_patient(build.away) {
        build.away = 0;
        if let Some(train) = &mut build.train {
            train.stop(why);
        }
        return;
    }
    build.away_until = Some(outage::held_until(build.away, None, now));
    build.away += 1;
    wake_held(run);
}

/// Sets the timer to the end of the first pause.
fn wake_held(run: &mut Run) {
    let Flow::Cruise { build } = &run.flow else {
        return;
    };
    let first = build
        .tasks
        .values()
        .filter_map(|task| task.held_until)
        .chain(build.away_until)
        .min();
    match first {
        Some(at) => run.timers.insert(Timer::Hold, at),
        None => run.timers.remove(&Timer::Hold),
    };
}

/// Releases tasks and the train whose pause has ended.
pub(super) fn release(run: &mut Run, now: Timestamp) {
    with_build(run, |build| {
        build.away_until = build.away_until.filter(|at| *at > now);
        for task in build.tasks.values_mut() {
            task.held_until = task.held_until.filter(|at| *at > now);
        }
    });
    wake_held(run);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cruise::{Car, Train};
    use crate::ids::{CommitSha, RunId};
    use crate::run::model::{Build, TaskRecord};
    use std::num::NonZeroU32;

    fn build(run: &Run) -> &Build {
        match &run.flow {
            Flow::Cruise { build } => build,
            Flow::Awaiting | Flow::Spawn { .. } | Flow::Phase { .. } => unreachable!(),
        }
    }

    /// A cruise whose task `login` is built for the first time.
    fn building() -> (Run, TaskId) {
        let id = TaskId::new("login");
        let mut record = TaskRecord::new("Log in".to_owned(), Vec::new());
        record.attempts = 1;
        record.state = TaskState::Building {
            run: RunId::new("r1+login"),
        };
        let mut run = Run::new(RunId::new("r1"));
        run.flow = Flow::Cruise {
            build: Box::new(Build {
                tasks: [(id.clone(), record)].into(),
                ..Build::default()
            }),
        };
        (run, id)
    }

    #[test]
    fn a_task_whose_model_is_away_waits_with_growing_pauses_and_loses_no_attempt() {
        let (mut run, id) = building();
        let head = CommitSha::new("c".repeat(40));
        let diagnosis = Diagnosis {
            what: "the model is overloaded".to_owned(),
            head: Some(head.clone()),
        };
        let mut now = Timestamp::UNIX_EPOCH;
        let mut pauses: Vec<i64> = Vec::new();
        while hold(&mut run, &id, &diagnosis, now) {
            let task = &build(&run).tasks[&id];
            assert_eq!(task.attempts, 0, "it was not the work that failed");
            let state = TaskState::Waiting {
                diagnosis: Some(diagnosis.clone()),
            };
            assert_eq!(task.state, state, "the next agent is told of the commit");
            let until = task.held_until.unwrap();
            assert_eq!(run.timers.get(&Timer::Hold), Some(&until));
            pauses.push(until.as_second() - now.as_second());
            // Before the pause is over nothing is released.
            release(&mut run, now);
            assert_eq!(build(&run).tasks[&id].held_until, Some(until));
            now = until;
            release(&mut run, now);
            assert_eq!(build(&run).tasks[&id].held_until, None);
            assert_eq!(run.timers.get(&Timer::Hold), None);
            with_build(&mut run, |build| {
                build.tasks.get_mut(&id).unwrap().attempts += 1;
            });
        }
        assert_eq!(pauses[..5], [30, 60, 120, 240, 480]);
        assert!(pauses.is_sorted() && pauses.len() == 20, "{pauses:?}");
        assert!(now.as_second() > 3 * 3600, "{now}");
    }

    #[test]
    fn a_task_that_left_no_commit_waits_without_a_diagnosis() {
        let (mut run, id) = building();
        let diagnosis = Diagnosis {
            what: "the model is overloaded".to_owned(),
            head: None,
        };
        assert!(hold(&mut run, &id, &diagnosis, Timestamp::UNIX_EPOCH));
        let waiting = TaskState::Waiting { diagnosis: None };
        assert_eq!(build(&run).tasks[&id].state, waiting);
        let unknown = TaskId::new("logout");
        assert!(!hold(&mut run, &unknown, &diagnosis, Timestamp::UNIX_EPOCH));
    }

    #[test]
    fn a_machine_that_is_away_costs_time_and_blocks_nothing() {
        let mut train = Train::new(NonZeroU32::MIN);
        train.queue(Car {
            task: TaskId::new("login"),
            head: CommitSha::new("c".repeat(40)),
        });
        let mut run = Run::new(RunId::new("r1"));
        run.flow = Flow::Cruise {
            build: Box::new(Build {
                train: Some(train),
                ..Build::default()
            }),
        };
        let mut now = Timestamp::UNIX_EPOCH;
        let mut pauses = 0;
        let away = || Some("infra: no space left".to_owned());
        while build(&run).train.as_ref().unwrap().stopped().is_none() {
            hold_train(&mut run, away(), now);
            // The other slot reports the same outage, which is no second pause.
            hold_train(&mut run, away(), now);
            let Some(at) = run.timers.get(&Timer::Hold).copied() else {
                break;
            };
            assert!(at > now);
            assert_eq!(build(&run).away_until, Some(at));
            now = at;
            release(&mut run, now);
            assert_eq!((build(&run).away_until, run.timers.len()), (None, 0));
            pauses += 1;
        }
        assert!(pauses >= 10, "{pauses}");
        assert!(now.as_second() > 3 * 3600, "{now}");
        // A completed verification ends the row of outages.
        let mut one = build(&run).clone();
        one.away = 5;
        run.flow = Flow::Cruise {
            build: Box::new(one),
        };
        hold_train(&mut run, None, now);
        assert_eq!(build(&run).away, 0);
    }
}
