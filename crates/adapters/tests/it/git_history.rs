//! Tests the history port with real git and real remotes.

use crate::support::{World, write};
use drive_adapters::git::{Deadlines, Git};
use drive_core::ids::{BranchName, CommitSha, RemoteName, RunId};
use drive_core::problem::Kind;
use drive_core::run::CommitSummary;
use drive_core::sandbox::InProgress;
use drive_engine::CancelToken;
use drive_engine::cancel::Urgency;
use drive_engine::ports::{
    CollectedWork, DiffStats, FileChange, Leftovers, Place, Push, Pushed, VersionControl, WorkState,
};
use proptest::prelude::*;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

fn leftovers() -> Leftovers {
    Leftovers {
        run: RunId::new("r-1"),
        message: "Leftovers of the agent".into(),
    }
}

/// A world with a bare remote that has `main`.
fn with_remote() -> World {
    let world = World::new();
    let remote = world.path().join("remote.git");
    world.git(["clone", "-q", "--bare", ".", remote.to_str().unwrap()]);
    world.git(["remote", "add", "origin", remote.to_str().unwrap()]);
    world.git(["fetch", "-q"]);
    world
}

fn push_of(world: &World, expected: Option<&str>) -> Push {
    Push {
        remote: RemoteName::parse("origin").unwrap(),
        branch: BranchName::parse("feature").unwrap(),
        sha: CommitSha::new(world.git(["rev-parse", "HEAD"])),
        expected: expected.map(str::to_owned).map(CommitSha::new),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn branch_names_are_judged_as_git_does(
        names in proptest::collection::vec("[a-bA-B@{}./ ~^:?*\\[\\\\\\-\u{1}\u{7f}é]{1,8}(\\.lock)?", 1..4)
    ) {
        let world = World::empty();
        let odd = ["@", "HEAD", "0123456789abcdef0123456789abcdef01234567"].map(str::to_owned);
        for name in names.into_iter().chain(odd).chain(["b".repeat(300)]) {
            let status = world
                .command(&world.repo, ["check-ref-format", "--branch", &name])
                .output()
                .unwrap()
                .status;
            prop_assert_eq!(BranchName::parse(&name).is_ok(), status.success(), "{:?}", name);
        }
    }
}

#[test]
fn leftovers_become_one_commit_with_the_runs_trailer() {
    let world = World::new();
    let git = world.builder();
    let place = Place::Checkout(&world.repo);
    let base = world.git(["rev-parse", "HEAD"]);
    let collect = || git.collect_work(place, &leftovers(), &base).unwrap();
    let work = |head_sha: &str, dirty_files, commits| CollectedWork {
        state: WorkState {
            head_sha: CommitSha::new(head_sha.to_owned()),
            branch: Some(BranchName::parse("main").unwrap()),
            in_progress: None,
            dirty_files,
            own: None,
        },
        commits,
        builds_on_base: true,
        large: Vec::new(),
        nested: Vec::new(),
    };
    assert_eq!(collect(), work(&base, 0, Vec::new()));
    world.write("a.txt", "changed");
    world.write("new file.txt", "new");
    let collected = collect();
    let head = world.git(["rev-parse", "HEAD"]);
    let commit = CommitSummary {
        sha: CommitSha::new(head.clone()),
        subject: "Leftovers of the agent".into(),
    };
    assert_eq!(collected, work(&head, 2, vec![commit.clone()]));
    assert_eq!(collect(), work(&head, 0, vec![commit]));
    assert_eq!(
        world.git(["show", "-s", "--format=%an <%ae>%n%(trailers)"]),
        "Ann <ann@example.org>\nDrive-Run: r-1"
    );
    assert_eq!(world.git(["status", "--porcelain"]), "");
}

#[test]
fn work_that_builds_on_its_base_is_told_from_work_that_does_not() {
    let world = World::new();
    let git = world.builder();
    let place = Place::Checkout(&world.repo);
    let first = world.git(["rev-parse", "HEAD"]);
    let builds = |base: &str| {
        let collected = git.collect_work(place, &leftovers(), base).unwrap();
        collected.builds_on_base
    };
    world.write("a.txt", "second\n");
    let second = world.commit("second");
    assert_eq!((builds(&first), builds(&second)), (true, true));
    world.git(["checkout", "-q", "-b", "side", &first]);
    assert_eq!((builds(&first), builds(&second)), (true, false));
    world.write("b.txt", "side\n");
    world.commit("side");
    assert_eq!((builds(&first), builds(&second)), (true, false));
    world.git(["merge", "-q", "-m", "both", &second]);
    assert_eq!((builds(&first), builds(&second)), (true, true));
    world.git(["checkout", "-q", "--orphan", "other"]);
    world.commit("another beginning");
    assert_eq!((builds(&first), builds(&second)), (false, false));
}

#[test]
fn without_an_identity_drive_signs_for_itself() {
    let world = World::new();
    std::fs::write(world.home().join(".gitconfig"), "").unwrap();
    world.write("a.txt", "changed");
    let git = world.builder();
    git.collect_work(Place::Checkout(&world.repo), &leftovers(), "HEAD~0")
        .unwrap();
    assert_eq!(
        world.git(["show", "-s", "--format=%an <%ae> %cn"]),
        "drive <drive@localhost> drive"
    );
}

#[test]
fn a_rebase_in_progress_is_seen_and_its_leftovers_are_left() {
    let world = World::new();
    world.git(["checkout", "-qb", "side"]);
    world.write("a.txt", "side\n");
    world.commit("side");
    world.git(["checkout", "-q", "main"]);
    world.write("a.txt", "main\n");
    let upstream = world.commit("main");
    world.git(["checkout", "-q", "side"]);
    let rebase = world
        .command(&world.repo, ["rebase", "-q", "main"])
        .output();
    assert!(!rebase.unwrap().status.success());
    let git = world.builder();
    let place = Place::Checkout(&world.repo);
    let state = WorkState {
        head_sha: CommitSha::new(upstream.clone()),
        branch: None,
        in_progress: Some(InProgress::Rebase),
        dirty_files: 1,
        own: None,
    };
    assert_eq!(git.state(place).unwrap(), state);
    let collected = git.collect_work(place, &leftovers(), &upstream).unwrap();
    let untouched = CollectedWork {
        state,
        commits: Vec::new(),
        builds_on_base: true,
        large: Vec::new(),
        nested: Vec::new(),
    };
    assert_eq!(collected, untouched);
}

fn file_change(path: impl Into<PathBuf>, lines: Option<(u64, u64)>) -> FileChange {
    FileChange {
        path: path.into(),
        insertions: lines.map(|(plus, _)| plus),
        deletions: lines.map(|(_, minus)| minus),
    }
}

#[test]
fn history_is_told_in_values() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    let base = world.git(["rev-parse", "HEAD"]);
    let odd = std::ffi::OsStr::from_bytes(b"odd\xff.txt");
    std::fs::write(world.repo.join(odd), "1\n2\n").unwrap();
    world.write("a.txt", "changed\n");
    std::fs::write(world.repo.join("blob.bin"), b"\0\x01").unwrap();
    let head = world.commit("second");
    let git = world.builder();
    let place = Place::Checkout(&world.repo);
    assert_eq!(
        git.commits(place, &base, "HEAD").unwrap(),
        [CommitSummary {
            sha: CommitSha::new(head.clone()),
            subject: "second".into()
        }]
    );
    assert_eq!(
        git.diff_stats(place, &base, &head).unwrap(),
        DiffStats {
            files: 3,
            insertions: 3,
            deletions: 1,
            listed: vec![
                file_change("a.txt", Some((1, 1))),
                file_change("blob.bin", None),
                file_change(odd, Some((2, 0))),
            ],
        }
    );
    assert_eq!(
        git.changed_paths(place, &base, &head).unwrap(),
        [PathBuf::from("a.txt"), "blob.bin".into(), odd.into()]
    );
    assert!(git.is_ancestor(place, &base, &head).unwrap());
    assert!(!git.is_ancestor(place, &head, &base).unwrap());
    assert_eq!(
        git.merge_base(place, &head, &base).unwrap(),
        Some(CommitSha::new(base))
    );
    let tree = world.git(["rev-parse", "HEAD^{tree}"]);
    let unrelated = world.git(["commit-tree", "-m", "unrelated", &tree]);
    assert_eq!(git.merge_base(place, &head, &unrelated).unwrap(), None);
}

