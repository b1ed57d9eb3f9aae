//! Tests findings that resemble each other, and are declined or refuted.

use crate::stage::Ended;
use crate::team::opening::Opening;
use crate::team::play::{Fixer, Judge, Play};
use serde_json::json;

fn fixers(ended: &Ended) -> usize {
    let jobs = ended.document["record"]["jobs"].as_array().unwrap();
    jobs.iter().filter(|job| job["role"] == "fixer").count()
}

fn commits(ended: &Ended) -> usize {
    ended.document["commits"].as_array().unwrap().len()
}

pub(super) fn sixty_findings_alike_are_one_comment_and_one_fix_round(opening: Opening) {
    let alike = (0..60).map(|n| {
        let line = n % 3 + 1;
        json!({"file": "greet.txt", "line": line, "issue": "It panics."})
    });
    let arena = opening.plays(Judge::FindsIn("Correctness", alike.collect()));
    let ended = arena.flies("github");
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

pub(super) fn a_fixer_is_not_asked_again_about_what_it_declined_with_a_reason(opening: Opening) {
    let found = json!({"file": "greet.txt", "line": 2, "issue": "two is wrong"});
    let arena = opening.plays(Play {
        fixer: Fixer::Declines,
        ..Play::from(Judge::FindsIn("Correctness", vec![found]))
    });
    let ended = arena.flies("github");
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

pub(super) fn a_blocker_that_is_refuted_is_shown_as_refuted_and_does_not_block(opening: Opening) {
    let found =
        json!({"file": "greet.txt", "line": 2, "issue": "two is wrong", "severity": "blocker"});
    let arena = opening.plays(Play {
        refutes: Some("the task says two"),
        ..Play::from(Judge::FindsIn("Correctness", vec![found]))
    });
    let ended = arena.flies("github");
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
