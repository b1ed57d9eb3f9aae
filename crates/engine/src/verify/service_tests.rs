use super::super::Helpers;
use super::*;
use crate::fakes::verify::{BASE, HEAD, TREE, World};
use crate::verify::KeptReports;
use drive_core::ids::{CommitSha, RunId};
use drive_core::process::{End, LayerName};
use drive_core::settings::{Baseline, StageNetwork};
use drive_core::verify::{
    Route, Rule, Rules, RulesFrom, StageCommand, StageEnd, StageName, promotable,
};
use std::time::Duration;

fn route(commands: &[(StageName, &str)]) -> Route {
    let command = |program: &str| StageCommand {
        argv: vec![program.to_owned()],
        timeout: Duration::from_secs(9),
        ..StageCommand::default()
    };
    Route {
        name: "all".to_owned(),
        paths: vec!["src/**".to_owned()],
        rule: Rule::Run(
            commands
                .iter()
                .map(|(name, program)| (*name, command(program)))
                .collect(),
        ),
    }
}

fn three() -> Route {
    route(&[
        (StageName::Compile, "build"),
        (StageName::TargetedTests, "test"),
        (StageName::StartupSmoke, "start"),
    ])
}

fn world() -> World {
    World {
        changed: vec!["src/a".to_owned()],
        ..World::default()
    }
}

fn request(routes: Vec<Route>) -> VerifyRequest {
    VerifyRequest {
        run: RunId::new("r1"),
        repo: "/repo".into(),
        revision: "head".to_owned(),
        base: Some("base".to_owned()),
        head_only: false,
        rules_from: RulesFrom::Commit(CommitSha::new(BASE)),
        notes: Vec::new(),
        rules: Rules {
            routes,
            baseline: Baseline::Off,
            ..Rules::default()
        },
        helpers: Helpers::default(),
        fresh: true,
    }
}

fn verify_with(world: &World, request: &VerifyRequest, cancel: &CancelToken) -> Verified {
    let verifier = Verifier {
        clock: world,
        runner: world,
        candidates: world,
        workspaces: world,
        projects: world,
        slots: world,
        reports: world,
    };
    verifier.verify(request, cancel, &mut |_| {})
}

fn verify(world: &World, request: &VerifyRequest) -> Verified {
    verify_with(world, request, &CancelToken::new())
}

/// The overall verdict, the failure's category and the problem's class.
fn verdict(verified: &Verified) -> (Overall, Option<FailureCategory>, Option<Class>) {
    (
        verified.report.overall,
        verified.report.failure.as_ref().map(|f| f.category),
        verified.problem.as_ref().map(|p| p.class()),
    )
}

fn promoted(report: &drive_core::verify::Verification, head: &str, base: &str) -> bool {
    promotable(report, &CommitSha::new(head), &CommitSha::new(base)).is_some()
}

#[test]
fn a_pass_is_promotable_for_its_pair_and_leaves_nothing() {
    let world = world();
    let verified = verify(&world, &request(vec![three()]));
    assert_eq!(verdict(&verified), (Overall::Pass, None, None));
    assert!(promoted(&verified.report, HEAD, BASE));
    assert!(!promoted(&verified.report, BASE, HEAD));
    assert_eq!(
        *world.log.lock().unwrap(),
        [
            "diff 2 4",
            "open 4",
            "run build",
            "run test",
            "run start",
            "close",
            "save r1"
        ]
    );
    assert_eq!(
        verified.report.workspace.layers,
        ["writeScope", "pidNamespace"]
    );
    assert!(verified.report.workspace.isolated);
    assert_eq!(world.reports.newest(2), [verified.report]);
}

#[test]
fn without_settings_the_detectors_decide() {
    let world = world();
    let verified = verify(&world, &request(Vec::new()));
    assert_eq!(verdict(&verified), (Overall::Pass, None, None));
    let ran: Vec<_> = verified
        .report
        .stages
        .iter()
        .map(|s| s.command.join(" "))
        .collect();
    assert_eq!(ran, ["make build", "make test", ""]);
}

