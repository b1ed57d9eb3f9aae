use super::*;

fn known_world() -> World {
    World {
        surroundings: Some("tools"),
        ..world()
    }
}

fn asked(run: &str) -> VerifyRequest {
    VerifyRequest {
        run: RunId::new(run),
        fresh: false,
        ..request(vec![three()])
    }
}

#[test]
fn what_passed_before_is_answered_without_a_workspace() {
    let world = known_world();
    let first = verify(&world, &asked("r1"));
    let second = verify(&world, &asked("r2"));
    assert_eq!(second.report.cached_from, Some(RunId::new("r1")));
    assert_eq!(second.report.stages, first.report.stages);
    assert!(second.problem.is_none());
    assert!(promoted(&second.report, HEAD, BASE));
    let log = world.log.lock().unwrap();
    assert_eq!(log.iter().filter(|one| *one == "run test").count(), 1);
    assert_eq!(log[log.len() - 2..], ["diff 2 4", "save r2"]);
}

#[test]
fn what_did_not_simply_pass_is_judged_again() {
    let fails = || World {
        ends: vec![("test", End::Exited { code: 1 })],
        ..known_world()
    };
    let opaque = || World {
        surroundings: None,
        ..known_world()
    };
    let open = |run: &str| VerifyRequest {
        rules: Rules {
            network: StageNetwork::Open,
            ..asked(run).rules
        },
        ..asked(run)
    };
    let fresh = |run: &str| VerifyRequest {
        fresh: true,
        ..asked(run)
    };
    type Ask<'a> = &'a dyn Fn(&str) -> VerifyRequest;
    let table: [(&str, World, Ask<'_>); 4] = [
        ("a failure", fails(), &asked),
        ("tools that are not known", opaque(), &asked),
        ("an open network", known_world(), &open),
        ("fresh", known_world(), &fresh),
    ];
    for (what, world, ask) in table {
        verify(&world, &ask("r1"));
        let second = verify(&world, &ask("r2"));
        assert_eq!(second.report.cached_from, None, "{what}");
    }
}

#[test]
fn a_failure_is_the_last_word_on_what_passed_before() {
    let mut world = known_world();
    verify(&world, &asked("r1"));
    world.ends = vec![("test", End::Exited { code: 1 })];
    let fresh = VerifyRequest {
        fresh: true,
        ..asked("r2")
    };
    assert_eq!(verify(&world, &fresh).report.overall, Overall::Fail);
    let third = verify(&world, &asked("r3")).report;
    assert_eq!((third.overall, third.cached_from), (Overall::Fail, None));
}

#[test]
fn a_pass_without_confinement_is_not_reused() {
    for missing in [LayerName::WriteScope, LayerName::View, LayerName::Network] {
        let world = World {
            missing: vec![missing],
            ..known_world()
        };
        verify(&world, &asked("r1"));
        assert_eq!(verify(&world, &asked("r2")).report.cached_from, None);
    }
    let world = World {
        missing: vec![LayerName::CgroupMemory],
        ..known_world()
    };
    verify(&world, &asked("r1"));
    assert!(verify(&world, &asked("r2")).report.cached_from.is_some());
}

#[test]
fn a_known_verdict_carries_the_protected_files_and_notes_of_the_present_change() {
    let world = World {
        changed: vec!["src/a".to_owned(), "src/package.json".to_owned()],
        ..known_world()
    };
    verify(&world, &asked("r1"));
    let again = VerifyRequest {
        notes: vec!["of the second".to_owned()],
        ..asked("r2")
    };
    let report = verify(&world, &again).report;
    assert_eq!(report.cached_from, Some(RunId::new("r1")));
    assert_eq!(report.protected_changes, ["src/package.json"]);
    assert_eq!(report.notes[0], "of the second");
    assert!(report.notes.iter().any(|note| note.contains("`--fresh`")));
}
