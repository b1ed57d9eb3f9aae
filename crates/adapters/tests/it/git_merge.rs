//! Tests merges in a checkout with real git.

use crate::support::{self, World};
use drive_core::ids::BranchName;
use drive_core::ids::{CommitSha, RemoteName, RunId};
use drive_engine::ports::{Leftovers, Merged, Place, Push, Pushed, VersionControl};
use std::path::PathBuf;

fn leftovers() -> Leftovers {
    Leftovers {
        run: RunId::new("r-1"),
        message: "Merge origin/main".into(),
    }
}

/// A repository whose `main` and `side` both changed `a.txt`, with `main` checked out, and the tip of each.
struct Clash {
    world: World,
    ours: CommitSha,
    theirs: CommitSha,
}

impl Clash {
    fn new(ours: &str, theirs: &str) -> Self {
        let world = World::new();
        world.git(["checkout", "-qb", "side"]);
        world.write("a.txt", theirs);
        world.write("theirs.txt", "new\n");
        let theirs = CommitSha::new(world.commit("theirs"));
        world.git(["checkout", "-q", "main"]);
        world.write("a.txt", ours);
        let ours = CommitSha::new(world.commit("ours"));
        Self {
            world,
            ours,
            theirs,
        }
    }

    fn place(&self) -> Place<'_> {
        Place::Checkout(&self.world.repo)
    }

    fn merge(&self) -> Merged {
        let git = self.world.builder();
        git.merge(self.place(), &self.theirs, &leftovers()).unwrap()
    }

    fn conclude(&self) -> Merged {
        let git = self.world.builder();
        git.conclude_merge(self.place(), &self.ours, &self.theirs, &leftovers())
            .unwrap()
    }

    fn conflicts(&self, paths: &[&str]) -> Merged {
        Merged::Conflicts {
            theirs: self.theirs.clone(),
            files: paths.iter().map(PathBuf::from).collect(),
        }
    }

    /// The parents of the head, its subject and its trailers.
    fn head(&self) -> String {
        self.world
            .git(["show", "-s", "--format=%P|%s|%(trailers:separator=%x2c)"])
    }

    fn merge_commit(&self) -> String {
        format!(
            "{} {}|Merge origin/main|Drive-Run: r-1",
            self.ours, self.theirs
        )
    }

    fn is_in_progress(&self) -> bool {
        self.world.repo.join(".git/MERGE_HEAD").exists()
    }
}

#[test]
fn what_does_not_conflict_is_merged_with_the_runs_trailer() {
    let clash = Clash::new("a\nours\n", "a\n");
    let git = clash.world.builder();
    let found = git.conflicts(clash.place(), &clash.ours, &clash.theirs);
    assert_eq!(found, Ok(Vec::new()));
    assert_eq!(clash.merge(), Merged::Done);
    assert_eq!(clash.head(), clash.merge_commit());
    assert_eq!(clash.world.git(["status", "--porcelain"]), "");
    // A repetition finds that it is done.
    assert_eq!(clash.merge(), Merged::Done);
    assert_eq!(clash.head(), clash.merge_commit());
}

#[test]
fn a_branch_that_only_went_on_is_followed_without_a_merge_commit() {
    let world = World::new();
    world.git(["checkout", "-qb", "side"]);
    world.write("b.txt", "b");
    let theirs = world.commit("theirs");
    world.git(["checkout", "-q", "main"]);
    let git = world.builder();
    let merged = git.merge(
        Place::Checkout(&world.repo),
        &CommitSha::new(&theirs),
        &leftovers(),
    );
    assert_eq!(merged, Ok(Merged::Done));
    assert_eq!(world.git(["rev-parse", "HEAD"]), theirs);
}

#[test]
fn a_conflict_is_left_in_progress_and_found_again() {
    let clash = Clash::new("ours\n", "theirs\n");
    let git = clash.world.builder();
    let found = git.conflicts(clash.place(), &clash.ours, &clash.theirs);
    assert_eq!(found, Ok(vec!["a.txt".into()]));
    assert_eq!(clash.world.git(["status", "--porcelain"]), "");
    for _ in 0..2 {
        assert_eq!(clash.merge(), clash.conflicts(&["a.txt"]));
        assert!(clash.is_in_progress());
    }
    assert_eq!(clash.world.git(["rev-parse", "HEAD"]), clash.ours.as_str());
}

