//! Tests many findings, and fixers that fail, on either forge.

use crate::stage::{APPROVES, PRIMARY, TASK};
use crate::team::arena::{Arena, on_both_forges};
use serde_json::{Value, json};

on_both_forges!(
    of_two_hundred_findings_on_lines_ten_stand_there_and_the_rest_in_one_comment,
    a_dozen_findings_are_fixed_by_one_commit_and_each_is_answered,
    a_fixer_that_fails_leaves_nothing_of_its_half_work_on_the_branch,
);

/// Reports these findings in the first domain until the file contains the text, and approves everything else.
fn finds(arena: &Arena, suggestions: &[Value], until: &str) -> String {
    let answer = json!({"verdict": "needs_changes", "suggestions": suggestions});
    arena
        .stage
        .script("says", &format!("```json\n{answer}\n```\n"));
    let says = arena.stage.path("agents/says");
    format!(
        "if [ \"$DRIVE_DOMAIN\" = Correctness ] && ! grep -q {until:?} greet.txt; then\n\
         cat {says:?}; exit\nfi\n{APPROVES}"
    )
}

fn on_lines(count: u64, issue: impl Fn(u64) -> String) -> Vec<Value> {
    let finding = |n| json!({"file": "greet.txt", "line": n, "issue": issue(n)});
    (1..=count).map(finding).collect()
}

/// The coder writes two hundred lines, and the findings about them are too long to be posted together.
fn of_two_hundred_findings_on_lines_ten_stand_there_and_the_rest_in_one_comment(arena: Arena) {
    let findings = on_lines(200, |n| format!("issue {n}. {}", "because ".repeat(80)));
    let lines = PRIMARY.replace("printf 'one\\ntwo\\nthree\\n'", "seq 200");
    arena.cast(&lines, &finds(&arena, &findings, "never"));
    let args = ["spawn-team", TASK, "--max-iterations", "1"];
    let ended = arena.checked(arena.stage.drive(&args));
    assert_eq!(
        ended.document["failure"]["kind"], "notApproved",
        "{ended:?}"
    );
    let texts = arena.seen().texts;
    let heading = "[CORRECTNESS REVIEW - NEEDS CHANGES]\n\n10 inline comments";
    assert!(texts[0].starts_with(heading), "{}", texts[0]);
    // The review and its inline comments.
    assert_eq!(texts.len(), 1 + 10);
    for n in 1..=200_usize {
        let place = format!("- `greet.txt` line {n}: **major** issue {n}. because");
        let (in_review, on_line) = (texts[0].contains(&place), texts.get(n));
        let begins = format!("**major** issue {n}. because");
        let stands = on_line.is_some_and(|text| text.starts_with(&begins));
        assert_eq!((in_review, stands), (n > 10, n <= 10), "{n}");
    }
    assert!(texts.iter().all(|text| text.chars().count() < 65_536));
}

fn a_dozen_findings_are_fixed_by_one_commit_and_each_is_answered(arena: Arena) {
    let lines = PRIMARY.replace("printf 'one\\ntwo\\nthree\\n'", "seq 12");
    let findings = on_lines(12, |n| format!("issue {n}."));
    arena.cast(&lines, &finds(&arena, &findings, "fixed"));
    let ended = arena.checked(arena.stage.team("github"));
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    let remarks = ended.document["record"]["remarks"].as_array().unwrap();
    let fix = arena.published("greet-by-name");
    assert!(
        remarks.iter().all(|one| one["commit"] == fix),
        "{remarks:?}"
    );
    // Ten are on their lines, and two are answered in one reply.
    assert_eq!(remarks.len(), 12);
    let on_lines = remarks.iter();
    let on_lines = on_lines.filter(|one| one["comment"]["surface"] == "inline");
    for remark in on_lines.clone() {
        assert!(arena.is_resolved(remark), "{remark}");
    }
    assert_eq!(on_lines.count(), 10);
    let texts = arena.seen().texts;
    let answer = format!("Fixed in {}.", &fix[..10]);
    let answers = texts.iter().filter(|text| text.ends_with(&answer));
    assert_eq!(answers.count(), 11, "{texts:?}");
}

fn a_fixer_that_fails_leaves_nothing_of_its_half_work_on_the_branch(arena: Arena) {
    let half = PRIMARY.replace("fixer)", "fixer) echo half > half.txt; exit 3;; nobody)");
    let findings = on_lines(1, |_| "wrong".to_owned());
    arena.cast(&half, &finds(&arena, &findings, "fixed"));
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
    let told = |text: &String| text.contains("Not resolved") && text.contains(kept);
    assert!(
        arena.seen().texts.iter().any(told),
        "{:?}",
        arena.seen().texts
    );
}
