//! The same on GitHub, simulated.

use crate::cruise::crew::{REPO, on_github, status, until, until_quiet};
use crate::stage::Stage;
use drive_adapters::SystemClock;
use drive_adapters::store::{Database, SqliteNudges};
use drive_core::forge::webhook::Nudge;
use drive_core::forge::{Permission, ReviewState};
use drive_core::ids::PrNumber;
use drive_engine::ports::Nudges;
use std::sync::Arc;

#[test]
fn a_webhook_that_another_process_heard_makes_the_owner_look_at_once() {
    let (simulator, stage, mut owner) = on_github("1h");
    let before = next_poll(&stage);
    simulator.comment(REPO, "ann", 1, "Who owns the login?");
    let state = stage.path("home/.local/state/infinite-improbability-drive");
    let database = walk(&state).expect("a database");
    let database = Arc::new(Database::open(&database).unwrap());
    SqliteNudges::new(database, Arc::new(SystemClock))
        .nudge(Nudge {
            repository: REPO.to_owned(),
            pr: PrNumber::new(1),
        })
        .unwrap();
    until_quiet(&stage, 1);
    assert_ne!(next_poll(&stage), before);
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
}

/// When the forge is looked at next; there is no such time while it is being looked at.
fn next_poll(stage: &Stage) -> serde_json::Value {
    let next = || status(stage)["nextPollAt"].clone();
    until("the end of the look", || !next().is_null());
    next()
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
    let (simulator, stage, owner) = on_github("200ms");
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
    let (simulator, stage, mut owner) = on_github("200ms");
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
    let newer = honest.replace("\"version\": 1", "\"version\": 99");
    let wrong = honest.replace("\"pr_number\": 1", "\"pr_number\": \"1\"");
    let climbing = honest.replace("\"sandbox_path\": \"/", "\"sandbox_path\": \"/../");
    let huge = format!("{honest}{}", " ".repeat(4 * 1024 * 1024));
    for (told, kind) in [
        (lie.as_str(), "phaseStateOutside"),
        (&climbing, "phaseStateDamaged"),
        (&honest[..40], "phaseStateDamaged"),
        ("", "phaseStateDamaged"),
        (&newer, "phaseStateNewer"),
        (&wrong, "phaseStateDamaged"),
        (&huge, "phaseStateDamaged"),
    ] {
        std::fs::write(&file, told).unwrap();
        let refused = stage.drive(&["cruise", "resume"]);
        let failure = &refused.document["failure"];
        assert_eq!(
            (refused.code, &failure["kind"]),
            (Some(3), &kind.into()),
            "{refused:?}"
        );
    }
    // A link is not followed, even where it leads to the truth.
    let truth = stage.path("home/phase-state.json");
    std::fs::write(&truth, &honest).unwrap();
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&truth, &file).unwrap();
    let refused = stage.drive(&["cruise", "resume"]);
    assert_eq!(refused.document["failure"]["kind"], "phaseFileNotPlain");
    assert!(status(&stage)["id"].is_null());
    std::fs::remove_file(&file).unwrap();
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
