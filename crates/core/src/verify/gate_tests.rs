use super::*;
use crate::ids::{CommitSha, RunId, TreeSha};
use crate::time::Timestamp;
use crate::verify::envelope::{
    Candidate, Failure, FailureCategory, StageName, StageResource, Timing, Workspace,
};
use proptest::prelude::*;

const HEAD: &str = "1111111111111111111111111111111111111111";
const BASE: &str = "2222222222222222222222222222222222222222";
const TREE: &str = "3333333333333333333333333333333333333333";

fn promoted(report: &Verification, head: &str, base: &str) -> bool {
    promotable(report, &CommitSha::new(head), &CommitSha::new(base)).is_some()
}

fn passed(name: StageName) -> Stage {
    Stage {
        name,
        status: StageStatus::Pass,
        ended: Some(StageEnd::Exited),
        route: "r".to_owned(),
        required: true,
        command: vec!["true".to_owned()],
        cwd: Some("/w".to_owned()),
        exit_code: Some(0),
        signal: None,
        duration_ms: 1,
        stdout_tail: String::new(),
        stderr_tail: String::new(),
        truncated_bytes: 0,
        resource: StageResource::default(),
        leaked_processes: 0,
        reason: None,
        fault: None,
        failed_tests: Vec::new(),
        tests: None,
    }
}

fn good() -> Verification {
    Verification {
        schema: SCHEMA.to_owned(),
        run_id: RunId::new("r1"),
        overall: Overall::Pass,
        candidate: Candidate {
            head_sha: Some(CommitSha::new(HEAD.to_owned())),
            base_sha: Some(CommitSha::new(BASE.to_owned())),
            merged_tree_sha: TreeSha::parse(TREE),
            rules_from: Some(RulesFrom::Commit(CommitSha::new(BASE))),
        },
        workspace: Workspace {
            path: Some("/w".to_owned()),
            isolated: true,
            ..Workspace::default()
        },
        timing: Timing::between(Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH),
        stages: StageName::ALL.map(passed).to_vec(),
        failure: None,
        cached_from: None,
        protected_changes: Vec::new(),
        notes: Vec::new(),
    }
}

#[test]
fn a_full_pass_of_the_very_pair_allows_the_tree_that_was_tested() {
    let (head, base) = (CommitSha::new(HEAD), CommitSha::new(BASE));
    let report = good();
    let tree = TreeSha::parse(TREE);
    assert_eq!(promotable(&report, &head, &base), tree.as_ref());
}

#[test]
fn rules_of_another_place_than_the_base_need_a_person() {
    let (head, base) = (CommitSha::new(HEAD), CommitSha::new(BASE));
    for from in [RulesFrom::Commit(head.clone()), RulesFrom::WorkingCopy] {
        let mut report = good();
        report.candidate.rules_from = Some(from.clone());
        assert_eq!(promotable(&report, &head, &base), None, "{from}");
        assert!(super::passed(&report, &head, &base).is_some(), "{from}");
    }
}

#[test]
fn a_report_with_shorter_tails_says_what_was_cut_and_opens_the_gate_all_the_same() {
    let mut report = good();
    report.stages[0].stdout_tail = "line\n".repeat(1_000);
    report.stages[0].truncated_bytes = 7;
    let short = report.with_tails_of(100);
    assert_eq!(short.stages[0].stdout_tail, "line\n".repeat(19));
    assert_eq!(short.stages[0].truncated_bytes, 7 + 5_000 - 95);
    assert!(promoted(&short, HEAD, BASE));
}

