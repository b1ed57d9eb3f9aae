mod simulation;
mod stale;
mod unknown;
mod world;

use super::*;
use world::{World, car, changed, task};

fn train(slots: u32) -> Train {
    Train::new(NonZeroU32::new(slots).unwrap())
}

fn queued(slots: u32, names: &[&str]) -> Train {
    let mut train = train(slots);
    for name in names {
        train.queue(car(name));
    }
    train
}

fn tasks(names: &[&str]) -> Vec<TaskId> {
    names.iter().map(|name| task(name)).collect()
}

/// Assembles what the train asks for.
fn assemble(train: &mut Train, world: &mut World) -> Vec<Left> {
    let moves = train.next(&world.tip);
    let [Move::Assemble { onto, cars }] = &moves[..] else {
        panic!("{moves:?}");
    };
    let (coupled, conflict) = world.assemble(onto, cars);
    train.vouch(&world.tree_of(onto));
    train.assembled(onto, coupled, conflict)
}

/// The task at the end of each prefix that is to be verified, and its tree.
fn verifications(moves: &[Move]) -> Vec<(String, TreeSha)> {
    let mut all = Vec::new();
    for one in moves {
        if let Move::Verify { tree, tasks, .. } = one {
            all.push((tasks.last().unwrap().to_string(), tree.clone()));
        }
    }
    all
}

fn names(moves: &[Move]) -> Vec<String> {
    let all = verifications(moves).into_iter();
    all.map(|(name, _)| name).collect()
}

/// Answers a verification as the world has it.
fn answer(train: &mut Train, world: &World, tree: &TreeSha) -> Vec<Left> {
    let verdict = if world.is_green(tree) {
        Verdict::Green
    } else {
        Verdict::Red
    };
    train.verified(tree, verdict)
}

fn answer_all(train: &mut Train, world: &World, moves: &[Move]) -> Vec<Left> {
    let all = verifications(moves).into_iter();
    all.flat_map(|(_, tree)| answer(train, world, &tree))
        .collect()
}

/// Performs the only landing among the moves.
fn land(train: &mut Train, world: &mut World, moves: &[Move]) -> Vec<TaskId> {
    let landings: Vec<&Move> = moves
        .iter()
        .filter(|one| matches!(one, Move::Land { .. }))
        .collect();
    let [Move::Land { from, commit, .. }] = landings[..] else {
        panic!("{moves:?}");
    };
    assert_eq!(*from, world.tip);
    world.tip = commit.clone();
    train.landed(commit)
}

fn unknown() -> Verdict {
    Verdict::Unknown {
        why: "no space left".into(),
        cause: Cause::Base,
    }
}

#[test]
fn an_empty_train_begins_nothing() {
    let mut train = train(4);
    assert!(train.is_empty());
    assert_eq!(train.next(&World::new().tip), vec![]);
}

#[test]
fn a_train_takes_as_many_cars_as_its_window_and_begins_each_move_once() {
    let world = World::new();
    let mut train = queued(4, &["a", "b", "c", "d", "e"]);
    let moves = train.next(&world.tip);
    let cars = ["a", "b", "c", "d"].map(car).to_vec();
    let onto = world.tip.clone();
    assert_eq!(moves, vec![Move::Assemble { onto, cars }]);
    assert_eq!(train.next(&world.tip), vec![]);
    assert_eq!(train.holds(&task("a")), Some(CarState::Queued));
    assert_eq!(train.holds(&task("x")), None);
}

