//! Tests project rules that the compiler cannot check.

use crate::module_graph::modules;
use std::fs;
use std::path::{Path, PathBuf};

/// Code with which text makes a decision.
const DECIDES: [&str; 5] = [
    "starts_with(\"",
    "strip_prefix(\"",
    "ends_with(\"",
    "== \"",
    "!= \"",
];

/// Where text may make a decision, and why: file of the flow, part of the line, reason.
const MAY_DECIDE: [(&str, &str, &str); 1] = [(
    "phase::opinion",
    "part != \"..\"",
    "a path that an agent wrote is text, and this is what leads out of a folder",
)];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn no_text_decides_in_the_flow_of_a_run() {
    let flow = crates().join("core/src/run/flow");
    let mut found = Vec::new();
    let mut allowed = 0;
    for (module, text) in modules(&flow) {
        let name = module.join("::");
        if module.last().is_some_and(|last| last.contains("text")) {
            continue;
        }
        for line in text.lines() {
            let decides = DECIDES.iter().any(|one| line.contains(one));
            let mut reasons = MAY_DECIDE.iter();
            let is_allowed = reasons.any(|(file, part, _)| *file == name && line.contains(part));
            allowed += usize::from(decides && is_allowed);
            if decides && !is_allowed {
                found.push(format!("{name}: {}", line.trim()));
            }
        }
    }
    let advice = "store what decides as a type, or name it with a reason in `MAY_DECIDE`";
    assert!(found.is_empty(), "{advice}:\n{}", found.join("\n"));
    assert_eq!(allowed, MAY_DECIDE.len(), "an exception is not needed");
}

#[test]
fn production_code_parses_the_ids_of_commits() {
    let mut found = Vec::new();
    for entry in fs::read_dir(crates()).unwrap() {
        let folder = entry.unwrap().path();
        if folder.ends_with("testkit") {
            continue;
        }
        for (module, text) in modules(&folder.join("src")) {
            let is_test = module.last().is_some_and(|last| last.ends_with("_tests"));
            if !is_test && text.contains("CommitSha::new") {
                found.push(format!("{}: {}", folder.display(), module.join("::")));
            }
        }
    }
    let advice = "`CommitSha::new` takes any text; use `CommitSha::parse`";
    assert!(found.is_empty(), "{advice}:\n{}", found.join("\n"));
}

#[test]
fn what_decides_about_a_run_is_stored_nowhere() {
    let stores = |text: &str| {
        let parts = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        let mut names = parts.filter(|part| ["Serialize", "Deserialize", "serde"].contains(part));
        names.next().is_some()
    };
    let modules_of = |part: &str| modules(&crates().join("core/src/run").join(part));
    let flow = modules_of("flow");
    assert!(flow.len() > 60, "only {} modules were found", flow.len());
    for (module, text) in &flow {
        assert!(!stores(text), "`flow::{}` stores data", module.join("::"));
    }
    // The control: what is stored is found.
    assert!(modules_of("model").values().any(|text| stores(text)));
}
