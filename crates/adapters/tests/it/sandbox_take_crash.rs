//! Tests that a transfer loses nothing while git is busy, however often the program is killed.

use crate::support::{World, child_test, write};
use drive_adapters::Environment;
use drive_adapters::git::Git;
use drive_core::Problem;
use drive_core::ids::{CommitSha, RunId};
use drive_core::sandbox::{OwnerState, Sandbox};
use drive_engine::ports::{CollectedWork, Leftovers, Place, Sandboxes, VersionControl};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

fn collect_with(git: &Git, sandbox: &Sandbox) -> Result<CollectedWork, Problem> {
    let leftovers = Leftovers {
        run: RunId::new("r-one"),
        message: "leftovers".into(),
    };
    git.collect_work(Place::Sandbox(sandbox), &leftovers, &sandbox.base_sha)
}

#[test]
fn takes_beside_gc_repack_and_fetch_lose_nothing() {
    const AT_ONCE: usize = 6;
    let world = World::new();
    let remote = world.path().join("remote.git");
    world.git(["clone", "-q", "--bare", ".", remote.to_str().unwrap()]);
    world.git(["remote", "add", "origin", remote.to_str().unwrap()]);
    let done = AtomicBool::new(false);
    let noises: [&[&str]; 3] = [
        &["gc", "-q", "--prune=now"],
        &["repack", "-qad"],
        &["fetch", "-q", "--prune", "origin"],
    ];
    let mut tips: Vec<CommitSha> = Vec::new();
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
        let workers: Vec<_> = (0..AT_ONCE)
            .map(|number| {
                let world = &world;
                scope.spawn(move || {
                    let sandboxes = world.sandboxes();
                    let sandbox = sandboxes.create(&world.spec(&format!("s{number}")))?;
                    let mut tips = Vec::new();
                    for round in 0..3 {
                        let text = format!("{number} {round}\n");
                        write(&sandbox.path.join(format!("{round}.txt")), &text);
                        tips.push(collect_with(&world.builder(), &sandbox)?.state.head_sha);
                    }
                    write(&sandbox.path.join("saved.txt"), &format!("{number}\n"));
                    let kept = sandboxes.remove(&sandbox)?.kept;
                    tips.extend(kept.map(|kept| kept.sha));
                    Ok::<_, Problem>(tips)
                })
            })
            .collect();
        let made: Vec<_> = workers.into_iter().map(|one| one.join()).collect();
        done.store(true, Ordering::Relaxed);
        for one in made {
            tips.extend(one.unwrap().unwrap());
        }
    });
    assert_eq!(tips.len(), 4 * AT_ONCE);
    for tip in &tips {
        world.git(["rev-list", "--objects", "--quiet", tip]);
    }
    world.git(["fsck", "--strict", "--full"]);
}

/// A program named git, first in the search path, that kills its parent: before or after the call
/// with this number among those outside of the sandbox.
fn deadly_git(world: &World, number: usize, after: bool) -> Environment {
    let path = std::env::var_os("PATH").unwrap();
    let real = std::env::split_paths(&path).map(|folder| folder.join("git"));
    let real = real.into_iter().find(|git| git.is_file()).unwrap();
    let (tools, calls) = (world.path().join("tools"), world.path().join("calls"));
    write(&calls, "");
    let (real, calls) = (real.display(), calls.display());
    let act = if after {
        format!("{real} \"$@\"; kill -9 $PPID; exit 1")
    } else {
        "kill -9 $PPID; exit 1".to_owned()
    };
    // A confined git sees neither this file nor that process.
    let script = format!(
        "#!/bin/sh\nif echo \"$1\" 2>/dev/null >> {calls}; then\n\
         if [ $(wc -l < {calls}) -eq {number} ]; then {act}; fi\nfi\nexec {real} \"$@\"\n"
    );
    write(&tools.join("git"), &script);
    std::fs::set_permissions(tools.join("git"), PermissionsExt::from_mode(0o755)).unwrap();
    let folders = std::iter::once(tools).chain(std::env::split_paths(&path));
    Environment::from_pairs([
        ("PATH", std::env::join_paths(folders).unwrap()),
        ("HOME", world.home().into_os_string()),
    ])
}

/// Runs in a separate process.
#[test]
#[ignore = "started by the tests of this file"]
fn dies_in_a_take() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let world = World::at(Path::new(&variable("WORLD")));
    let number = variable("NUMBER").parse().unwrap();
    let environment = deadly_git(&world, number, variable("AFTER") == "yes");
    let id = world.spec("one").id;
    let sandbox = world.sandboxes().find(&id).unwrap().unwrap();
    collect_with(&Git::new(World::runner(), &environment), &sandbox).unwrap();
}

#[test]
fn a_death_before_any_git_of_a_take_loses_nothing_and_leaves_nothing() {
    die_at_every_git("no");
}

#[test]
fn a_death_after_any_git_of_a_take_loses_nothing_and_leaves_nothing() {
    die_at_every_git("yes");
}

