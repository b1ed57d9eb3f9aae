use super::super::Helpers;
use super::*;
use crate::cancel::Urgency;
use crate::fakes::verify::{BASE, World};
use drive_core::ids::{CommitSha, RunId, TaskId};
use drive_core::process::TimeBound;
use drive_core::run::Shows;
use drive_core::verify::{Route, Rule, Rules, RulesFrom};

fn request(commands: &[(StageName, &str)]) -> VerifyRequest {
    let command = |program: &str| StageCommand {
        argv: vec![program.to_owned()],
        timeout: Duration::from_secs(9),
        ..StageCommand::default()
    };
    let commands = commands.iter();
    let commands = commands.map(|(name, program)| (*name, command(program)));
    VerifyRequest {
        run: RunId::new("r1"),
        repo: "/repo".into(),
        revision: "head".to_owned(),
        base: Some("base".to_owned()),
        head_only: false,
        rules_from: RulesFrom::Commit(CommitSha::new(BASE)),
        notes: Vec::new(),
        rules: Rules {
            routes: vec![Route {
                name: "all".to_owned(),
                paths: vec!["src/**".to_owned()],
                rule: Rule::Run(commands.collect()),
            }],
            ..Rules::default()
        },
        helpers: Helpers::default(),
        fresh: true,
    }
}

fn built() -> VerifyRequest {
    request(&[
        (StageName::Compile, "build"),
        (StageName::TargetedTests, "test"),
    ])
}

fn entry(program: &str) -> ContractCheck {
    ContractCheck {
        task: TaskId::new("task"),
        id: program.to_owned(),
        shows: Shows::Claim,
        command: vec![program.to_owned()],
        exit: 0,
        contains: None,
    }
}

fn check_with(
    world: &World,
    request: &VerifyRequest,
    checks: &[ContractCheck],
    cancel: &CancelToken,
) -> Result<Vec<Receipt>, Problem> {
    let verifier = Verifier {
        clock: world,
        runner: world,
        candidates: world,
        workspaces: world,
        projects: world,
        slots: world,
        reports: world,
    };
    verifier.check(request, checks, cancel, &mut |_| {})
}

/// The result, exit code and reason of each check.
fn check(world: &World, checks: &[ContractCheck]) -> Vec<(ReceiptResult, Option<i32>, String)> {
    let receipts = check_with(world, &built(), checks, &CancelToken::new()).unwrap();
    let asked: Vec<&str> = checks.iter().map(|one| one.id.as_str()).collect();
    let answered: Vec<&str> = receipts.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(answered, asked);
    receipts
        .into_iter()
        .map(|one| (one.result, one.exit, one.why.unwrap_or_default()))
        .collect()
}

#[test]
fn checks_run_on_the_commit_itself_after_the_compile_and_without_the_tests() {
    let world = World {
        output: "listening on 8080\n",
        ..World::default()
    };
    let receipts = check_with(
        &world,
        &built(),
        &[entry("one"), entry("two")],
        &CancelToken::new(),
    )
    .unwrap();
    let expected = Receipt {
        task: TaskId::new("task"),
        id: "one".to_owned(),
        result: ReceiptResult::Proven,
        exit: Some(0),
        output: "listening on 8080".to_owned(),
        duration_ms: 5,
        why: None,
        ran: true,
    };
    assert_eq!(receipts[0], expected);
    assert_eq!(
        *world.log.lock().unwrap(),
        ["open 1", "run build", "run one", "run two", "close"]
    );
}

#[test]
fn the_exit_code_and_the_output_must_be_as_expected() {
    let world = World {
        output: "hello\nworld\n",
        ends: vec![("three", End::Exited { code: 3 })],
        ..World::default()
    };
    let contains = |text: &str| ContractCheck {
        contains: Some(text.to_owned()),
        ..entry("zero")
    };
    let three = ContractCheck {
        exit: 3,
        ..entry("three")
    };
    let found = check(
        &world,
        &[
            entry("three"),
            three,
            contains("world"),
            contains("elsewhere"),
        ],
    );
    let failed = |exit, why: &str| (ReceiptResult::Failed, Some(exit), why.to_owned());
    let proven = |exit| (ReceiptResult::Proven, Some(exit), String::new());
    assert_eq!(
        found,
        [
            failed(3, "exit code 3, expected 0"),
            proven(3),
            proven(0),
            failed(0, "the end of its output does not contain `elsewhere`"),
        ]
    );
}

#[test]
fn what_does_not_end_by_itself_failed_and_what_the_machine_broke_is_unproven() {
    let bound = TimeBound::Wall;
    let world = World {
        ends: vec![
            ("slow", End::TimedOut { bound }),
            ("large", End::MemoryLimit),
            ("killed", End::Signalled { signal: 9 }),
            (
                "lost",
                End::Infra {
                    message: "the pipe broke".to_owned(),
                },
            ),
        ],
        ..World::default()
    };
    let names = ["slow", "large", "killed", "lost", "absent", "../out"];
    let found = check(&world, &names.map(entry));
    let results: Vec<ReceiptResult> = found.iter().map(|one| one.0).collect();
    let mut expected = [ReceiptResult::Failed; 6];
    expected[3] = ReceiptResult::Unproven;
    assert_eq!(results, expected);
    assert!(found.iter().all(|one| one.1.is_none()), "{found:?}");
    let said = [
        "within 600s",
        "memory limit",
        "signal 9",
        "the pipe broke",
        "could not start `absent`",
        "could not start `../out`",
    ];
    for (one, said) in found.iter().zip(said) {
        assert!(one.2.contains(said), "{one:?}");
    }
}

#[test]
fn nothing_is_run_on_what_did_not_compile() {
    let fails = |end: End| World {
        ends: vec![("build", end)],
        ..World::default()
    };
    let broken = fails(End::Exited { code: 1 });
    let found = check(&broken, &[entry("one")]);
    let why = "not run: compile of route `all` failed: exit code 1".to_owned();
    assert_eq!(found, [(ReceiptResult::Failed, None, why)]);
    assert!(!broken.ran("one"));
    let lost = fails(End::Infra {
        message: "no disk".to_owned(),
    });
    assert_eq!(check(&lost, &[entry("one")])[0].0, ReceiptResult::Unproven);
}

#[test]
fn a_check_that_changes_tracked_files_failed_and_those_after_it_are_not_run() {
    let world = World {
        altered_after: Some("writes"),
        ..World::default()
    };
    let found = check(&world, &[entry("one"), entry("writes"), entry("two")]);
    let results: Vec<ReceiptResult> = found.iter().map(|one| one.0).collect();
    assert_eq!(
        results,
        [
            ReceiptResult::Proven,
            ReceiptResult::Failed,
            ReceiptResult::Unproven
        ]
    );
    assert!(found[1].2.contains("changed tracked files"), "{found:?}");
    assert!(!world.ran("two"));
}

#[test]
fn without_a_workspace_or_after_a_stop_there_are_no_receipts() {
    let world = World {
        open_fails: true,
        ..World::default()
    };
    let cancel = CancelToken::new();
    let problem = check_with(&world, &built(), &[entry("one")], &cancel).unwrap_err();
    assert_eq!(problem.kind, Kind::StorageFailed);
    let world = World::default();
    cancel.cancel(Urgency::Graceful);
    let problem = check_with(&world, &built(), &[entry("one")], &cancel).unwrap_err();
    assert_eq!(problem.kind, Kind::Interrupted);
    assert_eq!(world.log.lock().unwrap().last().unwrap(), "close");
}
