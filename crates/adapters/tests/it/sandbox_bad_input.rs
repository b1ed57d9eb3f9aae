//! Tests that bad input gets a clear error and loses nothing.

use crate::support::{FixedClock, SmallDisk, World, write};
use drive_adapters::sandbox::GitSandboxes;
use drive_core::ids::{BranchName, CommitSha};
use drive_core::problem::{Kind, Problem};
use drive_core::sandbox::{OwnerState, Refusal, Sandbox, SandboxNote, SandboxSpec};
use drive_engine::ports::{Place, Sandboxes, VersionControl, WhyLeft};
use std::path::PathBuf;
use std::sync::Arc;

fn refused(world: &World, spec: &SandboxSpec) -> Problem {
    let problem = world.sandboxes().create(spec).unwrap_err();
    assert_eq!(
        world.remains(),
        Vec::<PathBuf>::new(),
        "nothing is left over"
    );
    assert!(problem.hint.is_some(), "{problem:?}");
    problem
}

fn made(world: &World) -> Sandbox {
    world.sandboxes().create(&world.spec("one")).unwrap()
}

#[test]
fn not_a_repository() {
    let world = World::empty();
    assert_eq!(
        refused(&world, &world.spec("one")).kind,
        Kind::NotARepository
    );
    let mut spec = world.spec("one");
    spec.repo = world.path().join("nowhere");
    assert_eq!(refused(&world, &spec).kind, Kind::NotARepository);
}

#[test]
fn no_commits_yet() {
    let world = World::empty();
    world.git(["init", "-q"]);
    assert_eq!(refused(&world, &world.spec("one")).kind, Kind::NoCommitsYet);
}

