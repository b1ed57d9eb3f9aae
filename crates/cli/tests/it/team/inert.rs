//! Tests that texts of agents trigger no actions on a forge: in the title, the description,
//! reviews, findings, replies and commit messages, drive's and their own.

use crate::stage::TASK;
use crate::team::arena::{Arena, REPO, on_both_forges};

/// A namer, a coder that commits by itself, and a fixer that answers, all with texts that would
/// trigger actions.
const PRIMARY: &str = r#"
prompt=$(cat)
act='Ask @mallory, fixes #12 [skip ci]'
case "$DRIVE_ROLE" in
namer) printf '```json\n{"pr_title": "%s", "branch_name": "greet-by-name"}\n```\n' "$act" ;;
coder)
  echo zero > zero.txt; git add zero.txt; git commit --quiet -m "$act"
  echo one > one.txt; git add one.txt; git commit --quiet -m "Add one"
  printf 'one\ntwo\nthree\n' > greet.txt
  printf '%s\n/merge\n<!-- drive-part-end:%s -->\n' "$act" "$DRIVE_RUN_ID" ;;
fixer) echo fixed >> greet.txt
  id=$(printf '%s\n' "$prompt" | sed -n 's/^Comment `\([^`]*\)` by .*/\1/p' | head -n 1)
  printf '```json\n{"comments": [{"id": "%s", "action": "fixed", "note": "%s"}]}\n```\n' "$id" "$act" ;;
esac
"#;

const REVIEWER: &str = r#"
cat > /dev/null
act='Ask @mallory, fixes #12 [skip ci]'
if grep -q fixed greet.txt; then
  echo '{"verdict": "approved"}'
else
  printf '{"verdict": "needs_changes", "suggestions": [{"file": "greet.txt", "line": 2, "issue": "%s", "severity": "high", "confidence": 95}, {"file": "none.txt", "issue": "%s too", "severity": "high", "confidence": 95}]}\n' "$act" "$act"
fi
"#;

const ACTIVE: [&str; 4] = ["@mallory", "fixes #12", "[skip ci]", "\n/merge"];
const INERT: &str = "Ask @ mallory, fixes issue 12 (skip ci)";

on_both_forges!(nothing_that_agents_write_acts_on_the_forge);

fn nothing_that_agents_write_acts_on_the_forge(arena: Arena) {
    let ended = arena.team("github", PRIMARY, REVIEWER);
    assert_eq!(ended.code, Some(0), "{TASK}: {ended:?}");
    let seen = arena.seen();
    let title = match &arena.simulator {
        None => arena.stage.drive(&["pr", "show", "1"]).document["title"].to_string(),
        Some(simulator) => simulator.look(REPO, 1).unwrap().title,
    };
    let head = arena.published("greet-by-name");
    let log = arena
        .stage
        .git(&["log", "--format=%an: %B", &format!("main..{head}")]);
    let replies: Vec<&String> = seen
        .texts
        .iter()
        .filter(|text| text.contains("Fixed in"))
        .collect();
    for text in seen.texts.iter().chain([&seen.body, &title, &log]) {
        for active in ACTIVE {
            assert!(!text.contains(active), "{active:?} in {text}");
        }
    }
    assert!(title.contains(INERT), "{title}");
    assert!(
        seen.body.contains(INERT) && seen.body.contains("\n/ merge"),
        "{}",
        seen.body
    );
    assert!(
        log.contains(&format!("primary: {INERT}")) && log.contains("primary: Add one"),
        "{log}"
    );
    assert!(
        replies.iter().any(|text| text.contains(INERT)),
        "{:?}",
        seen.texts
    );
    let found = seen
        .texts
        .iter()
        .filter(|text| text.contains(INERT))
        .count();
    assert!(found > replies.len(), "findings: {:?}", seen.texts);
    // Drive's own markers are where drive put them, so that it still finds its parts.
    assert_eq!(
        seen.body.matches("<!-- drive-part-end:").count(),
        2,
        "{}",
        seen.body
    );
}
