//! Tests what an agent finds in the sandbox, and what remains of it.

use crate::stage::{APPROVES, PRIMARY, Stage};
use serde_json::Value;

#[test]
fn a_program_finds_the_comments_it_is_to_act_on_in_its_input_file() {
    let primary = PRIMARY.replace("fixer)", "fixer) cp \"$DRIVE_INPUT\" input.json;");
    let reviewer = "cat > /dev/null\n[ -e input.json ] && echo '{\"verdict\": \"approved\"}' && exit\n\
        echo '{\"verdict\": \"needs_changes\", \"suggestions\": [{\"file\": \"greet.txt\", \"line\": 1, \"issue\": \"no\"}]}'\n";
    let stage = Stage::new(&primary, reviewer);
    let ended = stage.team("github");
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    let input: Value =
        serde_json::from_str(&stage.git(&["show", "greet-by-name:input.json"])).unwrap();
    assert_eq!(
        input,
        serde_json::json!({
            "task": "Greet people by name",
            "diff_base": stage.git(&["rev-parse", "main"]),
            "pull_request": {"number": 1, "url": ended.document["prUrl"]},
            "comments": [{
                "id": "inline-2", "author": "reviewer", "file": "greet.txt", "line": 1, "body": "**major** no",
                "commit": stage.git(&["rev-parse", "greet-by-name~1"]),
            }],
        })
    );
}

#[test]
fn a_primary_that_fails_ends_the_team_at_once_and_its_work_is_kept() {
    let stage = Stage::new(&PRIMARY.replace("echo \"A greeting.\"", "exit 3"), APPROVES);
    let ended = stage.team("github");
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.document["status"], "failed");
    assert_eq!(ended.document["prNumber"], Value::Null);
    assert_eq!(
        ended.document["kept"].as_array().unwrap().len(),
        1,
        "{ended:?}"
    );
}
