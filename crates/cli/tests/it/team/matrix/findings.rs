//! Tests unusual findings, and many findings.

use crate::team::opening::Opening;
use crate::team::play::Judge;
use serde_json::json;

pub(super) fn a_finding_outside_the_diff_stands_in_the_review_and_is_answered(opening: Opening) {
    let outside = json!({"file": "README.md", "line": 1, "issue": "outside"});
    let arena = opening.plays(Judge::Finds(vec![outside]));
    let ended = arena.flies("github");
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    let fix = arena.published("greet-by-name");
    let texts = arena.seen().texts;
    assert_eq!(
        texts[0],
        "[CORRECTNESS REVIEW - NEEDS CHANGES]\n\n- `README.md` line 1: **major** outside"
    );
    // The name of the reviewing agent differs.
    let answer = format!(
        ": - README.md line 1: major outside\n\nFixed in {}.",
        &fix[..10]
    );
    assert!(
        texts[1].starts_with("> ") && texts[1].ends_with(&answer),
        "{texts:?}"
    );
}

/// Most are not on a line, so that no agent is asked two hundred times.
pub(super) fn two_hundred_findings_are_all_told_once(opening: Opening) {
    let many = (1..=200).map(|n| {
        let (file, line) = match n {
            1 | 2 => ("greet.txt", n),
            _ => ("README.md", 9),
        };
        json!({"file": file, "line": line, "issue": format!("issue {n}.")})
    });
    let arena = opening.plays(Judge::Finds(many.collect()));
    let ended = arena.flies("github");
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    let (answers, all): (Vec<String>, Vec<String>) = arena
        .seen()
        .texts
        .into_iter()
        .partition(|text| text.contains("Fixed in "));
    for n in 1..=200 {
        let issue = format!("issue {n}.");
        let told = |text: &&String| text.lines().any(|line| line.ends_with(&issue));
        assert_eq!(all.iter().filter(told).count(), 1, "{issue}");
    }
    assert_eq!(answers.len(), 3);
}
