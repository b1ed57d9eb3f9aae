//! Tests the state file of a phase, which is where an agent works: whatever replaced it, nothing
//! else is changed.

use crate::support::{SmallDisk, World, write};
use drive_core::ids::{BranchName, CommentId, RunId};
use drive_core::phase::{LONGEST_STATE_FILE, PhaseName, PhaseState, STATE_FILE_VERSION};
use drive_core::problem::Kind;
use drive_core::sandbox::{Lifetime, Sandbox, SandboxSpec};
use drive_engine::ports::{FoundState, Leftovers, PhaseFiles, Place, Sandboxes, VersionControl};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

fn made(world: &World, id: &str) -> Sandbox {
    let spec = SandboxSpec {
        on_existing_branch: false,
        held: false,
        lifetime: Lifetime::Persistent,
        ..world.spec(id)
    };
    world.sandboxes().create(&spec).unwrap()
}

fn state(sandbox: &Sandbox) -> PhaseState {
    PhaseState {
        version: STATE_FILE_VERSION,
        run_id: RunId::new("r20261115-0942-k3f9a"),
        task: "Add user auth".to_owned(),
        sandbox_path: sandbox.path.clone(),
        branch_name: BranchName::parse(sandbox.branch.as_ref().unwrap()).unwrap(),
        base_branch: BranchName::parse("main").unwrap(),
        base_sha: sandbox.base_sha.clone(),
        pr_url: None,
        pr_number: None,
        phase: PhaseName::Planning,
        current_review_domain: None,
        last_activity: "2026-11-15T09:42:00Z".parse().unwrap(),
        backoff_interval_secs: 5,
        pending_comment_ids: Vec::new(),
        completed_rounds: 0,
    }
}

fn file_of(sandbox: &Sandbox) -> PathBuf {
    sandbox.path.join(".cruise/phase-state.json")
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_state_is_written_read_and_replaced_and_git_does_not_see_it() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = made(&world, "one");
    assert_eq!(sandboxes.read(&sandbox.path), Ok(None));
    let first = state(&sandbox);
    sandboxes.write(&sandbox, &first).unwrap();
    assert_eq!(sandboxes.read(&sandbox.path), Ok(Some(first.clone())));
    let second = PhaseState {
        completed_rounds: 1,
        pending_comment_ids: vec![CommentId::new(7)],
        ..first
    };
    sandboxes.write(&sandbox, &second).unwrap();
    assert_eq!(sandboxes.read(&sandbox.path), Ok(Some(second)));
    assert_eq!(
        names_in(&sandbox.path.join(".cruise")),
        ["phase-state.json"]
    );
    assert_eq!(world.git_in(&sandbox.path, ["status", "--porcelain"]), "");
}

#[test]
fn the_state_is_not_committed_even_when_the_work_says_it_is_not_ignored() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = made(&world, "one");
    sandboxes.write(&sandbox, &state(&sandbox)).unwrap();
    write(&sandbox.path.join(".gitignore"), "!/.cruise\n");
    let seen = world.git_in(&sandbox.path, ["status", "--porcelain"]);
    assert!(seen.contains(".cruise"), "{seen}");
    let leftovers = Leftovers {
        run: sandbox.run.clone(),
        message: "work".to_owned(),
    };
    let place = Place::Sandbox(&sandbox);
    world
        .builder()
        .collect_work(place, &leftovers, "HEAD")
        .unwrap();
    let files = world.git_in(&sandbox.path, ["ls-tree", "-r", "--name-only", "HEAD"]);
    assert_eq!(files, ".gitignore\na.txt\nsrc/b.txt");
}

#[test]
fn a_link_in_place_of_the_folder_is_not_followed() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = made(&world, "one");
    let outside = world.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, sandbox.path.join(".cruise")).unwrap();
    let text = state(&sandbox).write().unwrap();
    write(&outside.join("phase-state.json"), &text);
    let kind = |problem: drive_core::Problem| problem.kind;
    let refused = Kind::PhaseFileNotPlain;
    assert_eq!(
        sandboxes.write(&sandbox, &state(&sandbox)).map_err(kind),
        Err(refused)
    );
    assert_eq!(sandboxes.read(&sandbox.path).map_err(kind), Err(refused));
    assert_eq!(names_in(&outside), ["phase-state.json"]);
    assert_eq!(
        std::fs::read_to_string(outside.join("phase-state.json")).unwrap(),
        text
    );
    assert_eq!(world.git_in(&sandbox.path, ["status", "--porcelain"]), "");
}

#[test]
fn a_link_in_place_of_the_sandbox_is_not_followed() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = made(&world, "one");
    let outside = world.path().join("outside");
    std::fs::rename(&sandbox.path, &outside).unwrap();
    symlink(&outside, &sandbox.path).unwrap();
    let problem = sandboxes.write(&sandbox, &state(&sandbox)).unwrap_err();
    assert_eq!(problem.kind, Kind::PhaseFileNotPlain);
    assert!(!outside.join(".cruise").exists());
    assert_eq!(sandboxes.list(), Ok(Vec::new()));
}

