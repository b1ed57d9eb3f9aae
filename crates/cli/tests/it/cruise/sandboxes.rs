//! Tests that the next comment is answered after a person removed the sandbox of a cruise or its
//! branch by hand.

use crate::cruise::crew::{commit_of, fixes, kill, on_local, sandbox, status, until, until_quiet};
use crate::stage::{Stage, ended, said};
use std::fs;

/// Comments, and waits for an answer with a commit that contains the plan and all earlier work.
fn answered(stage: &Stage, rounds: u64) {
    let before = stage.git(&["rev-parse", "--verify", "--quiet", "refs/keep/before"]);
    stage.drive(&["pr", "comment", "1", &format!("Remark {rounds}")]);
    until_quiet(stage, rounds);
    let fixes = fixes(said(&stage.pull_request()));
    assert_eq!(fixes.len() as u64, rounds, "{fixes:#?}");
    let head = stage.git(&["rev-parse", "user-auth"]);
    assert_eq!(commit_of(fixes.last().unwrap()), &head[..10]);
    stage.git(&["merge-base", "--is-ancestor", &before, &head]);
    let files = stage.git(&["ls-tree", "--name-only", &head]);
    assert_eq!(files, "README.md\nanswers.txt\nplan.md");
    stage.git(&["update-ref", "refs/keep/before", &head]);
}

#[test]
fn a_sandbox_removed_by_hand_is_filled_again_with_and_without_an_owner() {
    let (stage, owner) = on_local();
    stage.git(&["update-ref", "refs/keep/before", "user-auth"]);
    let folder = sandbox(&stage);
    fs::remove_dir_all(&folder).unwrap();
    answered(&stage, 1);
    let warnings = status(&stage)["warnings"].to_string();
    assert!(
        warnings.contains("was empty; its files were restored from the branch"),
        "{warnings}"
    );
    kill(owner);
    fs::remove_dir_all(&folder).unwrap();
    let owner = stage.start(&["cruise", "resume"]);
    answered(&stage, 2);
    // Only its repository is removed.
    fs::remove_dir_all(folder.join(".git")).unwrap();
    answered(&stage, 3);
    assert!(folder.join(".cruise/phase-state.json").is_file());
    kill(owner);
    fs::remove_dir_all(&folder).unwrap();
    let cleaned = stage.drive(&["cruise", "cleanup"]);
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
    assert_eq!(
        stage.git(&["rev-parse", "user-auth"]),
        stage.git(&["rev-parse", "refs/keep/before"])
    );
}

#[test]
fn a_branch_deleted_by_hand_is_made_again_where_it_was() {
    let (stage, owner) = on_local();
    stage.git(&["update-ref", "refs/keep/before", "user-auth"]);
    stage.git(&["update-ref", "-d", "refs/heads/user-auth"]);
    answered(&stage, 1);
    let warnings = status(&stage)["warnings"].to_string();
    assert!(
        warnings.contains("branch `user-auth` was deleted"),
        "{warnings}"
    );
    kill(owner);
    stage.git(&["update-ref", "-d", "refs/heads/user-auth"]);
    let cleaned = stage.drive(&["cruise", "cleanup"]);
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
    assert_eq!(
        stage.git(&["rev-parse", "user-auth"]),
        stage.git(&["rev-parse", "refs/keep/before"])
    );
}

#[test]
fn a_fixer_that_empties_its_sandbox_takes_nothing_from_the_branch() {
    let (stage, owner) = on_local();
    stage.git(&["update-ref", "refs/keep/before", "user-auth"]);
    stage.drive(&["pr", "comment", "1", "Please vanish."]);
    until_quiet(&stage, 1);
    let before = stage.git(&["rev-parse", "refs/keep/before"]);
    assert_eq!(stage.git(&["rev-parse", "user-auth"]), before);
    assert!(sandbox(&stage).join("plan.md").is_file());
    stage.drive(&["pr", "comment", "1", "Thank you."]);
    until_quiet(&stage, 2);
    let files = stage.git(&["ls-tree", "--name-only", "user-auth"]);
    assert_eq!(files, "README.md\nanswers.txt\nplan.md");
    kill(owner);
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
}

#[test]
fn what_a_person_commits_in_the_sandbox_is_shown_before_an_approval_counts() {
    let (stage, owner) = on_local();
    let folder = sandbox(&stage);
    fs::write(folder.join("mine.txt"), "by ann\n").unwrap();
    let folder = folder.to_str().unwrap();
    stage.git(&["-C", folder, "add", "mine.txt"]);
    stage.git(&["-C", folder, "commit", "--quiet", "--message=Mine"]);
    let theirs = stage.git(&["-C", folder, "rev-parse", "HEAD"]);
    let shown = stage.git(&["rev-parse", "user-auth"]);
    assert_ne!(theirs, shown);
    let approved = stage.drive(&["pr", "approve", "1"]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    // The people who approved never saw the commit: it is published, and they are told.
    until("the voided approval", || {
        let voided = format!(
            "approved {}. The branch is at {} now",
            &shown[..10],
            &theirs[..10]
        );
        said(&stage.pull_request())
            .iter()
            .any(|text| text.contains(&voided))
    });
    assert_eq!(stage.git(&["rev-parse", "user-auth"]), theirs);
    let approved = stage.drive(&["pr", "approve", "1"]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    let ended = ended(owner);
    assert_eq!(
        (&ended.document["status"], &ended.document["headSha"]),
        (&"succeeded".into(), &theirs.clone().into()),
        "{ended:?}"
    );
    assert_eq!(stage.git(&["rev-parse", "user-auth"]), theirs);
}
