use super::*;
use serde_json::{Value, json};

fn run(value: Value) -> RunRead {
    let run: CheckRun = serde_json::from_value(value).unwrap();
    run.into_read()
}

#[test]
fn a_check_run_of_actions_names_its_job() {
    let read = run(json!({
        "id": 7, "name": "test", "status": "completed", "conclusion": "failure",
        "details_url": "https://github.com/o/r/actions/runs/3/job/99?pr=1",
        "html_url": "https://github.com/o/r/runs/7", "external_id": "",
        "output": {"title": "2 tests\nfailed", "summary": "long", "annotations_count": 3},
        "app": {"slug": "github-actions"},
    }));
    assert_eq!((read.id, read.job, read.annotations), (7, Some(99), 3));
    assert_eq!(read.external_id, None);
    assert_eq!(read.check.state, CheckState::Failed);
    assert_eq!(read.check.summary.as_deref(), Some("2 tests failed"));
    assert_eq!(
        read.check.url.as_deref(),
        Some("https://github.com/o/r/runs/7")
    );
}

#[test]
fn a_check_run_with_odd_or_missing_fields_is_pending_and_without_a_job() {
    let read = run(json!({
        "id": 7, "name": "test", "status": null, "conclusion": 3, "output": null, "app": null,
    }));
    assert_eq!((read.check.state, read.job), (CheckState::Pending, None));
    let nameless = json!({"id": 7, "status": "completed"});
    assert!(serde_json::from_value::<CheckRun>(nameless).is_err());
}

#[test]
fn a_job_names_its_first_failed_step() {
    let job: Job = serde_json::from_value(json!({
        "name": "test", "workflow_name": "CI", "steps": [
            {"name": "Set up", "status": "completed", "conclusion": "success"},
            {"name": "Lint", "status": "completed", "conclusion": "skipped"},
            {"name": "Test", "status": "completed", "conclusion": "failure"},
            {"name": "Later", "status": "completed", "conclusion": "cancelled"},
        ],
    }))
    .unwrap();
    let (name, step) = job.into_names();
    assert_eq!(
        (name.as_str(), step.as_deref()),
        ("CI / test", Some("Test"))
    );
}

#[test]
fn rules_and_protection_add_up() {
    let rules: Vec<BranchRule> = serde_json::from_value(json!([
        {"type": "required_status_checks", "parameters": {"required_status_checks": [
            {"context": "b", "integration_id": 1}, {"context": "a"},
        ]}},
        {"type": "required_linear_history"},
        {"type": "merge_queue", "parameters": {}},
        {"type": "pull_request", "parameters": {"allowed_merge_methods": ["squash", "merge"]}},
        {"type": "pull_request", "parameters": {"allowed_merge_methods": ["squash", "rebase"]}},
        {"type": "something_new", "parameters": "odd"},
    ]))
    .unwrap();
    let branch: Branch = serde_json::from_value(json!({
        "protection": {"required_status_checks": {
            "contexts": ["a", "c"], "checks": [{"context": "c", "app_id": null}],
        }},
    }))
    .unwrap();
    let rules = rules.into_iter().map(BranchRule::into_demands);
    let demands = rules.fold(branch.into_demands(), BranchDemands::and);
    assert_eq!(demands.checks, ["a", "b", "c"]);
    assert!(demands.linear_history && demands.merge_queue);
    assert_eq!(demands.methods, ["squash"]);
    let open: Branch = serde_json::from_value(json!({"protection": {"enabled": false}})).unwrap();
    assert_eq!(open.into_demands(), BranchDemands::default());
}
