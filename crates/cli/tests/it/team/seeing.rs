//! What a reviewer sees of a change.

use crate::stage::{PRIMARY, Stage, TASK, said};

/// Approves if its prompt has each of these lines, and objects with the first one that is missing.
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

#[test]
fn a_lock_file_of_300_kib_hides_no_source_file_from_the_reviewer() {
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
    let stage = Stage::new(&makes(&format!("{lock}; {sources}")), &reviewer);
    let ended = stage.drive(&[
        "spawn-team",
        TASK,
        "--mode",
        "pingpong",
        "--max-iterations",
        "1",
    ]);
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
}

#[test]
fn a_finding_on_a_line_that_the_reviewer_was_not_shown_stands_on_its_line() {
    let finding = r#"{"file": "large.rs", "line": 18000, "issue": "this line"}"#;
    let reviewer = format!(
        "cat > /dev/null\nif grep -q fixed greet.txt; then echo '{{\"verdict\": \"approved\"}}'\n\
         else echo '{{\"verdict\": \"needs_changes\", \"suggestions\": [{finding}]}}'; fi\n"
    );
    let stage = Stage::new(&makes("seq 100001 118000 > large.rs"), &reviewer);
    let ended = stage.team("github");
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
    let texts = said(&stage.pull_request());
    assert!(texts[0].ends_with("1 inline comment"), "{texts:?}");
    assert!(texts[1].starts_with("**major** this line"), "{texts:?}");
}

#[test]
fn a_command_agent_reviews_by_the_repositorys_rules_as_they_stand_at_the_base() {
    let reviewer = looks_for(&[
        "`AGENTS.md`:",
        "No panics.",
        "`CONTRIBUTING.md`:",
        "One topic.",
    ]);
    // The change itself adds a rule, which counts once it is merged.
    let reviewer = format!(
        "prompt=$(cat)\ncase \"$prompt\" in *'`CLAUDE.md`:'*) echo 'the same text twice'; exit;; esac\n\
         printf '%s\\n' \"$prompt\" | sh -c '{}'\n",
        reviewer.replace('\'', "'\\''")
    );
    let stage = Stage::new(&makes("echo 'New rule.' >> CONTRIBUTING.md"), &reviewer);
    for (name, text) in [
        ("AGENTS.md", "No panics.\n"),
        ("CLAUDE.md", "No panics.\n"),
        ("CONTRIBUTING.md", "One topic.\n"),
    ] {
        std::fs::write(stage.path("repo").join(name), text).unwrap();
        stage.git(&["add", name]);
    }
    stage.git(&["commit", "--quiet", "--message=Rules"]);
    let ended = stage.drive(&[
        "spawn-team",
        TASK,
        "--mode",
        "pingpong",
        "--max-iterations",
        "1",
    ]);
    assert_eq!(ended.document["verdict"], "approved", "{ended:?}");
}
