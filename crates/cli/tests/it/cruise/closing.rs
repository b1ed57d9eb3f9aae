//! Tests a closed pull request, and a repository that is moved or removed.

use crate::cruise::crew::{
    REPO, drive_in, fixes, github, kill, local, on_github, on_local, sandbox, start_in, status,
    until, until_quiet,
};
use crate::stage::{ended, said};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;

/// Closes the pull request of a cruise, reopens it, and resumes the cruise with or without its id.
fn reopened(args: &[&str], with_id: bool) {
    let (simulator, stage) = github("200ms");
    let owner = stage.start(args);
    until("the pull request", || status(&stage)["prNumber"] == 1);
    until_quiet(&stage, 0);
    let id = status(&stage)["id"].as_str().unwrap().to_owned();
    simulator.close_pull(REPO, "ann", 1);
    let over = ended(owner);
    assert_eq!(
        (&over.document["status"], &over.document["failure"]["kind"]),
        (&"cancelled".into(), &"pullRequestClosed".into()),
    );
    let command = format!("drive cruise resume {id}");
    let hint = over.document["failure"]["hint"].to_string();
    assert!(hint.contains(&command), "{hint}");
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
    let refused = stage.drive(&["cruise", "resume", &id]);
    let failure = &refused.document["failure"];
    assert_eq!(
        (refused.code, &failure["kind"]),
        (Some(2), &"cruiseOver".into())
    );
    let hint = failure["hint"].as_str().unwrap();
    assert!(hint.contains("reopen the pull request"), "{hint}");
    let nothing = stage.drive(&["cruise", "resume"]);
    assert_eq!(nothing.document["failure"]["kind"], "noCruise");
    simulator.reopen_pull(REPO, "ann", 1);
    simulator.comment(REPO, "ann", 1, "I changed my mind.");
    let mut resume = vec!["cruise", "resume"];
    if with_id {
        resume.push(&id);
    }
    let owner = stage.start(&resume);
    until("the answer", || {
        fixes(simulator.conversation(REPO, 1)).len() == 1
    });
    until_quiet(&stage, 1);
    assert_eq!(status(&stage)["id"], id);
    kill(owner);
    assert_eq!(stage.drive(&["cruise", "cleanup", &id]).code, Some(0));
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
}

#[test]
fn a_cruise_is_resumed_once_its_closed_pull_request_is_open_again() {
    reopened(&["cruise", "run", "--plan-only", "Add user auth"], false);
}

#[test]
fn a_cruise_that_builds_is_resumed_once_the_pull_request_of_its_plan_is_open_again() {
    reopened(&["cruise", "run", "Add user auth"], true);
}

#[test]
fn a_new_cruise_can_follow_one_whose_pull_request_was_closed() {
    let (simulator, stage, owner) = on_github("200ms");
    simulator.close_pull(REPO, "ann", 1);
    assert_eq!(ended(owner).document["status"], "cancelled");
    let again = stage.drive(&[
        "cruise",
        "run",
        "--plan-only",
        "Add user auth",
        "--auto-approve",
    ]);
    assert_eq!(
        (
            again.code,
            &again.document["branch"],
            &again.document["prNumber"]
        ),
        (Some(0), &"user-auth-2".into(), &2.into()),
        "{again:?}"
    );
}

#[test]
fn a_pull_request_closed_and_reopened_between_two_looks_goes_on() {
    let (simulator, stage, owner) = on_github("1h");
    simulator.close_pull(REPO, "ann", 1);
    simulator.comment(REPO, "ann", 1, "Oh, no.");
    simulator.reopen_pull(REPO, "ann", 1);
    assert_eq!(stage.drive(&["cruise", "fix"]).code, Some(0));
    until_quiet(&stage, 1);
    assert_eq!(fixes(simulator.conversation(REPO, 1)).len(), 1);
    kill(owner);
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
}