#[test]
fn a_bare_repository_works() {
    let world = World::new();
    let bare = world.path().join("bare.git");
    world.git(["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let mut spec = world.spec("one");
    spec.repo = bare;
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&spec).unwrap();
    assert!(sandbox.path.join("a.txt").exists());
    assert_eq!(sandboxes.remove(&sandbox).unwrap().kept, None);
}

#[test]
fn a_shallow_clone_works_and_says_so() {
    let world = World::new();
    world.write("a.txt", "second\n");
    world.commit("second");
    let clone = world.path().join("clone");
    let url = format!("file://{}", world.repo.display());
    world.git(["clone", "-q", "--depth=1", &url, clone.to_str().unwrap()]);
    let mut spec = world.spec("one");
    spec.repo = clone;
    let sandbox = world.sandboxes().create(&spec).unwrap();
    assert_eq!(sandbox.notes, [SandboxNote::ShallowHistory]);
}

#[test]
fn a_detached_head_works() {
    let world = World::new();
    world.git(["checkout", "-q", "--detach"]);
    let sandbox = made(&world);
    assert_eq!(
        sandbox.base_sha,
        CommitSha::new(world.git(["rev-parse", "HEAD"]))
    );
    assert_eq!(world.builder().discover(&world.repo).unwrap().branch, None);
}

#[test]
fn a_branch_that_exists() {
    let world = World::new();
    world.git(["branch", "drive/one"]);
    assert_eq!(refused(&world, &world.spec("one")).kind, Kind::BranchExists);
    assert_eq!(world.git(["branch", "--list", "drive/one"]), "  drive/one");
}

#[test]
fn a_branch_whose_name_is_a_folder_of_another() {
    let world = World::new();
    world.git(["branch", "drive"]);
    let problem = refused(&world, &world.spec("one"));
    assert_eq!(
        problem.message,
        "branch `drive/one` cannot exist beside branch `drive`"
    );
}

#[test]
fn a_branch_that_is_checked_out_elsewhere() {
    let world = World::new();
    let mut spec = world.spec("one");
    spec.branch = Some(BranchName::parse("main").unwrap());
    let problem = refused(&world, &spec);
    assert_eq!(problem.kind, Kind::BranchCheckedOut);
    let place = world.repo.display();
    assert!(problem.message.contains(&format!("`{place}`")), "{problem}");
}

#[test]
fn names_git_takes_for_something_else() {
    let world = World::new();
    for name in ["@", "0123456789abcdef0123456789abcdef01234567"] {
        let mut spec = world.spec("one");
        spec.branch = Some(BranchName::parse(name).unwrap());
        assert_eq!(refused(&world, &spec).kind, Kind::BadBranchName, "{name}");
    }
}

#[test]
fn a_base_that_is_no_commit() {
    let world = World::new();
    for base in ["nothing", "--all", "HEAD:a.txt"] {
        let mut spec = world.spec("one");
        spec.base = CommitSha::new(base);
        assert_eq!(refused(&world, &spec).kind, Kind::UnknownRevision, "{base}");
    }
}

#[test]
fn submodules_are_left_unfetched_and_that_is_said() {
    let library = World::new();
    let world = World::new();
    let url = library.repo.to_str().unwrap();
    world.git(["submodule", "--quiet", "add", url, "lib"]);
    world.commit("with a submodule");
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    assert_eq!(sandbox.notes, [SandboxNote::SubmodulesNotFetched]);
    assert!(
        sandbox
            .path
            .join("lib")
            .read_dir()
            .unwrap()
            .next()
            .is_none()
    );
    assert_eq!(sandboxes.remove(&sandbox).unwrap().kept, None);
}

#[test]
fn commits_in_a_submodule_that_its_remote_lacks_hold_the_sandbox() {
    let library = World::new();
    let world = World::new();
    let url = library.repo.to_str().unwrap();
    world.git(["submodule", "--quiet", "add", url, "lib"]);
    world.commit("with a submodule");
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    world.git_in(&sandbox.path, ["submodule", "--quiet", "update", "--init"]);
    let lib = sandbox.path.join("lib");
    write(&lib.join("new.txt"), "new");
    world.git_in(&lib, ["add", "-A"]);
    world.git_in(&lib, ["commit", "-qm", "in the submodule"]);
    world.git_in(&sandbox.path, ["commit", "-qam", "bump"]);
    let problem = sandboxes.remove(&sandbox).unwrap_err();
    assert_eq!(problem.kind, Kind::WorkCannotBeKept);
    assert!(lib.join("new.txt").exists());
}

#[test]
fn lfs_pointers_stay_pointers_and_that_is_said() {
    let world = World::new();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    world.write(
        ".gitattributes",
        "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    );
    world.write("big.bin", pointer);
    world.commit("pointer");
    for (key, value) in [
        ("filter.lfs.smudge", "false"),
        ("filter.lfs.process", "false"),
        ("filter.lfs.clean", "false"),
        ("filter.lfs.required", "true"),
    ] {
        world.git(["config", key, value]);
    }
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    assert_eq!(
        sandbox.notes,
        [SandboxNote::FiltersNotRun {
            filters: vec!["lfs".into()]
        }]
    );
    assert_eq!(
        std::fs::read_to_string(sandbox.path.join("big.bin")).unwrap(),
        pointer
    );
    assert_eq!(sandboxes.remove(&sandbox).unwrap().kept, None);
}

#[test]
fn a_sandbox_folder_deleted_by_hand_keeps_its_commits() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("new.txt"), "new");
    world.git_in(&sandbox.path, ["add", "-A"]);
    world.git_in(&sandbox.path, ["commit", "-qm", "work"]);
    // Drive takes over an agent's commits as soon as the agent ends.
    let state = world.builder().state(Place::Sandbox(&sandbox)).unwrap();
    let head = state.head_sha.to_string();
    std::fs::remove_dir_all(&sandbox.path).unwrap();

    let again = sandboxes.create(&world.spec("one")).unwrap_err();
    assert_eq!(again.kind, Kind::SandboxGone);
    let report = sandboxes.sweep(&|_| OwnerState::Dead).unwrap();
    assert_eq!(report.removed[0].kept, None, "the branch has them");
    assert_eq!(world.git(["rev-parse", "drive/one"]), head);
    assert_eq!(world.remains(), Vec::<PathBuf>::new());
}

