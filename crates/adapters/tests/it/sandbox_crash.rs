//! Tests that the program may die between any two steps: the next sweep leaves no leak and loses no work.

use crate::support::{World, child_test, write};
use drive_adapters::sandbox::Step;
use drive_core::ids::RunId;
use drive_core::problem::Kind;
use drive_core::sandbox::OwnerState;
use drive_engine::ports::{Leftovers, Place, Sandboxes, VersionControl};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

/// Runs in a separate process, which ends itself right after the step.
#[test]
#[ignore = "started by the tests of this file"]
fn dies_at_a_step() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let world = World::at(Path::new(&variable("WORLD")));
    let fatal = variable("STEP");
    let sandboxes = world.sandboxes().watched(move |step| {
        if format!("{step:?}") == fatal {
            let own = rustix::process::getpid();
            let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
        }
    });
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    if variable("REMOVE") == "yes" {
        sandboxes.remove(&sandbox).unwrap();
    }
}

fn die(world: &World, step: Step, remove: bool) {
    let output = child_test(
        "sandbox_crash::dies_at_a_step",
        &[
            ("WORLD", world.path().as_os_str()),
            ("STEP", format!("{step:?}").as_ref()),
            ("REMOVE", if remove { "yes" } else { "no" }.as_ref()),
        ],
    )
    .output()
    .unwrap();
    assert_eq!(
        output.status.signal(),
        Some(9),
        "{step:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_death_after_any_step_of_making_one_leaks_nothing() {
    for step in Step::CREATE {
        let world = World::new();
        die(&world, step, false);
        let sandboxes = world.sandboxes();
        let report = sandboxes.sweep(&|_| OwnerState::Dead).unwrap();
        assert_eq!(report.removed.len(), 1, "{step:?}: {report:?}");
        assert_eq!(report.left, Vec::new(), "{step:?}");
        sandboxes.finish_deletions();
        assert_eq!(world.traces(), Vec::<String>::new(), "{step:?}");
        assert_eq!(world.remains(), Vec::<PathBuf>::new(), "{step:?}");
        assert_eq!(world.git(["branch", "--format=%(refname:short)"]), "main");
    }
}

#[test]
fn after_a_death_at_any_step_the_same_request_is_finished() {
    for step in Step::CREATE {
        let world = World::new();
        die(&world, step, false);
        let sandboxes = world.sandboxes();
        let sandbox = sandboxes.create(&world.spec("one")).unwrap();
        assert_eq!(world.git_in(&sandbox.path, ["status", "--porcelain"]), "");
        assert_eq!(
            world.git_in(&sandbox.path, ["symbolic-ref", "--short", "HEAD"]),
            "drive/one",
            "{step:?}"
        );
        assert_eq!(world.traces().len(), 2, "{step:?}: a pin and a worktree");
    }
}

#[test]
fn a_death_after_any_step_of_removing_one_leaks_nothing_and_loses_no_work() {
    for step in Step::REMOVE {
        let world = World::new();
        let sandboxes = world.sandboxes();
        let sandbox = sandboxes.create(&world.spec("one")).unwrap();
        write(&sandbox.path.join("committed.txt"), "c");
        world.git_in(&sandbox.path, ["add", "-A"]);
        world.git_in(&sandbox.path, ["commit", "-qm", "work"]);
        write(&sandbox.path.join("untracked.txt"), "u");
        die(&world, step, true);

        sandboxes.sweep(&|_| OwnerState::Dead).unwrap();
        sandboxes.finish_deletions();
        assert_eq!(world.traces(), ["refs/drive/kept/r-one/1"], "{step:?}");
        assert_eq!(world.remains(), Vec::<PathBuf>::new(), "{step:?}");
        assert_eq!(
            world.git(["ls-tree", "--name-only", "refs/drive/kept/r-one/1"]),
            "a.txt\ncommitted.txt\nsrc\nuntracked.txt",
            "{step:?}"
        );
    }
}

#[test]
fn what_a_kill_during_the_saving_left_stops_no_later_one() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("untracked.txt"), "u");
    for name in ["drive-keep.index", "drive-keep.index.lock"] {
        write(&sandbox.path.join(".git").join(name), "half");
    }
    assert!(sandboxes.keep(&sandbox).unwrap().is_some());
    let left: Vec<_> = std::fs::read_dir(sandbox.path.join(".git"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().starts_with("drive-keep"))
        .collect();
    assert_eq!(left, Vec::<std::ffi::OsString>::new());

    write(
        &sandbox.path.join(".git").join("drive-keep.index.lock"),
        "half",
    );
    let report = sandboxes.sweep(&|_| OwnerState::Dead).unwrap();
    assert_eq!(report.left, Vec::new());
    assert_eq!(
        world.git(["ls-tree", "--name-only", "refs/drive/kept/r-one/1"]),
        "a.txt\nsrc\nuntracked.txt"
    );
}

