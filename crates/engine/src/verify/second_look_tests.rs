use super::*;
use drive_core::settings::FlakyTests;

/// A world with failing tests, and with these results on the base.
fn red(on_base: &[(&'static str, End)]) -> World {
    World {
        ends: vec![("test", End::Exited { code: 1 })],
        ends_on_base: on_base.to_vec(),
        files: vec!["src/a".to_owned()],
        ..world()
    }
}

fn compared(world: &World, routes: Vec<Route>) -> Verified {
    let mut request = request(routes);
    request.rules.baseline = Baseline::OnFailure;
    verify(world, &request)
}

#[test]
fn a_failure_is_compared_with_the_base_in_a_workspace_of_its_own() {
    let world = red(&[]);
    let verified = compared(&world, vec![three()]);
    let failure = verified.report.failure.clone().unwrap();
    assert_eq!(failure.category, FailureCategory::Test);
    assert!(
        failure.reason.ends_with("it passes on the base"),
        "{failure:?}"
    );
    let log = world.log.lock().unwrap();
    let expected = [
        "diff 2 4",
        "open 4",
        "run build",
        "run test",
        "open 2",
        "run build",
        "run test",
        "close",
        "close",
        "save r1",
    ];
    assert_eq!(*log, expected);
}

#[test]
fn a_failure_of_the_base_is_not_the_candidates_and_is_not_promotable() {
    let world = red(&[("test", End::Exited { code: 3 })]);
    let verified = compared(&world, vec![three()]);
    assert_eq!(
        verdict(&verified),
        (
            Overall::Fail,
            Some(FailureCategory::Baseline),
            Some(Class::Work)
        )
    );
    let failure = verified.report.failure.clone().unwrap();
    assert!(
        failure.reason.ends_with("on the base as well: exit code 3"),
        "{failure:?}"
    );
    assert!(!promoted(&verified.report, HEAD, BASE));
}

#[test]
fn the_commands_before_the_failed_one_run_on_the_base_as_well_also_those_of_its_stage() {
    let world = World {
        ends: vec![("build", End::Exited { code: 1 })],
        files: vec!["src/a".to_owned()],
        ..world()
    };
    let routes = vec![route(&[
        (StageName::Compile, "configure"),
        (StageName::Compile, "build"),
    ])];
    let failure = compared(&world, routes).report.failure.unwrap();
    assert_eq!(failure.category, FailureCategory::Compile);
    let log = world.log.lock().unwrap();
    let on_base: Vec<&String> = log.iter().skip_while(|one| *one != "open 2").collect();
    assert_eq!(on_base[..3], ["open 2", "run configure", "run build"]);
}

#[test]
fn a_project_that_cannot_be_planned_does_not_keep_another_from_the_comparison() {
    let world = World {
        ends: vec![("make", End::Exited { code: 1 })],
        has_untested_docs: true,
        ..red(&[])
    };
    let failure = compared(&world, Vec::new()).report.failure.unwrap();
    assert_eq!(failure.category, FailureCategory::Compile);
    assert!(
        failure.reason.ends_with("it passes on the base"),
        "{failure:?}"
    );
}

#[test]
fn nothing_is_concluded_from_a_base_that_cannot_be_compared() {
    let absent = World {
        files: Vec::new(),
        ..red(&[])
    };
    let unbuilt = red(&[("build", End::Exited { code: 1 })]);
    for (world, because) in [
        (
            absent,
            "not compared with the base: the base has no such stage",
        ),
        (unbuilt, "not compared with the base: compile failed there"),
    ] {
        let failure = compared(&world, vec![three()]).report.failure.unwrap();
        assert_eq!(failure.category, FailureCategory::Test);
        assert!(failure.reason.ends_with(because), "{failure:?}");
    }
}

#[test]
fn what_the_machine_lacks_is_no_verdict() {
    let world = World {
        output: "Error: listen EADDRINUSE: address already in use",
        ..red(&[("test", End::Exited { code: 1 })])
    };
    let verified = compared(&world, vec![three()]);
    assert_eq!(
        verdict(&verified),
        (
            Overall::Error,
            Some(FailureCategory::Infra),
            Some(Class::Environment)
        )
    );
    let hint = verified.report.failure.unwrap().hint.unwrap();
    assert!(hint.contains("free port"), "{hint}");
}

#[test]
fn a_stage_that_passes_at_another_try_is_flaky_and_passes_only_where_allowed() {
    for (flaky, overall, category) in [
        (
            FlakyTests::Fail,
            Overall::Fail,
            Some(FailureCategory::Flaky),
        ),
        (FlakyTests::Allow, Overall::Pass, None),
    ] {
        let world = World {
            fails_times: Some(1),
            ..red(&[])
        };
        let mut request = request(vec![three()]);
        request.rules.retries = 2;
        request.rules.flaky = flaky;
        let verified = verify(&world, &request);
        assert_eq!(verdict(&verified).0, overall);
        assert_eq!(verdict(&verified).1, category);
        assert_eq!(
            promoted(&verified.report, HEAD, BASE),
            flaky == FlakyTests::Allow
        );
        let log = world.log.lock().unwrap();
        assert_eq!(log.iter().filter(|one| *one == "run test").count(), 2);
        assert_eq!(log.iter().filter(|one| *one == "open 4").count(), 2);
    }
}

#[test]
fn a_limit_is_compared_with_the_base_and_not_tried_again() {
    let late = || End::TimedOut {
        bound: drive_core::process::TimeBound::Wall,
    };
    for (end, on_base, overall, category) in [
        (
            late(),
            vec![("test", late())],
            Overall::Timeout,
            FailureCategory::Baseline,
        ),
        (
            late(),
            Vec::new(),
            Overall::Timeout,
            FailureCategory::Timeout,
        ),
        (
            End::MemoryLimit,
            vec![("test", End::MemoryLimit)],
            Overall::Fail,
            FailureCategory::Baseline,
        ),
        (
            End::LeakedProcesses { count: 1 },
            vec![("test", End::Exited { code: 1 })],
            Overall::Fail,
            FailureCategory::Resource,
        ),
    ] {
        let world = World {
            ends: vec![("test", end)],
            ..red(&on_base)
        };
        let mut request = request(vec![three()]);
        request.rules.baseline = Baseline::OnFailure;
        request.rules.retries = 2;
        let verified = verify(&world, &request);
        let expected = (overall, Some(category), Some(Class::Work));
        assert_eq!(verdict(&verified), expected);
        assert!(!promoted(&verified.report, HEAD, BASE));
        let log = world.log.lock().unwrap();
        assert_eq!(log.iter().filter(|one| *one == "open 4").count(), 1);
    }
}

#[test]
fn a_fault_of_the_machine_that_is_gone_on_the_base_is_looked_for_once_more() {
    let world = |fails_times| World {
        output: "Error: listen EADDRINUSE: address already in use",
        fails_times,
        ..red(&[])
    };
    let gone = world(Some(1));
    let verified = compared(&gone, vec![three()]);
    assert_eq!(
        verdict(&verified),
        (
            Overall::Error,
            Some(FailureCategory::Infra),
            Some(Class::Environment)
        )
    );
    let reason = verified.report.failure.clone().unwrap().reason;
    assert!(reason.ends_with("passed when retried"), "{reason}");
    assert!(!promoted(&verified.report, HEAD, BASE));
    let stays = world(None);
    let verified = compared(&stays, vec![three()]);
    assert_eq!(verdict(&verified).1, Some(FailureCategory::Test));
    for world in [gone, stays] {
        let log = world.log.lock().unwrap();
        assert_eq!(log.iter().filter(|one| *one == "open 4").count(), 2);
    }
}
