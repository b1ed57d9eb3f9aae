//! Tests a validator, which judges the entries that no program checks: its verdict counts only with evidence.

use crate::cruise::building::{args, report, stage, task, wait_for_a_person};
use crate::cruise::crew::status;
use crate::stage::{Ended, Stage, ended};
use serde_json::{Value, json};
use std::process::Child;

/// Approves as a reviewer, and answers `ANSWER` as a validator; after a fixer has worked, another answer.
const JUDGE: &str = r#"
prompt=$(cat)
if [ "$DRIVE_ROLE" != validator ]; then echo '{"verdict": "approved"}'; exit; fi
case "$prompt" in *'Wrote a.txt'*) told=claims ;; *) told=nothing ;; esac
if [ -e fixed.txt ]; then
cat <<'END'
@FIXED@
END
else
cat <<END
@ANSWER@
END
fi
"#;

fn met(file: &str) -> Value {
    json!({"tasks": [{"id": "a", "status": "implemented", "note": "it was told $told",
        "evidence": [{"criterion": "seen", "file": file, "line": 1}]}],
        "findings": [{"severity": "low", "title": "the file has no heading", "file": file}],
        "additions": ["a file that nobody asked for"]})
}

fn missing(command: &[&str]) -> Value {
    json!({"tasks": [{"id": "a", "status": "missing", "evidence": [
        {"criterion": "seen", "command": command, "expect": {"exit": 0}}]}]})
}

/// One task with an entry that a program checks and one that an agent judges.
fn judged_by(answer: &Value, fixed: &Value) -> Stage {
    let mut one = task("a", "Write a.txt one", &[], "a.txt");
    let entries = one["acceptance"].as_array_mut().unwrap();
    entries.push(json!({"id": "seen", "kind": "judge", "text": "a.txt reads well"}));
    let stage = stage(&[one]);
    let script = JUDGE.replace("@ANSWER@", &answer.to_string());
    stage.script("reviewer", &script.replace("@FIXED@", &fixed.to_string()));
    stage
}

fn start(stage: &Stage, level: &str) -> Child {
    let args = args(stage);
    let args = args.iter().map(String::as_str);
    stage.start(&args.chain(["--level", level]).collect::<Vec<_>>())
}

fn build(stage: &Stage, level: &str) -> Ended {
    ended(start(stage, level))
}

#[test]
fn a_strict_cruise_passes_with_a_validator_that_names_what_it_saw() {
    let stage = judged_by(&met("a.txt"), &json!({}));
    let ended = build(&stage, "strict");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(stage.git(&["show", "main:a.txt"]), "one");
    let audit = report(&stage);
    let task = &audit["tasks"][0];
    assert_eq!(task["status"], "implemented", "{audit}");
    assert_eq!(task["evidence"][0]["result"], "proven", "{audit}");
    let judged = &task["evidence"][1];
    assert_eq!(judged["result"], "judged", "no program proved it: {audit}");
    assert_eq!(judged["file"], "a.txt", "{audit}");
    assert_eq!(judged["line"], 1, "{audit}");
    assert_eq!(
        judged["actual"], "it was told nothing",
        "what the coder says of its work is not told: {audit}"
    );
    assert_eq!(audit["findings"][0]["severity"], "low", "{audit}");
    assert_eq!(audit["findings"][0]["confirmed"], false, "{audit}");
    assert_eq!(audit["additions"], json!(["a file that nobody asked for"]));
    assert_eq!(audit["gaps"], json!([]), "{audit}");
    let said = crate::stage::said(&stage.pull_request()).join("\n");
    assert!(
        said.contains("| `a seen` | judged; see `a.txt:1` |"),
        "{said}"
    );
}

#[test]
fn a_validator_that_claims_everything_does_not_pass_a_strict_cruise() {
    let bare = json!({"tasks": [{"id": "a", "status": "implemented", "note": "all is perfect"}]});
    let mut beyond = met("a.txt");
    beyond["tasks"][0]["evidence"][0]["line"] = json!(99);
    for claim in [bare, met("gone.txt"), beyond] {
        let stage = judged_by(&claim, &json!({}));
        let main = stage.git(&["rev-parse", "main"]);
        let cruise = start(&stage, "strict");
        wait_for_a_person(&stage);
        let waits = status(&stage)["waitingFor"].as_str().unwrap().to_owned();
        let why = "an acceptance entry of task `a` has no evidence: a.txt reads well";
        assert!(waits.contains(why), "{waits}");
        assert_eq!(stage.git(&["rev-parse", "main"]), main);
        let audit = report(&stage);
        assert_eq!(
            audit["tasks"][0]["evidence"][1]["result"], "unproven",
            "{audit}"
        );
        let closed = stage.drive(&["pr", "close", "1"]);
        assert_eq!(closed.code, Some(0), "{closed:?}");
        assert_eq!(ended(cruise).code, Some(1));
        assert_eq!(stage.git(&["rev-parse", "main"]), main);
    }
}

#[test]
fn a_claim_that_its_own_command_refutes_does_not_block_a_functional_cruise() {
    let stage = judged_by(&missing(&["test", "-s", "a.txt"]), &json!({}));
    let ended = build(&stage, "functional");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(stage.git(&["show", "main:a.txt"]), "one");
    let audit = report(&stage);
    let judged = &audit["tasks"][0]["evidence"][1];
    assert_eq!(judged["result"], "unproven", "{audit}");
    assert_eq!(
        judged["actual"],
        "the validator says `missing`, and its command does not confirm it: it passes",
        "{audit}"
    );
    assert_eq!(
        audit["gaps"],
        json!(["task `a`: no evidence: a.txt reads well"])
    );
}

#[test]
fn a_command_that_shows_a_gap_starts_a_fixer_and_the_fixed_commit_is_judged_again() {
    let stage = judged_by(&missing(&["test", "-s", "fixed.txt"]), &met("fixed.txt"));
    let ended = build(&stage, "strict");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(stage.git(&["show", "main:fixed.txt"]), "good");
    let audit = report(&stage);
    let judged = &audit["tasks"][0]["evidence"][1];
    assert_eq!(judged["result"], "judged", "{audit}");
    assert_eq!(judged["file"], "fixed.txt", "{audit}");
    assert_eq!(audit["commit"], ended.document["headSha"], "{audit}");
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
}
