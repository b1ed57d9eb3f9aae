//! The same on GitHub, simulated.

use crate::crew::{APPROVES, PRIMARY, status, until, until_quiet};
use crate::stage::Stage;
use drive_adapters::SystemClock;
use drive_adapters::store::{Database, SqliteNudges};
use drive_core::forge::webhook::Nudge;
use drive_core::forge::{Permission, ReviewState};
use drive_engine::ports::Nudges;
use drive_testkit::github::Simulator;
use std::process::Child;
use std::sync::Arc;

const REPO: &str = "acme/widgets";

fn begin(pause: &str) -> (Simulator, Stage, Child) {
    let simulator = Simulator::start();
    simulator.add_repo("acme", "widgets");
    simulator.add_person(REPO, "ann", Permission::Write);
    let settings = format!(
        "[cruise]\npoll_initial = {pause:?}\npoll_max = {pause:?}\n\
         [forge]\nkind = \"github\"\nrepo = {REPO:?}\napi_url = {:?}\n",
        simulator.api_url()
    );
    let stage = Stage::clone_of(&simulator.git_url(REPO), &settings, PRIMARY, APPROVES);
    let owner = stage.start(&["cruise", "run", "Add user auth"]);
    until("the pull request", || status(&stage)["prNumber"] == 1);
    until_quiet(&stage, 0);
    (simulator, stage, owner)
}

#[test]
fn a_webhook_that_another_process_heard_makes_the_owner_look_at_once() {
    let (simulator, stage, mut owner) = begin("1h");
    let before = status(&stage)["nextPollAt"].clone();
    simulator.comment(REPO, "ann", 1, "Who owns the login?");
    let state = stage.path("home/.local/state/infinite-improbability-drive");
    let database = walk(&state).expect("a database");
    let database = Arc::new(Database::open(&database).unwrap());
    SqliteNudges::new(database, Arc::new(SystemClock))
        .nudge(Nudge {
            repository: REPO.to_owned(),
            pr: 1,
        })
        .unwrap();
    until_quiet(&stage, 1);
    assert_ne!(status(&stage)["nextPollAt"], before);
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
}

/// The database of a state directory, whatever it is called.
fn walk(state: &std::path::Path) -> Option<std::path::PathBuf> {
    std::fs::read_dir(state).unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        let starts = std::fs::read(&path).ok()?;
        starts.starts_with(b"SQLite format 3").then_some(path)
    })
}

#[test]
fn what_a_person_pushed_to_the_branch_is_merged_and_an_approval_on_the_forge_ends_the_cruise() {
    let (simulator, stage, owner) = begin("200ms");
    let theirs = simulator.push_file(REPO, "user-auth", "theirs.txt", "by ann\n");
    simulator.comment(REPO, "ann", 1, "See my commit, and mention it.");
    until_quiet(&stage, 1);
    stage.git(&["fetch", "--quiet", "origin"]);
    let head = stage.git(&["rev-parse", "origin/user-auth"]);
    stage.git(&["merge-base", "--is-ancestor", &theirs, &head]);
    assert_eq!(status(&stage)["headSha"], head);
    simulator.add_person(REPO, "eve", Permission::Read);
    simulator.review(REPO, "eve", 1, ReviewState::Approved, "");
    simulator.review(REPO, "ann", 1, ReviewState::Approved, "");
    let ended = crate::stage::ended(owner);
    assert_eq!(
        (
            ended.code,
            &ended.document["status"],
            &ended.document["headSha"]
        ),
        (Some(0), &"succeeded".into(), &head.into()),
    );
    let last = simulator.conversation(REPO, 1).pop().unwrap();
    assert!(last.contains(" by ann."), "{last}");
}

#[test]
fn without_its_journal_a_cruise_goes_on_from_its_sandbox_and_answers_nothing_twice() {
    let (simulator, stage, mut owner) = begin("200ms");
    simulator.comment(REPO, "ann", 1, "Who owns the login?");
    until_quiet(&stage, 1);
    owner.kill().unwrap();
    owner.wait().unwrap();
    let state = stage.path("home/.local/state/infinite-improbability-drive");
    let database = walk(&state).expect("a database");
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", database.display()));
    }
    let folder = std::fs::read_dir(state.join("sandboxes")).unwrap();
    let file = folder
        .map(|one| one.unwrap().path().join(".cruise/phase-state.json"))
        .find(|file| file.is_file())
        .unwrap();
    let honest = std::fs::read_to_string(&file).unwrap();
    let lie = honest.replace("\"sandbox_path\": \"", "\"sandbox_path\": \"/elsewhere");
    for (told, why) in [(lie.as_str(), "outside"), (&honest[..40], "truncated")] {
        std::fs::write(&file, told).unwrap();
        let refused = stage.drive(&["cruise", "resume"]);
        assert!(matches!(refused.code, Some(2 | 3)), "{why}: {refused:?}");
    }
    std::fs::write(&file, honest).unwrap();
    let mut owner = stage.start(&["cruise", "resume"]);
    until("the cruise", || status(&stage)["id"].is_string());
    simulator.comment(REPO, "ann", 1, "And the tests?");
    until_quiet(&stage, 2);
    owner.kill().unwrap();
    owner.wait().unwrap();
    let said = simulator.conversation(REPO, 1);
    let answers = said
        .iter()
        .filter(|text| text.contains("Fixed in "))
        .count();
    assert_eq!(answers, 2, "{said:#?}");
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
}