#[test]
fn a_repository_renamed_on_the_forge_is_followed_by_the_owner_and_by_the_next_one() {
    let (simulator, stage, owner) = on_github("200ms");
    simulator.rename_repo(REPO, "gadgets");
    let renamed = "acme/gadgets";
    simulator.comment(renamed, "ann", 1, "We have a new name.");
    until_quiet(&stage, 1);
    kill(owner);
    let owner = stage.start(&["cruise", "resume"]);
    simulator.comment_on_line(renamed, "ann", 1, "plan.md", 1, "Mention it here.");
    until_quiet(&stage, 2);
    let said = fixes(simulator.conversation(renamed, 1));
    assert_eq!(said.len(), 1, "{said:#?}");
    let lines = simulator.line_texts(renamed, 1);
    assert_eq!(fixes(lines.clone()).len(), 1, "{lines:#?}");
    assert_eq!(simulator.violations(), Vec::<String>::new());
    simulator.close_pull(renamed, "ann", 1);
    assert_eq!(
        ended(owner).document["failure"]["kind"],
        "pullRequestClosed"
    );
}

#[test]
fn a_repository_moved_on_disk_is_waited_for_and_found_again() {
    let (stage, owner) = on_local();
    let id = status(&stage)["id"].as_str().unwrap().to_owned();
    let (here, there) = (stage.path("repo"), stage.path("moved"));
    fs::rename(&here, &there).unwrap();
    let look = || drive_in(&stage, "home", &["cruise", "status", &id]).document;
    until("the wait", || {
        let waits = look()["waitingFor"].to_string();
        waits.contains("the forge") && waits.contains("repo")
    });
    kill(owner);
    for args in [
        ["cruise", "resume"],
        ["cruise", "fix"],
        ["cruise", "cleanup"],
    ] {
        let refused = drive_in(&stage, "home", &[&args[..], &[&id]].concat());
        assert_eq!(
            (refused.code, &refused.document["failure"]["kind"]),
            (Some(3), &"repositoryGone".into()),
            "{args:?}"
        );
    }
    let all = drive_in(&stage, "home", &["cruise", "resume", "--all"]);
    assert_eq!(all.code, Some(3), "{all:?}");
    fs::rename(&there, &here).unwrap();
    let owner = stage.start(&["cruise", "resume"]);
    stage.drive(&["pr", "comment", "1", "You are back."]);
    until_quiet(&stage, 1);
    assert_eq!(fixes(said(&stage.pull_request())).len(), 1);
    kill(owner);
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
}

