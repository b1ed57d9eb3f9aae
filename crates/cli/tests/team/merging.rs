//! Others push while the team works: to its branch, or to the one it goes to.

use crate::arena::{Arena, on_both_forges};
use crate::stage::{APPROVES, PRIMARY, ended};
use serde_json::json;

on_both_forges!(
    a_conflict_with_the_base_becomes_a_round_of_the_coder,
    a_conflict_that_stays_is_shown_to_a_person_and_no_marker_is_pushed,
    a_base_that_only_went_on_is_left_alone,
);

/// Resolves a conflict by keeping what both meant.
fn merging_primary() -> String {
    PRIMARY.replace(
        "fixer)",
        "fixer) if grep -q '<<<<<<<' greet.txt; then printf 'theirs\\none\\n' > greet.txt; exit; fi;",
    )
}

/// Lets the base move while the reviewer looks, and sees how it ends.
fn flown(arena: &Arena, primary: &str, file: &str) -> crate::stage::Ended {
    arena.cast(primary, &arena.waits_in("", APPROVES));
    let args = ["spawn-team", "Greet people by name", "--mode", "pingpong"];
    let team = arena.stage.start(&args);
    arena.until_open();
    arena.commit_to_base(file, "theirs\n");
    arena.go();
    arena.checked(ended(team))
}

fn a_conflict_with_the_base_becomes_a_round_of_the_coder(arena: Arena) {
    let ended = flown(&arena, &merging_primary(), "greet.txt");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let head = ended.document["headSha"].as_str().unwrap();
    assert_eq!(arena.published("greet-by-name"), head);
    assert_eq!(
        arena.stage.git(&["show", &format!("{head}:greet.txt")]),
        "theirs\none"
    );
    let run = ended.document["runId"].as_str().unwrap();
    let merge = arena
        .stage
        .git(&["show", "-s", "--format=%s|%(trailers:separator=)", head]);
    let from = ["Merge main", "Merge origin/main"];
    let trailer = format!("|Drive-Run: {run}");
    assert!(
        from.map(|from| format!("{from}{trailer}")).contains(&merge),
        "{merge}"
    );
    // What others did on the base is not this run's work.
    let subjects: Vec<_> = ended.document["commits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|commit| commit["subject"].as_str().unwrap())
        .collect();
    assert_eq!(subjects.len(), 2, "{subjects:?}");
    assert_eq!(subjects[0], "Greet by name");
}

fn a_conflict_that_stays_is_shown_to_a_person_and_no_marker_is_pushed(arena: Arena) {
    // It says it did, and did nothing.
    let lazy = PRIMARY.replace("fixer)", "fixer) exit;; nobody)");
    let ended = flown(&arena, &lazy, "greet.txt");
    assert_eq!(ended.code, Some(1));
    let document = &ended.document;
    assert_eq!(
        (
            &document["status"],
            &document["verdict"],
            &document["failure"]["kind"]
        ),
        (
            &json!("needsHuman"),
            &json!("approved"),
            &json!("mergeConflict")
        ),
        "{ended:?}"
    );
    let head = document["headSha"].as_str().unwrap();
    assert_eq!(arena.published("greet-by-name"), head);
    assert_eq!(
        arena.stage.git(&["show", &format!("{head}:greet.txt")]),
        "one\ntwo\nthree"
    );
    assert_eq!(document["kept"].as_array().unwrap().len(), 1, "{ended:?}");
}

fn a_base_that_only_went_on_is_left_alone(arena: Arena) {
    let ended = flown(&arena, PRIMARY, "other.txt");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.document["commits"].as_array().unwrap().len(), 1);
}
