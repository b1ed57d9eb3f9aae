use super::*;
use crate::ids::{CommitSha, RunId, TreeSha};
use crate::time::Timestamp;
use crate::verify::envelope::*;
use proptest::prelude::*;

fn stage(name: StageName, status: StageStatus) -> Stage {
    Stage {
        name,
        status,
        ended: Some(StageEnd::Exited),
        route: "api".to_owned(),
        required: true,
        command: vec!["cargo".to_owned(), "test".to_owned()],
        cwd: Some("/w".to_owned()),
        exit_code: Some(0),
        signal: None,
        duration_ms: 2_345,
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

pub(super) fn failing() -> Verification {
    let mut tests = stage(StageName::TargetedTests, StageStatus::Fail);
    tests.exit_code = Some(101);
    tests.tests = Some(StageTests { ran: 2, failed: 1 });
    tests.reason = Some("exit code 101".to_owned());
    tests.stdout_tail =
        "test adds ... FAILED\nassertion `left == right` failed\n```\n# not a heading\n".to_owned();
    tests.stderr_tail = "error: test failed\n".to_owned();
    let mut smoke = stage(StageName::StartupSmoke, StageStatus::Skipped);
    smoke.ended = None;
    smoke.reason = Some("targeted tests of route `api` failed".to_owned());
    Verification {
        schema: SCHEMA.to_owned(),
        run_id: RunId::new("r20261115-0942-k3f9a"),
        overall: Overall::Fail,
        cached_from: None,
        protected_changes: Vec::new(),
        candidate: Candidate {
            merged_tree_sha: TreeSha::parse(&"3".repeat(40)),
            rules_from: Some(crate::verify::RulesFrom::Commit(CommitSha::new(
                "2".repeat(40),
            ))),
            head_sha: Some(CommitSha::new("1".repeat(40))),
            base_sha: Some(CommitSha::new("2".repeat(40))),
        },
        workspace: Workspace {
            path: Some("/w".to_owned()),
            isolated: true,
            layers: vec!["landlock".to_owned()],
            missing: vec![MissingLayer {
                name: "memory".to_owned(),
                consequence: "no writable cgroup; shared memory files are not counted".to_owned(),
            }],
            removal_problem: None,
        },
        timing: Timing::between(Timestamp::UNIX_EPOCH, Timestamp::from_second(65).unwrap()),
        stages: vec![stage(StageName::Compile, StageStatus::Pass), tests, smoke],
        failure: Some(Failure {
            category: FailureCategory::Test,
            reason: "targeted tests (api): exit code 101".to_owned(),
            stage: Some(StageName::TargetedTests),
            hint: Some(
                "read the end of its output, fix the code, then verify the new commit".to_owned(),
            ),
        }),
        notes: vec!["the candidate changes `Cargo.toml`".to_owned()],
    }
}

#[test]
fn a_failure_on_a_terminal() {
    insta::assert_snapshot!(human(&failing()));
}

#[test]
fn a_failure_in_a_pull_request() {
    insta::assert_snapshot!(markdown(&failing()));
}

#[test]
fn markdown_of_a_huge_tail_fits_a_comment_and_keeps_the_end() {
    let mut report = failing();
    report.stages[1].stdout_tail =
        format!("FAILED {}\nthe very end", "é`@all <b>\n".repeat(100_000));
    report.stages[1].command = vec!["x".repeat(100_000)];
    report.notes = vec!["n".repeat(1_000); 1_000];
    let text = markdown(&report);
    assert!(
        text.chars().count() <= MARKDOWN_CHARS,
        "{}",
        text.chars().count()
    );
    assert!(text.contains("the very end"));
}

proptest! {
    #[test]
    fn no_tail_leaves_its_fence(tail in "[`~a\n<>/]{0,200}", reason in "[|`@#<a\n]{0,40}") {
        let mut report = failing();
        report.stages[1].stdout_tail = format!("FAILED\n{tail}");
        report.stages[1].reason = Some(reason);
        let text = markdown(&report);
        prop_assert!(text.chars().count() <= MARKDOWN_CHARS);
        let opening = text.lines().find(|l| l.ends_with("text") && l.starts_with("```")).unwrap();
        let fence = opening.trim_end_matches("text");
        let closings = text.lines().filter(|l| l.trim().len() >= fence.len() && l.trim().chars().all(|c| c == '`')).count();
        prop_assert_eq!(closings, 1);
        prop_assert!(text.ends_with("</details>\n"));
        let rows: Vec<&str> = text.lines().filter(|l| l.starts_with("| ")).collect();
        prop_assert_eq!(rows.len(), 4, "one line a row: {:?}", rows);
    }
}