#[test]
fn a_push_goes_through_once_and_says_so_again() {
    let world = with_remote();
    let git = world.builder();
    let place = Place::Checkout(&world.repo);
    let push = push_of(&world, None);
    assert_eq!(git.push(place, &push).unwrap(), Pushed::Done);
    assert_eq!(git.push(place, &push).unwrap(), Pushed::UpToDate);
    assert_eq!(
        git.remote_head(place, &RemoteName::parse("origin").unwrap(), &push.branch)
            .unwrap(),
        Some(push.sha.clone())
    );
    world.write("a.txt", "more");
    world.commit("more");
    let next = push_of(&world, Some(&push.sha));
    assert_eq!(git.push(place, &next).unwrap(), Pushed::Done);
}

#[test]
fn a_push_never_overwrites_somebodys_commits() {
    let world = with_remote();
    let git = world.builder();
    let place = Place::Checkout(&world.repo);
    let first = push_of(&world, None);
    git.push(place, &first).unwrap();
    // Another person pushes to the same branch.
    let clone = world.path().join("clone");
    let remote = world.path().join("remote.git");
    world.git([
        "clone",
        "-q",
        "-b",
        "feature",
        remote.to_str().unwrap(),
        clone.to_str().unwrap(),
    ]);
    write(&clone.join("theirs.txt"), "theirs");
    world.git_in(&clone, ["add", "-A"]);
    world.git_in(&clone, ["commit", "-qm", "theirs"]);
    world.git_in(&clone, ["push", "-q"]);
    let theirs = world.git_in(&clone, ["rev-parse", "HEAD"]);

    world.write("a.txt", "ours");
    world.commit("ours");
    let moved = Pushed::Moved {
        remote_head: Some(CommitSha::new(theirs.clone())),
    };
    for expected in [Some(first.sha.as_str()), Some(theirs.as_str()), None] {
        let push = push_of(&world, expected);
        assert_eq!(git.push(place, &push).unwrap(), moved, "{expected:?}");
    }
    assert_eq!(
        git.remote_head(place, &RemoteName::parse("origin").unwrap(), &first.branch)
            .unwrap(),
        Some(CommitSha::new(theirs))
    );
}

