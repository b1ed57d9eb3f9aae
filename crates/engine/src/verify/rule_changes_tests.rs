use super::*;

/// A world with a Makefile that the candidate changes, and with different output on the base.
fn make(output: &'static str, output_on_base: &'static str) -> World {
    World {
        changed: vec!["Makefile".to_owned()],
        files: vec!["Makefile".to_owned(), "src/a".to_owned()],
        output,
        output_on_base: Some(output_on_base),
        ..World::default()
    }
}

fn detected(world: &World) -> Verified {
    let mut request = request(Vec::new());
    request.rules.baseline = Baseline::OnFailure;
    verify(world, &request)
}

#[test]
fn tests_without_a_number_fail_where_the_base_counts_some() {
    let verified = detected(&make("", "3 passed in 0.1s\n"));
    assert_eq!(
        verdict(&verified),
        (
            Overall::Fail,
            Some(FailureCategory::Test),
            Some(Class::Work)
        )
    );
    let failure = verified.report.failure.clone().unwrap();
    let reason = "targeted tests (make): the base runs 3 tests, the candidate none";
    assert_eq!(failure.reason, reason);
    assert!(!promoted(&verified.report, HEAD, BASE));
}

#[test]
fn a_base_that_cannot_be_built_does_not_say_how_many_tests_it_has() {
    let mut world = make("", "1 failed, 2 passed in 0.1s\n");
    world.ends_on_base = vec![("make", End::Exited { code: 2 })];
    // The stage before the tests also fails on the base, so nothing is concluded.
    let verified = detected(&world);
    assert_eq!(verdict(&verified).0, Overall::Pass);
    let why = verified.report.stages[1].reason.clone().unwrap();
    assert!(why.ends_with("compile failed there"), "{why}");
}

#[test]
fn tests_without_a_number_pass_where_nothing_says_that_there_were_some() {
    for (output, on_base) in [("", ""), ("2 passed in 0.1s\n", "3 passed in 0.1s\n")] {
        let verified = detected(&make(output, on_base));
        assert_eq!(verdict(&verified), (Overall::Pass, None, None));
    }
    // The candidate changed nothing that controls the tests, so the base is not run.
    let mut world = make("", "3 passed in 0.1s\n");
    world.changed = vec!["src/a".to_owned()];
    assert_eq!(verdict(&detected(&world)).0, Overall::Pass);
    assert!(!world.log.lock().unwrap().contains(&"open 2".to_owned()));
}

#[test]
fn tests_that_the_candidate_no_longer_runs_are_told() {
    let reason = |world: &World| {
        let verified = detected(world);
        assert_eq!(verdict(&verified), (Overall::Pass, None, None));
        let notes = verified.report.notes.join("\n");
        (verified.report.stages[1].reason.clone(), notes)
    };
    let fewer = make("2 passed in 0.1s\n", "9 passed in 0.1s\n");
    let told = "7 of the base's 9 tests gone: the candidate runs 2";
    assert_eq!(reason(&fewer).0.as_deref(), Some(told));
    let same = make("2 passed in 0.1s\n", "2 passed in 0.1s\n");
    assert_eq!(reason(&same).0, None);
    // A removed test file affects it as well.
    let mut removed = make("2 passed in 0.1s\n", "9 passed in 0.1s\n");
    removed.changed = vec!["src/a".to_owned(), "tests/a.py".to_owned()];
    let (why, notes) = reason(&removed);
    assert_eq!(why.as_deref(), Some(told));
    assert!(
        notes.contains("the candidate removes 1 test file: `tests/a.py`"),
        "{notes}"
    );
}

#[test]
fn a_command_that_the_candidate_drops_is_a_broken_rule() {
    let mut world = make("1 passed in 0.1s\n", "");
    world.targets_on_base = Some(&["build", "test", "smoke"]);
    let verified = detected(&world);
    assert_eq!(
        verdict(&verified),
        (
            Overall::Fail,
            Some(FailureCategory::Policy),
            Some(Class::Work)
        )
    );
    let reason = verified.report.failure.unwrap().reason;
    assert!(reason.starts_with("the base runs `make smoke`"), "{reason}");
    assert!(!world.ran("make"), "it is known before the first stage");
}

#[test]
fn a_project_that_cannot_be_read_is_compared_with_that_of_the_base() {
    for (unreadable, overall, category, class) in [
        (
            (true, false),
            Overall::Fail,
            FailureCategory::Compile,
            Class::Work,
        ),
        (
            (true, true),
            Overall::Fail,
            FailureCategory::Baseline,
            Class::Work,
        ),
    ] {
        let world = World {
            unreadable,
            ..make("", "")
        };
        let expected = (overall, Some(category), Some(class));
        assert_eq!(verdict(&detected(&world)), expected);
        let log = world.log.lock().unwrap();
        assert_eq!(log.iter().filter(|one| *one == "close").count(), 2);
    }
    // Without a base there is nothing to compare with.
    let world = World {
        unreadable: (true, false),
        ..make("", "")
    };
    let expected = (
        Overall::Error,
        Some(FailureCategory::Infra),
        Some(Class::Environment),
    );
    assert_eq!(verdict(&verify(&world, &request(Vec::new()))), expected);
}

#[test]
fn paths_that_no_route_covers_are_tested_by_their_project() {
    let world = World {
        changed: vec!["src/a".to_owned(), "tools/x".to_owned()],
        ..World::default()
    };
    let verified = verify(&world, &request(vec![three()]));
    assert_eq!(verdict(&verified), (Overall::Pass, None, None));
    let stages = verified.report.stages.iter();
    let routes: Vec<&str> = stages.map(|stage| stage.route.as_str()).collect();
    assert_eq!(routes, ["all", "make", "all", "make", "all", "make"]);
}