#[test]
fn a_lock_that_somebody_still_holds_is_named_with_what_to_do() {
    let world = World::new();
    let sandbox = world.sandboxes().create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("new.txt"), "new");
    let lock = sandbox.git_dir.join("refs/heads/drive/one.lock");
    write(&lock, "");
    let _holder = std::fs::File::open(&lock).unwrap();
    let leftovers = Leftovers {
        run: RunId::new("r-one"),
        message: "leftovers".into(),
    };
    let git = world.builder();
    let place = Place::Sandbox(&sandbox);
    let problem = git
        .collect_work(place, &leftovers, &sandbox.base_sha)
        .unwrap_err();
    assert_eq!(problem.kind, Kind::RefLocked);
    assert_eq!(problem.message, "cannot update `refs/heads/drive/one`");
    let hint = problem.hint.unwrap();
    assert!(hint.contains(lock.to_str().unwrap()), "{hint}");
}

#[test]
fn a_lock_of_a_killed_git_is_removed_and_the_work_is_committed() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let locks = [
        sandbox.git_dir.join("refs/heads/drive/one.lock"),
        sandbox.path.join(".git").join("index.lock"),
        sandbox.path.join(".git").join("HEAD.lock"),
    ];
    let git = world.builder();
    let place = Place::Sandbox(&sandbox);
    for (number, lock) in locks.iter().enumerate() {
        write(&sandbox.path.join("new.txt"), &format!("new {number}"));
        write(lock, "");
        let leftovers = Leftovers {
            run: RunId::new("r-one"),
            message: format!("leftovers {number}"),
        };
        // As before every check of an agent's work.
        sandboxes.mend(&sandbox, None).unwrap();
        let work = git
            .collect_work(place, &leftovers, &sandbox.base_sha)
            .unwrap();
        assert_eq!(work.commits.len(), number + 1, "{}", lock.display());
        assert!(!lock.exists(), "{}", lock.display());
    }
}

/// A git process that works in a folder until its input ends.
fn git_at_work(world: &World, folder: &std::path::Path) -> std::process::Child {
    let mut command = world.command(folder, ["cat-file", "--batch"]);
    command.stdin(std::process::Stdio::piped());
    command.stdout(std::process::Stdio::null());
    command.spawn().unwrap()
}

#[test]
fn a_lock_of_the_users_repository_is_left_while_a_git_works_in_it() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let shared = [sandbox.git_dir.join("refs/heads/drive/one.lock")];
    // A lock in the sandbox cannot belong to a git that works outside of it.
    let own = ["index.lock", "HEAD.lock"].map(|name| sandbox.path.join(".git").join(name));
    for lock in shared.iter().chain(&own) {
        write(lock, "");
    }
    let left = || -> Vec<&std::path::PathBuf> {
        assert!(sandboxes.mend(&sandbox, None).is_ok());
        let all = shared.iter().chain(&own);
        all.filter(|lock| lock.exists()).collect()
    };
    let mut at_work = git_at_work(&world, &world.repo);
    assert_eq!(left(), shared.iter().collect::<Vec<_>>());
    at_work.kill().unwrap();
    at_work.wait().unwrap();
    assert!(left().is_empty());
}

#[test]
fn a_live_owner_is_not_swept_however_far_it_has_come() {
    for step in [Step::RecordWritten, Step::FolderMade, Step::Ready] {
        let world = World::new();
        die(&world, step, false);
        let before = world.remains();
        let report = world.sandboxes().sweep(&|_| OwnerState::Alive).unwrap();
        assert_eq!(report.removed, Vec::new());
        assert_eq!(world.remains(), before, "{step:?}");
    }
}

#[test]
fn the_same_holds_for_an_ordinary_user() {
    crate::support::again_as_ordinary_user(module_path!());
}
