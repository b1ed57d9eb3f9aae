//! Tests what happens to a reviewer's suggestions and to findings that existed before, on either forge.

use crate::stage::{APPROVES, PRIMARY};
use crate::team::arena::{Arena, REPO, on_both_forges};
use serde_json::json;

on_both_forges!(
    findings_are_suggested_set_apart_and_measured,
    code_for_several_lines_is_suggested_on_all_of_them,
);

fn findings_are_suggested_set_apart_and_measured(arena: Arena) {
    let answer = json!({"verdict": "needs_changes", "suggestions": [
        {"file": "greet.txt", "line": 2, "issue": "two is wrong", "replacement": "  2 @ann"},
        {"file": "README.md", "line": 1, "issue": "a typo", "preExisting": true},
        {"file": "greet.txt", "line": 3, "issue": "not older", "preExisting": true, "severity": "minor"},
    ]});
    arena
        .stage
        .script("says", &format!("```json\n{answer}\n```\n"));
    let says = arena.stage.path("agents/says");
    let reviewer = format!(
        "if [ \"$DRIVE_DOMAIN\" = Correctness ] && ! grep -q fixed greet.txt; then\n\
         cat {says:?}; exit\nfi\n{APPROVES}"
    );
    let strays = PRIMARY.replace("fixer)", "fixer) echo more > beyond.txt;");
    assert_ne!(strays, PRIMARY);
    arena.cast(&strays, &reviewer);
    let ended = arena.flies("github");
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    let seen = arena.seen();
    assert_eq!(
        &seen.texts[..2],
        [
            "[CORRECTNESS REVIEW - NEEDS CHANGES]\n\n1 inline comment\n\n\
             - `greet.txt` line 3: **minor** not older\n\n\
             Existed before this change, and does not block it:\n\n\
             - `README.md` line 1: **major** a typo",
            "**major** two is wrong\n\n```suggestion\n  2 @ann\n```",
        ]
    );
    let outcome = seen.body.lines().nth(1).unwrap();
    assert!(outcome.starts_with("**Approved** at `"), "{}", seen.body);
    assert!(
        outcome.ends_with("`: 6 of 6 domains approved, after 1 fix round."),
        "{outcome}"
    );
    let record = &ended.document["record"];
    let mut reviews = record["reviews"].as_array().unwrap().iter();
    let review = reviews.find(|one| one["domain"] == "Correctness").unwrap();
    assert_eq!(review["suggestions"][1]["preExisting"], true, "{review}");
    assert_eq!(review["resolution"]["findings"], 2, "{review}");
    let outside = &record["rounds"][0]["outside"];
    assert_eq!(
        *outside,
        json!([{"file": "beyond.txt", "line": 1, "lines": 1}]),
        "{record}"
    );
    let stats = arena.stage.drive(&["stats"]);
    assert_eq!(stats.document["schema"], "drive.stats/1", "{stats:?}");
    assert_eq!(stats.document["runs"], 1);
    let rows = stats.document["reviewers"].as_array().unwrap();
    let row = rows.iter().find(|row| row["domain"] == "Correctness");
    let row = row.unwrap();
    assert_eq!(
        (
            &row["reviews"],
            &row["findings"],
            &row["measured"],
            &row["rounds"]
        ),
        (&json!(2), &json!(3), &json!(2), &json!(1)),
        "{row}"
    );
    assert_eq!(row["resolved"], review["resolution"]["resolved"]);
    for (since, runs) in [("1h", 1), ("2020-01-31", 1), ("2900-01-01", 0), ("0s", 0)] {
        let stats = arena.stage.drive(&["stats", "--since", since]);
        assert_eq!(stats.document["runs"], runs, "{since} {stats:?}");
    }
    let refused = arena.stage.drive(&["stats", "--since", "yesterday"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert_eq!(refused.document["kind"], "usage", "{refused:?}");
    assert_eq!(
        refused.document["hint"],
        "pass a date (`--since 2026-11-01`) or a length of time (`--since 7d`)"
    );
}

fn code_for_several_lines_is_suggested_on_all_of_them(arena: Arena) {
    let found = json!({"file": "greet.txt", "line": 1, "endLine": 2, "issue": "too long",
        "replacement": "one, two"});
    let answer = json!({"verdict": "needs_changes", "suggestions": [found]});
    arena.stage.script("says", &answer.to_string());
    let says = arena.stage.path("agents/says");
    let reviewer = format!(
        "if [ \"$DRIVE_DOMAIN\" = Correctness ] && ! grep -q fixed greet.txt; then\n\
         cat {says:?}; exit\nfi\n{APPROVES}"
    );
    let ended = arena.team("github", PRIMARY, &reviewer);
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    assert_eq!(
        arena.seen().texts[1],
        "**major** too long\n\nLines 1 to 2 become:\n\n```suggestion\none, two\n```"
    );
    if let Some(simulator) = &arena.simulator {
        assert_eq!(simulator.commented_lines(REPO, 1)[0], (Some(1), 2));
    }
}
