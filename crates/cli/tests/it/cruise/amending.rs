//! Tests comments on the pull request while tasks are built: the plan and the tasks follow them,
//! and commits that people push are included.

use super::building::{
    ALONE, args, report, stage, states, task, trees_that_fail, wait_for_a_person,
};
use crate::cruise::crew::{fixes, status, until};
use crate::stage::{Stage, ended, said};
use std::process::Child;

/// A cruise that waits because its task `b` is blocked; `a` has landed.
fn blocked() -> (Stage, Child) {
    let stage = stage(&[
        task("a", "Write a.txt one", &[], "a.txt"),
        task("b", "Write b.txt bad", &[], "b.txt"),
    ]);
    let cruise = stage.start(&ALONE);
    until("the block", || {
        states(&status(&stage)) == ["a landed", "b blocked"]
    });
    (stage, cruise)
}

fn comment(stage: &Stage, text: &str) {
    let posted = stage.drive(&["pr", "comment", "1", text]);
    assert_eq!(posted.code, Some(0), "{posted:?}");
}

#[test]
fn comments_while_tasks_are_built_amend_the_plan_and_each_gets_one_answer() {
    let (stage, cruise) = blocked();
    let waits = status(&stage)["waitingFor"].as_str().unwrap().to_owned();
    assert!(
        waits.contains("guide it by a comment on the pull request"),
        "{waits}"
    );
    // A landed task is built again and another one is added; the blocked one remains blocked.
    comment(&stage, "EDIT(s/Write a.txt one/Write a.txt uno/)");
    comment(&stage, "ADD c");
    until("what was asked for", || {
        states(&status(&stage)) == ["a landed", "b blocked", "a-2 landed", "c landed"]
            || states(&status(&stage)) == ["a landed", "b blocked", "c landed", "a-2 landed"]
    });
    let branch = status(&stage)["branch"].as_str().unwrap().to_owned();
    assert_eq!(stage.git(&["show", &format!("{branch}:a.txt")]), "uno");
    // A person gives the blocked task new instructions.
    comment(&stage, "EDIT(s/Write b.txt bad/Write b.txt two/)");
    let ended = ended(cruise);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for (file, word) in [("a", "uno"), ("b", "two"), ("c", "three")] {
        assert_eq!(stage.git(&["show", &format!("main:{file}.txt")]), word);
    }
    assert!(stage.try_git(&["show", "main:plan.md"]).is_err());
    assert_eq!(fixes(said(&stage.pull_request())).len(), 3);
    assert_eq!(trees_that_fail(&stage, &branch), Vec::<String>::new());
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
}

#[test]
fn a_fixer_of_the_plan_changes_nothing_else_while_tasks_are_built() {
    let (stage, cruise) = blocked();
    comment(&stage, "STRAY");
    until("the answer", || {
        let said = said(&stage.pull_request());
        said.iter()
            .any(|text| text.contains("only `plan.md` changes here"))
    });
    let branch = status(&stage)["branch"].as_str().unwrap().to_owned();
    let other = format!("{branch}:other.txt");
    assert!(stage.try_git(&["show", &other]).is_err());
    // It still handles comments.
    comment(&stage, "EDIT(s/Write b.txt bad/Write b.txt two/)");
    let ended = ended(cruise);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(stage.try_git(&["show", "main:other.txt"]).is_err());
}

#[test]
fn a_pull_request_that_is_closed_while_tasks_are_built_ends_the_cruise() {
    let (stage, cruise) = blocked();
    let closed = stage.drive(&["pr", "close", "1"]);
    assert_eq!(closed.code, Some(0), "{closed:?}");
    let ended = ended(cruise);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(
        ended.document["failure"]["kind"], "pullRequestClosed",
        "{ended:?}"
    );
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
}

#[test]
fn what_a_person_pushes_while_they_decide_is_verified_and_told_of() {
    let stage = stage(&[task("a", "Write a.txt one", &[], "a.txt")]);
    let args = args(&stage).map(|arg| arg.replace("auto", "manual"));
    let cruise = stage.start(&args.iter().map(String::as_str).collect::<Vec<_>>());
    wait_for_a_person(&stage);
    let branch = stage.pull_request()["branch"].as_str().unwrap().to_owned();
    let folder = stage.path("mine").to_string_lossy().into_owned();
    stage.git(&["worktree", "add", "--quiet", &folder, &branch]);
    std::fs::write(stage.path("mine/mine.txt"), "by ann\n").unwrap();
    stage.git(&["-C", &folder, "add", "mine.txt"]);
    stage.git(&["-C", &folder, "commit", "--quiet", "--message=Mine"]);
    stage.git(&["worktree", "remove", "--force", &folder]);
    let head = stage.git(&["rev-parse", &branch]);
    until("the next word", || {
        let said = said(&stage.pull_request());
        let told = format!("The branch is at {}.", &head[..10]);
        said.iter()
            .any(|text| text.contains(&told) && text.contains("it passed verification"))
    });
    wait_for_a_person(&stage);
    assert_eq!(report(&stage)["commit"], head);
    let merged = stage.drive(&["pr", "merge", "1"]);
    assert_eq!(merged.code, Some(0), "{merged:?}");
    assert_eq!(ended(cruise).code, Some(0));
    assert_eq!(stage.git(&["show", "main:mine.txt"]), "by ann");
}
