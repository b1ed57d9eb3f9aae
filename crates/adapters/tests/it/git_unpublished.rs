//! Tests the check of commits before a push, with the output of real git.

use crate::support::World;
use drive_core::ids::{BranchName, CommitSha, RemoteName};
use drive_core::problem::{Kind, Problem};
use drive_core::secrets::SecretPolicy;
use drive_engine::ports::{Place, Push, VersionControl};

const SECRET: &str = "correct-horse-battery";

/// A repository whose `main` is on its remote, and whose run began there.
struct Checked {
    world: World,
    base: CommitSha,
}

impl Checked {
    fn new() -> Self {
        let world = World::new();
        let remote = world.path().join("remote.git");
        world.git(["clone", "-q", "--bare", ".", remote.to_str().unwrap()]);
        world.git(["remote", "add", "origin", remote.to_str().unwrap()]);
        world.git(["fetch", "-q"]);
        let base = CommitSha::new(world.git(["rev-parse", "HEAD"]));
        world.git(["checkout", "-q", "-b", "feature"]);
        Self { world, base }
    }

    fn check(&self) -> Result<(), Problem> {
        let push = Push {
            remote: RemoteName::parse("origin").unwrap(),
            branch: BranchName::parse("feature").unwrap(),
            sha: CommitSha::new(self.world.git(["rev-parse", "HEAD"])),
            expected: None,
        };
        let place = Place::Checkout(&self.world.repo);
        let git = self.world.builder();
        let patch = git.unpublished(place, &push, &self.base, None)?;
        SecretPolicy::new(&[SECRET.to_owned()], &[])?.require_clean(&patch)
    }

    fn message(&self) -> String {
        let problem = self.check().unwrap_err();
        assert_eq!(problem.kind, Kind::SecretInCommit, "{problem}");
        problem.message
    }
}

#[test]
fn a_secret_that_a_later_commit_removes_is_found_with_its_line() {
    let checked = Checked::new();
    checked
        .world
        .write("new file.txt", &format!("one\ntwo\nkey={SECRET}\n"));
    let first = checked.world.commit("Add it");
    checked.world.write("new file.txt", "one\ntwo\n");
    checked.world.commit("Remove it");
    let commit = &first[..8];
    assert_eq!(
        checked.message(),
        format!("not pushed: a secret is in `new file.txt:3` (commit {commit})")
    );
}

#[test]
fn ordinary_commits_and_removed_secrets_are_clean() {
    let checked = Checked::new();
    checked.world.write(
        "a.txt",
        "text\n\\ No newline at end of file\n--- a/x\n+++ b/y\n",
    );
    checked.world.write("empty.txt", "");
    checked.world.commit("One");
    checked.world.write("a.txt", "other, without an end");
    checked.world.commit("Two");
    checked.world.git(["rm", "-q", "a.txt"]);
    checked.world.commit("Three");
    assert_eq!(checked.check(), Ok(()));
}

#[test]
fn attributes_and_binary_content_hide_nothing() {
    let checked = Checked::new();
    checked
        .world
        .write(".gitattributes", "* -diff -text\n*.dat binary\n");
    checked.world.write("x.dat", &format!("\0\0\0\n{SECRET}\0"));
    checked.world.commit("Binary");
    assert!(checked.message().contains("`x.dat:2`"));
}

#[test]
fn a_replaced_commit_and_a_graft_hide_nothing() {
    let checked = Checked::new();
    checked.world.write("key.txt", SECRET);
    let dirty = checked.world.commit("Dirty");
    checked.world.git(["rm", "-q", "key.txt"]);
    let clean = checked.world.commit("Clean");
    let base = checked.base.to_string();
    checked.world.git(["replace", &dirty, &base]);
    assert!(checked.message().contains("`key.txt:1`"));
    checked.world.git(["replace", "-d", &dirty]);
    let info = checked.world.repo.join(".git/info");
    std::fs::create_dir_all(&info).unwrap();
    std::fs::write(info.join("grafts"), format!("{clean} {base}\n")).unwrap();
    assert!(checked.message().contains("`key.txt:1`"));
}

#[test]
fn a_message_and_an_empty_commit_are_checked() {
    let checked = Checked::new();
    checked.world.git([
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        &format!("Say\n\n{SECRET}"),
    ]);
    assert!(checked.message().contains("the message of commit"));
}

#[test]
fn a_merge_is_checked_for_what_only_it_adds() {
    let checked = Checked::new();
    checked.world.write("both.txt", "one\n");
    checked.world.commit("Ours");
    checked
        .world
        .git(["checkout", "-q", "-b", "other", &checked.base]);
    checked.world.write("both.txt", "two\n");
    checked.world.commit("Theirs");
    checked.world.git(["checkout", "-q", "feature"]);
    let _ = checked
        .world
        .command(&checked.world.repo, ["merge", "-q", "other"])
        .output()
        .unwrap();
    checked
        .world
        .write("both.txt", &format!("one\ntwo\n{SECRET}\n"));
    checked.world.commit("Merge");
    assert!(checked.message().contains("`both.txt:3`"));
}

#[test]
fn what_the_remote_has_is_not_checked_and_what_it_lacks_is() {
    let checked = Checked::new();
    checked.world.git(["checkout", "-q", "main"]);
    checked.world.write("mine.txt", SECRET);
    let mine = checked.world.commit("Mine");
    let before = Checked {
        base: CommitSha::new(mine),
        world: checked.world,
    };
    before.world.git(["checkout", "-q", "-B", "feature"]);
    before.world.write("new.txt", "new\n");
    before.world.commit("New");
    assert!(before.message().contains("`mine.txt:1`"));
    before.world.git(["push", "-q", "origin", "main"]);
    assert_eq!(before.check(), Ok(()));
}

#[test]
fn a_merge_that_drops_the_ends_of_both_sides_is_read() {
    for merged in ["a\nc\nd\ne\n", "", "a"] {
        let checked = Checked::new();
        checked.world.write("both.txt", "a\nb\nc\nd\ne\nf\n");
        checked.world.commit("Ours");
        checked
            .world
            .git(["checkout", "-q", "-b", "other", &checked.base]);
        checked.world.write("both.txt", "a\nx\nc\nd\ne\ny\n");
        checked.world.commit("Theirs");
        checked.world.git(["checkout", "-q", "feature"]);
        let _ = checked
            .world
            .command(&checked.world.repo, ["merge", "-q", "other"])
            .output()
            .unwrap();
        checked.world.write("both.txt", merged);
        checked.world.commit("Merge");
        assert_eq!(checked.check(), Ok(()), "{merged:?}");
    }
}

#[test]
fn no_header_of_a_commit_hides_a_secret() {
    for header in [
        // An even number of bytes is decoded, to nothing.
        "encoding UTF-16LE\n\nSay correct-horse-battery\n",
        "encoding UTF-16LE\n\nSay correct-horse-battery",
        "note correct-horse-battery\n\nSay nothing\n",
    ] {
        let checked = Checked::new();
        let world = &checked.world;
        let tree = world.git(["rev-parse", "HEAD^{tree}"]);
        let who = "Ann <ann@example.org> 1700000000 +0000";
        let base = &checked.base;
        world.write(
            ".git/new-commit",
            &format!("tree {tree}\nparent {base}\nauthor {who}\ncommitter {who}\n{header}"),
        );
        let sha = world.git(["hash-object", "-t", "commit", "-w", ".git/new-commit"]);
        world.git(["reset", "-q", "--hard", &sha]);
        let message = checked.message();
        assert!(
            message.contains(&format!("the message of commit {}", &sha[..8])),
            "{message}"
        );
    }
}