#[test]
fn a_remote_that_says_no_is_told_from_one_that_cannot_be_reached() {
    let world = with_remote();
    let git = world.builder();
    let place = Place::Checkout(&world.repo);
    let hook = world.path().join("remote.git/hooks/pre-receive");
    write(&hook, "#!/bin/sh\necho 'not today' >&2\nexit 1\n");
    std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
    let answer = git.push(place, &push_of(&world, None)).unwrap();
    let Pushed::Refused { reason } = answer else {
        panic!("{answer:?}");
    };
    assert!(reason.contains("not today"), "{reason}");

    std::fs::rename(
        world.path().join("remote.git"),
        world.path().join("gone.git"),
    )
    .unwrap();
    let problem = git.push(place, &push_of(&world, None)).unwrap_err();
    assert_eq!(problem.kind, Kind::RemoteUnreachable);
    assert_eq!(
        git.fetch(place, &RemoteName::parse("origin").unwrap())
            .unwrap_err()
            .kind,
        Kind::RemoteUnreachable
    );
}

#[test]
fn a_call_that_hangs_is_ended_at_its_deadline() {
    let world = World::new();
    world.git(["remote", "add", "slow", "ssh://nobody@localhost/nowhere"]);
    let environment = drive_adapters::Environment::from_pairs([
        ("PATH", std::env::var_os("PATH").unwrap()),
        ("HOME", world.home().into_os_string()),
        ("GIT_SSH_COMMAND", "sleep 600 #".into()),
    ]);
    let git = Git::new(World::runner(), &environment).with_deadlines(Deadlines {
        network: Duration::from_millis(300),
        ..Deadlines::default()
    });
    let problem = git
        .fetch(
            Place::Checkout(&world.repo),
            &RemoteName::parse("slow").unwrap(),
        )
        .unwrap_err();
    assert_eq!(problem.kind, Kind::GitTimedOut);
}

#[test]
fn programs_the_repository_names_for_the_network_do_not_run() {
    let world = with_remote();
    let proof = world.path().join("ran");
    let evil = format!("touch '{}' && git-upload-pack", proof.display());
    world.git(["config", "remote.origin.uploadpack", &evil]);
    let git = world.builder();
    git.fetch(
        Place::Checkout(&world.repo),
        &RemoteName::parse("origin").unwrap(),
    )
    .unwrap();
    assert!(!proof.exists());
}

#[test]
fn a_remote_that_never_answers_does_not_hold_whoever_asks_for_a_stop() {
    let world = World::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("git://{}/repository", listener.local_addr().unwrap());
    world.git(["remote", "add", "hung", &url]);
    let cancel = CancelToken::new();
    let git = world.builder().with_cancel(cancel.clone());
    let problem = std::thread::scope(|threads| {
        threads.spawn(|| {
            let _connection = listener.accept().unwrap();
            cancel.cancel(Urgency::Graceful);
        });
        let branch = BranchName::parse("main").unwrap();
        git.remote_head(
            Place::Checkout(&world.repo),
            &RemoteName::parse("hung").unwrap(),
            &branch,
        )
        .unwrap_err()
    });
    assert_eq!(problem.kind, Kind::Interrupted);
    // Saving work still works.
    git.state(Place::Checkout(&world.repo)).unwrap();
}

