//! Tests that the README's requirements match what the manifest and `drive doctor` enforce.

use crate::cli::support::World;
use std::fs;
use std::path::Path;

fn read(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(name)).unwrap()
}

/// The row of the README's requirements that begins with this cell.
fn requirement(what: &str) -> String {
    let readme = read("README.md");
    let start = format!("| {what}");
    let row = readme.lines().find(|line| line.starts_with(&start));
    row.unwrap_or_else(|| panic!("README.md has no requirement `{what}`"))
        .to_owned()
}

#[test]
fn the_required_rust_is_the_manifests() {
    let manifest = read("Cargo.toml");
    let version = manifest
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = "))
        .unwrap()
        .trim_matches('"');
    let row = requirement("Rust");
    assert!(row.contains(&format!("{version} or newer")), "{row}");
}

#[test]
fn the_required_git_is_what_the_doctor_asks_for() {
    let world = World::new();
    // Without git, the doctor names the version to install.
    let mut command = world.command(&["doctor", "--json"]);
    let ended = crate::cli::support::ended(command.env("PATH", world.home()));
    let document = ended.document();
    let checks = document["checks"].as_array().unwrap();
    let git = checks.iter().find(|check| check["name"] == "git").unwrap();
    let hint = git["hint"].as_str().unwrap();
    let asked = hint.strip_prefix("install git ").unwrap();
    let row = requirement("git");
    assert!(row.contains(asked), "{row} lacks `{asked}`");
}

#[test]
fn the_first_screen_says_what_a_cruise_does() {
    let readme = read("README.md");
    let first: String = readme.split("\n## ").next().unwrap().to_owned();
    for fact in [
        "**For whom.**",
        "**Why not plain Claude Code with worktrees?**",
        "**What a cruise does today.**",
        "A comment\nthat is written while it builds amends the plan",
        "| Linux |",
    ] {
        assert!(first.contains(fact), "the first screen lacks `{fact}`");
    }
}
