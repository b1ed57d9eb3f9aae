//! Names, prompts, and what a mode needs.

use crate::stage::{APPROVES, PRIMARY, Stage};
use serde_json::json;

#[test]
fn a_taken_branch_name_gets_a_suffix_and_a_useless_namer_does_not_block() {
    let stage = Stage::new(PRIMARY, APPROVES);
    stage.git(&["branch", "greet-by-name"]);
    let ended = stage.team("sequential");
    assert_eq!(ended.document["branch"], "greet-by-name-2", "{ended:?}");
    assert_eq!(stage.pull_request()["title"], "Greet by name");
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
    std::fs::write(
        prompts.join("review.md"),
        "OURS {{task}} {{earlier}} {{diff}}",
    )
    .unwrap();
    let ended = stage.team("pingpong");
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
}

#[test]
fn a_limit_of_reviews_is_refused_where_a_mode_reviews_once() {
    let stage = Stage::new(PRIMARY, APPROVES);
    let args = ["spawn-team", "Greet", "--max-iterations", "2", "--mode"];
    let ended = stage.drive(&[&args[..], &["sequential"]].concat());
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(ended.document["failure"]["kind"], "usage", "{ended:?}");
    assert_eq!(stage.git(&["branch", "--list"]), "* main");
}