#[test]
fn the_longest_prefix_is_verified_first_and_a_green_one_lands_in_one_move() {
    let mut world = World::new();
    let mut train = queued(4, &["a", "b", "c", "d", "e"]);
    assert_eq!(assemble(&mut train, &mut world), vec![]);
    let moves = train.next(&world.tip);
    assert_eq!(names(&moves), ["d", "b"]);
    assert_eq!(train.next(&world.tip), vec![]);
    assert_eq!(train.holds(&task("a")), Some(CarState::Verifying));

    let all = verifications(&moves);
    answer(&mut train, &world, &all[0].1);
    assert_eq!(train.useless(), vec![all[1].1.clone()]);
    let moves = train.next(&world.tip);
    assert_eq!(moves.len(), 1);
    assert_eq!(train.holds(&task("a")), Some(CarState::Landing));
    let landed = land(&mut train, &mut world, &moves);
    assert_eq!(landed, tasks(&["a", "b", "c", "d"]));
    assert_eq!(train.holds(&task("a")), None);
    assert_eq!(train.holds(&task("e")), Some(CarState::Queued));
}

#[test]
fn the_window_doubles_after_a_green_train_and_halves_after_a_red_one() {
    let mut world = World::new();
    world.bad.insert("e".into());
    let mut train = queued(1, &["a", "e"]);
    assemble(&mut train, &mut world);
    while train.holds(&task("e")).is_some() {
        let moves = train.next(&world.tip);
        answer_all(&mut train, &world, &moves);
    }
    assert_eq!(train.window(), FIRST_WINDOW / 2);
    let moves = train.next(&world.tip);
    land(&mut train, &mut world, &moves);
    assert_eq!(train.window(), FIRST_WINDOW / 2, "counted once");

    for round in 0..10 {
        train.queue(car(&format!("good{round}")));
        assemble(&mut train, &mut world);
        let moves = train.next(&world.tip);
        answer_all(&mut train, &world, &moves);
        let moves = train.next(&world.tip);
        land(&mut train, &mut world, &moves);
    }
    assert_eq!(train.window(), LARGEST_WINDOW);
    for round in 0..10 {
        let name = format!("bad{round}");
        world.bad.insert(name.clone());
        train.queue(car(&name));
        assemble(&mut train, &mut world);
        let moves = train.next(&world.tip);
        answer_all(&mut train, &world, &moves);
    }
    assert_eq!(train.window(), SMALLEST_WINDOW);
}

#[test]
fn a_task_that_turns_a_green_prefix_red_leaves_with_those_before_it() {
    let mut world = World::new();
    world.breaking.push(("b".into(), "c".into()));
    let mut train = queued(4, &["a", "b", "c", "d"]);
    assemble(&mut train, &mut world);
    let moves = train.next(&world.tip);
    assert_eq!(answer_all(&mut train, &world, &moves), vec![]);

    // The longest green prefix lands while the rest is searched.
    let moves = train.next(&world.tip);
    assert_eq!(names(&moves), ["c"]);
    let landed = land(&mut train, &mut world, &moves);
    assert_eq!(landed, tasks(&["a", "b"]));
    let red = verifications(&moves)[0].1.clone();
    let left = answer(&mut train, &world, &red);
    let why = Why::Red {
        tree: red,
        with: tasks(&["a", "b"]),
    };
    let Car { task: id, head } = car("c");
    assert_eq!(
        left,
        vec![Left {
            task: id,
            head,
            why
        }]
    );
    assert_eq!(train.holds(&task("c")), None);

    assemble(&mut train, &mut world);
    let moves = train.next(&world.tip);
    assert_eq!(names(&moves), ["d"]);
    answer_all(&mut train, &world, &moves);
    let moves = train.next(&world.tip);
    assert_eq!(land(&mut train, &mut world, &moves), tasks(&["d"]));
    assert!(train.is_empty());
}

