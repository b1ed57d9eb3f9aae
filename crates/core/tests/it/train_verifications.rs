//! Counts the verifications of a landing train. The benchmarks print the same numbers.

use drive_core::cruise::train::{Car, Coupled, Move, Train, Verdict};
use drive_core::ids::{CommitSha, TaskId, TreeSha};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

/// The number of seeds for an average.
pub const SEEDS: u64 = 500;

/// Lands `tasks` tasks that are all ready, of which some are bad, and counts the verifications.
/// Verifications end in the order in which they start.
pub fn verifications(tasks: usize, slots: u32, bad: &BTreeSet<usize>) -> usize {
    let mut train = Train::new(NonZeroU32::new(slots).expect("a slot"));
    for task in 0..tasks {
        train.queue(Car {
            task: TaskId::new(task.to_string()),
            head: CommitSha::new(format!("head of {task}")),
        });
    }
    let mut tip = CommitSha::new("");
    let mut is_green: BTreeMap<TreeSha, bool> = BTreeMap::new();
    let (mut count, mut landed, mut left) = (0, 0, 0);
    let mut open = train.next(&tip);
    while !open.is_empty() {
        match open.remove(0) {
            Move::Assemble { onto, cars } => {
                let coupled = couple(&onto, &cars, bad, &mut is_green);
                left += train.assembled(&onto, coupled, None).len();
            }
            Move::Verify { tree, .. } => {
                count += 1;
                let verdict = if is_green[&tree] {
                    Verdict::Green
                } else {
                    Verdict::Red
                };
                left += train.verified(&tree, verdict).len();
            }
            Move::Land { commit, .. } => {
                tip = commit;
                landed += train.landed(&tip).len();
            }
        }
        open.extend(train.next(&tip));
    }
    assert_eq!((landed, left), (tasks - bad.len(), bad.len()));
    count
}

/// Merges cars. A commit's id lists its tasks.
fn couple(
    onto: &CommitSha,
    cars: &[Car],
    bad: &BTreeSet<usize>,
    is_green: &mut BTreeMap<TreeSha, bool>,
) -> Vec<Coupled> {
    let mut commit = onto.as_str().to_owned();
    let mut red = false;
    let mut coupled = Vec::new();
    for car in cars {
        commit = format!("{commit} {}", car.task);
        red |= bad.iter().any(|bad| bad.to_string() == car.task.as_str());
        let (one, other) = (mixed(&commit, 1), mixed(&commit, 2));
        let tree = TreeSha::parse(&format!("{one:016x}{other:016x}00000000")).expect("an id");
        is_green.insert(tree.clone(), !red);
        coupled.push(Coupled {
            task: car.task.clone(),
            head: car.head.clone(),
            commit: CommitSha::new(commit.clone()),
            tree,
        });
    }
    coupled
}

fn mixed(text: &str, start: u64) -> u64 {
    text.bytes().fold(start, |hash, byte| {
        let hash = (hash ^ u64::from(byte)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash ^ (hash >> 31)
    })
}

/// The average over all seeds, with this probability of a bad task.
pub fn average(tasks: usize, slots: u32, percent_bad: u64) -> f64 {
    let counts = (0..SEEDS).map(|seed| {
        let is_bad = |task: &usize| mixed(&format!("{seed} {task}"), 7) % 100 < percent_bad;
        let bad: BTreeSet<usize> = (0..tasks).filter(is_bad).collect();
        verifications(tasks, slots, &bad) as f64
    });
    counts.sum::<f64>() / SEEDS as f64
}

#[test]
fn good_tasks_take_far_fewer_verifications_than_there_are_tasks() {
    let none = BTreeSet::new();
    assert_eq!(verifications(12, 4, &none), 6);
    assert_eq!(verifications(50, 4, &none), 14);
    assert_eq!(verifications(12, 1, &none), 2);
}

#[test]
fn tasks_of_which_three_percent_are_bad_take_few_more() {
    let (twelve, fifty) = (average(12, 4, 3), average(50, 4, 3));
    assert!(twelve <= 10.0, "{twelve}");
    assert!(fifty <= 30.0, "{fifty}");
}

#[test]
fn one_bad_task_of_twelve_takes_at_most_ten_verifications() {
    for bad in 0..12 {
        let count = verifications(12, 4, &BTreeSet::from([bad]));
        assert!(count <= 10, "task {bad} is bad: {count}");
    }
}
