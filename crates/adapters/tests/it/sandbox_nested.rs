//! Tests repositories inside a sandbox: their own work is not lost with it.

use crate::support::{World, write};
use drive_core::ids::RunId;
use drive_core::problem::Kind;
use drive_core::sandbox::Sandbox;
use drive_engine::ports::{Leftovers, Place, Sandboxes, VersionControl};
use std::fs;
use std::path::Path;

/// Creates a repository at `path` with one commit of one file.
fn repository(world: &World, path: &Path) {
    fs::create_dir_all(path).unwrap();
    world.git_in(path, ["init", "-q", "-b", "main"]);
    write(&path.join("work.txt"), "precious");
    world.git_in(path, ["add", "-A"]);
    world.git_in(path, ["commit", "-qm", "inner"]);
}

/// A world whose repository has a submodule `lib`, and the source of the submodule.
fn with_submodule() -> World {
    let world = World::new();
    let origin = world.path().join("origin");
    repository(&world, &origin);
    world.git([
        "submodule",
        "--quiet",
        "add",
        origin.to_str().unwrap(),
        "lib",
    ]);
    world.git(["commit", "-qm", "submodule"]);
    world
}

fn fetch_submodule(world: &World, sandbox: &Sandbox) {
    world.git_in(&sandbox.path, ["submodule", "--quiet", "update", "--init"]);
}

fn collect(world: &World, sandbox: &Sandbox) -> Result<usize, String> {
    let leftovers = Leftovers {
        run: RunId::new("r-one"),
        message: "leftovers".into(),
    };
    world
        .builder()
        .collect_work(Place::Sandbox(sandbox), &leftovers, &sandbox.base_sha)
        .map(|work| work.commits.len())
        .map_err(|problem| format!("{}: {}", problem.kind, problem.message))
}

