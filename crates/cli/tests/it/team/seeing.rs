//! Tests what a reviewer sees of a change, on either forge.

use crate::stage::{Ended, PRIMARY, TASK};
use crate::team::arena::{Arena, on_both_forges};
use std::collections::BTreeSet;
use std::fs;

on_both_forges!(
    a_lock_file_of_300_kib_hides_no_source_file_from_the_reviewer,
    a_change_over_the_bound_is_reviewed_in_parts_that_show_every_line,
    a_finding_on_the_last_line_of_a_long_file_stands_on_its_line,
    a_command_agent_reviews_by_the_repositorys_rules_as_they_stand_at_the_base,
);

/// Approves if its prompt contains each of these lines; otherwise objects with the first missing one.
fn looks_for(lines: &[&str]) -> String {
    let lines = lines.join("\n");
    format!(
        "prompt=$(cat)\nwhile IFS= read -r line; do\n\
         printf '%s\\n' \"$prompt\" | grep -qxF -- \"$line\" && continue\n\
         printf '{{\"verdict\": \"needs_changes\", \"suggestions\": [{{\"issue\": \"no %s\"}}]}}\\n' \"$line\"\n\
         exit\ndone <<'END'\n{lines}\nEND\necho '{{\"verdict\": \"approved\"}}'\n"
    )
}

/// A primary whose coder runs these commands.
fn makes(commands: &str) -> String {
    PRIMARY.replace("coder)", &format!("coder) {commands};"))
}

/// Runs one review of everything.
fn reviewed_once(arena: &Arena, primary: &str, reviewer: &str) -> Ended {
    arena.cast(primary, reviewer);
    let args = ["--mode", "pingpong", "--max-iterations", "1"];
    let ended = arena
        .stage
        .drive(&[&["spawn-team", TASK], &args[..]].concat());
    arena.checked(ended)
}

fn a_lock_file_of_300_kib_hides_no_source_file_from_the_reviewer(arena: Arena) {
    let sources = "mkdir src; for f in a m z; do echo \"fn $f\" > src/$f.rs; done";
    let lock = "seq 100001 144000 > Cargo.lock; seq 100001 144000 > package-lock.json";
    let reviewer = looks_for(&[
        "6 files changed, +88006 -0",
        "Cargo.lock +44000 -0 (lock file: not shown; read the file)",
        "package-lock.json +44000 -0 (lock file: not shown; read the file)",
        "src/m.rs +1 -0",
        "+fn a",
        "+fn m",
        "+fn z",
        "+two",
    ]);
    let primary = makes(&format!("{lock}; {sources}"));
    let ended = reviewed_once(&arena, &primary, &reviewer);
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
}

/// Each reviewer writes the lines that it was shown into a file with the number of its part.
fn a_change_over_the_bound_is_reviewed_in_parts_that_show_every_line(arena: Arena) {
    arena.stage.unconfine();
    let seen = arena.stage.path("agents/seen");
    fs::create_dir(&seen).unwrap();
    let lists = looks_for(&[
        "6 files changed, +94006 -0",
        "Cargo.lock +44000 -0 (lock file: not shown; read the file)",
        "greet.txt +3 -0 (part 1)",
        "src/large.rs +50000 -0 (parts 1 to 4)",
        "src/z.rs +1 -0 (part 4)",
    ]);
    let lists = lists.replacen("prompt=$(cat)\n", "", 1);
    let reviewer = format!(
        "prompt=$(cat)\n\
         part=$(printf '%s\\n' \"$prompt\" | grep -o 'you review part [0-9]* of [0-9]*')\n\
         printf '%s\\n' \"$prompt\" | grep '^+[0-9a-z]' > {seen:?}/\"$part\"\n{lists}"
    );
    let sources = "mkdir src; for f in a m z; do echo \"fn $f\" > src/$f.rs; done";
    let large = "seq 100001 150000 > src/large.rs; seq 100001 144000 > Cargo.lock";
    let ended = reviewed_once(&arena, &makes(&format!("{sources}; {large}")), &reviewer);
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    let reviews = ended.document["record"]["reviews"].as_array().unwrap();
    assert_eq!(reviews.len(), 1, "{ended:?}");
    let (mut parts, mut lines) = (BTreeSet::new(), Vec::new());
    for entry in fs::read_dir(&seen).unwrap() {
        let path = entry.unwrap().path();
        parts.insert(path.file_name().unwrap().to_string_lossy().into_owned());
        let text = fs::read_to_string(path).unwrap();
        lines.extend(text.lines().map(str::to_owned));
    }
    let told = (1..=4).map(|part| format!("you review part {part} of 4"));
    assert_eq!(parts, told.collect());
    let words = ["one", "two", "three", "fn a", "fn m", "fn z"];
    let mut written: Vec<String> = words.iter().map(|word| format!("+{word}")).collect();
    written.extend((100_001..=150_000).map(|number| format!("+{number}")));
    lines.sort_unstable();
    written.sort_unstable();
    assert_eq!(lines, written);
}

/// There are two parts, and only one of them shows the line.
fn a_finding_on_the_last_line_of_a_long_file_stands_on_its_line(arena: Arena) {
    let finding = r#"{"file": "large.rs", "line": 18000, "issue": "this line"}"#;
    let reviewer = format!(
        "cat > /dev/null\nif grep -q fixed greet.txt; then echo '{{\"verdict\": \"approved\"}}'\n\
         else echo '{{\"verdict\": \"needs_changes\", \"suggestions\": [{finding}]}}'; fi\n"
    );
    let ended = arena.team("github", &makes("seq 100001 118000 > large.rs"), &reviewer);
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    let texts = arena.seen().texts;
    assert!(texts[0].ends_with("1 inline comment"), "{texts:?}");
    assert!(texts[1].starts_with("**major** this line"), "{texts:?}");
}

fn a_command_agent_reviews_by_the_repositorys_rules_as_they_stand_at_the_base(arena: Arena) {
    let reviewer = looks_for(&[
        "`AGENTS.md`:",
        "No panics.",
        "`CONTRIBUTING.md`:",
        "One topic.",
    ]);
    // The change itself adds a rule, which counts only after it is merged.
    let reviewer = format!(
        "prompt=$(cat)\ncase \"$prompt\" in *'`CLAUDE.md`:'*) echo 'the same text twice'; exit;; esac\n\
         printf '%s\\n' \"$prompt\" | sh -c '{}'\n",
        reviewer.replace('\'', "'\\''")
    );
    for (name, text) in [
        ("AGENTS.md", "No panics.\n"),
        ("CLAUDE.md", "No panics.\n"),
        ("CONTRIBUTING.md", "One topic.\n"),
    ] {
        arena.commit_to_base(name, text);
    }
    if arena.is_simulated() {
        arena.stage.git(&["fetch", "--quiet", "origin"]);
        let reset = ["reset", "--quiet", "--hard", "origin/main"];
        arena.stage.git(&reset);
    }
    let primary = makes("echo 'New rule.' >> CONTRIBUTING.md");
    let ended = reviewed_once(&arena, &primary, &reviewer);
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
}