fn die_at_every_git(after: &str) {
    let mut deaths = 0;
    for number in 1..60 {
        let world = World::new();
        let sandboxes = world.sandboxes();
        let sandbox = sandboxes.create(&world.spec("one")).unwrap();
        write(&sandbox.path.join("work.txt"), "the work\n");
        let output = child_test(
            "sandbox_take_crash::dies_in_a_take",
            &[
                ("WORLD", world.path().as_os_str()),
                ("NUMBER", number.to_string().as_ref()),
                ("AFTER", after.as_ref()),
            ],
        )
        .output()
        .unwrap();
        let is_dead = output.status.signal() == Some(9);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(is_dead || output.status.success(), "{number}: {said}");
        let calls = std::fs::read_to_string(world.path().join("calls")).unwrap();
        let what = format!("call {number}, after: {after}, {calls:?}");
        sandboxes.mend(&sandbox, None).expect(&what);
        collect_with(&world.builder(), &sandbox).expect(&what);
        assert_eq!(
            world.git(["show", "drive/one:work.txt"]),
            "the work",
            "{what}"
        );
        sandboxes.sweep(&|_| OwnerState::Alive).unwrap();
        assert_eq!(rests(&world), Vec::<PathBuf>::new(), "{what}");
        assert_eq!(
            sandboxes.remove(&sandbox).expect(&what).kept,
            None,
            "{what}"
        );
        world.git(["fsck", "--strict", "--full"]);
        if !is_dead {
            break;
        }
        deaths += 1;
    }
    assert!(deaths > 4, "{deaths} deaths");
}

/// The packs of the user's repository, with all their files.
fn packs(world: &World) -> BTreeSet<PathBuf> {
    let folder = world.repo.join(".git/objects/pack");
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Transfers work, and then undoes everything after this number of its pack's files were moved.
/// Returns the path of the pack.
fn die_between_files(world: &World, sandbox: &Sandbox, moved: usize) -> PathBuf {
    const ORDER: [&str; 4] = ["keep", "pack", "rev", "idx"];
    let refs = || world.git(["for-each-ref", "--format=%(refname) %(objectname)"]);
    let (packs_before, refs_before) = (packs(world), refs());
    collect_with(&world.builder(), sandbox).unwrap();
    for line in refs().lines() {
        let (name, id) = line.split_once(' ').unwrap();
        let before = refs_before.lines().find_map(|one| one.strip_prefix(name));
        match before.map(str::trim) {
            Some(old) if old == id => {}
            Some(old) => drop(world.git(["update-ref", name, old])),
            None => drop(world.git(["update-ref", "-d", name])),
        }
    }
    let made = &packs(world) - &packs_before;
    let pack = made
        .iter()
        .find(|path| path.extension() == Some("pack".as_ref()));
    let pack = pack.expect("work comes as a pack").clone();
    for ending in &ORDER[moved..] {
        let _ = std::fs::remove_file(pack.with_extension(ending));
    }
    if moved > 0 {
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        write(
            &pack.with_extension("keep"),
            &format!("drive takes it: {}\n", gone.id()),
        );
    }
    pack
}

#[test]
fn a_death_between_the_files_of_a_pack_loses_nothing() {
    for moved in 0..4 {
        let world = World::new();
        let sandboxes = world.sandboxes();
        let sandbox = sandboxes.create(&world.spec("one")).unwrap();
        write(&sandbox.path.join("work.txt"), "the work\n");
        die_between_files(&world, &sandbox, moved);
        let what = format!("{moved} files were moved");
        sandboxes.mend(&sandbox, None).expect(&what);
        collect_with(&world.builder(), &sandbox).expect(&what);
        let taken = world.git(["show", "drive/one:work.txt"]);
        assert_eq!(taken, "the work", "{what}");
        sandboxes.sweep(&|_| OwnerState::Alive).unwrap();
        assert_eq!(rests(&world), Vec::<PathBuf>::new(), "{what}");
        world.git(["fsck", "--strict", "--full"]);
    }
}

#[test]
fn a_pack_that_a_death_left_without_an_index_is_removed_once_it_is_old() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("work.txt"), "the work\n");
    let pack = die_between_files(&world, &sandbox, 2);
    sandboxes.sweep(&|_| OwnerState::Alive).unwrap();
    assert!(pack.exists(), "another take may be moving the same");
    std::fs::set_permissions(&pack, PermissionsExt::from_mode(0o600)).unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 60 * 60);
    std::fs::File::options()
        .write(true)
        .open(&pack)
        .unwrap()
        .set_modified(old)
        .unwrap();
    sandboxes.sweep(&|_| OwnerState::Alive).unwrap();
    assert!(!pack.exists());
    assert_eq!(rests(&world), Vec::<PathBuf>::new());
}

/// Files that a transfer leaves among the objects while it is running.
fn rests(world: &World) -> Vec<PathBuf> {
    let objects = world.repo.join(".git/objects");
    let folders = [objects.join("pack"), objects];
    let entries = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap());
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.ends_with(".keep") || name.starts_with("drive-take")
        })
        .collect()
}
