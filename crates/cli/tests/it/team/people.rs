//! Tests people who comment on the pull request while the team works, at any time and in any place.

use crate::stage::{APPROVES, PRIMARY, TASK, ended};
use crate::team::arena::{Arena, REPO, on_both_forges};
use drive_core::forge::ReviewState;

on_both_forges!(
    a_person_on_a_line_before_the_first_review_is_heard_and_the_thread_is_resolved,
    a_suggestion_is_applied_without_an_agent,
);

fn a_suggestion_is_applied_without_an_agent(arena: Arena) {
    // A fixer would leave its own line.
    arena.cast(PRIMARY, &arena.waits_in("Correctness", APPROVES));
    let team = arena.stage.start(&["spawn-team", TASK]);
    arena.until_open();
    let words = "I think this reads better, since it says which number it is.\n\n\
                 ```suggestion\nnumber two\n```";
    arena.comment_on_line("ann", "greet.txt", 2, words);
    arena.go();
    let ended = arena.checked(ended(team));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let fix = arena.published("greet-by-name");
    let text = arena.stage.git(&["show", &format!("{fix}:greet.txt")]);
    assert_eq!(text, "one\nnumber two\nthree");
    let said = format!("Fixed in {}.", &fix[..10]);
    let texts = arena.seen().texts;
    let answer = texts.iter().find(|text| text.starts_with(&said));
    assert!(
        answer.is_some_and(|text| text.contains("Applied the suggestion unchanged.")),
        "{texts:?}"
    );
}

fn a_person_on_a_line_before_the_first_review_is_heard_and_the_thread_is_resolved(arena: Arena) {
    arena.cast(PRIMARY, &arena.waits_in("Correctness", APPROVES));
    let team = arena.stage.start(&["spawn-team", TASK]);
    arena.until_open();
    arena.comment_on_line("ann", "greet.txt", 2, "Two is wrong.");
    arena.go();
    let ended = arena.checked(ended(team));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let remarks = ended.document["record"]["remarks"].as_array().unwrap();
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    assert!(arena.is_resolved(&remarks[0]));
    let fix = arena.published("greet-by-name");
    let texts = arena.seen().texts;
    assert_eq!(texts[0], "Two is wrong.");
    assert!(
        texts.contains(&format!("Fixed in {}.", &fix[..10])),
        "{texts:?}"
    );
}

#[test]
fn what_a_person_says_in_a_review_is_heard() {
    let arena = Arena::simulated();
    arena.cast(PRIMARY, &arena.waits_in("GeneralPolish", APPROVES));
    let team = arena.stage.start(&["spawn-team", TASK]);
    arena.until_open();
    let simulator = arena.simulator.as_ref().unwrap();
    let state = ReviewState::ChangesRequested;
    simulator.review(REPO, "ann", 1, state, "Say hello first.");
    arena.go();
    let ended = arena.checked(ended(team));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let subject = &ended.document["commits"][1]["subject"];
    assert!(
        subject.as_str().unwrap().ends_with(": Say hello first."),
        "{subject}"
    );
}