#[test]
fn the_same_holds_for_an_ordinary_user() {
    crate::support::again_as_ordinary_user(module_path!());
}

#[test]
fn plain_files_of_a_commit_are_read_without_links_folders_and_long_ones() {
    let world = World::new();
    let repo = &world.repo;
    write(&repo.join("CLAUDE.md"), "of the base");
    write(&repo.join("GEMINI.md"), "too long for this");
    write(&repo.join("sub/AGENTS.md"), "of a folder");
    std::os::unix::fs::symlink("/etc/passwd", repo.join("AGENTS.md")).unwrap();
    world.git(["add", "-A"]);
    world.git(["commit", "-q", "-m", "instructions"]);
    write(&repo.join("CLAUDE.md"), "not committed");
    let names = ["CLAUDE.md", "AGENTS.md", "GEMINI.md", "sub"];
    let files = world
        .builder()
        .plain_files(Place::Checkout(repo), "HEAD", &names, 12)
        .unwrap();
    assert_eq!(files, [("CLAUDE.md".to_owned(), "of the base".to_owned())]);
}

#[test]
fn attributes_of_a_change_hide_none_of_its_lines() {
    let world = World::new();
    let repo = &world.repo;
    let version = world.git(["version"]);
    let minor = version.split('.').nth(1).and_then(|it| it.parse().ok());
    if minor.is_some_and(|minor: u32| minor < 41) {
        eprintln!("skipped: {version} reads the attributes of the working tree only");
        return;
    }
    write(&repo.join(".gitattributes"), "*.rs -diff\n");
    write(&repo.join("evil.rs"), "steal();\n");
    world.git(["add", "-A"]);
    world.git(["commit", "-q", "-m", "hide"]);
    let plain = world.git(["diff-tree", "-p", "HEAD~1", "HEAD"]);
    assert!(plain.contains("Binary files"), "the control: {plain}");
    let (base, head) = (
        world.git(["rev-parse", "HEAD~1"]),
        world.git(["rev-parse", "HEAD"]),
    );
    let change = world
        .builder()
        .diff(Place::Checkout(repo), &base, &head)
        .unwrap();
    let text = drive_core::review::shown(&change, 4096);
    assert!(text.contains("+steal();"), "{text}");
}

#[test]
fn a_diff_names_every_file_whatever_its_name_and_the_users_settings() {
    let world = World::new();
    let repo = &world.repo;
    write(&repo.join("mode"), "x\n");
    write(&repo.join("gone"), "x\n");
    write(&repo.join("moved"), "one\ntwo\nthree\n");
    world.git(["add", "-A"]);
    world.git(["commit", "-q", "-m", "before"]);
    for (key, value) in [
        ("diff.noprefix", "true"),
        ("diff.renames", "copies"),
        ("diff.suppressBlankEmpty", "true"),
        ("diff.orderFile", "/dev/null"),
        ("core.quotePath", "true"),
    ] {
        world.git(["config", key, value]);
    }
    world.git(["update-index", "--chmod=+x", "mode"]);
    world.git(["mv", "moved", "new ä\t\"name"]);
    world.git(["rm", "-q", "gone"]);
    write(&repo.join("no-newline"), "one\n\ntwo");
    std::fs::write(repo.join("data"), [0, 1, 2]).unwrap();
    world.git(["add", "no-newline", "data"]);
    world.git(["commit", "-q", "-m", "after"]);
    let change = world
        .builder()
        .diff(Place::Checkout(repo), "HEAD~1", "HEAD")
        .unwrap();
    let text = drive_core::review::shown(&change, 4096);
    let (rows, _) = text.split_once("diff --git").unwrap();
    assert_eq!(
        rows,
        "6 files changed, +6 -4\n\ndata (binary: not shown)\ngone +0 -1\nmode +0 -0\n\
         moved +0 -3\n\"new ä\\t\\\"name\" +3 -0\nno-newline +3 -0\n\n"
    );
    assert!(
        text.ends_with("+two\n\\ No newline at end of file\n"),
        "{text}"
    );
    let lines = change.into_lines();
    drive_core::forge::inline::require_line(&lines, "new ä\t\"name", 3).unwrap();
    drive_core::forge::inline::require_line(&lines, "no-newline", 3).unwrap();
}
