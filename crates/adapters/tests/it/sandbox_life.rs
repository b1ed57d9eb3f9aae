//! Tests the life of a sandbox: created, worked in, kept, removed.

use crate::support::{FixedClock, World, write};
use drive_core::ids::{BranchName, CommitSha, RemoteName, RunId};
use drive_core::problem::Kind;
use drive_core::sandbox::{InProgress, KeptAbout, KeptWork, Lifetime, OwnerState};
use drive_engine::SandboxGuard;
use drive_engine::ports::{Clock, Place, Push, Pushed, Removal, Sandboxes, VersionControl};

fn about(run: &str, branch: &str) -> KeptAbout {
    KeptAbout {
        run: RunId::new(run),
        kept_at: FixedClock.now(),
        branch: Some(BranchName::parse(branch).unwrap()),
        dirty_files: 0,
        unpushed_commits: 0,
        in_progress: None,
    }
}

fn fs_text(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_sandbox_has_the_files_of_its_base_on_its_own_branch() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    assert_eq!(
        std::fs::read_to_string(sandbox.path.join("src/b.txt")).unwrap(),
        "b\n"
    );
    assert_eq!(
        world.git_in(&sandbox.path, ["symbolic-ref", "HEAD"]),
        "refs/heads/drive/one"
    );
    assert_eq!(world.git_in(&sandbox.path, ["status", "--porcelain"]), "");
    assert_eq!(
        sandbox.base_sha,
        CommitSha::new(world.git(["rev-parse", "HEAD"]))
    );
    assert_eq!(
        world.git(["rev-parse", "refs/drive/pin/one"]),
        sandbox.base_sha.as_str()
    );
    assert_eq!(sandboxes.find(&sandbox.id).unwrap(), Some(sandbox));
}

#[test]
fn asking_again_returns_the_same_sandbox() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let first = sandboxes.create(&world.spec("one")).unwrap();
    write(&first.path.join("new.txt"), "work");
    assert_eq!(sandboxes.create(&world.spec("one")).unwrap(), first);
    assert!(first.path.join("new.txt").exists());
}

#[test]
fn asking_for_something_else_under_the_same_name_is_refused() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    sandboxes.create(&world.spec("one")).unwrap();
    let mut other = world.spec("one");
    other.lifetime = Lifetime::Persistent;
    assert_eq!(
        sandboxes.create(&other).unwrap_err().kind,
        Kind::SandboxExists
    );
}

#[test]
fn removing_a_clean_sandbox_keeps_nothing_and_leaves_nothing() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let removal = sandboxes.remove(&sandbox).unwrap();
    assert_eq!(
        removal,
        Removal {
            kept: None,
            existed: true
        }
    );
    sandboxes.finish_deletions();
    assert_eq!(world.traces(), Vec::<String>::new());
    assert_eq!(world.remains(), Vec::<std::path::PathBuf>::new());
    assert_eq!(world.git(["branch", "--format=%(refname:short)"]), "main");
}

#[test]
fn removing_what_is_already_gone_is_fine() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    sandboxes.remove(&sandbox).unwrap();
    let again = sandboxes.remove(&sandbox).unwrap();
    assert_eq!(
        again,
        Removal {
            kept: None,
            existed: false
        }
    );
}

#[test]
fn dirty_untracked_and_unpushed_work_is_kept_in_one_commit() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("committed.txt"), "c");
    world.git_in(&sandbox.path, ["add", "-A"]);
    world.git_in(&sandbox.path, ["commit", "-qm", "agent's own"]);
    let head = world.git_in(&sandbox.path, ["rev-parse", "HEAD"]);
    write(&sandbox.path.join("a.txt"), "changed");
    write(&sandbox.path.join("new dir/new.txt"), "new");
    std::fs::remove_file(sandbox.path.join("src/b.txt")).unwrap();

    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    assert_eq!(
        kept,
        KeptWork {
            reference: "refs/drive/kept/r-one/1".into(),
            sha: CommitSha::new(world.git(["rev-parse", "refs/drive/kept/r-one/1"])),
            about: KeptAbout {
                dirty_files: 3,
                unpushed_commits: 1,
                ..about("r-one", "drive/one")
            },
        }
    );
    assert_eq!(world.git(["rev-parse", &format!("{}^", kept.sha)]), head);
    assert_eq!(
        world.git(["ls-tree", "-r", "--name-only", &kept.sha]),
        "a.txt\ncommitted.txt\nnew dir/new.txt"
    );
    assert_eq!(
        world.git(["show", &format!("{}:a.txt", kept.sha)]),
        "changed"
    );
}

