use super::*;
use crate::forge::PrState;
use crate::ids::{BranchName, CommentId, CommitSha, PrNumber, RunId};
use crate::problem::{Kind, Problem};
use crate::review::Domain;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;

const GOLDEN: &str = include_str!("../../../tests/golden/phase-state-1.json");

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn state() -> PhaseState {
    PhaseState {
        version: STATE_FILE_VERSION,
        run_id: RunId::new("r20261115-0942-k3f9a"),
        task: "Add user auth\n\nwith sessions".to_owned(),
        sandbox_path: PathBuf::from("/state/sandboxes/r20261115-0942-k3f9a"),
        branch_name: BranchName::parse("drive/add-user-auth-k3f9a").unwrap(),
        base_branch: BranchName::parse("main").unwrap(),
        base_sha: CommitSha::new("a".repeat(40)),
        pr_url: Some("https://github.test/o/r/pull/7".to_owned()),
        pr_number: Some(PrNumber::new(7)),
        phase: PhaseName::Planning,
        current_review_domain: Some(Domain::TaskGranularity),
        last_activity: time("2026-11-15T09:42:00Z"),
        backoff_interval_secs: 40,
        pending_comment_ids: [200, 201].map(CommentId::new).to_vec(),
        completed_rounds: 2,
    }
}

fn pull_request() -> PullRequest {
    PullRequest {
        number: PrNumber::new(7),
        title: "Add user auth".to_owned(),
        body: String::new(),
        state: PrState::Open,
        draft: false,
        branch: BranchName::parse("drive/add-user-auth-k3f9a").unwrap(),
        base: BranchName::parse("main").unwrap(),
        head_sha: CommitSha::new("b".repeat(40)),
        mergeable: None,
        merged_sha: None,
        updated_at: time("2026-11-15T09:42:00Z"),
        url: "https://github.test/o/r/pull/7".to_owned(),
    }
}

fn evidence(pull_request: &PullRequest) -> Evidence<'_> {
    Evidence {
        read_from: Path::new("/state/sandboxes/r20261115-0942-k3f9a"),
        sandboxes_root: Path::new("/state/sandboxes"),
        sandbox_branch: Some(&pull_request.branch),
        pull_request: Some(pull_request),
        now: time("2026-11-15T18:42:00Z"),
    }
}

#[test]
fn a_state_is_saved_and_loaded_as_the_golden_file_says() {
    assert_eq!(state().write().unwrap(), GOLDEN);
    assert_eq!(PhaseState::read(GOLDEN.as_bytes()), Ok(state()));
}

#[test]
fn a_state_that_only_waits_longer_differs_only_in_pace() {
    let longer = PhaseState {
        backoff_interval_secs: 80,
        ..state()
    };
    let further = PhaseState {
        completed_rounds: 3,
        ..longer.clone()
    };
    let answers = [&state(), &longer, &further].map(|other| state().differs_only_in_pace(other));
    assert_eq!(answers, [false, true, false]);
}

#[test]
fn a_state_before_its_pull_request_is_saved_and_loaded() {
    let early = PhaseState {
        pr_url: None,
        pr_number: None,
        current_review_domain: None,
        pending_comment_ids: Vec::new(),
        ..state()
    };
    let text = early.write().unwrap();
    assert_eq!(PhaseState::read(text.as_bytes()), Ok(early));
}

#[test]
fn the_largest_state_there_can_be_is_read_again() {
    let largest = PhaseState {
        task: "\u{1}".repeat(8 << 20),
        sandbox_path: PathBuf::from(format!("/{}", "\u{e9}".repeat(2000))),
        branch_name: BranchName::parse(&"b".repeat(200)).unwrap(),
        pr_url: Some(format!("local:///home/my work/{}/pull/7", "x".repeat(4000))),
        pr_number: Some(PrNumber::new(u64::MAX)),
        backoff_interval_secs: 24 * 3600 * 365,
        pending_comment_ids: vec![CommentId::new(u64::MAX); MOST_PENDING],
        ..state()
    };
    let text = largest.write().unwrap();
    let read = PhaseState::read(text.as_bytes()).unwrap();
    assert_eq!(read.task, format!("{}…", "\u{1}".repeat(MOST_TASK)));
    assert_eq!(
        PhaseState {
            task: String::new(),
            ..read
        },
        PhaseState {
            task: String::new(),
            ..largest
        }
    );
}

