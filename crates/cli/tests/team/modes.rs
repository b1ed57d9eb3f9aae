//! The three modes.

use crate::stage::{APPROVES, PRIMARY, REVIEWER, Stage, gist, said};
use serde_json::json;

#[test]
fn sequential_is_work_one_review_one_fix_done() {
    let stage = Stage::new(PRIMARY, REVIEWER);
    let ended = stage.team("sequential");
    assert_eq!(
        gist(&ended.document),
        json!({
            "kind": "spawn-team",
            "status": "succeeded",
            "verdict": "needsChanges",
            "branch": "greet-by-name",
            "prNumber": 1,
            "rounds": 1,
            "commits": ["Greet by name", "Resolve the review's remarks: - greet.txt line 2: high two is wrong"],
            "failure": null,
        }),
        "{ended:?}"
    );
    assert_eq!(ended.code, Some(0));
    assert_eq!(said(&stage.pull_request()), Vec::<String>::new());
}

#[test]
fn pingpong_goes_on_until_approved_and_appends_the_feedback_to_the_description() {
    let stage = Stage::new(PRIMARY, REVIEWER);
    let ended = stage.team("pingpong");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(
        (&ended.document["verdict"], &ended.document["rounds"]),
        (&json!("approved"), &json!(2))
    );
    let body = stage.pull_request()["body"].as_str().unwrap().to_owned();
    for part in [
        "A greeting.",
        "<details><summary>The task</summary>\n\n```text\nGreet people by name\n```",
        "### Review, round 1\n\n[REVIEW - NEEDS CHANGES]\n\n- `greet.txt` line 2: **high** two is wrong",
        "### Review, round 2\n\n[REVIEW - APPROVED]",
        "<details><summary>What happened</summary>",
        "| reviewer | reviewer |",
        "- everything, round 2 at ",
        "Agents were started as:\n\n- `/",
        "/agents/reviewer`\n",
        "| all | reviewer |",
    ] {
        assert!(body.contains(part), "{part}\n---\n{body}");
    }
}

#[test]
fn github_reviews_domain_by_domain_and_resolves_comment_by_comment() {
    let stage = Stage::new(PRIMARY, REVIEWER);
    let ended = stage.team("github");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let fix = stage.git(&["rev-parse", "greet-by-name"]);
    assert_eq!(
        gist(&ended.document),
        json!({
            "kind": "spawn-team",
            "status": "succeeded",
            "verdict": "approved",
            "branch": "greet-by-name",
            "prNumber": 1,
            "rounds": 6,
            "commits": ["Greet by name", "Resolve comment 2: high two is wrong"],
            "failure": null,
        })
    );
    let pull_request = stage.pull_request();
    assert_eq!(
        said(&pull_request),
        [
            "[SECURITY REVIEW - NEEDS CHANGES]\n\n1 remarks stand on lines of the diff.".to_owned(),
            "**high** two is wrong".to_owned(),
            format!("Fixed in {fix}."),
            "[SECURITY REVIEW - APPROVED]".to_owned(),
            "[TECHNICAL FEASIBILITY REVIEW - APPROVED]".to_owned(),
            "[TASK GRANULARITY REVIEW - APPROVED]".to_owned(),
            "[DEPENDENCY COMPLETENESS REVIEW - APPROVED]".to_owned(),
            "[GENERAL POLISH REVIEW - APPROVED]".to_owned(),
        ]
    );
    let comments = &pull_request["comments"];
    assert_eq!(comments[1]["path"], "greet.txt");
    assert_eq!(comments[1]["line"], 2);
    assert_eq!(comments[2]["inReplyTo"], comments[1]["id"]);
    assert_eq!(pull_request["title"], "Greet by name");
    let body = pull_request["body"].as_str().unwrap();
    assert!(
        body.contains(&format!("- comment 2: resolved in {fix}")),
        "{body}"
    );
}

#[test]
fn a_taken_branch_name_gets_a_suffix_and_a_useless_namer_does_not_block() {
    let stage = Stage::new(PRIMARY, APPROVES);
    stage.git(&["branch", "greet-by-name"]);
    let ended = stage.team("sequential");
    assert_eq!(ended.document["branch"], "greet-by-name-2", "{ended:?}");
    let useless = PRIMARY.replace("namer)", "namer) exit 1;;\nnobody)");
    stage.script("primary", &useless);
    let ended = stage.team("sequential");
    assert_eq!(
        ended.document["branch"], "greet-people-by-name",
        "{ended:?}"
    );
}

#[test]
fn github_mode_without_a_pull_request_is_refused_before_anything_is_made() {
    let stage = Stage::new(PRIMARY, APPROVES);
    let ended = stage.drive(&["spawn-team", "Greet", "--no-pr"]);
    assert_eq!(ended.code, Some(2));
    assert_eq!(ended.document["failure"]["kind"], "modeNeedsPullRequest");
    let ended = stage.drive(&["spawn-team", "Greet", "--no-pr", "--mode", "pingpong"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.document["prNumber"], json!(null));
}

#[test]
fn a_prompt_of_the_callers_checkout_is_used_and_one_in_the_sandbox_is_not() {
    let reviewer =
        "case \"$(cat)\" in OURS*) echo '{\"verdict\": \"approved\"}';; *) echo no;; esac\n";
    let writes_own = PRIMARY.replace(
        "echo \"A greeting.\"",
        "mkdir -p .drive/prompts; echo THEIRS > .drive/prompts/review.md",
    );
    let stage = Stage::new(&writes_own, reviewer);
    let prompts = stage.path("repo/.drive/prompts");
    std::fs::create_dir_all(&prompts).unwrap();
    std::fs::write(prompts.join("review.md"), "OURS {{task}}").unwrap();
    let ended = stage.team("pingpong");
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
}
