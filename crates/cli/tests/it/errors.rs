//! Tests that the list of errors is complete: `docs/errors.md` is generated from the kinds, and each is used.
use drive_core::problem::Kind;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const DOCUMENT: &str = "docs/errors.md";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn document() -> String {
    let mut text = "# Errors\n\n\
        Every error has a kind. `--json` shows it as `failure.kind`, and scripts may rely on it. The exit code follows\n\
        from the kind: 1 the work did not succeed, 2 wrong usage or configuration, 3 the environment failed,\n\
        130 interrupted. This file is generated from `crates/core/src/problem/kind.rs`.\n"
        .to_owned();
    let mut area = "";
    for kind in Kind::ALL {
        if kind.area() != area {
            area = kind.area();
            text += &format!(
                "\n## {area}\n\n| kind | meaning | exit code | what to do |\n|---|---|---|---|\n"
            );
        }
        text += &format!(
            "| `{kind}` | {} | {} | {} |\n",
            kind.meaning(),
            kind.exit_code(),
            kind.what_to_do()
        );
    }
    text
}

#[test]
fn the_document_of_errors_lists_every_kind() {
    let path = root().join(DOCUMENT);
    let expected = document();
    if std::env::var_os("DRIVE_UPDATE_DOCS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "{DOCUMENT} is out of date; run this test with DRIVE_UPDATE_DOCS=1"
    );
}

#[test]
fn no_cell_of_the_table_of_errors_breaks_it() {
    for kind in Kind::ALL {
        for text in [kind.meaning(), kind.what_to_do()] {
            assert!(!text.contains(['|', '\n']), "{kind}: {text}");
        }
    }
}

/// Rust sources below a folder, without tests and fakes.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if name != "tests" {
                sources(&path, found);
            }
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") && !name.starts_with("fake")
        {
            found.push(path);
        }
    }
}

#[test]
fn every_kind_is_used_by_production_code() {
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        sources(&entry.unwrap().path().join("src"), &mut files);
    }
    let mut used = BTreeSet::new();
    for path in files
        .iter()
        .filter(|path| !path.ends_with("problem/kind.rs"))
    {
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for (at, found) in code.match_indices("Kind::") {
            // `ErrorKind::NotFound` belongs to another enum.
            if !code[..at].ends_with(|c: char| c.is_ascii_alphanumeric()) {
                let rest = &code[at + found.len()..];
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric());
                used.insert(rest[..end.unwrap_or(rest.len())].to_owned());
            }
        }
    }
    let unused: Vec<String> = Kind::ALL
        .iter()
        .map(|kind| format!("{kind:?}"))
        .filter(|name| !used.contains(name))
        .collect();
    assert!(unused.is_empty(), "no code reports these kinds: {unused:?}");
}

#[test]
fn every_command_that_an_error_advises_exists() {
    let mut commands = BTreeSet::new();
    for kind in Kind::ALL {
        let quoted = kind.what_to_do().split('`').skip(1).step_by(2);
        for command in quoted.filter_map(|piece| piece.strip_prefix("drive ")) {
            let is_name = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
            let words: Vec<&str> = command.split(' ').take_while(is_name).collect();
            commands.insert(words);
        }
    }
    assert!(commands.len() > 10, "only {commands:?}");
    for command in commands {
        let output = Command::new(env!("CARGO_BIN_EXE_drive"))
            .env_clear()
            .args(&command)
            .arg("--help")
            .output()
            .unwrap();
        assert!(output.status.success(), "there is no `drive {command:?}`");
    }
}
