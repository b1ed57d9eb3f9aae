//! Whatever a reviewer says, on either forge.

use crate::arena::{Arena, on_both_forges};
use crate::stage::{PRIMARY, gist};
use serde_json::json;

on_both_forges!(
    never_approved_ends_with_exit_code_1_and_says_what_is_open,
    a_garbage_verdict_is_never_an_approval,
    a_reviewer_that_crashes_is_noted_and_the_other_reviews_go_on,
    a_finding_outside_the_diff_stands_in_the_review_and_is_answered,
    two_hundred_findings_are_all_told_once,
    a_fixer_that_fails_leaves_nothing_of_its_half_work_on_the_branch,
);

fn never_approved_ends_with_exit_code_1_and_says_what_is_open(arena: Arena) {
    let objects = "cat > /dev/null\necho '{\"verdict\": \"NEEDS-CHANGES\", \"suggestions\": [\"never good enough\"]}'\n";
    arena.cast(PRIMARY, objects);
    let args = [
        "spawn-team",
        "Greet",
        "--mode",
        "pingpong",
        "--max-iterations",
        "2",
    ];
    let ended = arena.checked(arena.stage.drive(&args));
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

fn a_garbage_verdict_is_never_an_approval(arena: Arena) {
    let guesses = "cat > /dev/null\necho 'It is approved, I guess.'\n";
    let ended = arena.team("pingpong", PRIMARY, guesses);
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.document["status"], "needsHuman");
    assert_eq!(ended.document["verdict"], "inconclusive");
    assert_eq!(ended.document["rounds"], 2, "asked once more: {ended:?}");
}

fn a_reviewer_that_crashes_is_noted_and_the_other_reviews_go_on(arena: Arena) {
    let crashes = "cat > /dev/null\n[ \"$DRIVE_DOMAIN\" = Security ] && kill -9 $$\necho '{\"verdict\": \"approved\"}'\n";
    let ended = arena.team("github", PRIMARY, crashes);
    assert_eq!(ended.document["verdict"], "inconclusive", "{ended:?}");
    let said = arena.seen().texts;
    assert_eq!(said.len(), 5, "{said:?}");
    assert!(said[0].starts_with("[SECURITY REVIEW - INCONCLUSIVE]\n\nThere is no verdict: "));
    assert_eq!(said[1], "[TECHNICAL FEASIBILITY REVIEW - APPROVED]");
}

/// Approves what was fixed, else finds these.
fn finds(suggestions: &str) -> String {
    format!(
        "cat > /dev/null\ngrep -q fixed greet.txt && echo '{{\"verdict\": \"approved\"}}' && exit\n\
         printf '{{\"verdict\": \"needs_changes\", \"suggestions\": ['\n{suggestions}\nprintf ']}}\\n'\n"
    )
}

fn a_finding_outside_the_diff_stands_in_the_review_and_is_answered(arena: Arena) {
    let outside = finds(r#"printf '{"file": "README.md", "line": 1, "issue": "outside"}'"#);
    let ended = arena.team("github", PRIMARY, &outside);
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    let fix = arena.published("greet-by-name");
    let said = arena.seen().texts;
    assert_eq!(
        said[..2],
        [
            "[SECURITY REVIEW - NEEDS CHANGES]\n\n- `README.md` line 1: outside".to_owned(),
            format!("Fixed in {fix}."),
        ]
    );
}

/// Most stand on no line, so that GitHub is not asked for two hundred answers a run.
fn two_hundred_findings_are_all_told_once(arena: Arena) {
    let many = finds(
        r#"printf '{"file": "greet.txt", "line": 1, "issue": "issue 1."}, {"file": "greet.txt", "line": 2, "issue": "issue 2."}'
n=2; while [ $n -lt 200 ]; do n=$((n + 1)); printf ', {"file": "README.md", "line": 9, "issue": "issue %d."}' $n; done"#,
    );
    let ended = arena.team("github", PRIMARY, &many);
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    let all = arena.seen().texts;
    for n in 1..=200 {
        let issue = format!("issue {n}.");
        let told = |text: &&String| text.lines().any(|line| line.ends_with(&issue));
        assert_eq!(all.iter().filter(told).count(), 1, "{issue}");
    }
    let answers = all.iter().filter(|text| text.starts_with("Fixed in "));
    assert_eq!(answers.count(), 3);
}

fn a_fixer_that_fails_leaves_nothing_of_its_half_work_on_the_branch(arena: Arena) {
    let half = PRIMARY.replace("fixer)", "fixer) echo half > half.txt; exit 3;; nobody)");
    let objects = finds(r#"printf '{"file": "greet.txt", "line": 2, "issue": "wrong"}'"#);
    arena.cast(&half, &objects);
    let args = ["spawn-team", "Greet", "--max-iterations", "2"];
    let ended = arena.checked(arena.stage.drive(&args));
    assert_eq!(ended.document["status"], "failed", "{ended:?}");
    let head = arena.published("greet-by-name");
    assert_eq!(
        arena
            .stage
            .git(&["ls-tree", "--name-only", &head, "half.txt"]),
        ""
    );
    let kept = ended.document["kept"][0].as_str().unwrap();
    assert_eq!(
        arena.stage.git(&["show", &format!("{kept}:half.txt")]),
        "half"
    );
    let told = |text: &String| text.contains("This could not be resolved") && text.contains(kept);
    assert!(
        arena.seen().texts.iter().any(told),
        "{:?}",
        arena.seen().texts
    );
}
