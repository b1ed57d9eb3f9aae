//! Whatever a reviewer says.

use crate::stage::{PRIMARY, Stage, gist, said};
use serde_json::json;

#[test]
fn never_approved_ends_with_exit_code_1_and_says_what_is_open() {
    let objects = "cat > /dev/null\necho '{\"verdict\": \"NEEDS-CHANGES\", \"suggestions\": [\"never good enough\"]}'\n";
    let stage = Stage::new(PRIMARY, objects);
    let ended = stage.drive(&[
        "spawn-team",
        "Greet",
        "--mode",
        "pingpong",
        "--max-iterations",
        "2",
    ]);
    assert_eq!(ended.code, Some(1));
    assert_eq!(
        gist(&ended.document),
        json!({
            "kind": "spawn-team",
            "status": "failed",
            "verdict": "needsChanges",
            "branch": "greet-by-name",
            "prNumber": 1,
            "rounds": 2,
            "commits": ["Greet by name", "Resolve the review's remarks: - never good enough"],
            "failure": "notApproved",
        })
    );
}

#[test]
fn a_garbage_verdict_is_never_an_approval() {
    let stage = Stage::new(
        PRIMARY,
        "cat > /dev/null\necho 'It is approved, I guess.'\n",
    );
    let ended = stage.team("pingpong");
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.document["status"], "needsHuman");
    assert_eq!(ended.document["verdict"], "inconclusive");
    assert_eq!(ended.document["rounds"], 2, "asked once more: {ended:?}");
}

#[test]
fn a_reviewer_that_crashes_is_noted_and_the_other_reviews_go_on() {
    let crashes = "cat > /dev/null\n[ \"$DRIVE_DOMAIN\" = Security ] && kill -9 $$\necho '{\"verdict\": \"approved\"}'\n";
    let stage = Stage::new(PRIMARY, crashes);
    let ended = stage.team("github");
    assert_eq!(ended.document["verdict"], "inconclusive", "{ended:?}");
    let said = said(&stage.pull_request());
    assert_eq!(said.len(), 5, "{said:?}");
    assert!(said[0].starts_with("[SECURITY REVIEW - INCONCLUSIVE]\n\nThere is no verdict: "));
    assert_eq!(said[1], "[TECHNICAL FEASIBILITY REVIEW - APPROVED]");
}

#[test]
fn two_hundred_findings_and_one_outside_the_diff_are_all_told_once() {
    let many = r#"
cat > /dev/null
grep -q fixed greet.txt && echo '{"verdict": "approved"}' && exit
printf '{"verdict": "needs_changes", "suggestions": [{"file": "README.md", "line": 1, "issue": "outside"}'
n=0; while [ $n -lt 200 ]; do n=$((n + 1)); printf ', {"file": "greet.txt", "line": 3, "issue": "issue %d."}' $n; done
printf ']}\n'
"#;
    let stage = Stage::new(PRIMARY, many);
    let ended = stage.team("github");
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    let all = said(&stage.pull_request());
    let reviews: Vec<&String> = all
        .iter()
        .filter(|text| text.starts_with("[SECURITY"))
        .collect();
    assert!(
        reviews[0].contains("- `README.md` line 1: outside"),
        "{}",
        reviews[0]
    );
    for n in 1..=200 {
        let issue = format!("issue {n}.");
        let told = |text: &&String| text.lines().any(|line| line.ends_with(&issue));
        assert_eq!(all.iter().filter(told).count(), 1, "{issue}");
    }
    assert_eq!(
        all.iter()
            .filter(|text| text.starts_with("Fixed in "))
            .count(),
        51
    );
}
