use super::*;
use crate::ids::{CommitSha, TreeSha};
use crate::settings::StageNetwork;
use crate::verify::{
    Failure, FailureCategory, Fault, Route, Rule, RulesFrom, Stage, StageCommand, StageEnd,
    StageName, StageStatus, Workspace, passed,
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn sha(digit: char) -> CommitSha {
    CommitSha::new(digit.to_string().repeat(40))
}

fn pass() -> Verification {
    let at = Timestamp::UNIX_EPOCH;
    Verification {
        schema: SCHEMA.to_owned(),
        run_id: RunId::new("first"),
        overall: Overall::Pass,
        candidate: candidate('1'),
        workspace: Workspace {
            path: Some("/w".to_owned()),
            ..Workspace::default()
        },
        timing: Timing::between(at, at),
        stages: vec![Stage {
            ended: Some(StageEnd::Exited),
            exit_code: Some(0),
            ..Stage::unrun(StageName::TargetedTests, "r", &[], StageStatus::Pass)
        }],
        failure: None,
        cached_from: None,
        protected_changes: vec!["of the first".to_owned()],
        notes: vec!["of the first".to_owned()],
    }
}

fn candidate(head: char) -> Candidate {
    Candidate {
        head_sha: Some(sha(head)),
        base_sha: Some(sha('2')),
        merged_tree_sha: TreeSha::parse(&"3".repeat(40)),
        rules_from: Some(RulesFrom::Commit(sha('2'))),
    }
}

fn asked(known: Verification, later: Duration) -> Option<Verification> {
    let now = crate::time::after(Timestamp::UNIX_EPOCH, later);
    let timing = Timing::between(now, now);
    answered_by(known, RunId::new("second"), candidate('4'), timing)
}

#[test]
fn a_known_pass_is_an_answer_about_what_was_asked_and_says_so() {
    let answer = asked(pass(), DAY).unwrap();
    assert_eq!(answer.run_id.as_str(), "second");
    assert_eq!(answer.cached_from, Some(RunId::new("first")));
    assert_eq!(answer.stages, pass().stages);
    assert!(answer.protected_changes.is_empty(), "they are its own");
    assert_eq!(
        answer.notes,
        ["reused the pass of run first of 1970-01-01T00:00:00Z; pass `--fresh` to run the stages"]
    );
    // It proves exactly the requested candidate.
    assert!(passed(&answer, &sha('4'), &sha('2')).is_some());
    assert!(passed(&answer, &sha('1'), &sha('2')).is_none());
}

#[test]
fn a_verdict_answers_for_seven_days_and_never_from_the_future() {
    assert!(asked(pass(), 7 * DAY).is_some());
    assert!(asked(pass(), 7 * DAY + Duration::from_millis(1)).is_none());
    let mut future = pass();
    let later = crate::time::after(Timestamp::UNIX_EPOCH, DAY);
    future.timing = Timing::between(later, later);
    assert!(asked(future, Duration::ZERO).is_none());
}

#[test]
fn only_a_plain_pass_that_ran_is_reused() {
    type Spoil = fn(&mut Verification);
    let spoils: [(&str, Spoil); 9] = [
        ("fail", |report| report.overall = Overall::Fail),
        ("error", |report| report.overall = Overall::Error),
        ("failure", |report| {
            report.failure = Some(Failure {
                category: FailureCategory::Test,
                reason: "x".to_owned(),
                stage: None,
                hint: None,
            });
        }),
        ("cached", |report| {
            report.cached_from = Some(RunId::new("zero"));
        }),
        ("no stage", |report| report.stages.clear()),
        ("no workspace", |report| report.workspace.path = None),
        ("flaky", |report| {
            report.stages[0].fault = Some(Fault::Flaky);
        }),
        ("exit code", |report| report.stages[0].exit_code = Some(1)),
        ("version", |report| {
            report.schema = "drive.verification/0".to_owned();
        }),
    ];
    assert!(is_reusable(&pass()));
    for (name, spoil) in spoils {
        let mut report = pass();
        spoil(&mut report);
        assert!(!is_reusable(&report), "{name}");
        assert!(asked(report, DAY).is_none(), "{name}");
    }
}

#[test]
fn everything_a_verdict_depends_on_is_in_its_key() {
    let scope = |paths: &[&str]| Scope::Changed(paths.iter().map(|&p| p.to_owned()).collect());
    let key = |head: char, scope: &Scope, rules: &Rules, tools: &str| {
        let key = VerdictKey::of(&sha('5'), &candidate(head), scope, rules, tools);
        key.unwrap().to_string()
    };
    let route = |change: fn(&mut StageCommand)| {
        let mut command = StageCommand {
            argv: vec!["x".to_owned()],
            ..StageCommand::default()
        };
        change(&mut command);
        Rules {
            routes: vec![Route {
                name: "r".to_owned(),
                paths: vec!["**".to_owned()],
                rule: Rule::Run(vec![(StageName::TargetedTests, command)]),
            }],
            ..Rules::default()
        }
    };
    let rules = route(|_| {});
    let first = key('1', &scope(&["a"]), &rules, "tools");
    assert_eq!(first.len(), 64);
    assert_eq!(first, key('1', &scope(&["a"]), &route(|_| {}), "tools"));
    let others = [
        key('6', &scope(&["a"]), &rules, "tools"),
        key('1', &scope(&["b"]), &rules, "tools"),
        key('1', &Scope::Everything, &rules, "tools"),
        key('1', &scope(&["a"]), &rules, "other tools"),
        key('1', &scope(&["a"]), &Rules::default(), "tools"),
        key(
            '1',
            &scope(&["a"]),
            &route(|command| command.argv = vec!["y".to_owned()]),
            "tools",
        ),
        key(
            '1',
            &scope(&["a"]),
            &route(|command| command.env = vec![("A".to_owned(), "b".to_owned())]),
            "tools",
        ),
        key(
            '1',
            &scope(&["a"]),
            &route(|command| command.timeout = DAY),
            "tools",
        ),
    ];
    for (at, other) in others.iter().enumerate() {
        assert_ne!(first, *other, "row {at}");
        assert_eq!(others.iter().filter(|one| *one == other).count(), 1);
    }
}

#[test]
fn what_a_server_or_the_whole_machine_can_answer_has_no_key() {
    let open = Rules {
        network: StageNetwork::Open,
        ..Rules::default()
    };
    let free = Rules {
        isolation: IsolationMode::Off,
        ..Rules::default()
    };
    let key =
        |rules: &Rules| VerdictKey::of(&sha('5'), &candidate('1'), &Scope::Everything, rules, "");
    assert_eq!(key(&open), None);
    assert_eq!(key(&free), None);
    assert!(key(&Rules::default()).is_some());
}
