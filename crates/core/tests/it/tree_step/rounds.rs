//! Tests that the rounds and comments of children count for their root.

use super::*;
use crate::common::child_report;
use drive_core::run::{Build, Flow, Wants, cruise_status};

/// A root with two working tasks.
fn working() -> Run {
    delivered(root(vec![order("a", &[]), order("b", &[])], None))
}

fn counts(run: Run, task: &str, state: ChildState, (rounds, open_comments): (u32, u32)) -> Run {
    let id = child(task);
    let last = run.children[&id].report.as_ref();
    let report = Box::new(ChildReport {
        number: last.map_or(0, |report| report.number) + 1,
        state,
        rounds,
        open_comments,
        ..child_report()
    });
    next(run, Event::ChildReported { child: id, report })
}

fn shown(run: &Run) -> (u32, u32) {
    let status = cruise_status(run).unwrap();
    (status.rounds, status.pending_comments)
}

fn at_round_limit() -> ChildState {
    ChildState::NeedsPerson {
        why: "fixer round limit (3) reached".into(),
        wants: Wants::Limit,
    }
}

#[test]
fn a_cruise_that_builds_shows_the_rounds_and_open_comments_of_its_tasks() {
    let run = working();
    assert_eq!(shown(&run), (0, 0));
    let run = counts(run, "a", ChildState::Working, (2, 3));
    let run = counts(run, "b", ChildState::Working, (1, 1));
    assert_eq!(shown(&run), (3, 4));
    // An ended run will not answer its open comments, but its rounds still count.
    let run = counts(run, "a", succeeded(), (3, 2));
    assert_eq!(shown(&run), (4, 1));
}

#[test]
fn a_cruise_that_was_merged_names_the_commit_on_the_base() {
    let mut run = working();
    assert_eq!(run.merged(), None);
    let commit = CommitSha::new("d".repeat(40));
    run.flow = Flow::Cruise {
        build: Box::new(Build {
            merged: Some(commit.clone()),
            ..Build::default()
        }),
    };
    assert_eq!(run.merged(), Some(&commit));
}

#[test]
fn more_rounds_for_a_cruise_reach_the_run_that_waits_for_them() {
    let run = counts(working(), "a", ChildState::Working, (3, 1));
    let run = counts(run, "b", at_round_limit(), (3, 1));
    let ask = Ask::Extend {
        budget: Budget::default(),
        rounds: 2,
    };
    let run = next(run, Event::Asked { ask });
    assert_eq!(telling(&run), ["askRun r1+b"]);
    let asked = run.pending.values().next();
    assert!(
        matches!(
            asked,
            Some(Effect::ToRun {
                message: RunMessage::AskRun {
                    ask: Ask::Extend { rounds: 2, .. }
                },
                ..
            })
        ),
        "{asked:?}"
    );
    assert_eq!(run.warnings, Vec::<String>::new());
}

#[test]
fn more_rounds_for_a_cruise_without_a_run_that_waits_are_said_to_be_unused() {
    let run = counts(working(), "a", ChildState::Working, (1, 0));
    let ask = Ask::Extend {
        budget: Budget::default(),
        rounds: 2,
    };
    let run = next(run, Event::Asked { ask });
    assert_eq!(telling(&run), Vec::<String>::new());
    assert_eq!(
        run.warnings,
        ["`--rounds 2` was not applied: no run of this cruise waited for fixer rounds"]
    );
}
