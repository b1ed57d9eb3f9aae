//! Tests what `drive cruise run` refuses or warns about before it starts.

use crate::cruise::crew::{APPROVES, PRIMARY};
use crate::stage::Stage;
use std::fs;

#[test]
fn tasks_that_a_person_must_approve_need_pull_requests_of_their_own() {
    let stage = Stage::new(PRIMARY, APPROVES);
    let settings = fs::read_to_string(stage.path("repo/drive.toml")).unwrap();
    fs::write(
        stage.path("repo/drive.toml"),
        format!("[cruise]\napprove_tasks = true\n{settings}"),
    )
    .unwrap();
    let ended = stage.drive(&["cruise", "run", "x"]);
    let failure = &ended.document["failure"];
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(
        failure["message"], "`cruise.approve_tasks` needs a pull request for each task",
        "{ended:?}"
    );
    let unknown = stage.drive(&["cruise", "run", "x", "--pr-strategy", "batch"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert_eq!(stage.git(&["branch", "--list"]), "* main");
}

#[test]
fn a_cruise_warns_of_a_missing_token_and_of_uncommitted_changes() {
    let stage = Stage::new(PRIMARY, APPROVES);
    let settings = fs::read_to_string(stage.path("repo/drive.toml")).unwrap();
    let settings = settings.replace("kind = \"local\"", "kind = \"auto\"");
    fs::write(stage.path("repo/drive.toml"), settings).unwrap();
    let origin = "https://github.com/acme/widgets.git";
    stage.git(&["remote", "add", "origin", origin]);
    let output = stage
        .command(env!("CARGO_BIN_EXE_drive"))
        .args([
            "cruise",
            "run",
            "--plan-only",
            "Add user auth",
            "--auto-approve",
        ])
        .env_remove("GITHUB_TOKEN")
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let warnings: Vec<&str> = stderr
        .lines()
        .filter(|line| line.starts_with("warning: "))
        .collect();
    let repo = stage.path("repo");
    assert_eq!(
        warnings,
        [
            "warning: no GitHub token for `acme/widgets`, so pull requests go to the local forge on \
             this machine; set `GITHUB_TOKEN` or run `gh auth login`",
            // The settings themselves.
            &format!(
                "warning: 1 uncommitted change in {} is not part of this run",
                repo.display()
            ),
        ]
    );
}