#[test]
fn preflight_failures_make_no_workspace() {
    let mut unknown = request(vec![three()]);
    unknown.revision = "gone".to_owned();
    let conflicting = World {
        conflicts: vec!["src/a".to_owned()],
        ..world()
    };
    let policy = Some(FailureCategory::Policy);
    let table = [
        (
            world(),
            unknown,
            (Overall::Error, policy, Some(Class::Usage)),
            "unknown revision `gone`",
        ),
        (
            conflicting,
            request(vec![three()]),
            (Overall::Fail, policy, Some(Class::Work)),
            "cannot be merged into its base: conflict in `src/a`",
        ),
    ];
    for (world, request, expected, reason) in table {
        let verified = verify(&world, &request);
        assert_eq!(verdict(&verified), expected, "{reason}");
        assert_eq!(verified.report.failure.unwrap().reason, reason);
        let log = world.log.lock().unwrap();
        assert!(!log.iter().any(|one| one.starts_with("open")), "{reason}");
        assert_eq!(log.last().unwrap(), "save r1", "{reason}");
    }
}

#[test]
fn a_failing_stage_stops_the_rest_and_the_workspace_still_goes() {
    let world = World {
        ends: vec![("test", End::Exited { code: 1 })],
        ..world()
    };
    let verified = verify(&world, &request(vec![three()]));
    assert_eq!(
        verdict(&verified),
        (
            Overall::Fail,
            Some(FailureCategory::Test),
            Some(Class::Work)
        )
    );
    assert!(!world.ran("start"));
    assert_eq!(world.log.lock().unwrap().last().unwrap(), "save r1");
    assert!(world.log.lock().unwrap().contains(&"close".to_owned()));
}

#[test]
fn a_stage_that_alters_a_tracked_file_is_tampered_however_it_exits() {
    let world = World {
        altered_after: Some("build"),
        ..world()
    };
    let verified = verify(&world, &request(vec![three()]));
    assert_eq!(
        verdict(&verified),
        (
            Overall::Fail,
            Some(FailureCategory::Policy),
            Some(Class::Work)
        )
    );
    assert_eq!(verified.report.stages[0].ended, Some(StageEnd::Tampered));
    assert!(!world.ran("test"));
}

#[test]
fn a_tree_that_cannot_be_checked_is_no_pass() {
    let world = World {
        altered_fails: true,
        ..world()
    };
    let verified = verify(&world, &request(vec![three()]));
    assert_eq!(
        verdict(&verified),
        (
            Overall::Error,
            Some(FailureCategory::Infra),
            Some(Class::Environment)
        )
    );
}

#[test]
fn what_cannot_start_is_an_error_not_a_failure_of_the_candidate() {
    for program in ["absent", "../evil"] {
        let world = world();
        let verified = verify(
            &world,
            &request(vec![route(&[(StageName::Compile, program)])]),
        );
        assert_eq!(
            verdict(&verified),
            (
                Overall::Error,
                Some(FailureCategory::Infra),
                Some(Class::Environment)
            ),
            "{program}"
        );
        assert_eq!(verified.report.stages[0].ended, Some(StageEnd::Infra));
    }
}

#[test]
fn tests_that_did_not_run_are_a_failure() {
    let world = World {
        output: "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
        ..world()
    };
    let verified = verify(&world, &request(vec![three()]));
    assert_eq!(
        verdict(&verified),
        (
            Overall::Fail,
            Some(FailureCategory::Test),
            Some(Class::Work)
        )
    );
}

#[test]
fn a_broken_environment_is_an_error_with_a_report() {
    let table = [
        World {
            open_fails: true,
            ..world()
        },
        World {
            no_slot: true,
            ..world()
        },
    ];
    for world in table {
        let verified = verify(&world, &request(vec![three()]));
        assert_eq!(
            verdict(&verified),
            (
                Overall::Error,
                Some(FailureCategory::Infra),
                Some(Class::Environment)
            )
        );
        assert!(!promoted(&verified.report, HEAD, BASE));
    }
}

#[test]
fn a_workspace_that_stays_and_a_report_that_is_not_kept_are_said() {
    let world = World {
        close_fails: true,
        save_fails: true,
        ..world()
    };
    let verified = verify(&world, &request(vec![three()]));
    assert_eq!(world.reports.load(&verified.report.run_id), None);
    assert_eq!(
        verified.report.workspace.removal_problem.as_deref(),
        Some("the folder is broken")
    );
    assert_eq!(
        verified.report.notes,
        ["could not save the report: the store is broken"]
    );
}

