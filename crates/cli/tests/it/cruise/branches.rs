//! Tests people who change the branch of a cruise: no commits are overwritten or lost.

use crate::cruise::building;
use crate::cruise::crew::{
    REPO, commit_of, fixes, kill, on_github, sandbox, status, until, until_quiet,
};
use crate::stage::{Stage, ended};
use drive_core::forge::ReviewState;
use std::fs;

const THEIR_PLAN: &str = "Mine.\n\n```json tasks\n[{\"id\": \"b\", \"title\": \"B\", \"description\": \"d\", \"acceptance\": [\"x\"]}]\n```\n";

/// A person writes a plan on top of this commit, and force-pushes it to the branch of the cruise.
fn force(stage: &Stage, on: &str) -> String {
    stage.git(&["checkout", "--quiet", "-B", "mine", on]);
    fs::write(stage.path("repo/plan.md"), THEIR_PLAN).unwrap();
    stage.git(&["add", "plan.md"]);
    stage.git(&["commit", "--quiet", "--message=Mine"]);
    stage.git(&["push", "--quiet", "--force", "origin", "mine:user-auth"]);
    let theirs = stage.git(&["rev-parse", "mine"]);
    stage.git(&["checkout", "--quiet", "main"]);
    theirs
}

fn remote_head(stage: &Stage) -> String {
    let line = stage.git(&["ls-remote", "origin", "refs/heads/user-auth"]);
    line.split('\t').next().unwrap().to_owned()
}

/// Whether the remote's branch of the cruise contains this commit.
fn is_in(stage: &Stage, commit: &str) -> bool {
    stage.git(&["fetch", "--quiet", "origin"]);
    let history = stage.git(&["log", "--format=%H", "origin/user-auth"]);
    history.lines().any(|one| one.starts_with(commit))
}

fn wait_for_fixer(stage: &Stage) {
    let waits = sandbox(stage).join(".cruise/waits");
    until("the fixer", || waits.exists());
}

fn let_go(stage: &Stage) {
    fs::write(sandbox(stage).join(".cruise/go"), "").unwrap();
}

#[test]
fn a_branch_deleted_on_the_remote_ends_the_cruise_and_its_commits_stay_here() {
    let (_simulator, stage, owner) = on_github("200ms");
    let head = remote_head(&stage);
    stage.git(&["push", "--quiet", "origin", "--delete", "user-auth"]);
    let ended = ended(owner);
    assert_eq!(
        (
            &ended.document["status"],
            &ended.document["failure"]["kind"]
        ),
        (&"cancelled".into(), &"pullRequestClosed".into()),
    );
    assert_eq!(stage.git(&["rev-parse", "user-auth"]), head);
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
    assert_eq!(remote_head(&stage), "");
}

#[test]
fn a_branch_deleted_while_a_fixer_works_is_not_made_again_and_the_fix_stays_here() {
    let (simulator, stage, owner) = on_github("1h");
    let head = remote_head(&stage);
    simulator.comment(REPO, "ann", 1, "Please wait.");
    assert_eq!(stage.drive(&["cruise", "fix"]).code, Some(0));
    wait_for_fixer(&stage);
    // The owner notices it only when it pushes.
    stage.git(&["push", "--quiet", "origin", "--delete", "user-auth"]);
    simulator.reopen_branchless(REPO, 1);
    let_go(&stage);
    until("the wait", || {
        let waits = status(&stage)["waitingFor"].to_string();
        waits.contains("branch `user-auth` was deleted on `origin`")
    });
    assert_eq!(remote_head(&stage), "");
    // A person restores the branch, and the cruise continues.
    stage.git(&[
        "push",
        "--quiet",
        "origin",
        &format!("{head}:refs/heads/user-auth"),
    ]);
    until_quiet(&stage, 1);
    let said = fixes(simulator.conversation(REPO, 1));
    assert_eq!(said.len(), 1, "{said:#?}");
    assert_eq!(commit_of(&said[0]), &remote_head(&stage)[..10]);
    stage.git(&["push", "--quiet", "origin", "--delete", "user-auth"]);
    assert_eq!(stage.drive(&["cruise", "fix"]).code, Some(0));
    assert_eq!(ended(owner).document["status"], "cancelled");
}

