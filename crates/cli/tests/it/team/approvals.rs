//! Tests when an approval counts, and what happens to an approved pull request.

use crate::stage::{APPROVES, PRIMARY, REVIEWER, ended};
use crate::team::arena::{Arena, on_both_forges};

on_both_forges!(
    a_late_comment_makes_the_reviewers_look_again,
    what_a_person_wrote_in_the_description_stays,
);

/// A regression test: an approval outlived its commit.
fn a_late_comment_makes_the_reviewers_look_again(arena: Arena) {
    arena.cast(PRIMARY, &arena.waits_in("GeneralPolish", APPROVES));
    let team = arena.stage.start(&["spawn-team", "Greet people by name"]);
    arena.until_open();
    arena.comment("ann", "Say hello first.");
    arena.go();
    let ended = arena.checked(ended(team));
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    let head = &ended.document["headSha"];
    let reviews = ended.document["record"]["reviews"].as_array().unwrap();
    let mut on_head: Vec<_> = reviews
        .iter()
        .filter(|review| &review["head"] == head)
        .map(|review| review["domain"].as_str().unwrap())
        .collect();
    // The last one may have come before the comment or after it.
    on_head.sort_unstable();
    assert_eq!(
        on_head,
        [
            "Correctness",
            "DependencyCompleteness",
            "GeneralPolish",
            "Security",
            "TaskGranularity",
            "TechnicalFeasibility",
        ]
    );
}

fn what_a_person_wrote_in_the_description_stays(arena: Arena) {
    arena.cast(PRIMARY, &arena.waits_in("", REVIEWER));
    let args = ["spawn-team", "Greet people by name", "--mode", "pingpong"];
    let team = arena.stage.start(&args);
    arena.until_open();
    arena.rewrite_body(&|body| body.replace("A greeting.", "In my own words.") + "\nFixes 42.\n");
    arena.go();
    let ended = arena.checked(ended(team));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let body = arena.seen().body;
    assert!(
        body.contains("-outcome -->\n\nIn my own words.\n\n<!-- drive-part-begin:"),
        "{body}"
    );
    let outcome = body.lines().nth(1).unwrap();
    assert!(outcome.starts_with("**Approved** at `"), "{body}");
    assert!(body.ends_with("\nFixes 42.\n"), "{body}");
    assert!(
        body.contains("### Review, round 2\n\n[REVIEW - APPROVED]"),
        "{body}"
    );
    assert!(
        body.contains("<details><summary>Record of the run</summary>"),
        "{body}"
    );
}
