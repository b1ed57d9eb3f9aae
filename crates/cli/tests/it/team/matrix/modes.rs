//! Tests the three modes: approved at once, and in round two.

use super::ended_as;
use crate::stage::Ended;
use crate::team::arena::{Arena, REPO};
use crate::team::opening::Opening;
use crate::team::play::Judge;
use serde_json::{Value, json};

const REMARKS_FIXED: &str = "Fix round 1: two is wrong";

fn succeeds(arena: &Arena, mode: &str, verdict: &str, rounds: u32, commits: &[&str]) -> Ended {
    let ended = arena.flies(mode);
    let failure = ended_as(&ended, "succeeded", verdict, rounds, commits);
    assert_eq!(failure, Value::Null);
    let head = ended.document["headSha"].as_str().unwrap();
    assert_eq!(arena.published("greet-by-name"), head);
    assert!(arena.seen().is_ready);
    ended
}

/// Each agent's role and end; real agents also report their usage.
fn jobs(arena: &Arena, ended: &Ended) -> Vec<Value> {
    let jobs = ended.document["record"]["jobs"].as_array().unwrap();
    let is_counted = |job: &Value| job["usage"]["output"].as_u64() > Some(0);
    for job in jobs.iter().filter(|job| job["agent"] != "namer") {
        assert_eq!(is_counted(job), arena.real.is_some(), "{job:#}");
    }
    let told = |job: &Value| json!([job["role"], job["agent"], job["failure"]]);
    jobs.iter().map(told).collect()
}

pub(super) fn sequential_is_approved_at_once(opening: Opening) {
    let arena = opening.plays(Judge::Approves);
    succeeds(&arena, "sequential", "approved", 1, &["Greet by name"]);
}

/// The rows of the summary if all domains approve.
const APPROVED: [&str; 6] = [
    "[CORRECTNESS REVIEW - APPROVED]",
    "[SECURITY REVIEW - APPROVED]",
    "[TECHNICAL FEASIBILITY REVIEW - APPROVED]",
    "[TASK GRANULARITY REVIEW - APPROVED]",
    "[DEPENDENCY COMPLETENESS REVIEW - APPROVED]",
    "[GENERAL POLISH REVIEW - APPROVED]",
];

pub(super) fn pingpong_is_approved_at_once(opening: Opening) {
    let arena = opening.plays(Judge::Approves);
    succeeds(&arena, "pingpong", "approved", 1, &["Greet by name"]);
}

pub(super) fn github_is_approved_at_once_and_ready_for_a_person(opening: Opening) {
    let arena = opening.plays(Judge::Approves);
    let ended = succeeds(&arena, "github", "approved", 6, &["Greet by name"]);
    assert_eq!(arena.seen().texts, Vec::<String>::new());
    assert_eq!(arena.seen().rows, APPROVED);
    // The stored run equals the reported one.
    let run = ended.document["runId"].as_str().unwrap();
    let shown = arena.stage.drive(&["runs", "show", run]);
    assert_eq!(shown.document["record"], ended.document["record"]);
}

pub(super) fn sequential_is_work_one_review_one_fix_done(opening: Opening) {
    let arena = opening.plays(Judge::objects());
    let commits = ["Greet by name", REMARKS_FIXED];
    let ended = succeeds(&arena, "sequential", "needsChanges", 1, &commits);
    assert_eq!(arena.seen().texts, Vec::<String>::new());
    let (primary, reviewer) = arena.names();
    assert_eq!(
        jobs(&arena, &ended)[1..],
        [
            json!(["coder", primary, null]),
            json!(["reviewer", reviewer, null]),
            json!(["fixer", primary, null]),
        ]
    );
}

pub(super) fn pingpong_is_approved_on_round_two_and_the_description_tells_it(opening: Opening) {
    let arena = opening.plays(Judge::objects());
    let commits = ["Greet by name", REMARKS_FIXED];
    let ended = succeeds(&arena, "pingpong", "approved", 2, &commits);
    let (primary, reviewer) = arena.names();
    let namer = ended.document["record"]["jobs"][0]["agent"].clone();
    assert_eq!(
        jobs(&arena, &ended),
        [
            json!(["namer", namer, null]),
            json!(["coder", primary, null]),
            json!(["reviewer", reviewer, null]),
            json!(["fixer", primary, null]),
            json!(["reviewer", reviewer, null]),
        ]
    );
    let body = arena.seen().body;
    let mut rest = body.as_str();
    // The task, the review, and finally the record.
    for part in [
        "A greeting.",
        "<details><summary>Task</summary>\n\n```text\nGreet people by name\n```",
        "### Review, round 1\n\n[REVIEW - NEEDS CHANGES]\n\n- `greet.txt` line 2: **blocker** two is wrong",
        "### Review, round 2\n\n[REVIEW - APPROVED]",
        "<details><summary>Record of the run</summary>",
        &format!("| {reviewer} | reviewer |"),
        "| total | reviewer |",
        "- whole change, round 2 at ",
        "Agent commands:\n\n- `/",
    ] {
        let found = rest.find(part);
        let at = found.unwrap_or_else(|| panic!("{part}\n--- is not in\n{rest}\n--- of\n{body}"));
        rest = &rest[at + part.len()..];
    }
}

pub(super) fn github_is_approved_on_round_two_and_the_remark_is_fixed_answered_and_resolved(
    opening: Opening,
) {
    let arena = opening.plays(Judge::objects());
    let ended = arena.flies("github");
    let remark = &ended.document["record"]["remarks"][0];
    let id = &remark["comment"]["id"];
    let commits = ["Greet by name", "Fix round 1: two is wrong"];
    ended_as(&ended, "succeeded", "approved", 12, &commits);
    let head = arena.published("greet-by-name");
    assert_eq!(
        arena.seen().texts,
        [
            "[CORRECTNESS REVIEW - NEEDS CHANGES]\n\n1 inline comment",
            "**blocker** two is wrong",
            &format!("Fixed in {}.", &head[..10]),
        ]
    );
    assert_eq!(arena.seen().rows, APPROVED);
    assert_eq!(
        (&remark["file"], &remark["line"], &remark["commit"]),
        (&json!("greet.txt"), &json!(2), &json!(head))
    );
    assert!(arena.is_resolved(remark));
    assert!(arena.seen().is_ready);
    let body = arena.seen().body;
    let told = format!("- comment {id}: resolved in {}", &head[..10]);
    assert!(body.contains(&told), "{body}");
    if let Some(simulator) = &arena.simulator {
        assert_eq!(
            simulator.statuses(REPO, &head),
            [("drive/review".to_owned(), "success".to_owned())]
        );
    }
}
