//! Tests commit messages of agents: texts that trigger actions on a forge do not leave a sandbox.

use crate::support::{World, write};
use drive_adapters::sandbox::GitSandboxes;
use drive_core::Problem;
use drive_core::forge::inert::Said;
use drive_core::ids::RemoteName;
use drive_core::problem::Kind;
use drive_core::sandbox::Sandbox;
use drive_engine::ports::{Sandboxes, VersionControl};
use std::io::Write;
use std::process::Stdio;

const ACTIVE: &str = "Ask @octocat, fixes #12 [skip ci]";
const INERT: &str = "Ask @ octocat, fixes issue 12 (skip ci)";

/// A sandbox in which an agent works.
struct Agent {
    world: World,
    sandboxes: GitSandboxes,
    sandbox: Sandbox,
}

impl Agent {
    fn new() -> Self {
        let world = World::new();
        let sandboxes = world.sandboxes();
        let sandbox = sandboxes.create(&world.spec("one")).unwrap();
        Self {
            world,
            sandboxes,
            sandbox,
        }
    }

    fn git(&self, args: &[&str]) -> String {
        self.world.git_in(&self.sandbox.path, args)
    }

    fn commit(&self, message: &str) -> String {
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Points the branch at a commit that is stored exactly as given.
    fn commit_raw(&self, header: &str, message: &[u8]) {
        let (tree, parent) = (self.git(&["rev-parse", "HEAD^{tree}"]), "HEAD");
        let parent = self.git(&["rev-parse", parent]);
        let who = "Ann <ann@example.org> 1700000000 +0000";
        let start =
            format!("tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n{header}\n\n");
        let mut child = self
            .world
            .command(
                &self.sandbox.path,
                ["hash-object", "-t", "commit", "-w", "--stdin"],
            )
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(start.as_bytes()).unwrap();
        stdin.write_all(message).unwrap();
        drop(stdin);
        let made = child.wait_with_output().unwrap();
        let sha = String::from_utf8(made.stdout).unwrap();
        self.git(&["reset", "-q", "--hard", sha.trim()]);
    }

    fn make_inert(&self, remote: Option<&str>) -> Result<usize, Problem> {
        let remote = remote.map(|name| RemoteName::parse(name).unwrap());
        let (sandbox, said) = (&self.sandbox, Said::default());
        let git = self.world.builder();
        git.make_messages_inert(sandbox, &sandbox.base_sha, &said, remote.as_ref())
    }

    /// The raw text of the checked out commit.
    fn stored(&self) -> String {
        self.git(&["cat-file", "commit", "HEAD"])
    }
}

#[test]
fn an_encoding_in_which_nothing_is_left_of_a_message_hides_nothing() {
    let mut hidden = 0;
    // An even number of bytes is decoded.
    for end in ["", "\n"] {
        let agent = Agent::new();
        agent.commit_raw("encoding UTF-16LE", format!("{ACTIVE}{end}").as_bytes());
        hidden += u32::from(agent.git(&["log", "-1", "--format=%B"]).is_empty());
        assert_eq!(agent.make_inert(None).unwrap(), 1);
        let stored = agent.stored();
        assert!(stored.ends_with(&format!("\n\n{INERT}")), "{stored}");
        assert!(!stored.contains("encoding"), "{stored}");
        assert_eq!(agent.make_inert(None).unwrap(), 0);
    }
    assert_eq!(hidden, 1);
}

#[test]
fn a_message_that_is_rewritten_keeps_its_letters() {
    let agent = Agent::new();
    agent.commit_raw("encoding ISO-8859-1", b"M\xfcller asks @octocat\n");
    assert_eq!(agent.make_inert(None).unwrap(), 1);
    assert!(agent.stored().ends_with("\n\nMüller asks @ octocat"));
}

#[test]
fn commits_that_build_on_a_rewritten_one_keep_everything_but_their_parent() {
    let agent = Agent::new();
    agent.commit(ACTIVE);
    agent.commit_raw("encoding ISO-8859-1\nmore of it", b"F\xfcr alle\n");
    let before = agent.git(&["rev-parse", "HEAD^{tree}"]);
    assert_eq!(agent.make_inert(None).unwrap(), 1);
    assert_eq!(agent.git(&["rev-parse", "HEAD^{tree}"]), before);
    let stored = agent.stored();
    assert!(
        stored.contains("\nencoding ISO-8859-1\nmore of it\n\n"),
        "{stored}"
    );
    assert_eq!(agent.git(&["log", "-1", "--format=%s"]), "Für alle");
    assert_eq!(agent.git(&["log", "-1", "--format=%s", "HEAD^"]), INERT);
    assert_eq!(agent.git(&["status", "--porcelain"]), "");
}

#[test]
fn what_a_stopped_agent_committed_comes_to_its_branch_inert() {
    let agent = Agent::new();
    agent.commit(ACTIVE);
    agent.commit("Then this");
    agent.sandboxes.remove(&agent.sandbox).unwrap();
    let log = agent.world.git(["log", "--format=%s", "main..drive/one"]);
    assert_eq!(log, format!("Then this\n{INERT}"));
}

#[test]
fn a_branch_that_is_made_again_holds_inert_messages() {
    let agent = Agent::new();
    agent.commit(ACTIVE);
    agent
        .world
        .git(["update-ref", "-d", "refs/heads/drive/one"]);
    agent.sandboxes.mend(&agent.sandbox, None).unwrap();
    let subject = ["log", "-1", "--format=%s", "drive/one"];
    assert_eq!(agent.world.git(subject), INERT);
}

#[test]
fn commits_that_an_agent_fetched_are_not_rewritten() {
    let agent = Agent::new();
    let world = &agent.world;
    let remote = world.path().join("remote.git");
    let remote = remote.to_str().unwrap();
    world.git(["clone", "-q", "--bare", ".", remote]);
    world.git(["remote", "add", "origin", remote]);
    world.git(["fetch", "-q"]);
    let others = world.path().join("others");
    world.git(["clone", "-q", remote, others.to_str().unwrap()]);
    write(&others.join("new.txt"), "new\n");
    world.git_in(&others, ["add", "-A"]);
    world.git_in(
        &others,
        ["commit", "-q", "-m", "Bump @types/node, fixes #123"],
    );
    world.git_in(&others, ["push", "-q", "origin", "HEAD:main"]);
    let theirs = world.git_in(&others, ["rev-parse", "HEAD"]);
    agent.commit(ACTIVE);
    agent.git(&["fetch", "-q", remote, "main"]);
    agent.git(&["rebase", "-q", "FETCH_HEAD"]);
    assert_eq!(agent.make_inert(Some("origin")).unwrap(), 1);
    assert_eq!(agent.git(&["rev-parse", "HEAD^"]), theirs);
    assert_eq!(agent.git(&["log", "-1", "--format=%s"]), INERT);
}

#[test]
fn history_that_an_agent_cut_off_is_judged() {
    let agent = Agent::new();
    agent.commit(ACTIVE);
    let last = agent.commit("Harmless");
    write(
        &agent.sandbox.path.join(".git/shallow"),
        &format!("{last}\n"),
    );
    agent.sandboxes.mend(&agent.sandbox, None).unwrap();
    assert_eq!(agent.make_inert(None).unwrap(), 1);
    let log = agent.git(&["log", "--format=%s", "main..HEAD"]);
    assert_eq!(log, format!("Harmless\n{INERT}"));
}

#[test]
fn files_are_saved_where_an_agent_fetched_only_the_end_of_a_history() {
    let agent = Agent::new();
    let world = &agent.world;
    let others = world.path().join("others");
    world.git(["clone", "-q", ".", others.to_str().unwrap()]);
    for number in ["one", "two"] {
        let message = ["commit", "-q", "--allow-empty", "-m", number];
        world.git_in(&others, message);
    }
    let from = format!("file://{}", others.display());
    agent.git(&["fetch", "-q", "--depth=1", &from, "HEAD"]);
    agent.git(&["reset", "-q", "--hard", "FETCH_HEAD"]);
    write(&agent.sandbox.path.join("work.txt"), "the work\n");
    let removed = agent.sandboxes.remove(&agent.sandbox).unwrap();
    let kept = format!("{}:work.txt", removed.kept.unwrap().reference);
    assert_eq!(world.git(["show", &kept]), "the work");
}

#[test]
fn a_message_without_end_is_refused() {
    let agent = Agent::new();
    agent.commit_raw("encoding UTF-8", "fix/".repeat(300_000).as_bytes());
    let refused = agent.make_inert(None).unwrap_err();
    assert_eq!(refused.kind, Kind::WorkRefused);
    assert!(refused.message.contains("over 1 MB"), "{refused}");
}