#[test]
fn a_red_train_is_searched_with_all_slots_in_even_parts() {
    let mut world = World::new();
    world.bad.insert("t6".into());
    let mut train = train(3);
    for n in 0..3 {
        train.queue(car(&format!("early{n}")));
    }
    for _ in 0..2 {
        assemble(&mut train, &mut world);
        let moves = train.next(&world.tip);
        answer_all(&mut train, &world, &moves);
        let moves = train.next(&world.tip);
        land(&mut train, &mut world, &moves);
        train.queue(car("late"));
    }
    train.remove(&task("late"));
    for n in 0..16 {
        train.queue(car(&format!("t{n}")));
    }
    assemble(&mut train, &mut world);
    let moves = train.next(&world.tip);
    assert_eq!(names(&moves), ["t15", "t10", "t5"]);
    answer_all(&mut train, &world, &moves);
    let moves = train.next(&world.tip);
    assert_eq!(names(&moves), ["t8", "t7", "t6"]);
    let left = answer_all(&mut train, &world, &moves);
    assert_eq!(left[0].task, task("t6"));
}

#[test]
fn a_task_that_a_later_one_mends_lands_with_it() {
    let mut world = World::new();
    world.bad.insert("b".into());
    world.mended.push(("b".into(), "d".into()));
    let mut train = queued(4, &["a", "b", "c", "d"]);
    assemble(&mut train, &mut world);
    let moves = train.next(&world.tip);
    let all = verifications(&moves);
    assert_eq!(names(&moves), ["d", "b"]);
    // The shorter one is red, and the longer one is still being verified.
    assert_eq!(answer(&mut train, &world, &all[1].1), vec![]);
    let more = train.next(&world.tip);
    assert_eq!(names(&more), ["a"]);
    assert_eq!(answer_all(&mut train, &world, &more), vec![]);
    assert_eq!(train.next(&world.tip), vec![]);
    assert_eq!(answer(&mut train, &world, &all[0].1), vec![]);
    let moves = train.next(&world.tip);
    let landed = land(&mut train, &mut world, &moves);
    assert_eq!(landed, tasks(&["a", "b", "c", "d"]));
}

#[test]
fn a_task_with_conflicts_leaves_and_those_before_it_go_on() {
    let mut world = World::new();
    world.conflicting.push(("a".into(), "c".into()));
    let mut train = queued(4, &["a", "b", "c", "d"]);
    let left = assemble(&mut train, &mut world);
    let Car { task: id, head } = car("c");
    let why = Why::Conflicts {
        files: vec!["a-c".into()],
        with: tasks(&["a", "b"]),
    };
    assert_eq!(
        left,
        vec![Left {
            task: id,
            head,
            why
        }]
    );
    let moves = train.next(&world.tip);
    assert_eq!(names(&moves), ["b"]);
    answer_all(&mut train, &world, &moves);
    let moves = train.next(&world.tip);
    assert_eq!(land(&mut train, &mut world, &moves), tasks(&["a", "b"]));
    assemble(&mut train, &mut world);
    assert_eq!(names(&train.next(&world.tip)), ["d"]);
}

#[test]
fn tasks_that_change_nothing_land_without_a_verification() {
    let mut world = World::new();
    let mut train = train(4);
    train.queue(changed("a", "-"));
    assemble(&mut train, &mut world);
    let moves = train.next(&world.tip);
    assert_eq!(land(&mut train, &mut world, &moves), tasks(&["a"]));

    train.queue(car("b"));
    train.queue(changed("c", "-"));
    assemble(&mut train, &mut world);
    let moves = train.next(&world.tip);
    assert_eq!(verifications(&moves).len(), 1);
    answer_all(&mut train, &world, &moves);
    let moves = train.next(&world.tip);
    assert_eq!(land(&mut train, &mut world, &moves), tasks(&["b", "c"]));
}

#[test]
fn a_line_that_moved_without_changing_the_merged_tree_voids_no_verdict() {
    let mut world = World::new();
    let mut train = queued(4, &["a"]);
    assemble(&mut train, &mut world);
    let moves = train.next(&world.tip);
    world.push(None);
    assert_eq!(train.moved(&world.tip), vec![]);
    answer_all(&mut train, &world, &moves);
    assemble(&mut train, &mut world);
    let moves = train.next(&world.tip);
    assert_eq!(land(&mut train, &mut world, &moves), tasks(&["a"]));
}

