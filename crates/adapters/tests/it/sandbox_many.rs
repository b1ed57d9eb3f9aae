//! Tests many sandboxes of one repository at once, while git is busy in it.

use crate::support::World;
use drive_core::ids::SandboxId;
use drive_engine::ports::Sandboxes;
use std::sync::atomic::{AtomicBool, Ordering};

const AT_ONCE: usize = 20;

fn twenty_at_once(world: &World, round: usize) {
    let made: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE)
            .map(|number| {
                scope.spawn(move || {
                    let spec = world.spec(&format!("s{round}-{number}"));
                    world.sandboxes().create(&spec)
                })
            })
            .collect();
        threads.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let failed: Vec<_> = made.iter().filter_map(|one| one.as_ref().err()).collect();
    assert!(failed.is_empty(), "round {round}: {failed:#?}");
    for sandbox in made.into_iter().flatten() {
        assert_eq!(
            std::fs::read_to_string(sandbox.path.join("a.txt")).unwrap(),
            "a\n"
        );
    }
}

fn remove_all(world: &World, round: usize) {
    std::thread::scope(|scope| {
        for number in 0..AT_ONCE {
            scope.spawn(move || {
                let sandboxes = world.sandboxes();
                let id = SandboxId::new(format!("s{round}-{number}"));
                let sandbox = sandboxes.find(&id).unwrap().unwrap();
                assert_eq!(sandboxes.remove(&sandbox).unwrap().kept, None);
                sandboxes.finish_deletions();
            });
        }
    });
}

#[test]
fn twenty_sandboxes_at_once_are_twenty_every_time() {
    let world = World::new();
    for round in 0..3 {
        twenty_at_once(&world, round);
        remove_all(&world, round);
    }
    assert_eq!(world.traces(), Vec::<String>::new());
}

#[test]
fn twenty_at_once_also_with_gc_prune_and_fetch_beside() {
    let world = World::new();
    let remote = world.path().join("remote.git");
    world.git(["clone", "-q", "--bare", ".", remote.to_str().unwrap()]);
    world.git(["remote", "add", "origin", remote.to_str().unwrap()]);
    let done = AtomicBool::new(false);
    let noises: [&[&str]; 3] = [
        &["gc", "-q", "--prune=now"],
        &["worktree", "prune"],
        &[
            "fetch",
            "-q",
            "origin",
            "+refs/heads/*:refs/remotes/origin/*",
        ],
    ];
    std::thread::scope(|scope| {
        for noise in noises {
            let (world, done) = (&world, &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    // Whether this background command succeeds does not matter.
                    let _ = world.command(&world.repo, noise).output();
                }
            });
        }
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for round in 0..2 {
                twenty_at_once(&world, round);
                remove_all(&world, round);
            }
        }));
        done.store(true, Ordering::Relaxed);
        if let Err(panic) = result {
            std::panic::resume_unwind(panic);
        }
    });
    assert_eq!(world.traces(), Vec::<String>::new());
}

#[test]
fn the_same_holds_for_an_ordinary_user() {
    crate::support::again_as_ordinary_user(module_path!());
}
