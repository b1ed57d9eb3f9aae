//! Tests cruises on the simulated GitHub.

use crate::cruise::crew::{REPO, github, on_github, status, until, until_quiet};
use crate::stage::Stage;
use drive_adapters::SystemClock;
use drive_adapters::store::{Database, SqliteNudges};
use drive_core::forge::webhook::Nudge;
use drive_core::forge::{Permission, ReviewState};
use drive_core::ids::PrNumber;
use drive_engine::ports::Nudges;
use drive_testkit::github::Simulator;
use std::sync::Arc;
use std::time::Duration;

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

/// When the forge is polled next; the value is missing during a poll.
fn next_poll(stage: &Stage) -> serde_json::Value {
    let next = || status(stage)["nextPollAt"].clone();
    until("the end of the look", || !next().is_null());
    next()
}

/// The database of a state directory, whatever its name.
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
    // A link is not followed, even if it leads to the right content.
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

/// The number of texts that answer a comment: each begins with a quote of it.
pub(super) fn answers(simulator: &Simulator, to: &str) -> usize {
    let said = simulator.conversation(REPO, 1);
    let is_answer = |text: &&String| {
        let first = text.lines().next().unwrap_or_default();
        first.starts_with("> ") && first.ends_with(to)
    };
    said.iter().filter(is_answer).count()
}

#[test]
fn a_review_that_is_dismissed_or_touched_is_answered_once() {
    let (simulator, stage, mut owner) = on_github("200ms");
    let state = ReviewState::ChangesRequested;
    let review = simulator.review(REPO, "ann", 1, state, "Name the owner.");
    let comment = simulator.comment(REPO, "ann", 1, "And the deadline.");
    until("both answers", || {
        answers(&simulator, "Name the owner.") + answers(&simulator, "And the deadline.") == 2
    });
    until_quiet(&stage, 1);
    let rounds = status(&stage)["rounds"].as_u64().unwrap();
    simulator.clock().advance(Duration::from_secs(120));
    simulator.dismiss(REPO, review);
    simulator.touch(REPO, comment);
    simulator.comment(REPO, "ann", 1, "Thirdly, the costs.");
    until_quiet(&stage, rounds + 1);
    assert_eq!(status(&stage)["rounds"], rounds + 1);
    for words in [
        "Name the owner.",
        "And the deadline.",
        "Thirdly, the costs.",
    ] {
        assert_eq!(answers(&simulator, words), 1, "{words}");
    }
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
}

#[test]
fn what_was_put_aside_is_not_worked_on_until_it_is_brought_back() {
    let (simulator, stage, mut owner) = on_github("1h");
    let hidden = simulator.comment(REPO, "ann", 1, "Hidden words.");
    simulator.minimize(REPO, hidden);
    let settled = simulator.comment_on_line(REPO, "ann", 1, "plan.md", 1, "Settled words.");
    simulator.set_resolved(REPO, settled, true);
    simulator.comment(REPO, "ann", 1, "Open words.");
    assert_eq!(stage.drive(&["cruise", "fix"]).code, Some(0));
    until_quiet(&stage, 1);
    assert_eq!(answers(&simulator, "Open words."), 1);
    assert_eq!(answers(&simulator, "Hidden words."), 0);
    assert_eq!(simulator.line_texts(REPO, 1), ["Settled words."]);
    let heard = status(&stage)["comments"].to_string();
    assert!(
        !heard.contains("Hidden words.") && !heard.contains("Settled"),
        "{heard}"
    );
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
}

#[test]
fn a_standing_request_for_changes_keeps_auto_approve_from_approving_and_is_said() {
    let (simulator, stage) = github("200ms");
    let owner = stage.start(&[
        "cruise",
        "run",
        "--plan-only",
        "Add user auth",
        "--auto-approve",
    ]);
    until("the pull request", || {
        !simulator.pull_requests(REPO).is_empty()
    });
    simulator.review(
        REPO,
        "ann",
        1,
        ReviewState::ChangesRequested,
        "Name an owner.",
    );
    let said = || simulator.conversation(REPO, 1).join("\n");
    let told = "but the plan is not approved: ann requests changes";
    until("what stands in the way", || said().contains(told));
    until("the wait", || {
        let waits = status(&stage)["waitingFor"].to_string();
        waits.contains("ann to approve or dismiss their review")
    });
    simulator.review(REPO, "ann", 1, ReviewState::Approved, "LGTM, nice plan");
    let ended = crate::stage::ended(owner);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.document["rounds"], 1, "praise is no work");
}

