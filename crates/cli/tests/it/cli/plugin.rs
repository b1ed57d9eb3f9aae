//! Tests that the slash commands under `commands` use existing drive commands and options.

use crate::cli::support::World;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const COMMANDS: [&str; 11] = [
    "approve",
    "cruise",
    "cruise-cleanup",
    "cruise-fix",
    "cruise-resume",
    "logs",
    "spawn",
    "spawn-team",
    "status",
    "stop",
    "verify",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A command file.
struct Slash {
    front: BTreeMap<String, String>,
    body: String,
}

impl Slash {
    fn load(name: &str) -> Self {
        let path = root().join(format!("commands/{name}.md"));
        let text = fs::read_to_string(path).unwrap();
        let (front, body) = text
            .strip_prefix("---\n")
            .and_then(|rest| rest.split_once("\n---\n"))
            .unwrap_or_else(|| panic!("`{name}` has no front matter"));
        let pairs = front.lines().map(|line| {
            let (key, value) = line.split_once(": ").unwrap();
            (key.to_owned(), value.trim().to_owned())
        });
        Self {
            front: pairs.collect(),
            body: body.to_owned(),
        }
    }

    /// The drive commands that it may run, with its main one first.
    fn allowed(&self) -> Vec<String> {
        let rules = self.front["allowed-tools"].split(", ");
        let command = |rule: &str| {
            let inner = rule.strip_prefix("Bash(drive ")?.strip_suffix(":*)")?;
            Some(inner.to_owned())
        };
        rules
            .map(|rule| command(rule).unwrap_or_else(|| panic!("`{rule}` lets more through")))
            .collect()
    }

    /// Each piece of code in its body: the lines of its blocks, and text in backticks.
    fn code(&self) -> Vec<&str> {
        let mut pieces = Vec::new();
        for (index, part) in self.body.split("```").enumerate() {
            if index % 2 == 1 {
                pieces.extend(part.lines().skip(1));
            } else {
                pieces.extend(part.split('`').skip(1).step_by(2));
            }
        }
        pieces
    }

    /// Every drive command in it, with the options used.
    fn calls(&self) -> BTreeMap<String, BTreeSet<String>> {
        let allowed = self.allowed();
        let mut calls: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let hint = self.front["argument-hint"].as_str();
        let hint = format!("drive {} {hint}", allowed[0]);
        for piece in self.code().into_iter().chain([hint.as_str()]) {
            let command = match piece.strip_prefix("drive ") {
                Some(rest) => command_words(rest),
                None => allowed[0].clone(),
            };
            let named = calls.entry(command).or_default();
            named.extend(options(piece));
        }
        for command in allowed {
            calls.entry(command).or_default();
        }
        calls
    }
}

/// The words before the first option or argument.
fn command_words(rest: &str) -> String {
    let is_word = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
    };
    let words: Vec<&str> = rest.split_whitespace().take_while(is_word).collect();
    words.join(" ")
}

fn options(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .filter(|word| word.starts_with("--") && word.len() > 2)
        .map(str::to_owned)
}

#[test]
fn each_slash_command_names_a_command_and_options_that_exist() {
    let world = World::new();
    let has_cruise = world.drive(&["cruise", "--help"]).code == Some(0);
    for name in COMMANDS {
        let slash = Slash::load(name);
        assert!(slash.body.contains("$ARGUMENTS"), "{name}");
        for (command, named) in slash.calls() {
            if command.starts_with("cruise") && !has_cruise {
                continue;
            }
            let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
            let help = world.drive(&words);
            let usage = format!("Usage: drive {command}");
            assert!(
                help.code == Some(0) && help.stdout.contains(&usage),
                "commands/{name}.md names `drive {command}`, which does not exist"
            );
            let known: BTreeSet<String> = options(&help.stdout).collect();
            let unknown: Vec<&String> = named.difference(&known).collect();
            assert!(
                unknown.is_empty(),
                "commands/{name}.md gives `drive {command}` the options {unknown:?}, which it does not have"
            );
        }
    }
}

#[test]
fn each_slash_command_runs_what_it_is_for_and_may_run_all_it_names() {
    for name in COMMANDS {
        let slash = Slash::load(name);
        let allowed = slash.allowed();
        let own = match name {
            "cruise" => "cruise run".to_owned(),
            "approve" => "cruise approve".to_owned(),
            "logs" => "runs logs".to_owned(),
            "status" => "cruise status".to_owned(),
            "stop" => "runs stop".to_owned(),
            name => name.replacen("cruise-", "cruise ", 1),
        };
        assert_eq!(allowed[0], own);
        for command in slash.calls().keys() {
            assert!(
                allowed.contains(command),
                "commands/{name}.md names `drive {command}` and may not run it"
            );
        }
        let keys: Vec<&str> = slash.front.keys().map(String::as_str).collect();
        assert_eq!(keys, ["allowed-tools", "argument-hint", "description"]);
        assert!(slash.front.values().all(|value| !value.is_empty()));
    }
}

#[test]
fn the_plugin_is_what_the_package_is() {
    let load = |name: &str| -> Value {
        let text = fs::read_to_string(root().join(".claude-plugin").join(name)).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let plugin = load("plugin.json");
    assert_eq!(
        [&plugin["name"], &plugin["version"], &plugin["license"]],
        [
            // Its commands are `/drive:spawn` and so on.
            "drive",
            env!("CARGO_PKG_VERSION"),
            env!("CARGO_PKG_LICENSE")
        ]
    );
    let listed = &load("marketplace.json")["plugins"][0];
    assert_eq!(
        (&listed["name"], &listed["source"]),
        (&plugin["name"], &"./".into())
    );
    let names = fs::read_dir(root().join("commands")).unwrap();
    let mut names: Vec<String> = names
        .map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".md").unwrap().to_owned()
        })
        .collect();
    names.sort();
    assert_eq!(names, COMMANDS);
}
