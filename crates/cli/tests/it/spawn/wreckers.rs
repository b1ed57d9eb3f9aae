//! Tests agents that attack git itself: its refs, its head, its index, their working folder.

use crate::spawn::agents::{COMMIT, flown, flown_with, warnings};
use crate::spawn::support::{PATH, World, text};

/// Disables the kernel's protection of git's own files.
const UNCONFINED: &str = "[sandbox]\nisolation = \"off\"\n";

#[test]
fn one_that_deletes_its_whole_folder_has_a_commit_that_says_so() {
    let script = "cd /; rm -rf \"$OLDPWD\" 2> /dev/null; true";
    // If the kernel confines it, it cannot reach the empty folder.
    let (confined, code, run) = flown(script);
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(confined.files("mine"), "");
    let (free, code, run) = flown_with(UNCONFINED, script);
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(free.files("mine"), "");
    assert_eq!(warnings(&run), "the agent deleted its whole folder");
    for world in [confined, free] {
        assert_eq!(world.files("main"), "a.txt src/b.txt");
        assert_eq!(world.git("fsck --no-progress 2>&1"), "");
    }
}

#[test]
fn one_that_leaves_a_git_of_its_own_does_not_have_it_run() {
    let world = World::with_agent(
        r#"printf '#!/bin/sh\ntouch "$HOME/ran"\nPATH=/usr/local/bin:/usr/bin:/bin exec git "$@"\n' > git; chmod +x git"#,
    );
    let mut command = world.drive_command(&["spawn", "Do it", "--branch", "mine"]);
    let output = command.env("PATH", format!(":.:{PATH}")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(world.files("mine"), "a.txt git src/b.txt");
    assert!(!world.path("home/ran").exists());
}

#[test]
fn one_that_adds_a_repository_of_its_own_has_its_files_committed_and_is_told() {
    for last in ["", "; git commit -qm 'add app'"] {
        let world = World::with_agent(&format!(
            "export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@y GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@y; git init -q app; cd app; echo precious > work.txt; git add -A; git commit -qm inner; cd ..; git add -A{last}"
        ));
        let (code, run) = world.spawn(&["Add a repository", "--branch", "mine"]);
        assert_eq!(code, Some(0), "{run:#}");
        assert_eq!(world.files("mine"), "a.txt app/work.txt src/b.txt");
        assert_eq!(world.git("show mine:app/work.txt"), "precious");
        let warnings = warnings(&run);
        assert!(
            warnings.contains("`app` was a nested repository"),
            "{run:#}"
        );
        assert_eq!(world.sandboxes().len(), 0, "{run:#}");
    }
}

#[test]
fn one_that_deletes_its_whole_folder_and_fails_is_a_failure_by_its_own_name() {
    let script = "cd /; rm -rf \"$OLDPWD\" 2> /dev/null; exit 7";
    let (world, code, run) = flown_with(UNCONFINED, script);
    let failure = (code, text(&run["failure"]["kind"]));
    assert_eq!(failure, (Some(1), "agentNoVerdict".into()), "{run:#}");
    assert_eq!(
        world.git("for-each-ref --format='%(refname)'"),
        "refs/heads/main"
    );
}

#[test]
fn one_that_deletes_the_runs_branch_has_its_work_on_it_again() {
    let script = format!(
        "echo x > x.txt; {COMMIT} 'My own'; echo y > y.txt; git update-ref -d refs/heads/mine"
    );
    let (world, code, run) = flown_with(UNCONFINED, &script);
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(world.files("mine"), "a.txt src/b.txt x.txt y.txt");
    assert_eq!(world.git("log --format=%s main..mine"), "Do it\nMy own");
    assert_eq!(warnings(&run), "the agent left no commit checked out");
}

#[test]
fn one_that_renames_the_runs_branch_has_its_commits_on_the_runs_branch_alone() {
    let script = format!("git branch -m mine theirs; echo x > x.txt; {COMMIT} 'Elsewhere'");
    let (world, code, run) = flown_with(UNCONFINED, &script);
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(world.git("log --format=%s main..mine"), "Elsewhere");
    assert_eq!(world.git("branch --list theirs"), "");
    assert_eq!(
        warnings(&run),
        "the agent switched to theirs; its commits are now on `mine`"
    );
}

#[test]
fn one_that_deletes_the_branch_it_switched_to_has_its_files_on_the_runs_branch() {
    let script = format!(
        "git checkout -q -b other; echo x > x.txt; {COMMIT} 'Lost'; git update-ref -d refs/heads/other"
    );
    let (world, code, run) = flown_with(UNCONFINED, &script);
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(world.git("log --format=%s main..mine"), "Do it");
    assert_eq!(world.files("mine"), "a.txt src/b.txt x.txt");
    assert_eq!(warnings(&run), "the agent left no commit checked out");
}

#[test]
fn one_that_wipes_gits_own_files_of_its_folder_has_its_work_committed() {
    for (damage, told) in [
        (
            "rm -rf \"$(git rev-parse --git-dir)\"/*",
            "the agent deleted the git files of its folder\n\
             the agent damaged git's index",
        ),
        (
            "echo garbage > \"$(git rev-parse --git-dir)/HEAD\"",
            "the agent left no commit checked out",
        ),
        (
            "echo garbage > \"$(git rev-parse --git-dir)/index\"",
            "the agent damaged git's index",
        ),
        ("touch \"$(git rev-parse --git-dir)/index.lock\"", ""),
    ] {
        let (world, code, run) = flown(&format!("echo new > new.txt; {damage}; true"));
        assert_eq!(code, Some(0), "{damage}: {run:#}");
        assert_eq!(world.files("mine"), "a.txt new.txt src/b.txt", "{damage}");
        assert_eq!(warnings(&run), told, "{damage}");
    }
}

#[test]
fn one_that_leads_gits_files_elsewhere_has_nothing_of_the_user_overwritten() {
    let (world, code, run) = flown_with(
        UNCONFINED,
        "echo new > new.txt; state=$(cd \"$TMPDIR/../../../..\" && pwd); cd \"$(git rev-parse --git-dir)\"
for name in HEAD index; do rm $name; echo mine > \"$state/$name\"; ln -s \"$state/$name\" $name; done",
    );
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(world.files("mine"), "a.txt new.txt src/b.txt");
    for name in ["HEAD", "index"] {
        let path = world.path("state").join(name);
        assert_eq!(std::fs::read_to_string(path).unwrap(), "mine\n", "{name}");
    }
}

#[test]
fn one_that_fails_after_it_wiped_its_head_has_its_files_kept() {
    let (world, code, run) =
        flown("echo half > half.txt; rm \"$(git rev-parse --git-dir)/HEAD\"; exit 7");
    assert_eq!(code, Some(1), "{run:#}");
    assert_eq!(
        world.files(&text(&run["kept"][0])),
        "a.txt half.txt src/b.txt"
    );
}

#[test]
fn one_that_ends_on_an_unrelated_history_has_it_left_alone_and_named() {
    let script = format!("git checkout -q --orphan x; echo x > x.txt; {COMMIT} 'Unrelated'");
    let (world, code, run) = flown(&script);
    let failure = (code, text(&run["failure"]["kind"]));
    assert_eq!(failure, (Some(1), "nothingOnBranch".into()), "{run:#}");
    assert_eq!(
        warnings(&run),
        "the agent ended on x, which does not contain `mine`; its work there is saved separately"
    );
    assert_eq!(world.git("branch --list x"), "");
    let kept = text(&run["kept"][0]);
    assert_eq!(world.git(&format!("log --format=%s {kept}^1")), "Unrelated");
}

/// Attacks everything of the user that its own repository names.
const GREEDY: &str = "git update-ref refs/heads/main $(git commit-tree -m evil HEAD^{tree} -p HEAD)
git update-ref -d refs/heads/side; git branch idea; git tag v1; git stash list
git config --local remote.origin.url evil; git config --local core.hooksPath evil
rm -rf \"$(git rev-parse --git-common-dir)/refs/drive\"; echo new > new.txt";

#[test]
fn one_that_moves_branches_makes_some_and_changes_settings_does_so_in_its_own_repository_only() {
    for settings in ["", UNCONFINED] {
        let world = World::with_agent(GREEDY);
        world.settings(settings);
        world.git("branch side");
        world.git("update-ref refs/drive/kept/r/1 main");
        let refs = "for-each-ref --format='%(refname)%(objectname)' refs/heads refs/tags refs/drive/kept/r/";
        let before = (world.git(refs), world.git("config --local --list"));
        let (code, run) = world.spawn(&["Do it", "--branch", "mine"]);
        assert_eq!((code, warnings(&run)), (Some(0), String::new()), "{run:#}");
        assert_eq!(world.files("mine"), "a.txt new.txt src/b.txt");
        world.git("branch -D mine");
        let after = (world.git(refs), world.git("config --local --list"));
        assert_eq!(after, before, "{settings}");
        // Its commits elsewhere are saved.
        let kept = text(&run["kept"][0]);
        let saved = world.git(&format!("log --format=%s {kept}"));
        assert!(saved.contains("evil"), "{saved}");
    }
}

#[test]
fn a_branch_that_the_user_makes_meanwhile_is_nobodys_business() {
    let world = World::with_agent("touch begun.txt; until [ -e go.txt ]; do sleep 0.05; done");
    let child = world.start(&["spawn", "Do it", "--branch", "mine", "--json"]);
    let begun = world.wait_for_file("begun.txt");
    world.git("branch by-hand");
    std::fs::write(begun.with_file_name("go.txt"), "").unwrap();
    let run = crate::spawn::stops::ended(child).run();
    assert_eq!(warnings(&run), "", "{run:#}");
    assert_eq!(world.git("rev-parse by-hand"), world.git("rev-parse main"));
}

/// Replaces the newest commit by another one.
const AMEND: &str =
    "git add -A && git -c user.name=x -c user.email=x@example.org commit -q --amend -m";

#[test]
fn one_that_amends_the_first_commit_ends_clearly_with_its_work_saved() {
    let script = format!("echo x > x.txt; {AMEND} 'Amended'; echo y > y.txt");
    let (world, code, run) = flown(&script);
    let failure = (code, text(&run["failure"]["kind"]));
    assert_eq!(failure, (Some(1), "historyUnrelated".into()), "{run:#}");
    let kept = world.git("for-each-ref --format='%(refname)' refs/drive/kept");
    assert_eq!(world.files(&kept), "a.txt src/b.txt x.txt y.txt", "{run:#}");
    assert_eq!(world.files("main"), "a.txt src/b.txt");
    // Nobody is asked to merge what cannot be merged.
    let list = world.drive(&["pr", "list", "--json"]).document();
    assert_eq!(list["pullRequests"], serde_json::json!([]));
}

#[test]
fn one_that_rewrites_the_commit_it_started_from_is_refused_with_its_work_saved() {
    let world = World::with_agent(&format!("echo x > x.txt; {AMEND} 'Amended'"));
    world.shell("cd repo && echo more > c.txt && git add -A && git commit -qm second");
    let (code, run) = world.spawn(&["Do it", "--branch", "mine"]);
    let failure = (code, text(&run["failure"]["kind"]));
    assert_eq!(failure, (Some(1), "historyUnrelated".into()), "{run:#}");
    let reason = text(&run["failure"]["message"]);
    assert!(
        reason.starts_with("the agent rewrote existing commits: "),
        "{run:#}"
    );
    assert_eq!(world.git("branch --list mine"), "");
    let kept = world.git("for-each-ref --format='%(refname)' refs/drive/kept");
    assert_eq!(world.files(&kept), "a.txt c.txt src/b.txt x.txt", "{run:#}");
    assert_eq!(
        world.git(&format!("log -1 --format=%s {kept}^1")),
        "Amended"
    );
}

#[test]
fn one_that_goes_back_in_history_and_does_nothing_else_is_told_of() {
    let world = World::with_agent("git reset -q --hard HEAD~1");
    world.shell("cd repo && echo more > c.txt && git add -A && git commit -qm second");
    let (code, run) = world.spawn(&["Do it", "--branch", "mine"]);
    let failure = (code, text(&run["failure"]["kind"]));
    assert_eq!(failure, (Some(1), "nothingOnBranch".into()), "{run:#}");
    let base = world.git("rev-parse --short=8 main");
    assert_eq!(
        warnings(&run),
        format!("the agent reset `mine` to a commit before `{base}`")
    );
    assert_eq!(world.files("main"), "a.txt c.txt src/b.txt");
    world.assert_nothing_is_left();
}