#[test]
fn a_comment_after_the_limit_gets_one_reply_that_says_what_it_waits_for() {
    let (simulator, stage) = github("200ms");
    let settings = std::fs::read_to_string(stage.path("repo/drive.toml")).unwrap();
    let settings = settings.replace("[cruise]\n", "[cruise]\nmax_rounds = 1\n");
    std::fs::write(stage.path("repo/drive.toml"), settings).unwrap();
    let mut owner = stage.start(&["cruise", "run", "--plan-only", "Add user auth"]);
    until("the pull request", || status(&stage)["prNumber"] == 1);
    until_quiet(&stage, 0);
    simulator.comment(REPO, "ann", 1, "One.");
    until("the first answer", || answers(&simulator, "One.") == 1);
    simulator.comment(REPO, "ann", 1, "Two.");
    let said = || simulator.conversation(REPO, 1).join("\n");
    until("the limit", || {
        said().contains("Waiting for a person: fixer round limit")
    });
    simulator.comment(REPO, "ann", 1, "Three.");
    until("the reply", || {
        said().contains("No fixer works on this yet")
    });
    let polled = || status(&stage)["nextPollAt"].to_string();
    let before = polled();
    until("the next look", || {
        !polled().contains("null") && polled() != before
    });
    assert_eq!(answers(&simulator, "Three."), 1);
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
}

/// The number of cruises that wait for people.
fn waiting(stage: &Stage) -> usize {
    let listed = stage.drive(&["cruise", "list"]).document;
    let cruises = listed["cruises"].as_array().unwrap();
    let waits = |one: &&serde_json::Value| {
        one["state"] == "polling" && one["nextPollAt"].is_string() && one["pendingComments"] == 0
    };
    cruises.iter().filter(waits).count()
}

#[test]
fn one_poll_wakes_every_cruise_on_whose_pull_request_something_happened() {
    let (simulator, stage, mut first) = on_github("1h");
    let mut second = stage.start(&["cruise", "run", "--plan-only", "Add user auth again"]);
    until("both cruises", || waiting(&stage) == 2);
    for owner in [&mut first, &mut second] {
        owner.kill().unwrap();
        owner.wait().unwrap();
    }
    let mut owner = stage.start(&["cruise", "resume", "--all"]);
    let owned = || {
        let listed = stage.drive(&["cruise", "list"]).document;
        let cruises = listed["cruises"].as_array().unwrap().clone();
        let pid = u64::from(owner.id());
        cruises
            .iter()
            .filter(|one| {
                let id = one["id"].as_str().unwrap();
                stage.drive(&["cruise", "status", id]).document["ownerPid"] == pid
            })
            .count()
    };
    until("the owner of both", || owned() == 2);
    simulator.comment(REPO, "ann", 1, "Who owns the login?");
    simulator.comment(REPO, "ann", 2, "Who owns the logout?");
    // A webhook reports only the first pull request; the other is polled in an hour.
    let state = stage.path("home/.local/state/infinite-improbability-drive");
    let database = Arc::new(Database::open(&walk(&state).unwrap()).unwrap());
    let nudge = Nudge {
        repository: REPO.to_owned(),
        pr: PrNumber::new(1),
    };
    SqliteNudges::new(database, Arc::new(SystemClock))
        .nudge(nudge)
        .unwrap();
    let is_answered = |pr, words: &str| {
        let said = simulator.conversation(REPO, pr);
        said.iter()
            .any(|text| text.starts_with("> ") && text.contains(words))
    };
    until("the first answer", || is_answered(1, "Who owns the login?"));
    until("the second answer", || {
        is_answered(2, "Who owns the logout?")
    });
    owner.kill().unwrap();
    owner.wait().unwrap();
}