#[test]
fn what_stands_in_place_of_the_file_is_not_read_and_is_replaced() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = made(&world, "one");
    let file = file_of(&sandbox);
    let secret = world.path().join("secret");
    write(&secret, "secret");
    write(&file, "");
    let places: [(&str, &dyn Fn()); 3] = [
        ("a link", &|| symlink(&secret, &file).unwrap()),
        ("a link to itself", &|| symlink(&file, &file).unwrap()),
        ("a pipe", &|| {
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            let kind = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, &file, kind, mode, 0).unwrap();
        }),
    ];
    for (what, put) in places {
        std::fs::remove_file(&file).unwrap();
        put();
        let problem = sandboxes.read(&sandbox.path).unwrap_err();
        assert_eq!(problem.kind, Kind::PhaseFileNotPlain, "{what}");
        sandboxes.write(&sandbox, &state(&sandbox)).unwrap();
        assert_eq!(sandboxes.read(&sandbox.path), Ok(Some(state(&sandbox))));
    }
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "secret");
}

#[test]
fn a_folder_in_place_of_the_file_is_refused_and_leaves_nothing_behind() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = made(&world, "one");
    write(&file_of(&sandbox).join("inner"), "x");
    assert_eq!(
        sandboxes.read(&sandbox.path).unwrap_err().kind,
        Kind::PhaseFileNotPlain
    );
    assert_eq!(
        sandboxes
            .write(&sandbox, &state(&sandbox))
            .unwrap_err()
            .kind,
        Kind::StorageFailed
    );
    assert_eq!(
        names_in(&sandbox.path.join(".cruise")),
        ["phase-state.json"]
    );
}

#[test]
fn a_file_that_is_cut_off_or_endless_is_refused() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = made(&world, "one");
    let text = state(&sandbox).write().unwrap();
    write(&file_of(&sandbox), &text[..text.len() / 2]);
    assert_eq!(
        sandboxes.read(&sandbox.path).unwrap_err().kind,
        Kind::PhaseStateDamaged
    );
    let endless = std::fs::File::create(file_of(&sandbox)).unwrap();
    endless.set_len(1 << 40).unwrap();
    let problem = sandboxes.read(&sandbox.path).unwrap_err();
    assert_eq!(
        problem.message,
        format!("the state file of the phase is longer than {LONGEST_STATE_FILE} bytes")
    );
}

#[test]
fn a_sandbox_that_is_gone_has_no_state_and_takes_none() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = made(&world, "one");
    std::fs::remove_dir_all(&sandbox.path).unwrap();
    assert_eq!(sandboxes.read(&sandbox.path), Ok(None));
    assert_eq!(
        sandboxes
            .write(&sandbox, &state(&sandbox))
            .unwrap_err()
            .kind,
        Kind::SandboxGone
    );
    assert!(!sandbox.path.exists());
}

#[test]
fn every_sandbox_that_carries_a_state_is_listed_and_a_damaged_one_too() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let [one, two, three] = ["one", "two", "three"].map(|id| made(&world, id));
    sandboxes.write(&one, &state(&one)).unwrap();
    write(&file_of(&three), "{");
    symlink(&one.path, world.root.join("link")).unwrap();
    write(&world.root.join("file"), "x");
    sandboxes.write(&two, &state(&two)).unwrap();
    let moved_aside = world.root.join(".trash/old");
    std::fs::create_dir_all(&moved_aside).unwrap();
    std::fs::rename(two.path.join(".cruise"), moved_aside.join(".cruise")).unwrap();
    let found = sandboxes.list().unwrap();
    let damaged = sandboxes.read(&three.path).unwrap_err();
    assert_eq!(
        found,
        [
            FoundState {
                sandbox_path: one.path.clone(),
                state: Ok(state(&one)),
            },
            FoundState {
                sandbox_path: three.path.clone(),
                state: Err(damaged),
            },
        ]
    );
    assert_eq!(sandboxes.root(), world.root);
}

#[test]
fn a_full_disk_is_named_and_the_old_state_stays() {
    let world = World::new();
    let Some(_disk) = SmallDisk::mount(&world.root, c"size=1m") else {
        return;
    };
    let sandboxes = world.sandboxes();
    let sandbox = made(&world, "one");
    let old = state(&sandbox);
    sandboxes.write(&sandbox, &old).unwrap();
    let mut filler = std::fs::File::create(world.root.join("one/filler")).unwrap();
    while std::io::Write::write_all(&mut filler, &[7; 4096]).is_ok() {}
    let new = PhaseState {
        task: "x".repeat(100_000),
        ..old.clone()
    };
    let problem = sandboxes.write(&sandbox, &new).unwrap_err();
    assert_eq!(problem.kind, Kind::DiskFull);
    assert_eq!(sandboxes.read(&sandbox.path), Ok(Some(old)));
    assert_eq!(
        names_in(&sandbox.path.join(".cruise")),
        ["phase-state.json"]
    );
}