#[test]
fn a_merge_in_progress_is_of_what_it_was_begun_with() {
    let clash = Clash::new("ours\n", "theirs\n");
    clash.merge();
    // Meanwhile the other side advances.
    let (world, place) = (&clash.world, clash.place());
    let tree = format!("{}^{{tree}}", clash.theirs);
    let newer = world.git(["commit-tree", &tree, "-p", &clash.theirs, "-m", "more"]);
    let git = world.builder();
    let merged = git
        .merge(place, &CommitSha::new(&newer), &leftovers())
        .unwrap();
    assert_eq!(merged, clash.conflicts(&["a.txt"]));
    world.write("a.txt", "both\n");
    world.git(["add", "-A"]);
    // It was stopped before its commit, and is requested again.
    assert_eq!(
        git.merge(place, &CommitSha::new(&newer), &leftovers()),
        Ok(Merged::Done)
    );
    assert_eq!(clash.head(), clash.merge_commit());
}

#[test]
fn a_conflict_marker_is_never_committed() {
    let clash = Clash::new("ours\n", "theirs\n");
    clash.merge();
    // First nothing was resolved; then the files were only staged, which makes git treat them as resolved.
    for stage in [false, true] {
        if stage {
            clash.world.git(["add", "-A"]);
        }
        assert_eq!(clash.conclude(), clash.conflicts(&["a.txt"]), "{stage}");
        assert!(clash.is_in_progress());
    }
    clash.world.write("a.txt", "ours\n>>>>>>> theirs\n");
    assert_eq!(clash.conclude(), clash.conflicts(&["a.txt"]));
    clash.world.write("a.txt", "both\n");
    assert_eq!(clash.conclude(), Merged::Done);
    assert_eq!(clash.head(), clash.merge_commit());
    assert_eq!(clash.world.git(["show", "HEAD:a.txt"]), "both");
    assert_eq!(clash.conclude(), Merged::Done);
}

#[test]
fn a_marker_that_an_agent_committed_by_itself_is_found_and_can_still_be_resolved() {
    let clash = Clash::new("ours\n", "theirs\n");
    clash.merge();
    clash.world.commit("resolved, said the agent");
    assert_eq!(clash.conclude(), clash.conflicts(&["a.txt"]));
    clash.world.write("a.txt", "both\n");
    assert_eq!(clash.conclude(), Merged::Done);
    assert_eq!(clash.world.git(["show", "HEAD:a.txt"]), "both");
}

#[test]
fn a_line_like_a_marker_that_both_had_before_is_no_leftover() {
    let text = |own: &str| format!("<<<<<<< an example\n{own}\n>>>>>>> of a conflict\n");
    let clash = Clash::new(&text("ours"), &text("theirs"));
    clash.merge();
    clash.world.write("a.txt", &text("both"));
    assert_eq!(clash.conclude(), Merged::Done);
}

#[test]
fn a_merge_that_an_agent_gave_up_is_begun_again() {
    let clash = Clash::new("ours\n", "theirs\n");
    clash.merge();
    clash.world.git(["merge", "--abort"]);
    assert_eq!(clash.conclude(), clash.conflicts(&["a.txt"]));
    assert!(clash.is_in_progress());
}

#[test]
fn a_file_one_side_deleted_is_what_was_left_in_the_folder() {
    for keeps in [true, false] {
        let clash = Clash::new("ours\n", "theirs\n");
        clash.world.git(["checkout", "-q", "side"]);
        clash.world.git(["rm", "-q", "a.txt"]);
        let theirs = clash.world.commit("gone");
        clash.world.git(["checkout", "-q", "main"]);
        let clash = Clash {
            theirs: CommitSha::new(theirs),
            ..clash
        };
        assert_eq!(clash.merge(), clash.conflicts(&["a.txt"]));
        if !keeps {
            std::fs::remove_file(clash.world.repo.join("a.txt")).unwrap();
        }
        assert_eq!(clash.conclude(), Merged::Done);
        let files = clash.world.git(["ls-tree", "--name-only", "HEAD", "a.txt"]);
        assert_eq!(files, if keeps { "a.txt" } else { "" });
    }
}

