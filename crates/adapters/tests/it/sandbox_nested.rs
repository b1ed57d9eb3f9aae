//! Repositories inside a sandbox: what they alone hold is not lost with it.

use crate::support::{World, write};
use drive_core::ids::RunId;
use drive_core::problem::Kind;
use drive_core::sandbox::Sandbox;
use drive_engine::ports::{Leftovers, Place, Sandboxes, VersionControl};
use std::fs;
use std::path::Path;

/// A repository at `path` with one commit of one file.
fn repository(world: &World, path: &Path) {
    fs::create_dir_all(path).unwrap();
    world.git_in(path, ["init", "-q", "-b", "main"]);
    write(&path.join("work.txt"), "precious");
    world.git_in(path, ["add", "-A"]);
    world.git_in(path, ["commit", "-qm", "inner"]);
}

/// A world whose repository has a submodule `lib`, and where it comes from.
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

/// What somebody does in a sandbox, by its name.
type Deed = (&'static str, fn(&World, &Sandbox), &'static str);

const ADDED: &[Deed] = &[
    (
        "added",
        |world, it| {
            repository(world, &it.path.join("app"));
            world.git_in(&it.path, ["add", "-A"]);
        },
        "the changes in submodule `app`",
    ),
    (
        "added and committed",
        |world, it| {
            repository(world, &it.path.join("app"));
            world.git_in(&it.path, ["add", "-A"]);
            world.git_in(&it.path, ["commit", "-qm", "add app"]);
        },
        "nested repository `app`",
    ),
    (
        "added and committed, then ignored",
        |world, it| {
            repository(world, &it.path.join("app"));
            world.git_in(&it.path, ["add", "-A"]);
            world.git_in(&it.path, ["commit", "-qm", "add app"]);
            world.git_in(&it.path, ["rm", "-q", "--cached", "app"]);
            write(&it.path.join(".gitignore"), "app\n");
        },
        "the changes in submodule `app`",
    ),
    (
        "in a folder with tracked files",
        |world, it| {
            let src = it.path.join("src");
            world.git_in(&src, ["init", "-q", "-b", "main"]);
            world.git_in(&src, ["commit", "-q", "--allow-empty", "-m", "empty"]);
            world.git_in(&src, ["checkout", "-q", "-b", "other"]);
            write(&src.join("work.txt"), "precious");
            world.git_in(&src, ["add", "work.txt"]);
            world.git_in(&src, ["commit", "-qm", "inner"]);
            world.git_in(&src, ["checkout", "-q", "main"]);
        },
        "nested repository `src`",
    ),
];

#[test]
fn a_repository_that_only_the_sandbox_has_holds_up_the_removal() {
    for (deed, act, what) in ADDED {
        let world = World::new();
        let sandboxes = world.worktrees();
        let sandbox = sandboxes.create(&world.spec("one")).unwrap();
        act(&world, &sandbox);
        let problem = sandboxes.remove(&sandbox).unwrap_err();
        assert_eq!(problem.kind, Kind::WorkCannotBeKept, "{deed}");
        assert_eq!(
            problem.message,
            format!("cannot remove sandbox `one`: {what} cannot be saved"),
            "{deed}"
        );
        let found = sandboxes.find(&sandbox.id).unwrap();
        assert_eq!(found.as_ref(), Some(&sandbox), "{deed}");
        let inner = [sandbox.path.join("app"), sandbox.path.join("src")];
        let inner = inner.iter().find(|path| path.join(".git").exists());
        let log = world.git_in(inner.unwrap(), ["log", "--all", "--format=%s"]);
        assert!(log.contains("inner"), "{deed}: {log}");
    }
}

#[test]
fn a_clone_that_has_nothing_of_its_own_goes_with_the_sandbox_and_its_name_is_saved() {
    let world = World::new();
    let origin = world.path().join("origin");
    repository(&world, &origin);
    let sandboxes = world.worktrees();
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
fn a_repository_that_was_added_is_not_committed() {
    for commit in [false, true] {
        let world = World::new();
        let sandboxes = world.worktrees();
        let sandbox = sandboxes.create(&world.spec("one")).unwrap();
        repository(&world, &sandbox.path.join("app"));
        world.git_in(&sandbox.path, ["add", "-A"]);
        if commit {
            world.git_in(&sandbox.path, ["commit", "-qm", "add app"]);
        }
        assert_eq!(
            collect(&world, &sandbox),
            Err(
                "nestedRepository: `app` is a nested repository and cannot be committed".to_owned()
            )
        );
    }
}

#[test]
fn a_submodule_is_committed_and_goes_with_the_sandbox_when_its_remote_has_it_all() {
    let world = with_submodule();
    let sandboxes = world.worktrees();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    fetch_submodule(&world, &sandbox);
    write(&sandbox.path.join("new.txt"), "new");
    assert_eq!(collect(&world, &sandbox), Ok(1));
    assert_eq!(sandboxes.remove(&sandbox).unwrap().kept, None);
}

/// What is done in a submodule and shows nowhere outside of it.
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
        let sandboxes = world.worktrees();
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
    let sandboxes = world.worktrees();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    fetch_submodule(&world, &sandbox);
    // Its folder is gone, so nothing but its own files can tell what it had.
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
    let sandboxes = world.worktrees();
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
    let sandboxes = world.worktrees();
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