#[test]
fn somebody_elses_folder_in_the_place_of_ours_is_not_touched() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let path = sandbox.path.to_str().unwrap();
    std::fs::remove_dir_all(path).unwrap();
    world.git(["worktree", "add", "-q", "--detach", path]);
    write(&sandbox.path.join("theirs.txt"), "theirs");
    let problem = sandboxes.remove(&sandbox).unwrap_err();
    assert_eq!(problem.kind, Kind::SandboxNotOurs);
    let report = sandboxes.sweep(&|_| OwnerState::Dead).unwrap();
    assert_eq!(report.removed, Vec::new());
    assert!(sandbox.path.join("theirs.txt").exists());
}

#[test]
fn a_folder_in_the_way_is_named_and_left_alone() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    write(&world.root.join("one/theirs.txt"), "theirs");
    let problem = sandboxes.create(&world.spec("one")).unwrap_err();
    assert_eq!(problem.kind, Kind::SandboxFolderTaken);
    assert!(world.root.join("one/theirs.txt").exists());
}

#[test]
fn a_record_that_cannot_be_read_proves_nothing() {
    let world = World::new();
    let sandbox = made(&world);
    let record = world.state.join("sandbox-files/records/one.json");
    for content in ["{", "{\"version\": 99}"] {
        std::fs::write(&record, content).unwrap();
        let problem = world.sandboxes().remove(&sandbox).unwrap_err();
        assert_eq!(problem.kind, Kind::SandboxUnclear);
        let report = world.sandboxes().sweep(&|_| OwnerState::Dead).unwrap();
        assert_eq!((report.removed.len(), report.left.len()), (0, 1));
        assert!(sandbox.path.join("a.txt").exists());
    }
}

#[test]
fn a_record_that_points_at_a_folder_of_the_users_moves_nothing() {
    let world = World::new();
    let sandbox = made(&world);
    write(&world.path().join("mine/one/file.txt"), "mine");
    let record = world.state.join("sandbox-files/records/one.json");
    let text = std::fs::read_to_string(&record).unwrap();
    let theirs = world.path().join("mine/one");
    let forged = text.replace(sandbox.path.to_str().unwrap(), theirs.to_str().unwrap());
    std::fs::write(&record, forged).unwrap();
    let report = world.sandboxes().sweep(&|_| OwnerState::Dead).unwrap();
    assert_eq!(report.left[0].why, WhyLeft::Refused(Refusal::OutsideRoot));
    assert_eq!(report.removed, Vec::new());
    assert!(theirs.join("file.txt").exists() && sandbox.path.exists());
}

#[test]
fn a_full_disk_is_named_and_nothing_is_left_half_made() {
    let world = World::new();
    world.write("large.txt", &"x".repeat(3 << 20));
    world.commit("larger than the disk");
    let Some(_disk) = SmallDisk::mount(&world.root, c"size=1m") else {
        return;
    };
    let problem = refused(&world, &world.spec("one"));
    assert_eq!(problem.kind, Kind::DiskFull);
    assert_eq!(world.traces(), Vec::<String>::new());
}

#[test]
fn a_read_only_sandbox_root_is_named() {
    let world = World::new();
    let Some(disk) = SmallDisk::mount(&world.root, c"size=1m") else {
        return;
    };
    disk.make_read_only();
    let opened = GitSandboxes::open(
        world.builder(),
        Arc::new(FixedClock),
        &world.root,
        &world.state,
    );
    assert_eq!(opened.err().unwrap().kind, Kind::SandboxRootUnusable);
}

#[test]
fn a_root_that_turns_read_only_later_is_named_too() {
    let world = World::new();
    let Some(disk) = SmallDisk::mount(&world.root, c"size=4m") else {
        return;
    };
    let sandboxes = world.sandboxes();
    disk.make_read_only();
    let problem = sandboxes.create(&world.spec("one")).unwrap_err();
    assert_eq!(problem.kind, Kind::SandboxRootUnusable);
    assert_eq!(world.traces(), Vec::<String>::new());
}

#[test]
fn the_same_holds_for_an_ordinary_user() {
    crate::support::again_as_ordinary_user(module_path!());
}