#[test]
fn a_cruise_whose_repository_is_gone_for_good_can_be_ended_and_holds_up_no_other() {
    let (stage, owner) = on_local();
    let id = status(&stage)["id"].as_str().unwrap().to_owned();
    let folder = sandbox(&stage);
    fs::write(folder.join("unsaved.txt"), "of ann\n").unwrap();
    kill(owner);
    stage.git(&["clone", "--quiet", ".", "../other"]);
    fs::rename(
        stage.path("repo/drive.toml"),
        stage.path("other/drive.toml"),
    )
    .unwrap();
    fs::remove_dir_all(stage.path("repo")).unwrap();
    let args = ["cruise", "run", "--plan-only", "Add more", "--detach"];
    let second = drive_in(&stage, "other", &args).document;
    until("the second", || {
        let shown = drive_in(&stage, "other", &["cruise", "status"]).document;
        shown["prNumber"].is_number() && shown["ownerPid"] == second["pid"]
    });
    let pid = Pid::from_raw(second["pid"].as_i64().unwrap().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    // Resuming all cruises resumes the one that exists.
    let owner = start_in(&stage, "home", &["cruise", "resume", "--all"]);
    until("an owner", || {
        let shown = drive_in(&stage, "other", &["cruise", "status"]).document;
        shown["ownerPid"] == owner.id()
    });
    let cleaned = drive_in(&stage, "home", &["cruise", "cleanup", &id, "--force"]);
    assert_eq!(
        (cleaned.code, &cleaned.document["status"]),
        (Some(0), &"cancelled".into()),
        "{cleaned:?}"
    );
    // Nothing can be proven about its sandbox now, so the sandbox remains.
    let warnings = cleaned.document["warnings"].to_string();
    assert!(warnings.contains("is not removed"), "{warnings}");
    assert!(folder.join("unsaved.txt").is_file());
    assert_eq!(
        drive_in(&stage, "other", &["cruise", "cleanup"]).code,
        Some(0)
    );
    assert_eq!(ended(owner).document["failure"]["kind"], "repositoryGone");
}

/// A cruise in a linked worktree, which is then removed.
fn without_worktree(args: &[&str]) {
    let stage = local();
    stage.git(&["worktree", "add", "--quiet", "-b", "side", "../linked"]);
    fs::copy(
        stage.path("repo/drive.toml"),
        stage.path("linked/drive.toml"),
    )
    .unwrap();
    let owner = start_in(&stage, "linked", args);
    until("the pull request", || status(&stage)["prNumber"] == 1);
    until_quiet(&stage, 0);
    let id = status(&stage)["id"].as_str().unwrap().to_owned();
    kill(owner);
    stage.git(&["worktree", "remove", "--force", "../linked"]);
    let owner = stage.start(&["cruise", "resume", &id]);
    stage.drive(&["pr", "comment", "1", "Where are you?"]);
    until("the answer", || {
        fixes(said(&stage.pull_request())).len() == 1
    });
    until_quiet(&stage, 1);
    kill(owner);
    let cleaned = stage.drive(&["cruise", "cleanup"]);
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
}

#[test]
fn a_cruise_goes_on_without_the_linked_worktree_it_began_in() {
    without_worktree(&["cruise", "run", "--plan-only", "Add user auth"]);
}

#[test]
fn a_cruise_that_builds_goes_on_without_the_linked_worktree_it_began_in() {
    without_worktree(&["cruise", "run", "Add user auth"]);
}

/// A cruise whose repository is moved permanently.
fn in_a_moved_repository(args: &[&str]) {
    let stage = local();
    let owner = stage.start(args);
    until("the pull request", || status(&stage)["prNumber"] == 1);
    until_quiet(&stage, 0);
    let id = status(&stage)["id"].as_str().unwrap().to_owned();
    kill(owner);
    fs::rename(stage.path("repo"), stage.path("moved")).unwrap();
    let refused = drive_in(&stage, "home", &["cruise", "resume", &id]);
    let hint = refused.document["failure"]["hint"].to_string();
    assert!(
        hint.contains("run the command again in its new place"),
        "{hint}"
    );
    let owner = start_in(&stage, "moved", &["cruise", "resume", &id]);
    until("the owner", || {
        drive_in(&stage, "moved", &["cruise", "status", &id]).document["ownerPid"] == owner.id()
    });
    let commented = drive_in(&stage, "moved", &["pr", "comment", "1", "You moved."]);
    assert_eq!(commented.code, Some(0), "{commented:?}");
    until("the answer", || {
        let shown = drive_in(&stage, "moved", &["pr", "show", "1"]).document;
        fixes(said(&shown)).len() == 1
    });
    kill(owner);
    let cleaned = drive_in(&stage, "moved", &["cruise", "cleanup"]);
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
}

#[test]
fn a_cruise_goes_on_where_its_repository_was_moved_to() {
    in_a_moved_repository(&["cruise", "run", "--plan-only", "Add user auth"]);
}

#[test]
fn a_cruise_that_builds_goes_on_where_its_repository_was_moved_to() {
    in_a_moved_repository(&["cruise", "run", "Add user auth"]);
}

#[test]
fn a_command_without_an_id_changes_no_cruise_of_another_repository() {
    let (stage, owner) = on_local();
    stage.git(&["clone", "--quiet", ".", "../other"]);
    let at = "other";
    fs::copy(
        stage.path("repo/drive.toml"),
        stage.path("other/drive.toml"),
    )
    .unwrap();
    for folder in [at, "home"] {
        for (args, kind) in [
            (&["cruise", "cleanup"][..], "noCruise"),
            (&["cruise", "approve"], "noCruise"),
            (&["cruise", "fix", "--comment", "Not here."], "noCruise"),
            (&["runs", "extend", "--rounds", "1"], "noRunFits"),
            (&["runs", "stop", "--yes"], "noRunFits"),
        ] {
            let refused = drive_in(&stage, folder, args);
            assert_eq!(
                (refused.code, &refused.document["failure"]["kind"]),
                (Some(2), &kind.into()),
                "{folder}: {args:?}"
            );
        }
    }
    // Another worktree of the same repository counts as the same repository.
    stage.git(&["worktree", "add", "--quiet", "-b", "side", "../linked"]);
    let cleaned = drive_in(&stage, "linked", &["cruise", "cleanup"]);
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
    assert_eq!(ended(owner).document["status"], "cancelled");
}
