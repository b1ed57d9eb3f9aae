//! Tests of trees that could not be verified.

use super::world::{World, task};
use super::*;

/// Runs a train to its end. Returns the cars that left it and the tasks that landed.
fn run(
    train: &mut Train,
    verdict: impl Fn(&World, &TreeSha, u32) -> Verdict,
) -> (Vec<Left>, Vec<TaskId>) {
    let mut world = World::new();
    let (mut left, mut landed, mut asked) = (Vec::new(), Vec::new(), 0);
    for _ in 0..200 {
        for order in train.next(&world.tip) {
            match order {
                Move::Assemble { onto, cars } => {
                    let (coupled, conflict) = world.assemble(&onto, &cars);
                    left.extend(train.assembled(&onto, coupled, conflict));
                }
                Move::Verify { tree, .. } => {
                    asked += 1;
                    left.extend(train.verified(&tree, verdict(&world, &tree, asked)));
                }
                Move::Land { commit, .. } => {
                    world.tip = commit.clone();
                    landed.extend(train.landed(&commit));
                }
            }
        }
    }
    (left, landed)
}

fn unknown(cause: Cause) -> Verdict {
    let why = "timeout: a stage reached its time limit".to_owned();
    Verdict::Unknown { why, cause }
}

#[test]
fn a_task_that_hangs_leaves_alone_and_the_others_land() {
    for (slots, hanging) in [1, 2, 4]
        .into_iter()
        .flat_map(|slots| ["a", "c", "d"].map(|one| (slots, one)))
    {
        let mut train = queued(slots, &["a", "b", "c", "d"]);
        let (left, mut landed) = run(&mut train, |world, tree, _| {
            if world.has(tree, hanging) {
                unknown(Cause::Candidate)
            } else {
                Verdict::Green
            }
        });
        let gone: Vec<&TaskId> = left.iter().map(|one| &one.task).collect();
        assert_eq!(gone, [&task(hanging)], "{slots} {left:?}");
        assert!(matches!(left[0].why, Why::Unverified { .. }), "{left:?}");
        landed.push(task(hanging));
        landed.sort();
        assert_eq!(landed, tasks(&["a", "b", "c", "d"]), "{slots} {hanging}");
        assert_eq!(train.stopped(), None);
        assert!(train.is_empty());
    }
}

#[test]
fn a_tree_that_could_not_be_verified_once_has_no_verdict() {
    // The whole train hangs once although every part of it passes: its last task leaves and is queued again.
    let mut train = queued(1, &["a", "b"]);
    let (left, landed) = run(&mut train, |_, _, asked| match asked {
        1 => unknown(Cause::Candidate),
        _ => Verdict::Green,
    });
    assert_eq!((left.len(), landed), (1, tasks(&["a"])));
    train.queue(car("b"));
    let (left, landed) = run(&mut train, |_, _, _| Verdict::Green);
    assert_eq!((left.len(), landed), (0, tasks(&["b"])));
}

#[test]
fn a_machine_that_is_away_stops_no_train() {
    let mut train = queued(2, &["a", "b"]);
    let (left, landed) = run(&mut train, |_, _, asked| match asked {
        0..50 => unknown(Cause::Machine),
        _ => Verdict::Green,
    });
    assert_eq!(train.stopped(), None);
    assert_eq!((left.len(), landed), (0, tasks(&["a", "b"])));
}
