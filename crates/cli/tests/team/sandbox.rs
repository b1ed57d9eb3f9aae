//! One sandbox for all, and who may do what in it.

use crate::stage::{APPROVES, PRIMARY, Stage};
use serde_json::Value;

/// Reviewers once judged another checkout than the coder's, and approved what they had not seen.
#[test]
fn the_reviewer_sees_what_the_coder_wrote_in_the_very_same_folder() {
    let primary = PRIMARY.replace(
        "coder)",
        "coder) pwd > where.txt; echo secret > untracked.log;",
    );
    let reviewer = r#"
cat > /dev/null
if [ "$(pwd)" = "$(cat where.txt)" ] && [ "$(cat untracked.log)" = secret ]; then
  echo '{"verdict": "approved"}'
fi
"#;
    let stage = Stage::new(&primary, reviewer);
    std::fs::write(stage.path("repo/.git/info/exclude"), "*.log\n").unwrap();
    let ended = stage.team("pingpong");
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    let sandbox = ended.document["record"]["sandbox"].as_str().unwrap();
    assert_eq!(stage.git(&["show", "greet-by-name:where.txt"]), sandbox);
}

#[test]
fn the_reviewer_cannot_change_the_tree_nor_the_history() {
    let reviewer = r#"
cat > /dev/null
echo hacked > greet.txt
echo hacked > evil.txt
git commit --quiet --allow-empty -m evil
git branch evil
echo '{"verdict": "approved"}'
"#;
    let stage = Stage::new(PRIMARY, reviewer);
    if !is_held_by_the_kernel(&stage) {
        eprintln!("skipped: this machine cannot hold an agent to its folders");
        return;
    }
    let ended = stage.team("github");
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    assert_eq!(
        stage.git(&["log", "--format=%s", "main..greet-by-name"]),
        "Greet by name"
    );
    assert_eq!(
        stage.git(&["show", "greet-by-name:greet.txt"]),
        "one\ntwo\nthree"
    );
    assert_eq!(stage.git(&["branch", "--list", "evil"]), "");
}

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
            "comments": [{"id": "2", "author": "reviewer", "file": "greet.txt", "line": 1, "body": "no"}],
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

fn is_held_by_the_kernel(stage: &Stage) -> bool {
    let doctor = stage.drive(&["doctor"]).document;
    let checks = doctor["checks"].as_array().unwrap().clone();
    checks.iter().any(|check| {
        check["name"]
            .as_str()
            .is_some_and(|name| name.contains("writeScope"))
            && check["status"] == "ok"
    })
}
