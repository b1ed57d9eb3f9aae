//! Tests every kind of repository: work is transferred from a sandbox into it.

use crate::support::{World, write};
use drive_adapters::git::Git;
use drive_core::Problem;
use drive_core::ids::{CommitSha, RunId};
use drive_core::sandbox::Sandbox;
use drive_engine::ports::{CollectedWork, Leftovers, Place, Sandboxes, VersionControl};
use std::path::PathBuf;

fn collect_with(git: &Git, sandbox: &Sandbox) -> Result<CollectedWork, Problem> {
    let leftovers = Leftovers {
        run: RunId::new("r-one"),
        message: "leftovers".into(),
    };
    git.collect_work(Place::Sandbox(sandbox), &leftovers, &sandbox.base_sha)
}

/// Creates the repository for the sandbox; `None` if this git does not support the kind.
type Kind = (&'static str, fn(&World) -> Option<PathBuf>);

fn clone(world: &World, args: &[&str]) -> Option<PathBuf> {
    let to = world.path().join("other");
    let url = format!("file://{}", world.repo.display());
    let all = ["clone", "-q"].iter().chain(args);
    let all = all.copied().chain([url.as_str(), to.to_str().unwrap()]);
    world.git(all);
    Some(to)
}

fn init(world: &World, option: &str) -> Option<PathBuf> {
    let to = world.path().join("other");
    let args = ["init", "-q", "-b", "main", option, to.to_str().unwrap()];
    if !world.command(&world.repo, args).status().unwrap().success() {
        eprintln!("skipped: this git does not know {option}");
        return None;
    }
    write(&to.join("a.txt"), "a\n");
    write(&to.join("src/b.txt"), "b\n");
    world.git_in(&to, ["add", "-A"]);
    world.git_in(&to, ["commit", "-qm", "first"]);
    Some(to)
}

const CLONED: &[Kind] = &[
    ("shallow", |world| clone(world, &["--depth=1"])),
    ("partial", |world| {
        world.git(["config", "uploadpack.allowFilter", "true"]);
        clone(world, &["--filter=blob:none"])
    }),
    ("bare", |world| clone(world, &["--bare"])),
    ("borrowing", |world| clone(world, &["--shared"])),
];

const MADE: &[Kind] = &[
    ("sha256", |world| init(world, "--object-format=sha256")),
    ("reftable", |world| init(world, "--ref-format=reftable")),
    ("linked worktree", |world| {
        let linked = world.path().join("linked");
        let to = linked.to_str().unwrap();
        world.git(["worktree", "add", "-q", "-b", "linked", to]);
        Some(linked)
    }),
    ("sparse", |world| {
        world.git(["sparse-checkout", "set", "--no-cone", "/src/"]);
        Some(world.repo.clone())
    }),
    ("packed with everything else", |world| {
        world.git(["repack", "-qadb"]);
        world.git(["commit-graph", "write", "--reachable"]);
        world.git(["multi-pack-index", "write"]);
        Some(world.repo.clone())
    }),
];

#[test]
fn work_comes_out_into_every_kind_of_clone() {
    for kind in CLONED {
        work_comes_out_into(kind);
    }
}

#[test]
fn work_comes_out_into_every_kind_of_repository() {
    for kind in MADE {
        work_comes_out_into(kind);
    }
}

fn work_comes_out_into((kind, make): &Kind) {
    let world = World::new();
    world.write("a.txt", "second\n");
    world.commit("second");
    let Some(repo) = make(&world) else {
        return;
    };
    let mut spec = world.spec("one");
    spec.repo = repo.clone();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&spec).unwrap();
    write(&sandbox.path.join("src/mine.txt"), "mine\n");
    world.git_in(&sandbox.path, ["add", "-A"]);
    world.git_in(&sandbox.path, ["commit", "-qm", "mine"]);
    write(&sandbox.path.join("src/b.txt"), "changed\n");
    assert_eq!(
        sandboxes.mend(&sandbox, None).unwrap(),
        Vec::<String>::new(),
        "{kind}"
    );
    let work = collect_with(&world.builder(), &sandbox).unwrap();
    assert_eq!(work.commits.len(), 2, "{kind}");
    assert!(work.builds_on_base, "{kind}");
    let show = |path: &str| world.git_in(&repo, ["show", &format!("drive/one:{path}")]);
    assert_eq!(show("src/mine.txt"), "mine", "{kind}");
    assert_eq!(show("src/b.txt"), "changed", "{kind}");
    if *kind == "sparse" {
        assert!(!sandbox.path.join("a.txt").exists(), "{kind}");
        world.git_in(&repo, ["cat-file", "-e", "drive/one:a.txt"]);
    }
    write(&sandbox.path.join("src/b.txt"), "saved\n");
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    let saved = format!("{}:src/b.txt", kept.sha);
    assert_eq!(world.git_in(&repo, ["show", &saved]), "saved", "{kind}");
    if *kind != "partial" {
        world.git_in(&repo, ["fsck", "--strict", "--connectivity-only"]);
    }
}

