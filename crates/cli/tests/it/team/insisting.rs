//! Findings that are many alike, declined or refuted, on either forge.

use crate::stage::{APPROVES, Ended, PRIMARY};
use crate::team::arena::{Arena, on_both_forges};
use serde_json::{Value, json};
use std::fs;

on_both_forges!(
    sixty_findings_alike_are_one_comment_and_one_fix_round,
    a_fixer_is_not_asked_again_about_what_it_declined_with_a_reason,
    a_blocker_that_is_refuted_is_shown_as_refuted_and_does_not_block,
);

/// The reviewer of Correctness says this while the file was not fixed, the others approve.
fn reviewer_with(arena: &Arena, answer: &Value) -> String {
    let text = format!("```json\n{answer}\n```\n");
    arena.stage.script("says", &text);
    let says = arena.stage.path("agents/says");
    format!(
        "if [ \"$DRIVE_DOMAIN\" = Correctness ] && ! grep -q fixed greet.txt; then\n\
         cat > /dev/null; cat {says:?}; exit\nfi\n{APPROVES}"
    )
}

fn fixers(ended: &Ended) -> usize {
    let jobs = ended.document["record"]["jobs"].as_array().unwrap();
    jobs.iter().filter(|job| job["role"] == "fixer").count()
}

fn commits(ended: &Ended) -> usize {
    ended.document["commits"].as_array().unwrap().len()
}

fn sixty_findings_alike_are_one_comment_and_one_fix_round(arena: Arena) {
    let alike = (0..60).map(|n| {
        let line = n % 3 + 1;
        json!({"file": "greet.txt", "line": line, "issue": "It panics."})
    });
    let alike: Vec<Value> = alike.collect();
    let answer = json!({"verdict": "needs_changes", "suggestions": alike});
    let reviewer = reviewer_with(&arena, &answer);
    let ended = arena.team("github", PRIMARY, &reviewer);
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    assert_eq!((fixers(&ended), commits(&ended)), (1, 2), "{ended:?}");
    let texts = arena.seen().texts;
    let [review, comment, reply] = texts.as_slice() else {
        panic!("{texts:?}");
    };
    assert_eq!(
        review,
        "[CORRECTNESS REVIEW - NEEDS CHANGES]\n\n1 inline comment"
    );
    assert!(comment.starts_with("**major** It panics."), "{comment}");
    assert_eq!(comment.matches("It panics.").count(), 1, "{comment}");
    assert!(reply.starts_with("Fixed in "), "{reply}");
}

fn a_fixer_is_not_asked_again_about_what_it_declined_with_a_reason(arena: Arena) {
    let found = json!({"file": "greet.txt", "line": 2, "issue": "two is wrong"});
    let answer = json!({"verdict": "needs_changes", "suggestions": [found]});
    let reviewer = reviewer_with(&arena, &answer);
    let declines = PRIMARY
        .replace(
            "echo fixed >> greet.txt; echo \"Appended.\"",
            "echo \"No.\"",
        )
        .replace(
            r#""action": "fixed""#,
            r#""action": "declined", "note": "Two is what the task says.""#,
        );
    let ended = arena.team("github", &declines, &reviewer);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(ended.document["verdict"], "needsChanges", "{ended:?}");
    assert_eq!((fixers(&ended), commits(&ended)), (1, 1), "{ended:?}");
    let open = ended.document["openFindings"].as_array().unwrap();
    assert_eq!(open.len(), 1, "{open:?}");
    assert_eq!(open[0]["issue"], "two is wrong", "{open:?}");
    let texts = arena.seen().texts;
    let [first, comment, reply, again] = texts.as_slice() else {
        panic!("{texts:?}");
    };
    let heading = "[CORRECTNESS REVIEW - NEEDS CHANGES]\n\n";
    assert_eq!(*first, format!("{heading}1 inline comment"));
    assert_eq!(comment, "**major** two is wrong");
    assert_eq!(reply, "Not changed. Two is what the task says.");
    let listed = "- `greet.txt` line 2: **major** two is wrong";
    assert_eq!(*again, format!("{heading}{listed}"));
}

fn a_blocker_that_is_refuted_is_shown_as_refuted_and_does_not_block(arena: Arena) {
    let path = arena.stage.path("repo/drive.toml");
    let settings = fs::read_to_string(&path).unwrap();
    let refuting = settings.replace("refute = false", "refute = true");
    assert_ne!(refuting, settings);
    fs::write(path, refuting).unwrap();
    let found =
        json!({"file": "greet.txt", "line": 2, "issue": "two is wrong", "severity": "blocker"});
    let answer = json!({"verdict": "needs_changes", "suggestions": [found]});
    let refutes =
        json!({"findings": [{"id": "finding-1", "holds": false, "why": "the task says two"}]});
    let reviewer = reviewer_with(&arena, &answer);
    let reviewer = format!(
        "if grep -q 'finding-1' \"$DRIVE_INPUT\"; then\n\
         cat > /dev/null; echo '{refutes}'; exit\nfi\n{reviewer}"
    );
    let ended = arena.team("github", PRIMARY, &reviewer);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    assert_eq!((fixers(&ended), commits(&ended)), (0, 1), "{ended:?}");
    let seen = arena.seen();
    assert_eq!(
        seen.texts,
        ["[CORRECTNESS REVIEW - APPROVED]\n\n\
             - `greet.txt` line 2: **blocker** two is wrong\n  \n  \
             Refuted by a second agent: the task says two"]
    );
    assert!(seen.is_ready);
    let reviews = ended.document["record"]["reviews"].as_array().unwrap();
    let review = reviews.iter().find(|one| one["domain"] == "Correctness");
    let finding = &review.unwrap()["suggestions"][0];
    assert_eq!(finding["refuted"], "the task says two", "{finding}");
}