#[test]
fn one_thing_amiss_closes_the_gate() {
    type Spoil = (&'static str, fn(&mut Verification));
    let table: &[Spoil] = &[
        ("schema", |r| r.schema = "drive.verification/2".to_owned()),
        ("overall fail", |r| r.overall = Overall::Fail),
        ("overall error", |r| r.overall = Overall::Error),
        ("overall timeout", |r| r.overall = Overall::Timeout),
        ("no head", |r| r.candidate.head_sha = None),
        ("no base", |r| r.candidate.base_sha = None),
        ("the head alone", |r| r.candidate.merged_tree_sha = None),
        ("unknown rules", |r| r.candidate.rules_from = None),
        ("no workspace", |r| r.workspace.path = None),
        ("no stage", |r| r.stages.clear()),
        ("a failure beside a pass", |r| {
            r.failure = Some(Failure {
                category: FailureCategory::Infra,
                reason: String::new(),
                stage: None,
                hint: None,
            });
        }),
        ("required and skipped", |r| {
            r.stages[2].status = StageStatus::Skipped;
            r.stages[2].ended = None;
            r.stages[2].reason = Some("because".to_owned());
        }),
        ("skipped without a reason", |r| {
            r.stages[2].status = StageStatus::Skipped;
            r.stages[2].required = false;
            r.stages[2].ended = None;
        }),
        ("a pass that never ended", |r| r.stages[0].ended = None),
        ("a pass that leaked", |r| {
            r.stages[0].ended = Some(StageEnd::LeakedProcesses)
        }),
        ("a pass with exit code 1", |r| {
            r.stages[0].exit_code = Some(1)
        }),
        ("a pass without exit code", |r| r.stages[0].exit_code = None),
        ("a pass by signal", |r| r.stages[0].signal = Some(15)),
    ];
    for (what, spoil) in table {
        let mut report = good();
        spoil(&mut report);
        assert!(!promoted(&report, HEAD, BASE), "{what}");
    }
}

#[test]
fn a_stage_the_settings_skip_for_a_reason_is_no_obstacle() {
    let mut report = good();
    report.stages[2] = Stage {
        status: StageStatus::Skipped,
        ended: None,
        required: false,
        exit_code: None,
        reason: Some("a library".to_owned()),
        ..passed(StageName::StartupSmoke)
    };
    assert!(promoted(&report, HEAD, BASE));
}

#[test]
fn abbreviated_or_empty_hashes_never_match() {
    for (head, base) in [("", ""), ("1111111", BASE), (HEAD, "main"), (BASE, HEAD)] {
        let mut report = good();
        if (head, base) != (BASE, HEAD) {
            report.candidate.head_sha = Some(CommitSha::new(head.to_owned()));
            report.candidate.base_sha = Some(CommitSha::new(base.to_owned()));
        }
        assert!(!promoted(&report, head, base), "{head} {base}");
    }
}

#[test]
fn a_stage_that_does_not_say_is_required() {
    let mut stage = serde_json::to_value(passed(StageName::Compile)).unwrap();
    stage.as_object_mut().unwrap().remove("required");
    let stage: Stage = serde_json::from_value(stage).unwrap();
    assert!(stage.required);
}

#[test]
fn an_unknown_word_is_no_report_at_all() {
    for field in ["overall", "stages"] {
        let mut value = serde_json::to_value(good()).unwrap();
        match field {
            "overall" => value["overall"] = "passed".into(),
            _ => value["stages"][0]["status"] = "ok".into(),
        }
        assert!(
            serde_json::from_value::<Verification>(value).is_err(),
            "{field}"
        );
    }
}

fn any_status() -> impl Strategy<Value = StageStatus> {
    prop_oneof![
        Just(StageStatus::Pass),
        Just(StageStatus::Fail),
        Just(StageStatus::Timeout),
        Just(StageStatus::Error),
        Just(StageStatus::Skipped),
    ]
}

proptest! {
    #[test]
    fn any_other_pair_is_refused(head in "[0-9a-f]{40}", base in "[0-9a-f]{40}") {
        prop_assume!(head != HEAD || base != BASE);
        prop_assert!(!promoted(&good(), &head, &base));
    }

    #[test]
    fn every_required_stage_must_pass(statuses in prop::collection::vec((any_status(), any::<bool>()), 0..6)) {
        let mut report = good();
        report.stages = statuses
            .iter()
            .map(|&(status, required)| {
                let mut stage = passed(StageName::Compile);
                stage.status = status;
                stage.required = required;
                if status == StageStatus::Skipped {
                    stage.ended = None;
                    stage.exit_code = None;
                    stage.reason = Some("because".to_owned());
                }
                stage
            })
            .collect();
        let expected = !statuses.is_empty()
            && statuses.iter().all(|&(status, required)| {
                status == StageStatus::Pass || (status == StageStatus::Skipped && !required)
            });
        prop_assert_eq!(promoted(&report, HEAD, BASE), expected);
    }
}