#[test]
fn kept_work_is_listed_restored_and_dropped() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("new.txt"), "new");
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    assert_eq!(sandboxes.kept(&world.repo).unwrap(), vec![kept.clone()]);

    let branch = BranchName::parse("rescued").unwrap();
    assert_eq!(
        sandboxes.restore(&world.repo, "r-one", &branch).unwrap(),
        kept
    );
    assert_eq!(world.git(["show", "rescued:new.txt"]), "new");
    let again = sandboxes.restore(&world.repo, "r-one/1", &branch);
    assert_eq!(again.unwrap_err().kind, Kind::BranchExists);

    sandboxes.drop_kept(&world.repo, &kept.reference).unwrap();
    assert_eq!(sandboxes.kept(&world.repo).unwrap(), Vec::new());
    let gone = sandboxes.drop_kept(&world.repo, &kept.reference);
    assert_eq!(gone.unwrap_err().kind, Kind::UnknownKeptWork);
}

#[test]
fn commits_that_a_remote_has_are_not_kept_again() {
    let world = World::new();
    let remote = world.path().join("remote.git");
    world.git(["init", "-q", "--bare", remote.to_str().unwrap()]);
    world.git(["remote", "add", "origin", remote.to_str().unwrap()]);
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("new.txt"), "new");
    world.git_in(&sandbox.path, ["add", "-A"]);
    world.git_in(&sandbox.path, ["commit", "-qm", "pushed"]);
    let head = world.git_in(&sandbox.path, ["rev-parse", "HEAD"]);
    let push = Push {
        remote: RemoteName::parse("origin").unwrap(),
        branch: BranchName::parse("drive/one").unwrap(),
        sha: CommitSha::new(head),
        expected: None,
    };
    let (git, place) = (world.builder(), Place::Sandbox(&sandbox));
    git.state(place).unwrap();
    assert_eq!(git.push(place, &push).unwrap(), Pushed::Done);
    assert_eq!(sandboxes.remove(&sandbox).unwrap().kept, None);
}

#[test]
fn commits_on_the_branch_of_the_sandbox_are_not_kept_a_second_time() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("new.txt"), "new");
    world.git_in(&sandbox.path, ["add", "-A"]);
    world.git_in(&sandbox.path, ["commit", "-qm", "on the branch"]);
    let head = world.git_in(&sandbox.path, ["rev-parse", "HEAD"]);
    assert_eq!(sandboxes.remove(&sandbox).unwrap().kept, None);
    assert_eq!(world.git(["rev-parse", "drive/one"]), head);
}

#[test]
fn commits_on_no_branch_are_kept() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    world.git_in(&sandbox.path, ["checkout", "-q", "--detach"]);
    write(&sandbox.path.join("new.txt"), "new");
    world.git_in(&sandbox.path, ["add", "-A"]);
    world.git_in(&sandbox.path, ["commit", "-qm", "on no branch"]);
    let head = world.git_in(&sandbox.path, ["rev-parse", "HEAD"]);
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    assert_eq!(kept.about.unpushed_commits, 1);
    assert_eq!(world.git(["rev-parse", &format!("{}^", kept.sha)]), head);
}

#[test]
fn a_rebase_left_half_done_is_kept_with_what_it_was_about() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let agent = |args: &[&str]| world.git_in(&sandbox.path, args);
    write(&sandbox.path.join("a.txt"), "agent\n");
    agent(&["commit", "-qam", "agent"]);
    let original = agent(&["rev-parse", "HEAD"]);
    world.write("a.txt", "upstream\n");
    let upstream = world.commit("upstream");
    let rebase = world
        .command(&sandbox.path, ["rebase", "-q", &upstream])
        .output()
        .unwrap();
    assert!(!rebase.status.success(), "the rebase must conflict");

    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    assert_eq!(kept.about.in_progress, Some(InProgress::Rebase));
    let parents = world.git(["show", "-s", "--format=%P", &kept.sha]);
    assert!(parents.contains(&original), "{parents}");
    let text = world.git(["show", &format!("{}:a.txt", kept.sha)]);
    assert!(text.contains("<<<<<<<"), "{text}");
}

/// Changes that were stashed before an operation that then stopped halfway.
#[test]
fn changes_that_an_unfinished_operation_put_aside_are_kept() {
    for operation in [
        &["rebase", "-q", "--autostash"][..],
        &["rebase", "-q", "--apply", "--autostash"],
        &["merge", "-q", "--autostash"],
    ] {
        let world = World::new();
        let sandboxes = world.sandboxes();
        let sandbox = sandboxes.create(&world.spec("one")).unwrap();
        write(&sandbox.path.join("a.txt"), "agent\n");
        world.git_in(&sandbox.path, ["commit", "-qam", "agent"]);
        world.write("a.txt", "upstream\n");
        let upstream = world.commit("upstream");
        write(&sandbox.path.join("src/b.txt"), "put aside\n");
        let with = operation.iter().copied().chain([upstream.as_str()]);
        let command = world.command(&sandbox.path, with).output().unwrap();
        assert!(!command.status.success(), "{operation:?} must conflict");
        let put_aside = fs_text(&sandbox.path.join("src/b.txt")) == "b\n";
        assert!(put_aside, "{operation:?}");

        let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
        let parents = world.git(["show", "-s", "--format=%P", &kept.sha]);
        let has_it =
            |parent: &str| world.git(["show", &format!("{parent}:src/b.txt")]) == "put aside";
        assert!(parents.split(' ').any(has_it), "{operation:?}: {parents}");
    }
}

