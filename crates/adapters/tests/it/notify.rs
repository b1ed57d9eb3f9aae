//! Tests `notify.command`: a program of the user that reads one document.

use drive_adapters::Environment;
use drive_adapters::notify::NotifyCommand;
use drive_adapters::process::BoundedRunner;
use drive_core::problem::{Kind, Problem};
use drive_engine::CancelToken;
use std::time::{Duration, Instant};

fn call(command: &[&str], deadline: Duration) -> Result<(), Problem> {
    let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
    let environment = Environment::from_pairs([("PATH", "/usr/bin:/bin"), ("CHANNEL", "ops")]);
    let command = NotifyCommand {
        command: &command,
        environment: &environment,
        runner: &BoundedRunner::new(),
        deadline,
    };
    command.call(b"{\"event\":\"done\"}\n".to_vec(), &CancelToken::new())
}

fn script(text: &str) -> Result<(), Problem> {
    call(&["/bin/sh", "-c", text], Duration::from_secs(20))
}

#[test]
fn a_program_reads_the_document_and_has_the_users_environment() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("told");
    script(&format!("cat > {file:?}; echo $CHANNEL >> {file:?}")).unwrap();
    let told = std::fs::read_to_string(file).unwrap();
    assert_eq!(told, "{\"event\":\"done\"}\nops\n");
    // A program that does not read it is fine as well.
    script("exit 0").unwrap();
}

#[test]
fn a_program_that_does_not_work_says_why() {
    let problem = script("echo one >&2; echo 'no such host' >&2; exit 6").unwrap_err();
    assert_eq!(problem.kind, Kind::NotifyFailed);
    assert_eq!(
        problem.message,
        "`notify.command` failed: exit code 6, no such host"
    );
    let problem = script("yes | head -c 1000000000").unwrap_err();
    assert_eq!(
        problem.message,
        "`notify.command` failed: it printed more than 1 MiB"
    );
    let problem = call(&["/nowhere/notify"], Duration::from_secs(20)).unwrap_err();
    assert_eq!(problem.kind, Kind::NotifyFailed);
    assert!(problem.message.contains("/nowhere/notify"), "{problem}");
}

#[test]
fn a_program_that_hangs_is_ended_at_its_deadline() {
    let start = Instant::now();
    let hangs = ["/bin/sh", "-c", "trap '' TERM; while :; do sleep 1; done"];
    let problem = call(&hangs, Duration::from_secs(1)).unwrap_err();
    assert_eq!(problem.kind, Kind::NotifyTimedOut);
    assert!(start.elapsed() < Duration::from_secs(15));
}
