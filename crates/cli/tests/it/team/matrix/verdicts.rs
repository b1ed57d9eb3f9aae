//! Tests reviewers that do not approve.

use super::ended_as;
use crate::team::opening::Opening;
use crate::team::play::Judge;
use serde_json::{Value, json};

pub(super) fn never_approved_ends_with_exit_code_1_and_says_what_is_open(opening: Opening) {
    let says = r#"{"verdict": "NEEDS-CHANGES", "suggestions": ["never good enough"]}"#;
    let arena = opening.plays(Judge::Says(says.to_owned()));
    let args = [
        "spawn-team",
        "Greet",
        "--mode",
        "pingpong",
        "--max-iterations",
        "2",
    ];
    let ended = arena.checked(arena.stage.drive(&args));
    let commits = ["Greet by name", "Fix round 1: never good enough"];
    let failure = ended_as(&ended, "failed", "needsChanges", 2, &commits);
    assert_eq!(failure, "notApproved");
    let body = arena.seen().body;
    assert!(body.contains("- whole change, round 2 at "), "{body}");
    assert_eq!(
        body.matches("\n- **major** never good enough").count(),
        2,
        "{body}"
    );
}

pub(super) fn a_garbage_verdict_is_never_an_approval(opening: Opening) {
    let arena = opening.plays(Judge::Says("It is approved, I guess.".to_owned()));
    let ended = arena.flies("pingpong");
    // It was asked once more.
    let failure = ended_as(&ended, "needsHuman", "inconclusive", 2, &["Greet by name"]);
    assert_eq!(failure, "reviewInconclusive");
    let body = arena.seen().body;
    assert!(body.contains("[REVIEW - INCONCLUSIVE]"), "{body}");
}

pub(super) fn a_reviewer_that_crashes_is_noted_and_the_other_reviews_go_on(opening: Opening) {
    let arena = opening.plays(Judge::CrashesIn("Security"));
    let ended = arena.flies("github");
    let failure = ended_as(&ended, "needsHuman", "inconclusive", 6, &["Greet by name"]);
    assert_eq!(failure, "reviewInconclusive");
    let seen = arena.seen();
    let noted = "[SECURITY REVIEW - INCONCLUSIVE]\n\nNo verdict: ";
    let [said] = seen.texts.as_slice() else {
        panic!("{:?}", seen.texts);
    };
    assert!(said.starts_with(noted), "{said}");
    assert_eq!(
        seen.rows,
        [
            "[CORRECTNESS REVIEW - APPROVED]",
            "[SECURITY REVIEW - INCONCLUSIVE]",
            "[TECHNICAL FEASIBILITY REVIEW - APPROVED]",
            "[TASK GRANULARITY REVIEW - APPROVED]",
            "[DEPENDENCY COMPLETENESS REVIEW - APPROVED]",
            "[GENERAL POLISH REVIEW - APPROVED]",
        ]
    );
    let reviewed = ended.document["record"]["jobs"].as_array().unwrap();
    let failed = reviewed.iter().filter(|job| !job["failure"].is_null());
    let domains: Vec<_> = failed.map(|job| job["domain"].clone()).collect();
    assert_eq!(domains, [json!("Security")]);
}

pub(super) fn an_approval_beside_a_blocker_is_asked_again_and_never_counts(opening: Opening) {
    let says = json!({"verdict": "approved", "suggestions": [
        {"file": "greet.txt", "line": 2, "issue": "two is wrong", "severity": "blocker"},
    ]});
    let arena = opening.plays(Judge::Says(format!("```json\n{says}\n```")));
    let ended = arena.flies("pingpong");
    let failure = ended_as(&ended, "needsHuman", "inconclusive", 2, &["Greet by name"]);
    assert_eq!(failure, "reviewInconclusive");
    let reviews = ended.document["record"]["reviews"].as_array().unwrap();
    for review in reviews {
        assert_eq!(
            review["failure"], "it approves beside a blocker",
            "{review}"
        );
    }
}

pub(super) fn a_domain_that_does_not_apply_is_shown_as_that_and_does_not_block(opening: Opening) {
    let arena = opening.plays(Judge::NotApplicableIn("Security"));
    let ended = arena.flies("github");
    let failure = ended_as(&ended, "succeeded", "approved", 6, &["Greet by name"]);
    assert_eq!(failure, Value::Null);
    let seen = arena.seen();
    assert_eq!(seen.rows[1], "[SECURITY REVIEW - NOT APPLICABLE]");
    let told = "5 of 6 domains approved (1 did not apply)";
    assert!(seen.body.contains(told), "{}", seen.body);
}
