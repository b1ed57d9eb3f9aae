//! Tests which domains review, and how their answers count, on either forge.

use crate::stage::{APPROVES, Ended, PRIMARY, TASK};
use crate::team::arena::{Arena, on_both_forges};
use serde_json::{Value, json};
use std::fs;

on_both_forges!(
    a_domain_of_the_projects_own_is_asked_its_file,
    a_domain_without_its_file_is_refused,
    a_domain_that_does_not_apply_is_shown_as_that,
    a_finding_below_the_least_confidence_does_not_block,
    security_findings_are_counted_in_the_document_and_in_the_record,
);

const OWN: &str = "domains = [\"Correctness\", \"ScreenReaders\"]";

/// Adds a line to `[review]`.
fn settle(arena: &Arena, line: &str) {
    let path = arena.stage.path("repo/drive.toml");
    let settings = fs::read_to_string(&path).unwrap();
    let changed = settings.replace("refute = false", &format!("refute = false\n{line}"));
    assert_ne!(changed, settings);
    fs::write(path, changed).unwrap();
}

/// The reviewer of this domain gives this answer until the file is fixed; all others approve.
fn answers_in(arena: &Arena, domain: &str, answer: &Value) -> String {
    arena.stage.script("says", &format!("{answer}\n"));
    let says = arena.stage.path("agents/says");
    format!(
        "if [ \"$DRIVE_DOMAIN\" = {domain} ] && ! grep -q fixed greet.txt; then\n\
         cat > /dev/null; cat {says:?}; exit\nfi\n{APPROVES}"
    )
}

fn fixers(ended: &Ended) -> usize {
    let jobs = ended.document["record"]["jobs"].as_array().unwrap();
    jobs.iter().filter(|job| job["role"] == "fixer").count()
}

fn a_domain_of_the_projects_own_is_asked_its_file(arena: Arena) {
    settle(&arena, OWN);
    let prompts = arena.stage.path("repo/.drive/prompts");
    fs::create_dir_all(&prompts).unwrap();
    let asked = "Look for pictures without a text.";
    fs::write(prompts.join("domain-ScreenReaders.md"), asked).unwrap();
    // Only the reviewer of that domain is asked this, and approves because of it.
    let reviewer = format!(
        "prompt=$(cat)\nis_asked=no\ncase \"$prompt\" in *'{asked}'*) is_asked=yes;; esac\n\
         case \"$DRIVE_DOMAIN/$is_asked\" in ScreenReaders/yes | Correctness/no)\n\
         echo '{{\"verdict\": \"approved\"}}';; esac\n"
    );
    let ended = arena.team("github", PRIMARY, &reviewer);
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    let rows = [
        "[CORRECTNESS REVIEW - APPROVED]",
        "[SCREEN READERS REVIEW - APPROVED]",
    ];
    assert_eq!(arena.seen().rows, rows);
}

fn a_domain_without_its_file_is_refused(arena: Arena) {
    settle(&arena, OWN);
    arena.cast(PRIMARY, APPROVES);
    let ended = arena.stage.drive(&["spawn-team", TASK]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let failure = &ended.document["failure"];
    assert_eq!(failure["kind"], "domainWithoutPrompt", "{ended:?}");
    let hint = failure["hint"].as_str().unwrap();
    assert!(
        hint.contains(".drive/prompts/domain-ScreenReaders.md"),
        "{hint}"
    );
    assert!(arena.look().is_none());
}

fn a_domain_that_does_not_apply_is_shown_as_that(arena: Arena) {
    let answer = json!({"verdict": "not_applicable"});
    let reviewer = answers_in(&arena, "Security", &answer);
    let ended = arena.team("github", PRIMARY, &reviewer);
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    let seen = arena.seen();
    let row = "[SECURITY REVIEW - NOT APPLICABLE]".to_owned();
    assert!(seen.rows.contains(&row), "{:?}", seen.rows);
    let told = "5 of 6 domains approved (1 did not apply)";
    assert!(seen.body.contains(told), "{}", seen.body);
}

fn a_finding_below_the_least_confidence_does_not_block(arena: Arena) {
    settle(&arena, "min_confidence = 90");
    let found = json!({"file": "greet.txt", "line": 2, "issue": "two is wrong", "confidence": 89});
    let answer = json!({"verdict": "needs_changes", "suggestions": [found]});
    let reviewer = answers_in(&arena, "Security", &answer);
    let ended = arena.team("github", PRIMARY, &reviewer);
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    assert_eq!(fixers(&ended), 0, "{ended:?}");
    let listed = "- `greet.txt` line 2: **major** (89 % sure) two is wrong";
    assert_eq!(
        arena.seen().texts,
        [format!("[SECURITY REVIEW - APPROVED]\n\n{listed}")]
    );
}

fn security_findings_are_counted_in_the_document_and_in_the_record(arena: Arena) {
    let found = [
        json!({"file": "greet.txt", "line": 1, "issue": "the password is logged"}),
        json!({"file": "greet.txt", "line": 3, "issue": "a header is missing", "severity": "minor"}),
    ];
    let answer = json!({"verdict": "needs_changes", "suggestions": found});
    let reviewer = answers_in(&arena, "Security", &answer);
    let ended = arena.team("github", PRIMARY, &reviewer);
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    assert_eq!(
        ended.document["record"]["securityFindings"],
        json!({"blocker": 0, "major": 1, "minor": 1})
    );
    let body = arena.seen().body;
    let told = "Security findings: blocker 0, major 1, minor 1";
    assert!(body.contains(told), "{body}");
}