/// An action in a sandbox, with its name.
type Deed = (&'static str, fn(&World, &Sandbox));

const ADDED: &[Deed] = &[
    ("left as it is", |world, it| {
        repository(world, &it.path.join("app"));
    }),
    ("added", |world, it| {
        repository(world, &it.path.join("app"));
        world.git_in(&it.path, ["add", "-A"]);
    }),
    ("added and committed", |world, it| {
        repository(world, &it.path.join("app"));
        world.git_in(&it.path, ["add", "-A"]);
        world.git_in(&it.path, ["commit", "-qm", "add app"]);
    }),
    ("added and committed, then ignored", |world, it| {
        repository(world, &it.path.join("app"));
        world.git_in(&it.path, ["add", "-A"]);
        world.git_in(&it.path, ["commit", "-qm", "add app"]);
        world.git_in(&it.path, ["rm", "-q", "--cached", "app"]);
        write(&it.path.join(".gitignore"), "app\n");
    }),
    ("in a folder with tracked files", |world, it| {
        let src = it.path.join("src");
        world.git_in(&src, ["init", "-q", "-b", "main"]);
        world.git_in(&src, ["commit", "-q", "--allow-empty", "-m", "empty"]);
        world.git_in(&src, ["checkout", "-q", "-b", "other"]);
        write(&src.join("work.txt"), "precious");
        world.git_in(&src, ["add", "work.txt"]);
        world.git_in(&src, ["commit", "-qm", "inner"]);
        world.git_in(&src, ["checkout", "-q", "main"]);
    }),
];

#[test]
fn what_a_repository_in_the_sandbox_holds_is_saved_with_its_commits() {
    for (deed, act) in ADDED {
        let world = World::new();
        let sandboxes = world.sandboxes();
        let sandbox = sandboxes.create(&world.spec("one")).unwrap();
        act(&world, &sandbox);
        let kept = sandboxes.remove(&sandbox).unwrap().kept.expect(deed);
        let log = world.git(["log", "--format=%s %H", &kept.sha]);
        let inner = log.lines().find_map(|line| line.strip_prefix("inner "));
        let inner = inner.unwrap_or_else(|| panic!("{deed}: {log}"));
        let saved = world.git(["show", &format!("{inner}:work.txt")]);
        assert_eq!(saved, "precious", "{deed}");
        sandboxes.finish_deletions();
        assert_eq!(world.remains(), Vec::<std::path::PathBuf>::new(), "{deed}");
        if ["left as it is", "added", "added and committed"].contains(deed) {
            let files = world.git(["ls-tree", "-r", "--name-only", &kept.sha]);
            assert!(files.contains("app/work.txt"), "{deed}: {files}");
        }
    }
}

#[test]
fn a_clone_that_has_nothing_of_its_own_goes_with_the_sandbox_and_its_name_is_saved() {
    let world = World::new();
    let origin = world.path().join("origin");
    repository(&world, &origin);
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let from = origin.to_str().unwrap();
    world.git_in(&sandbox.path, ["clone", "-q", from, "app"]);
    world.git_in(&sandbox.path, ["add", "-A"]);
    world.git_in(&sandbox.path, ["commit", "-qm", "add app"]);
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    let listed = world.git(["ls-tree", "--name-only", &format!("{}^", kept.sha), "app"]);
    assert_eq!(listed, "app");
    assert_eq!(world.git(["for-each-ref", "refs/heads/drive/"]), "");
}

#[test]
fn the_files_of_a_repository_that_an_agent_made_are_committed_and_it_is_named() {
    for (deed, act) in &ADDED[..3] {
        let world = World::new();
        let sandboxes = world.sandboxes();
        let sandbox = sandboxes.create(&world.spec("one")).unwrap();
        act(&world, &sandbox);
        repository(&world, &sandbox.path.join("app/deep"));
        let leftovers = Leftovers {
            run: RunId::new("r-one"),
            message: "leftovers".into(),
        };
        let git = world.builder();
        let place = Place::Sandbox(&sandbox);
        let work = git.collect_work(place, &leftovers, &sandbox.base_sha);
        let named = work.unwrap().nested;
        let named: Vec<_> = named
            .iter()
            .map(|one| (one.path.as_path(), one.is_committed))
            .collect();
        assert_eq!(
            named,
            [(Path::new("app"), true), (Path::new("app/deep"), true)],
            "{deed}"
        );
        let files = world.git(["ls-tree", "-r", "--name-only", "drive/one"]);
        assert_eq!(
            files, "a.txt\napp/deep/work.txt\napp/work.txt\nsrc/b.txt",
            "{deed}"
        );
        let kept = sandboxes.remove(&sandbox).unwrap().kept.expect(deed);
        let log = world.git(["log", "--format=%s", &kept.sha]);
        assert!(log.contains("inner"), "its history is saved: {deed}: {log}");
    }
}

#[test]
fn a_clone_is_not_committed_and_its_files_are_saved() {
    let world = World::new();
    let origin = world.path().join("origin");
    repository(&world, &origin);
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let from = origin.to_str().unwrap();
    world.git_in(&sandbox.path, ["clone", "-q", from, "app"]);
    write(&sandbox.path.join("mine.txt"), "mine");
    assert_eq!(collect(&world, &sandbox), Ok(1));
    let files = world.git(["ls-tree", "-r", "--name-only", "drive/one"]);
    assert_eq!(files, "a.txt\nmine.txt\nsrc/b.txt");
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    let saved = world.git(["show", &format!("{}:app/work.txt", kept.sha)]);
    assert_eq!(saved, "precious");
}

#[test]
fn a_submodule_is_committed_and_goes_with_the_sandbox_when_its_remote_has_it_all() {
    let world = with_submodule();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    fetch_submodule(&world, &sandbox);
    write(&sandbox.path.join("new.txt"), "new");
    assert_eq!(collect(&world, &sandbox), Ok(1));
    assert_eq!(sandboxes.remove(&sandbox).unwrap().kept, None);
}

/// An action in a submodule that is not visible outside of it.
type HiddenDeed = (&'static str, fn(&World, &Path));

const HIDDEN: &[HiddenDeed] = &[
    ("stashed", |world, lib| {
        write(&lib.join("work.txt"), "changed");
        world.git_in(lib, ["stash", "-q"]);
    }),
    ("tagged", |world, lib| {
        world.git_in(lib, ["commit", "-q", "--allow-empty", "-m", "mine"]);
        world.git_in(lib, ["tag", "mine"]);
        world.git_in(lib, ["reset", "-q", "--hard", "HEAD^"]);
    }),
    ("in a submodule of its own", |world, lib| {
        let origin = world.path().join("origin");
        let from = origin.to_str().unwrap();
        world.git_in(lib, ["submodule", "--quiet", "add", from, "deep"]);
        write(&lib.join("deep/work.txt"), "changed");
        world.git_in(&lib.join("deep"), ["stash", "-q"]);
        world.git_in(lib, ["reset", "-q", "--hard"]);
        fs::remove_dir_all(lib.join("deep")).unwrap();
    }),
];

#[test]
fn what_only_a_submodule_in_the_sandbox_has_holds_up_the_removal() {
    for (deed, act) in HIDDEN {
        let world = with_submodule();
        let sandboxes = world.sandboxes();
        let sandbox = sandboxes.create(&world.spec("one")).unwrap();
        fetch_submodule(&world, &sandbox);
        act(&world, &sandbox.path.join("lib"));
        assert_eq!(
            world.git_in(&sandbox.path, ["status", "--porcelain"]),
            "",
            "{deed}"
        );
        let problem = sandboxes.remove(&sandbox).unwrap_err();
        assert_eq!(problem.kind, Kind::WorkCannotBeKept, "{deed}");
        assert!(problem.message.contains("submodule `lib"), "{problem}");
        assert_eq!(sandboxes.find(&sandbox.id).unwrap(), Some(sandbox));
    }
}

#[test]
fn a_submodule_that_git_cannot_read_holds_up_the_removal() {
    let world = with_submodule();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    fetch_submodule(&world, &sandbox);
    // Its folder was removed, so only its own files can show what it contained.
    fs::remove_dir_all(sandbox.path.join("lib")).unwrap();
    fs::create_dir(sandbox.path.join("lib")).unwrap();
    write(
        &sandbox.path.join(".git").join("modules/lib/config"),
        "[core\n",
    );
    let problem = sandboxes.remove(&sandbox).unwrap_err();
    assert_eq!(problem.kind, Kind::WorkCannotBeKept);
}

#[test]
fn files_in_the_place_of_a_submodule_that_was_not_fetched_hold_up_the_removal() {
    let world = with_submodule();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("lib/work.txt"), "precious");
    assert_eq!(world.git_in(&sandbox.path, ["status", "--porcelain"]), "");
    let problem = sandboxes.remove(&sandbox).unwrap_err();
    assert_eq!(problem.kind, Kind::WorkCannotBeKept);
    assert!(problem.message.contains("files in `lib`"), "{problem}");
    assert!(sandbox.path.join("lib/work.txt").exists());
}

#[test]
fn nothing_is_brought_into_the_place_of_a_submodule() {
    let world = with_submodule();
    world.write("lib/.env", "mine");
    world.write("lib/target/app", "binary");
    let sandboxes = world.sandboxes();
    let mut spec = world.spec("one");
    spec.copy = vec!["lib/.env".into()];
    spec.seed = vec!["lib/target".into()];
    let sandbox = sandboxes.create(&spec).unwrap();
    let notes: Vec<String> = sandbox.notes.iter().map(ToString::to_string).collect();
    let left_out = "was not copied: it is in a submodule that is not fetched";
    assert_eq!(
        notes[notes.len() - 2..],
        [
            format!("`lib/.env` {left_out}"),
            format!("`lib/target` {left_out}")
        ]
    );
    assert_eq!(sandboxes.remove(&sandbox).unwrap().kept, None);
}

#[test]
fn the_same_holds_for_an_ordinary_user() {
    crate::support::again_as_ordinary_user(module_path!());
}
