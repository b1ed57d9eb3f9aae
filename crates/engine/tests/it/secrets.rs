//! Tests that secrets are redacted in the journal and in posts, and are not pushed.

use crate::support::{FILE, FIXED, Scene, run_id, spawn_request, team_request};
use drive_core::agent::Role;
use drive_core::problem::Kind;
use drive_core::run::{OutcomeStatus, Run, waits_for_person};
use drive_core::secrets::SecretPolicy;
use drive_engine::fakes::AgentWork;
use drive_engine::ports::Store;

const SECRET: &str = "correct-horse-battery";

fn policy(allow: &[&str]) -> SecretPolicy {
    let allow: Vec<String> = allow.iter().map(|glob| (*glob).to_owned()).collect();
    SecretPolicy::new(&[SECRET.to_owned()], &allow).unwrap()
}

/// A coder that writes the fixed file, and the secret into this file.
fn scene(path: &'static str) -> Scene {
    let mut scene = Scene::new();
    scene.world.secrets = policy(&[]);
    scene.world.agents.script(Role::Coder, move |_| {
        AgentWork::answer("Done.")
            .write(FILE, FIXED)
            .write(path, &format!("one\nkey = {SECRET}\n"))
    });
    scene
}

fn ended(run: &Run) -> (OutcomeStatus, Option<Kind>) {
    let outcome = run.outcome.as_ref().unwrap();
    (outcome.status, outcome.failure.as_ref().map(|why| why.kind))
}

const HELD_BACK: (OutcomeStatus, Option<Kind>) =
    (OutcomeStatus::NeedsHuman, Some(Kind::SecretInCommit));

#[test]
fn a_spawn_does_not_push_a_secret_and_goes_on_once_its_file_is_allowed() {
    let mut scene = scene("key.txt");
    let run = scene.execute(spawn_request(&scene.world), None).unwrap();
    assert_eq!(ended(&run), HELD_BACK);
    let pushed = |scene: &Scene| {
        let branch = run.work.branch.clone().unwrap();
        scene.world.repository.remote_branch("origin", &branch)
    };
    assert_eq!(pushed(&scene), None);
    assert_eq!(scene.world.forge.pull_requests().len(), 0);
    let failure = run.outcome.as_ref().unwrap().failure.clone().unwrap();
    assert!(failure.message.contains("`key.txt:2`"), "{failure}");
    let wait = waits_for_person(&run).unwrap();
    for part in ["secrets.allow = [\"key.txt\"]", "drive runs resume"] {
        assert!(wait.contains(part), "{wait}");
    }

    scene.world.secrets = policy(&["key.*"]);
    let run = scene.resume(None).unwrap();
    assert_eq!(ended(&run), (OutcomeStatus::Succeeded, None));
    assert!(pushed(&scene).is_some());
}

#[test]
fn a_team_does_not_push_a_secret_that_a_later_commit_removes() {
    let mut scene = Scene::new();
    scene.world.secrets = policy(&[]);
    scene.world.agents.script(Role::Coder, |_| {
        AgentWork::answer("Done.")
            .write(FILE, FIXED)
            .write("key.txt", SECRET)
            .commit()
    });
    let first = scene.execute(team_request(&scene.world), None).unwrap();
    assert_eq!(ended(&first), HELD_BACK);
    // The next agent removes it, but the commit that contains it remains.
    let branch = first.work.branch.clone().unwrap();
    assert_eq!(
        scene.world.repository.remote_branch("origin", &branch),
        None
    );
    let run = scene.resume(None).unwrap();
    assert_eq!(ended(&run), HELD_BACK);
    assert_eq!(
        scene.world.repository.remote_branch("origin", &branch),
        None
    );
}

#[test]
fn a_secret_in_a_diff_a_subject_or_a_comment_reaches_no_journal_no_prompt_and_no_pull_request() {
    let mut scene = scene("key.txt");
    scene.world.secrets = policy(&["key.txt"]);
    let run = scene.execute(team_request(&scene.world), None).unwrap();
    assert_eq!(ended(&run), (OutcomeStatus::Succeeded, None));
    let turns = scene.world.agents.turns();
    let reviewers: Vec<_> = turns
        .iter()
        .filter(|turn| turn.role == Role::Reviewer)
        .collect();
    assert!(!reviewers.is_empty());
    for turn in reviewers {
        assert!(turn.prompt.contains("key = [redacted]"), "{}", turn.prompt);
        assert!(!turn.prompt.contains(SECRET), "{}", turn.prompt);
    }
    let journal = scene.world.store.journal(&run_id()).unwrap();
    let journal = format!("{journal:?}");
    assert!(journal.contains("key = [redacted]"));
    assert!(!journal.contains(SECRET));
    assert!(!scene.world.forge.pull_requests()[0].body.contains(SECRET));
}