#[test]
fn a_refused_landing_is_assembled_and_verified_again_on_the_new_tip() {
    let mut world = World::new();
    let mut train = queued(4, &["a"]);
    assemble(&mut train, &mut world);
    let moves = train.next(&world.tip);
    answer_all(&mut train, &world, &moves);
    assert!(matches!(train.next(&world.tip)[..], [Move::Land { .. }]));
    world.push(Some("foreign"));
    assert_eq!(train.moved(&world.tip), vec![]);
    assemble(&mut train, &mut world);
    let moves = train.next(&world.tip);
    assert_eq!(names(&moves), ["a"]);
    answer_all(&mut train, &world, &moves);
    let moves = train.next(&world.tip);
    assert_eq!(land(&mut train, &mut world, &moves), tasks(&["a"]));
}

#[test]
fn a_landing_is_known_also_when_the_line_moved_on_before_its_answer() {
    let mut world = World::new();
    let mut train = queued(4, &["a"]);
    assemble(&mut train, &mut world);
    let moves = train.next(&world.tip);
    answer_all(&mut train, &world, &moves);
    let moves = train.next(&world.tip);
    let [Move::Land { commit, .. }] = &moves[..] else {
        panic!("{moves:?}");
    };
    world.tip = commit.clone();
    world.push(Some("foreign"));
    assert_eq!(train.moved(&world.tip), vec![]);
    assert_eq!(train.landed(commit), tasks(&["a"]));
    assert!(train.is_empty());
}

#[test]
fn a_landing_whose_answer_was_lost_is_found_on_the_line() {
    let mut world = World::new();
    world.bad.insert("c".into());
    let mut train = queued(1, &["a", "b", "c"]);
    assemble(&mut train, &mut world);
    let moves = train.next(&world.tip);
    assert_eq!(names(&moves), ["c"]);
    answer_all(&mut train, &world, &moves);
    let moves = train.next(&world.tip);
    assert_eq!(names(&moves), ["a"]);
    answer_all(&mut train, &world, &moves);
    let moves = train.next(&world.tip);
    assert_eq!(names(&moves), ["b"]);
    let Move::Land { commit, .. } = &moves[0] else {
        panic!("{moves:?}");
    };
    // The push of `a` happened; the next landing, of `a` and `b`, is refused.
    world.tip = commit.clone();
    train.failed(Step::Landing, "timed out".into());
    answer_all(&mut train, &world, &moves);
    assert_eq!(train.moved(&world.tip), tasks(&["a"]));
    let moves = train.next(&world.tip);
    assert_eq!(land(&mut train, &mut world, &moves), tasks(&["b"]));
    assert!(train.is_empty());
}

#[test]
fn a_new_head_takes_the_train_apart_from_its_car_on() {
    let mut world = World::new();
    let mut train = queued(4, &["a", "b", "c", "d"]);
    assemble(&mut train, &mut world);
    let moves = train.next(&world.tip);
    train.queue(changed("c", "c2"));
    train.queue(car("a"));
    assert_eq!(train.holds(&task("b")), Some(CarState::Verifying));
    assert_eq!(train.holds(&task("c")), Some(CarState::Queued));
    answer_all(&mut train, &world, &moves);
    let moves = train.next(&world.tip);
    assert_eq!(land(&mut train, &mut world, &moves), tasks(&["a", "b"]));
    let moves = train.next(&world.tip);
    let cars = vec![changed("c", "c2"), car("d")];
    let onto = world.tip.clone();
    assert_eq!(moves, vec![Move::Assemble { onto, cars }]);
}