/// The golden file with one field changed, read.
fn with(field: &str, value: Value) -> Result<PhaseState, Problem> {
    let mut json: Value = serde_json::from_str(GOLDEN).unwrap();
    json[field] = value;
    PhaseState::read(json.to_string().as_bytes())
}

#[test]
fn a_field_that_cannot_be_true_is_named() {
    let far: Vec<u64> = (0..=MOST_PENDING as u64).collect();
    let table = [
        ("version", json!(0), "has an unknown `version`"),
        ("version", json!("1"), "has an unknown `version`"),
        ("run_id", json!("../x"), "has an invalid `run_id`"),
        (
            "sandbox_path",
            json!("relative"),
            "has a `sandbox_path` that is not an absolute path",
        ),
        (
            "sandbox_path",
            json!("/a/../b"),
            "has a `sandbox_path` that is not an absolute path",
        ),
        (
            "sandbox_path",
            json!("/a\u{1b}[2J"),
            "has a `sandbox_path` that is not an absolute path",
        ),
        (
            "branch_name",
            json!("a\u{7}b"),
            "has a `branch_name` that git does not allow",
        ),
        (
            "branch_name",
            json!("--upload-pack=x"),
            "has a `branch_name` that git does not allow",
        ),
        (
            "base_branch",
            json!(""),
            "has a `base_branch` that git does not allow",
        ),
        (
            "pr_url",
            json!("javascript:alert(1)"),
            "has a `pr_url` that is not a URL",
        ),
        (
            "pr_url",
            json!("https://x\n[y](z)"),
            "has a `pr_url` that is not a URL",
        ),
        ("pr_number", json!(0), "has an invalid `pr_number`: 0"),
        (
            "last_activity",
            json!("1970-01-01T00:00:00Z"),
            "has an implausible `last_activity`",
        ),
        (
            "last_activity",
            json!("9999-01-01T00:00:00Z"),
            "has an implausible `last_activity`",
        ),
        (
            "backoff_interval_secs",
            json!(u64::MAX),
            "has an implausible `backoff_interval_secs`",
        ),
        (
            "pending_comment_ids",
            json!(far),
            "has too many pending comments",
        ),
        ("completed_rounds", json!(u32::MAX), "has too many rounds"),
    ];
    for (field, value, rule) in table {
        let problem = with(field, value).unwrap_err();
        assert_eq!(
            (problem.kind, problem.message.as_str()),
            (
                Kind::PhaseStateDamaged,
                format!("the state file of the phase {rule}").as_str()
            ),
        );
    }
    let problem = with("base_sha", json!("HEAD")).unwrap_err();
    assert_eq!(problem.message, "the state file of the phase is malformed");
    assert_eq!(
        problem.causes,
        ["`HEAD` is not the full id of a git object"]
    );
}

#[test]
fn a_field_of_the_wrong_kind_is_refused() {
    let table = [
        ("version", json!(-1)),
        ("phase", json!("sleeping")),
        ("current_review_domain", json!("every thing")),
        ("last_activity", json!("yesterday")),
        ("last_activity", json!(0)),
        ("backoff_interval_secs", json!(-5)),
        ("backoff_interval_secs", json!(1.5)),
        ("backoff_interval_secs", json!("NaN")),
        ("pending_comment_ids", json!([-1])),
        ("pending_comment_ids", json!({})),
        ("completed_rounds", json!(4_294_967_296_u64)),
        ("pr_number", json!("7")),
        ("task", json!(null)),
        ("sandbox_path", json!([])),
    ];
    for (field, value) in table {
        assert_eq!(
            with(field, value).unwrap_err().kind,
            Kind::PhaseStateDamaged,
            "{field}"
        );
    }
}

#[test]
fn a_newer_version_is_refused_by_its_number() {
    let problem = with("version", json!(2)).unwrap_err();
    assert_eq!(problem.kind, Kind::PhaseStateNewer);
    assert_eq!(
        problem.message,
        "the state file of the phase has version 2; this drive supports 1"
    );
    let unlike_anything = br#"{"version": 18446744073709551615}"#;
    let problem = PhaseState::read(unlike_anything).unwrap_err();
    assert_eq!(problem.kind, Kind::PhaseStateNewer);
}

#[test]
fn a_field_of_a_later_drive_is_left_aside() {
    assert_eq!(with("mood", json!("good")), Ok(state()));
}

