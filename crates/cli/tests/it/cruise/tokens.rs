//! Tests a cruise that outlives its first token.

use crate::cruise::crew::{REPO, fixes, github, kill, status, until, until_quiet};
use crate::stage::Stage;
use drive_testkit::github::Simulator;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Configures a program in the user's own settings that prints the content of `token`.
fn with_command(stage: &Stage, token: &str) {
    let (program, file) = (stage.path("print-token"), stage.path("token"));
    fs::write(&file, token).unwrap();
    fs::write(&program, format!("#!/bin/sh\ncat {file:?}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let folder = stage.path("home/.config/infinite-improbability-drive");
    fs::create_dir_all(&folder).unwrap();
    let settings = format!("[forge]\ntoken_command = [{program:?}]\n");
    fs::write(folder.join("config.toml"), settings).unwrap();
}

fn replace(simulator: &Simulator, stage: &Stage, old: &str, new: &str) {
    simulator.add_token(new, "drive-bot");
    fs::write(stage.path("token"), new).unwrap();
    simulator.revoke_token(old);
}

#[test]
fn a_cruise_outlives_its_tokens_and_answers_each_comment_once() {
    let (simulator, stage) = github("200ms");
    with_command(&stage, "ghs_first");
    simulator.add_token("ghs_first", "drive-bot");
    simulator.revoke_token(Simulator::TOKEN);
    let owner = stage.start(&["cruise", "run", "--plan-only", "Add user auth"]);
    until("the pull request", || status(&stage)["prNumber"] == 1);
    until_quiet(&stage, 0);
    // Once while nothing happens, and once while the fixer works.
    replace(&simulator, &stage, "ghs_first", "ghs_second");
    simulator.comment(REPO, "ann", 1, "Who owns the login?");
    until_quiet(&stage, 1);
    simulator.comment(REPO, "ann", 1, "Please wait, then say why.");
    let sandbox = crate::cruise::crew::sandbox(&stage);
    until("the fixer", || sandbox.join(".cruise/waits").exists());
    replace(&simulator, &stage, "ghs_second", "ghs_third");
    fs::write(sandbox.join(".cruise/go"), "").unwrap();
    until_quiet(&stage, 2);
    kill(owner);
    let said = simulator.conversation(REPO, 1);
    assert_eq!(fixes(said.clone()).len(), 2, "{said:#?}");
    assert!(said.iter().all(|text| !text.contains("ghs_")), "{said:#?}");
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
}

#[test]
fn a_token_that_cannot_be_renewed_is_told_once_and_the_cruise_waits() {
    let (simulator, stage) = github("200ms");
    let owner = stage.start(&["cruise", "run", "--plan-only", "Add user auth"]);
    until("the pull request", || status(&stage)["prNumber"] == 1);
    until_quiet(&stage, 0);
    simulator.revoke_token(Simulator::TOKEN);
    until("the trouble", || {
        let now = status(&stage);
        let waits = now["waitingFor"].as_str().unwrap_or_default();
        waits.contains("does not accept the token from `GITHUB_TOKEN`")
    });
    // The same account is valid again, and the cruise continues.
    simulator.add_token(Simulator::TOKEN, "drive-bot");
    simulator.comment(REPO, "ann", 1, "Who owns the login?");
    until_quiet(&stage, 1);
    signal(&owner);
    let output = owner.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let times = told.matches("does not accept the token").count();
    assert_eq!(times, 1, "{told}");
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
}

fn signal(owner: &std::process::Child) {
    let pid = rustix::process::Pid::from_child(owner);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
}