#[test]
fn a_branch_that_a_person_rewrote_is_where_the_cruise_goes_on_and_what_was_dropped_is_kept() {
    let (simulator, stage, owner) = on_github("200ms");
    let dropped = remote_head(&stage);
    let theirs = force(&stage, "origin/main");
    simulator.comment(REPO, "ann", 1, "I began anew. Go on from there.");
    until_quiet(&stage, 1);
    let said = fixes(simulator.conversation(REPO, 1));
    assert_eq!(said.len(), 1, "{said:#?}");
    assert!(is_in(&stage, commit_of(&said[0])) && is_in(&stage, &theirs));
    assert!(!is_in(&stage, &dropped));
    let warnings = status(&stage)["warnings"].to_string();
    assert!(
        warnings.contains("branch `user-auth` was rewritten"),
        "{warnings}"
    );
    let kept = stage.git(&["log", "--format=%H", "--glob=refs/drive/kept"]);
    assert!(kept.contains(&dropped), "{kept}");
    simulator.review(REPO, "ann", 1, ReviewState::Approved, "");
    let ended = ended(owner);
    assert_eq!(ended.document["status"], "succeeded", "{ended:?}");
    assert_eq!(ended.document["headSha"], remote_head(&stage));
}

#[test]
fn a_branch_rewritten_while_a_fixer_works_gets_the_fix_on_top_of_what_the_person_left() {
    let (simulator, stage, owner) = on_github("200ms");
    simulator.comment(REPO, "ann", 1, "Please wait.");
    wait_for_fixer(&stage);
    let theirs = force(&stage, "origin/main");
    let_go(&stage);
    // The same comment is handled again, on top of the person's commits.
    until("the second fixer", || status(&stage)["rounds"] == 1);
    wait_for_fixer(&stage);
    let_go(&stage);
    until_quiet(&stage, 2);
    let said = fixes(simulator.conversation(REPO, 1));
    assert_eq!(said.len(), 1, "{said:#?}");
    assert!(is_in(&stage, commit_of(&said[0])) && is_in(&stage, &theirs));
    let plan = stage.git(&["show", "origin/user-auth:plan.md"]);
    assert!(plan.starts_with("Mine."), "{plan}");
    kill(owner);
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
}

#[test]
fn a_commit_that_a_person_pushed_and_approved_ends_the_cruise_there() {
    let (simulator, stage, owner) = on_github("200ms");
    stage.git(&["fetch", "--quiet", "origin"]);
    let theirs = force(&stage, "origin/user-auth");
    simulator.review(REPO, "ann", 1, ReviewState::Approved, "");
    let ended = ended(owner);
    assert_eq!(
        (&ended.document["status"], &ended.document["headSha"]),
        (&"succeeded".into(), &theirs.as_str().into()),
    );
    assert_eq!(remote_head(&stage), theirs);
}

#[test]
fn a_cruise_refuses_a_named_branch_that_exists_and_leaves_it_as_it_was() {
    let stage = building::stage(&[building::task("a", "Write a.txt one", &[], "a.txt")]);
    stage.git(&["branch", "taken"]);
    let before = stage.git(&["rev-parse", "taken"]);
    let build = building::args(&stage);
    let build: Vec<&str> = build.iter().map(String::as_str).collect();
    let plan = ["cruise", "run", "Build it all", "--plan-only"];
    for command in [&build[..], &plan[..]] {
        let ended = stage.drive(&[command, &["--branch", "taken"]].concat());
        assert_eq!(ended.code, Some(2), "{command:?}: {ended:?}");
        let failure = &ended.document["failure"];
        assert_eq!(failure["kind"], "branchExists", "{command:?}: {ended:?}");
        assert_eq!(stage.git(&["rev-parse", "taken"]), before);
        assert_eq!(stage.sandboxes(), Vec::<String>::new());
    }
}