#[test]
fn a_file_that_is_cut_off_too_long_or_no_text_is_refused() {
    for length in 0..GOLDEN.trim_end().len() {
        let problem = PhaseState::read(&GOLDEN.as_bytes()[..length]).unwrap_err();
        assert_eq!(problem.kind, Kind::PhaseStateDamaged, "{length}");
    }
    let long = " ".repeat(LONGEST_STATE_FILE + 1);
    let others: [&[u8]; 4] = [long.as_bytes(), b"\xff\xfe", b"[]", b"null"];
    for bytes in others {
        assert_eq!(
            PhaseState::read(bytes).unwrap_err().kind,
            Kind::PhaseStateDamaged
        );
    }
}

#[test]
fn a_state_that_git_and_the_forge_agree_with_is_believed() {
    let pull_request = pull_request();
    assert_eq!(state().check(&evidence(&pull_request)), Ok(()));
    let early = PhaseState {
        pr_number: None,
        pr_url: None,
        ..state()
    };
    let alone = Evidence {
        pull_request: None,
        ..evidence(&pull_request)
    };
    assert_eq!(early.check(&alone), Ok(()));
}

#[test]
fn a_clock_set_back_by_an_hour_makes_no_state_a_lie() {
    let pull_request = pull_request();
    let earlier = Evidence {
        now: time("2026-11-15T08:42:00Z"),
        ..evidence(&pull_request)
    };
    assert_eq!(state().check(&earlier), Ok(()));
}

#[test]
fn a_state_that_git_or_the_forge_contradict_is_refused() {
    let ours = pull_request();
    let good = || evidence(&ours);
    let kind = |state: PhaseState, evidence: Evidence<'_>| state.check(&evidence).unwrap_err().kind;
    let at = |path: &str| PhaseState {
        sandbox_path: PathBuf::from(path),
        ..state()
    };
    for path in [
        "/",
        "/etc",
        "/state/sandboxes",
        "/state/sandboxes/../x",
        "/state/sandboxes/a/b",
        "/state/sandboxes-2/a",
    ] {
        assert_eq!(kind(at(path), good()), Kind::PhaseStateOutside, "{path}");
    }
    assert_eq!(
        kind(at("/state/sandboxes/another"), good()),
        Kind::PhaseStateMoved
    );
    let main = BranchName::parse("main").unwrap();
    for branch in [None, Some(&main)] {
        let elsewhere = Evidence {
            sandbox_branch: branch,
            ..good()
        };
        assert_eq!(kind(state(), elsewhere), Kind::PhaseStateBranch);
    }
    let others = [
        PullRequest {
            branch: BranchName::parse("main").unwrap(),
            ..pull_request()
        },
        PullRequest {
            number: PrNumber::new(8),
            ..pull_request()
        },
        PullRequest {
            url: "https://elsewhere.test/".to_owned(),
            ..pull_request()
        },
    ];
    for other in &others {
        let contradicting = Evidence {
            pull_request: Some(other),
            ..good()
        };
        assert_eq!(kind(state(), contradicting), Kind::PhaseStatePullRequest);
    }
    let none = Evidence {
        pull_request: None,
        ..good()
    };
    assert_eq!(kind(state(), none), Kind::PhaseStatePullRequest);
    let earlier = Evidence {
        now: time("2026-11-14T09:41:59Z"),
        ..good()
    };
    assert_eq!(kind(state(), earlier), Kind::PhaseStateFromTheFuture);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|truth| json!(truth)),
        any::<i64>().prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
        any::<String>().prop_map(|text| json!(text)),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|items| json!(items)),
            inner.prop_map(|value| json!({"bytes": value})),
        ]
    })
}

fn any_field() -> impl Strategy<Value = String> {
    let golden: Value = serde_json::from_str(GOLDEN).unwrap();
    let names: Vec<String> = golden.as_object().unwrap().keys().cloned().collect();
    prop::sample::select(names)
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        prop_assert!(PhaseState::read(&bytes).is_err());
    }

    #[test]
    fn whatever_stands_in_a_field_is_refused_or_survives_a_round_trip(
        field in any_field(), value in any_json(),
    ) {
        if let Ok(state) = with(&field, value) {
            let text = state.write().unwrap();
            prop_assert_eq!(PhaseState::read(text.as_bytes()), Ok(state));
        }
    }
}