#[test]
fn a_task_that_gets_a_new_head_while_it_lands_stays_queued() {
    let mut world = World::new();
    let mut train = queued(4, &["a", "b"]);
    assemble(&mut train, &mut world);
    let moves = train.next(&world.tip);
    answer_all(&mut train, &world, &moves);
    let moves = train.next(&world.tip);
    train.queue(changed("b", "b2"));
    assert_eq!(land(&mut train, &mut world, &moves), tasks(&["a"]));
    assert_eq!(train.holds(&task("b")), Some(CarState::Queued));
}

#[test]
fn a_head_that_changes_during_an_assembly_voids_its_answer() {
    let mut world = World::new();
    let mut train = queued(4, &["a"]);
    let moves = train.next(&world.tip);
    let [Move::Assemble { onto, cars }] = &moves[..] else {
        panic!("{moves:?}");
    };
    train.queue(changed("a", "a2"));
    assert_eq!(train.next(&world.tip), vec![]);
    let (coupled, _) = world.assemble(onto, cars);
    assert_eq!(train.assembled(onto, coupled, None), vec![]);
    let moves = train.next(&world.tip);
    let cars = vec![changed("a", "a2")];
    let onto = world.tip.clone();
    assert_eq!(moves, vec![Move::Assemble { onto, cars }]);
}

#[test]
fn a_skipped_task_leaves_and_those_after_it_are_assembled_again() {
    let mut world = World::new();
    let mut train = queued(4, &["a", "b", "c"]);
    assemble(&mut train, &mut world);
    let moves = train.next(&world.tip);
    train.remove(&task("a"));
    assert_eq!(train.holds(&task("a")), None);
    assert_eq!(train.holds(&task("b")), Some(CarState::Queued));
    assert_eq!(train.useless().len(), verifications(&moves).len());
    let moves = train.next(&world.tip);
    let cars = vec![car("b"), car("c")];
    let onto = world.tip.clone();
    assert_eq!(moves, vec![Move::Assemble { onto, cars }]);
}

#[test]
fn an_unknown_verdict_is_asked_again_and_then_stops_the_train() {
    let mut world = World::new();
    let mut train = queued(4, &["a"]);
    assemble(&mut train, &mut world);
    for _ in 0..MOST_TRIES {
        assert_eq!(train.stopped(), None);
        let moves = train.next(&world.tip);
        assert_eq!(names(&moves), ["a"]);
        let tree = &verifications(&moves)[0].1;
        assert_eq!(train.verified(tree, unknown()), vec![]);
    }
    let why = train.stopped().unwrap();
    assert!(why.starts_with("could not verify tree `"), "{why}");
    assert!(why.ends_with("no space left (3 tries)"), "{why}");
    assert_eq!(train.next(&world.tip), vec![]);
    assert!(!train.is_empty());

    train.resume();
    let moves = train.next(&world.tip);
    answer_all(&mut train, &world, &moves);
    let moves = train.next(&world.tip);
    assert_eq!(land(&mut train, &mut world, &moves), tasks(&["a"]));
}

#[test]
fn assemblies_and_landings_that_keep_failing_stop_the_train() {
    let mut world = World::new();
    let mut train = queued(4, &["a"]);
    for _ in 0..MOST_TRIES {
        assert_eq!(train.stopped(), None);
        assert_eq!(train.next(&world.tip).len(), 1);
        train.failed(Step::Assembly, "disk full".into());
    }
    let why = train.stopped().unwrap();
    assert_eq!(why, "could not merge the queued tasks: disk full (3 tries)");
    train.resume();
    assemble(&mut train, &mut world);
    let moves = train.next(&world.tip);
    answer_all(&mut train, &world, &moves);
    for _ in 0..MOST_TRIES {
        assert_eq!(train.stopped(), None);
        let moves = train.next(&world.tip);
        assert!(matches!(moves[..], [Move::Land { .. }]));
        train.failed(Step::Landing, "timed out".into());
    }
    let why = train.stopped().unwrap();
    assert_eq!(
        why,
        "could not land the verified tasks: timed out (3 tries)"
    );
}
