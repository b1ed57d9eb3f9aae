//! Results and verdicts from before a change.

use super::super::verdicts::{MOST_VERDICTS, Verdicts};
use super::super::*;
use super::queued;
use super::world::{World, car, task};

fn tree(number: usize) -> TreeSha {
    TreeSha::parse(&format!("{number:040x}")).unwrap()
}

#[test]
fn a_conflict_with_a_tip_that_the_line_left_sends_no_task_away() {
    let mut world = World::new();
    let mut train = queued(4, &["a"]);
    assert_eq!(train.next(&world.tip).len(), 1);
    let old = world.tip.clone();
    world.push(None);
    train.moved(&world.tip);
    let conflict = Conflict {
        task: task("a"),
        files: vec!["a.txt".into()],
        with: Vec::new(),
    };
    assert_eq!(train.assembled(&old, Vec::new(), Some(conflict)), vec![]);
    let onto = world.tip.clone();
    let cars = vec![car("a")];
    assert_eq!(train.next(&world.tip), vec![Move::Assemble { onto, cars }]);
}

#[test]
fn the_verdicts_that_were_not_used_for_longest_are_dropped_first() {
    let mut verdicts = Verdicts::default();
    for number in 0..MOST_VERDICTS {
        verdicts.record(&tree(number), number % 2 == 0);
    }
    verdicts.touch(&tree(0));
    verdicts.record(&tree(MOST_VERDICTS), true);
    assert_eq!(verdicts.is_green(&tree(0)), Some(true));
    assert_eq!(verdicts.is_green(&tree(1)), None);
    assert_eq!(verdicts.is_green(&tree(3)), Some(false));
}

#[test]
fn a_new_train_keeps_the_verdicts_of_its_trees() {
    let mut world = World::new();
    let mut train = queued(4, &["a"]);
    let moves = train.next(&world.tip);
    let [Move::Assemble { onto, cars }] = &moves[..] else {
        panic!("{moves:?}");
    };
    let (coupled, _) = world.assemble(onto, cars);
    train.vouch(&coupled[0].tree);
    for number in 1..MOST_VERDICTS {
        train.vouch(&tree(number));
    }
    train.assembled(onto, coupled, None);
    train.vouch(&tree(MOST_VERDICTS));
    assert!(matches!(train.next(&world.tip)[..], [Move::Land { .. }]));
}