#[test]
fn changes_that_a_killed_merge_put_aside_are_kept_although_nothing_else_shows_it() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("a.txt"), "put aside\n");
    let stash = world.git_in(&sandbox.path, ["stash", "create"]);
    world.git_in(&sandbox.path, ["reset", "-q", "--hard"]);
    write(
        &sandbox.path.join(".git").join("MERGE_AUTOSTASH"),
        &format!("{stash}\n"),
    );
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    let parents = world.git(["show", "-s", "--format=%P", &kept.sha]);
    assert_eq!(parents, format!("{} {stash}", sandbox.base_sha));
}

#[test]
fn a_second_save_that_differs_in_what_was_staged_is_another_one() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let stage = |text: &str| {
        write(&sandbox.path.join("staged.txt"), text);
        world.git_in(&sandbox.path, ["add", "staged.txt"]);
        std::fs::remove_file(sandbox.path.join("staged.txt")).unwrap();
        sandboxes.keep(&sandbox).unwrap().unwrap()
    };
    let (first, again, second) = (stage("one"), stage("one"), stage("two"));
    assert_eq!(first, again);
    assert_ne!(first.reference, second.reference);
    assert_eq!(
        world.git(["show", &format!("{}^2:staged.txt", second.sha)]),
        "two"
    );
}

#[test]
fn what_was_staged_and_then_deleted_is_kept_too() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("staged.txt"), "only staged");
    world.git_in(&sandbox.path, ["add", "staged.txt"]);
    std::fs::remove_file(sandbox.path.join("staged.txt")).unwrap();
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    assert_eq!(
        world.git(["show", &format!("{}^2:staged.txt", kept.sha)]),
        "only staged"
    );
}

#[test]
fn changes_hidden_from_git_by_flags_are_kept() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    for (flag, file) in [
        ("--assume-unchanged", "a.txt"),
        ("--skip-worktree", "src/b.txt"),
    ] {
        world.git_in(&sandbox.path, ["update-index", flag, file]);
        write(&sandbox.path.join(file), "hidden change");
    }
    assert_eq!(world.git_in(&sandbox.path, ["status", "--porcelain"]), "");
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    for file in ["a.txt", "src/b.txt"] {
        let shown = world.git(["show", &format!("{}:{file}", kept.sha)]);
        assert_eq!(shown, "hidden change");
    }
}

#[test]
fn the_files_of_a_nested_repository_are_kept() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let nested = sandbox.path.join("nested");
    std::fs::create_dir(&nested).unwrap();
    world.git_in(&nested, ["init", "-q"]);
    write(&nested.join("x.txt"), "x");
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    let saved = world.git(["show", &format!("{}:nested/x.txt", kept.sha)]);
    assert_eq!(saved, "x");
}

#[test]
fn a_transient_sandbox_goes_with_its_scope_also_on_panic() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let guard = SandboxGuard::create(&sandboxes, &world.spec("one")).unwrap();
        write(&guard.sandbox().unwrap().path.join("new.txt"), "new");
        panic!("the service fell over");
    }));
    assert!(result.is_err());
    sandboxes.finish_deletions();
    assert_eq!(world.traces(), ["refs/drive/kept/r-one/1"]);
    assert_eq!(world.remains(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_git_file_that_points_elsewhere_is_not_believed() {
    let world = World::new();
    let other = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    std::fs::remove_dir_all(sandbox.path.join(".git")).unwrap();
    write(
        &sandbox.path.join(".git"),
        &format!("gitdir: {}\n", other.repo.join(".git").display()),
    );
    write(&sandbox.path.join("new.txt"), "new");
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    assert_eq!(world.git(["show", &format!("{}:new.txt", kept.sha)]), "new");
    assert_eq!(other.traces(), Vec::<String>::new());
}

#[test]
fn a_sweep_removes_transient_sandboxes_of_dead_runs_only() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let dead = sandboxes.create(&world.spec("dead")).unwrap();
    write(&dead.path.join("new.txt"), "new");
    let alive = sandboxes.create(&world.spec("alive")).unwrap();
    let mut spec = world.spec("persistent");
    spec.lifetime = Lifetime::Persistent;
    let persistent = sandboxes.create(&spec).unwrap();
    let elsewhere = world.path().join("elsewhere");
    world.git(["worktree", "add", "-q", elsewhere.to_str().unwrap()]);

    let report = sandboxes
        .sweep(&|run| match run.as_str() {
            "r-alive" => OwnerState::Alive,
            _ => OwnerState::Dead,
        })
        .unwrap();
    let removed: Vec<&str> = report.removed.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(removed, ["dead"]);
    assert!(report.removed[0].kept.is_some());
    let left: Vec<&str> = report.left.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(left, ["alive", "persistent"]);
    sandboxes.finish_deletions();
    assert!(alive.path.exists() && persistent.path.exists() && elsewhere.exists());
    assert!(!dead.path.exists());
}

#[test]
fn the_same_holds_for_an_ordinary_user() {
    crate::support::again_as_ordinary_user(module_path!());
}