#[test]
fn what_a_kill_during_a_merge_left_stops_no_later_one() {
    let clash = Clash::new("ours\n", "theirs\n");
    assert_eq!(clash.merge(), clash.conflicts(&["a.txt"]));
    let git_dir = clash.world.repo.join(".git");
    for name in ["drive-merge.index", "drive-merge.index.lock"] {
        std::fs::write(git_dir.join(name), "half").unwrap();
    }
    clash.world.write("a.txt", "both\n");
    assert_eq!(clash.conclude(), Merged::Done);
    let names = std::fs::read_dir(git_dir).unwrap();
    let mut names = names.map(|entry| entry.unwrap().file_name());
    assert!(!names.any(|name| name.to_string_lossy().starts_with("drive-merge")));
}

#[test]
fn a_merge_stopped_before_its_commit_is_committed() {
    let clash = Clash::new("a\nours\n", "a\n");
    clash
        .world
        .git(["merge", "-q", "--no-commit", "--no-ff", "side"]);
    assert!(clash.is_in_progress());
    assert_eq!(clash.merge(), Merged::Done);
    assert_eq!(clash.head(), clash.merge_commit());
}

#[test]
fn the_users_own_merge_settings_do_not_change_what_happens() {
    let clash = Clash::new("a\nours\n", "a\n");
    for (key, value) in [
        ("merge.ff", "only"),
        ("branch.main.mergeoptions", "--squash --no-commit"),
        ("merge.verifySignatures", "true"),
        ("core.hooksPath", "/bin"),
    ] {
        clash.world.git(["config", key, value]);
    }
    assert_eq!(clash.merge(), Merged::Done);
    assert_eq!(clash.head(), clash.merge_commit());
}

#[test]
fn a_branch_somebody_rewrote_is_fetched_merged_and_pushed_and_nobodys_commits_are_lost() {
    let world = World::new();
    let remote = world.path().join("remote.git");
    world.git(["clone", "-q", "--bare", ".", remote.to_str().unwrap()]);
    world.git(["remote", "add", "origin", remote.to_str().unwrap()]);
    let git = world.builder();
    let place = Place::Checkout(&world.repo);
    let branch = BranchName::parse("feature").unwrap();
    assert_eq!(
        git.fetch_branch(place, &RemoteName::parse("origin").unwrap(), &branch),
        Ok(None)
    );
    // Our commit was pushed; then a person removes it and replaces it by their own.
    world.git(["checkout", "-qb", "feature"]);
    world.write("ours.txt", "ours");
    let ours = world.commit("ours");
    world.git(["push", "-q", "origin", "feature"]);
    let person = world.path().join("person");
    world.git([
        "clone",
        "-q",
        remote.to_str().unwrap(),
        person.to_str().unwrap(),
    ]);
    support::write(&person.join("theirs.txt"), "theirs");
    world.git_in(&person, ["checkout", "-qb", "feature", "origin/main"]);
    world.git_in(&person, ["add", "-A"]);
    world.git_in(&person, ["commit", "-qm", "theirs"]);
    world.git_in(&person, ["push", "-qf", "origin", "feature"]);
    let theirs = world.git_in(&person, ["rev-parse", "HEAD"]);
    let push = |sha: String| {
        let expected = git
            .remote_head(place, &RemoteName::parse("origin").unwrap(), &branch)
            .unwrap();
        let branch = branch.clone();
        let remote = RemoteName::parse("origin").unwrap();
        git.push(
            place,
            &Push {
                remote,
                branch,
                sha: CommitSha::new(sha),
                expected,
            },
        )
        .unwrap()
    };
    let moved = Pushed::Moved {
        remote_head: Some(CommitSha::new(theirs.clone())),
    };
    assert_eq!(push(ours.clone()), moved);
    assert_eq!(
        git.fetch_branch(place, &RemoteName::parse("origin").unwrap(), &branch),
        Ok(Some(CommitSha::new(theirs.clone())))
    );
    assert_eq!(
        git.merge(place, &CommitSha::new(&theirs), &leftovers()),
        Ok(Merged::Done)
    );
    assert_eq!(push(world.git(["rev-parse", "HEAD"])), Pushed::Done);
    for sha in [ours, theirs] {
        world.git_in(&remote, ["merge-base", "--is-ancestor", &sha, "feature"]);
    }
}