#[test]
fn a_linked_worktree_gives_its_own_settings_to_a_sandbox() {
    let world = World::new();
    world.git(["config", "extensions.worktreeConfig", "true"]);
    let linked = world.path().join("linked");
    let to = linked.to_str().unwrap();
    world.git(["worktree", "add", "-q", "-b", "linked", to]);
    let sparse = ["sparse-checkout", "set", "--no-cone", "/src/"];
    world.git_in(&linked, sparse);
    world.git_in(&linked, ["config", "--worktree", "core.autocrlf", "input"]);
    let sandboxes = world.sandboxes();
    let mut spec = world.spec("one");
    spec.repo = linked;
    for (spec, is_linked) in [(spec, true), (world.spec("two"), false)] {
        let sandbox = sandboxes.create(&spec).unwrap();
        assert_eq!(sandbox.path.join("a.txt").exists(), !is_linked);
        write(&sandbox.path.join("src/dos.txt"), "one\r\n");
        sandboxes.mend(&sandbox, None).unwrap();
        collect_with(&world.builder(), &sandbox).unwrap();
        let name = format!("{}:src/dos.txt", sandbox.branch.as_deref().unwrap());
        let size = world.git(["cat-file", "-s", &name]);
        assert_eq!(size, if is_linked { "4" } else { "5" });
        world.git(["cat-file", "-e", &name.replace("src/dos", "a")]);
    }
}

#[test]
fn a_repository_with_two_hundred_thousand_refs_is_borrowed_and_gets_the_work() {
    let world = World::new();
    let tip = world.git(["rev-parse", "main"]);
    let mut packed = String::from("# pack-refs with: peeled fully-peeled sorted \n");
    for number in 0..200_000 {
        packed.push_str(&format!("{tip} refs/heads/many/{number:06}\n"));
    }
    std::fs::write(world.repo.join(".git/packed-refs"), packed).unwrap();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("mine.txt"), "mine\n");
    collect_with(&world.builder(), &sandbox).unwrap();
    assert_eq!(world.git(["show", "drive/one:mine.txt"]), "mine");
    assert_eq!(sandboxes.remove(&sandbox).unwrap().kept, None);
}

#[test]
fn what_is_merged_into_a_sandbox_survives_a_cleanup_before_it_is_taken() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let mine = write_commit(&world, &sandbox);
    // Like after a fetch: no ref points to it.
    let blob = world.git(["hash-object", "-w", "a.txt"]);
    let tree = world.path().join("index");
    let index = |args: &[&str]| {
        let mut command = world.command(&world.repo, args);
        let output = command.env("GIT_INDEX_FILE", &tree).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    index(&["read-tree", "main"]);
    let entry = format!("100644,{blob},theirs.txt");
    index(&["update-index", "--add", "--cacheinfo", &entry]);
    let tree = index(&["write-tree"]);
    let theirs = world.git(["commit-tree", "-p", "main", "-m", "theirs", &tree]);
    let leftovers = Leftovers {
        run: RunId::new("r-one"),
        message: "merge".into(),
    };
    let git = world.builder();
    let theirs = CommitSha::new(theirs);
    git.merge(Place::Sandbox(&sandbox), &theirs, &leftovers)
        .unwrap();
    world.git(["reflog", "expire", "--expire=now", "--all"]);
    world.git(["gc", "-q", "--prune=now"]);
    let work = collect_with(&git, &sandbox).unwrap();
    assert_eq!(work.commits.len(), 3);
    for commit in [mine.as_str(), &theirs] {
        world.git(["merge-base", "--is-ancestor", commit, "drive/one"]);
    }
    world.git(["fsck", "--strict", "--full"]);
    assert_eq!(sandboxes.remove(&sandbox).unwrap().kept, None);
    assert_eq!(world.traces(), Vec::<String>::new());
}

fn write_commit(world: &World, sandbox: &Sandbox) -> String {
    write(&sandbox.path.join("mine.txt"), "mine\n");
    world.git_in(&sandbox.path, ["add", "-A"]);
    world.git_in(&sandbox.path, ["commit", "-qm", "mine"]);
    world.git_in(&sandbox.path, ["rev-parse", "HEAD"])
}

#[test]
fn the_same_holds_for_an_ordinary_user() {
    crate::support::again_as_ordinary_user(module_path!());
}