#[test]
fn a_missing_layer_is_named_with_its_consequence() {
    let world = World {
        missing: vec![LayerName::WriteScope],
        ..world()
    };
    let workspace = verify(&world, &request(vec![three()])).report.workspace;
    assert!(!workspace.isolated);
    assert_eq!(workspace.layers, ["pidNamespace"]);
    assert_eq!(workspace.missing[0].name, "writeScope");
    assert!(
        workspace.missing[0]
            .consequence
            .contains("writes outside the allowed folders")
    );
}

#[test]
fn an_interrupted_verification_is_an_error_that_somebody_asked_for() {
    let cancel = CancelToken::new();
    cancel.cancel(crate::cancel::Urgency::Graceful);
    let world = world();
    let verified = verify_with(&world, &request(vec![three()]), &cancel);
    assert_eq!(
        verdict(&verified),
        (
            Overall::Error,
            Some(FailureCategory::Infra),
            Some(Class::Interrupted)
        )
    );
    assert_eq!(verified.report.stages[0].ended, Some(StageEnd::Aborted));
    assert!(world.log.lock().unwrap().contains(&"close".to_owned()));
}

#[test]
fn without_a_base_nothing_is_promotable() {
    let mut request = request(vec![three()]);
    request.base = None;
    let verified = verify(&world(), &request);
    assert_eq!(verified.report.overall, Overall::Pass);
    assert!(!promoted(&verified.report, HEAD, BASE));
}

#[test]
fn a_head_that_is_judged_alone_is_not_promotable() {
    let mut request = request(vec![three()]);
    request.head_only = true;
    let world = world();
    let report = verify(&world, &request).report;
    assert_eq!(report.overall, Overall::Pass);
    assert_eq!(report.candidate.merged_tree_sha, None);
    assert!(!promoted(&report, HEAD, BASE));
    // Its changes since it left the base are verified, in its own tree.
    let log = world.log.lock().unwrap();
    assert_eq!(log[..2], ["diff 5 1", "open 1"]);
}

#[test]
fn what_is_merged_is_what_the_report_names_and_where_its_rules_come_from() {
    let mut request = request(vec![three()]);
    request.notes = vec!["about the rules".to_owned()];
    let report = verify(&world(), &request).report;
    let candidate = &report.candidate;
    assert_eq!(candidate.merged_tree_sha.as_ref().unwrap().as_str(), TREE);
    assert_eq!(candidate.rules_from, Some(request.rules_from));
    assert_eq!(report.notes, ["about the rules"]);
}

#[test]
fn protected_files_of_the_change_are_listed_whatever_the_verdict() {
    for program in ["build", "absent"] {
        let world = World {
            changed: ["src/a", "src/Makefile", "src/x.sql"]
                .map(str::to_owned)
                .to_vec(),
            ..World::default()
        };
        let mut request = request(vec![route(&[(StageName::Compile, program)])]);
        request.rules.protected = vec!["**/*.sql".to_owned()];
        let report = verify(&world, &request).report;
        assert_eq!(report.protected_changes, ["src/Makefile", "src/x.sql"]);
        let note = "`src/Makefile`, `src/x.sql`";
        assert!(
            report.notes.iter().any(|one| one.contains(note)),
            "{report:?}"
        );
    }
}

#[test]
fn a_host_that_a_stage_wanted_is_in_the_notes_with_the_setting_that_allows_it() {
    let world = World {
        wants: Some("registry.npmjs.org"),
        ..world()
    };
    let routes = vec![route(&[(StageName::Compile, "build")])];
    let notes = |network| {
        let mut request = request(routes.clone());
        request.rules.network = network;
        verify(&world, &request).report.notes
    };
    let note = |wider: &str| {
        let stage = "compile of route `all` wanted `registry.npmjs.org`";
        vec![format!("{stage}: set `network = \"{wider}\"` in its route")]
    };
    assert_eq!(notes(StageNetwork::Off), note("registries"));
    assert_eq!(notes(StageNetwork::Registries), note("open"));
    assert_eq!(notes(StageNetwork::Open), Vec::<String>::new());
}

#[path = "second_look_tests.rs"]
mod second_look;

#[path = "rule_changes_tests.rs"]
mod rule_changes;

#[path = "known_tests.rs"]
mod known_tests;
