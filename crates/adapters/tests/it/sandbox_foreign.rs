//! Tests that code of the repository does not run in our calls, and that unusual trees can be removed.

use crate::support::{World, write};
use drive_adapters::files;
use drive_adapters::git::Git;
use drive_core::ids::CommitSha;
use drive_core::problem::Kind;
use drive_core::sandbox::OwnerState;
use drive_engine::ports::{Leftovers, Place, Sandboxes, VersionControl};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

fn script(path: &Path, body: &str) {
    write(path, &format!("#!/bin/sh\n{body}\n"));
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn a_post_checkout_hook_does_not_run() {
    let world = World::new();
    let proof = world.path().join("hook-ran");
    let body = format!("touch '{}'", proof.display());
    script(&world.repo.join(".git/hooks/post-checkout"), &body);
    script(&world.repo.join(".git/hooks/reference-transaction"), &body);
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("new.txt"), "new");
    sandboxes.remove(&sandbox).unwrap();
    assert!(!proof.exists());
}

#[test]
fn filters_and_monitors_of_the_repository_do_not_run() {
    let world = World::new();
    let proof = world.path().join("foreign-code-ran");
    let evil = world.path().join("evil");
    script(&evil, &format!("touch '{}'; cat", proof.display()));
    world.write(".gitattributes", "*.txt filter=evil diff=evil\n");
    world.commit("attributes");
    let evil = evil.to_str().unwrap();
    for key in [
        "filter.evil.smudge",
        "filter.evil.clean",
        "diff.evil.textconv",
        "diff.evil.command",
        "core.fsmonitor",
    ] {
        world.git(["config", key, evil]);
    }
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("a.txt"), "changed");
    let git = world.builder();
    git.state(Place::Sandbox(&sandbox)).unwrap();
    git.diff_stats(Place::Sandbox(&sandbox), "HEAD", "HEAD~1")
        .unwrap();
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    assert_eq!(
        world.git(["cat-file", "blob", &format!("{}:a.txt", kept.sha)]),
        "changed"
    );
    assert!(!proof.exists());
}

#[test]
fn inherited_git_variables_do_not_redirect_a_call() {
    let (world, other) = (World::new(), World::new());
    other.write("other.txt", "other");
    other.commit("other");
    let mut pairs: Vec<(String, std::ffi::OsString)> = vec![
        ("PATH".into(), std::env::var_os("PATH").unwrap()),
        ("HOME".into(), world.home().into()),
    ];
    pairs.push(("GIT_DIR".into(), other.repo.join(".git").into()));
    pairs.push(("GIT_WORK_TREE".into(), other.repo.clone().into()));
    let environment = drive_adapters::Environment::from_pairs(pairs);
    let git = Git::new(World::runner(), &environment);
    let found = git.discover(&world.repo).unwrap();
    assert_eq!(
        found.head_sha,
        CommitSha::new(world.git(["rev-parse", "HEAD"]))
    );
    assert_eq!(found.top, Some(world.repo.clone()));
}

#[test]
fn settings_written_in_a_sandbox_stay_in_it() {
    let world = World::new();
    let sandbox = world.sandboxes().create(&world.spec("one")).unwrap();
    let before = std::fs::read(world.repo.join(".git/config")).unwrap();
    world.git_in(&sandbox.path, ["config", "alias.evil", "!touch /nowhere"]);
    let own = world.git_in(&sandbox.path, ["config", "alias.evil"]);
    assert_eq!(own, "!touch /nowhere");
    let after = std::fs::read(world.repo.join(".git/config")).unwrap();
    assert_eq!(after, before);
}

#[test]
fn gc_with_prune_now_does_not_drop_a_pinned_candidate() {
    let world = World::new();
    let tree = world.git(["rev-parse", "HEAD^{tree}"]);
    let candidate = world.git(["commit-tree", "-m", "candidate", &tree]);
    let mut spec = world.spec("one");
    spec.base = CommitSha::new(candidate.clone());
    spec.branch = None;
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&spec).unwrap();
    world.git_in(&sandbox.path, ["checkout", "-q", "--detach", "main"]);
    world.git(["reflog", "expire", "--expire=now", "--all"]);
    world.git(["gc", "-q", "--prune=now"]);
    assert_eq!(world.git(["cat-file", "-t", &candidate]), "commit");
    sandboxes.remove(&sandbox).unwrap();
    assert_eq!(world.traces(), Vec::<String>::new());
}

#[test]
fn cruise_files_are_excluded_in_the_sandbox_only() {
    let world = World::new();
    write(&world.repo.join(".git/info/exclude"), "mine");
    let sandboxes = world.sandboxes();
    for id in ["one", "two"] {
        let sandbox = sandboxes.create(&world.spec(id)).unwrap();
        write(&sandbox.path.join(".cruise/phase-state.json"), "{}");
        assert_eq!(sandboxes.remove(&sandbox).unwrap().kept, None);
    }
    let content = std::fs::read_to_string(world.repo.join(".git/info/exclude")).unwrap();
    assert_eq!(content, "mine");
}

#[test]
fn a_repository_in_a_folder_that_is_no_text_works() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    let odd = world
        .path()
        .join(std::ffi::OsStr::from_bytes(b"odd\xff name"));
    std::fs::rename(&world.repo, &odd).unwrap();
    let mut spec = world.spec("one");
    spec.repo = odd.clone();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&spec).unwrap();
    let file = sandbox
        .path
        .join(std::ffi::OsStr::from_bytes(b"new\xfe.txt"));
    std::fs::write(&file, "new").unwrap();
    assert_eq!(sandboxes.find(&sandbox.id).unwrap(), Some(sandbox.clone()));
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    let shown = world.git_in(&odd, ["ls-tree", "-r", "--name-only", &kept.sha]);
    assert!(shown.contains("\"new\\376.txt\""), "{shown}");
}

#[test]
fn folders_nobody_may_enter_are_removed_and_their_files_kept() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("locked/inner/file.txt"), "kept");
    for path in ["locked/inner/file.txt", "locked/inner", "locked"] {
        let path = sandbox.path.join(path);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o0)).unwrap();
    }
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    assert_eq!(
        world.git(["show", &format!("{}:locked/inner/file.txt", kept.sha)]),
        "kept"
    );
    sandboxes.finish_deletions();
    assert_eq!(world.remains(), Vec::<PathBuf>::new());
}

/// Removes all permissions from these paths, the deepest first, and the write permission from the sandbox.
fn lock_up(folder: &Path, paths: &[&str]) {
    for path in paths {
        let mode = PermissionsExt::from_mode(0o0);
        std::fs::set_permissions(folder.join(path), mode).unwrap();
    }
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o500)).unwrap();
}

#[test]
fn a_sandbox_that_nobody_may_write_and_files_that_nobody_may_read_are_kept_and_go() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("locked.txt"), "kept");
    lock_up(&sandbox.path, &["locked.txt"]);
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    let shown = world.git(["show", &format!("{}:locked.txt", kept.sha)]);
    assert_eq!(shown, "kept");
    sandboxes.finish_deletions();
    assert_eq!(world.remains(), Vec::<PathBuf>::new());
}

#[test]
fn work_that_nobody_may_read_is_committed() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("locked/inner/file.txt"), "deep");
    write(&sandbox.path.join("locked.txt"), "plain");
    let paths = [
        "locked/inner/file.txt",
        "locked/inner",
        "locked",
        "locked.txt",
    ];
    lock_up(&sandbox.path, &paths);
    assert_eq!(sandboxes.mend(&sandbox, None), Ok(Vec::new()));
    let leftovers = Leftovers {
        run: sandbox.run.clone(),
        message: "Work".to_owned(),
    };
    let (git, place) = (world.builder(), Place::Sandbox(&sandbox));
    let work = git
        .collect_work(place, &leftovers, &sandbox.base_sha)
        .unwrap();
    assert_eq!(work.commits.len(), 1);
    for (path, content) in [("locked/inner/file.txt", "deep"), ("locked.txt", "plain")] {
        let shown = world.git(["show", &format!("{}:{path}", work.state.head_sha)]);
        assert_eq!(shown, content);
    }
}

/// Creates a chain of folders that is longer than the maximum length of a path.
fn make_deep(at: &Path, depth: usize, name: &str) -> std::os::fd::OwnedFd {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut here = rustix::fs::open(at, flags, Mode::empty()).unwrap();
    for _ in 0..depth {
        rustix::fs::mkdirat(&here, name, Mode::RWXU).unwrap();
        here = rustix::fs::openat(&here, name, flags, Mode::empty()).unwrap();
    }
    here
}

fn make_file(folder: &std::os::fd::OwnedFd, name: &str) {
    use rustix::fs::{Mode, OFlags};
    rustix::fs::openat(folder, name, OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap();
}

#[test]
fn a_tree_deeper_than_any_path_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("tree");
    std::fs::create_dir(&root).unwrap();
    let bottom = make_deep(&root, 1500, "a-folder-with-a-long-name");
    make_file(&bottom, "file");
    drop(bottom);
    let locked = root.join("a-folder-with-a-long-name");
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o0)).unwrap();
    files::remove_tree(&root).unwrap();
    assert!(!root.exists());
}

#[test]
fn a_link_in_a_removed_tree_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    write(&dir.path().join("outside/file"), "stays");
    write(&dir.path().join("tree/file"), "goes");
    std::os::unix::fs::symlink(dir.path().join("outside"), dir.path().join("tree/link")).unwrap();
    files::remove_tree(&dir.path().join("tree")).unwrap();
    assert!(dir.path().join("outside/file").exists());
    assert!(!dir.path().join("tree").exists());
}

#[test]
fn a_sandbox_with_over_long_paths_goes_when_they_are_ignored_or_empty() {
    let world = World::new();
    world.write(".gitignore", "/ignored/\n");
    world.commit("ignore");
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    for folder in ["ignored", "empty"] {
        std::fs::create_dir(sandbox.path.join(folder)).unwrap();
        let bottom = make_deep(
            &sandbox.path.join(folder),
            1500,
            "a-folder-with-a-long-name",
        );
        if folder == "ignored" {
            make_file(&bottom, "file");
        }
    }
    assert_eq!(sandboxes.remove(&sandbox).unwrap().kept, None);
    sandboxes.finish_deletions();
    assert_eq!(world.remains(), Vec::<PathBuf>::new());
}

#[test]
fn a_file_no_path_can_reach_is_never_lost_silently() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    make_file(
        &make_deep(&sandbox.path, 1500, "a-folder-with-a-long-name"),
        "file",
    );
    let problem = sandboxes.remove(&sandbox).unwrap_err();
    assert_eq!(problem.kind, Kind::WorkCannotBeKept);
    let report = sandboxes.sweep(&|_| OwnerState::Dead).unwrap();
    assert_eq!((report.removed.len(), report.left.len()), (0, 1));
    assert!(sandbox.path.exists());
}

#[test]
fn a_file_is_written_in_place_of_a_link_and_never_through_one() {
    let world = World::new();
    let outside = world.path().join("outside");
    write(&outside.join("mine.txt"), "the user's");
    symlink(outside.join("mine.txt"), world.repo.join("plan.md")).unwrap();
    symlink(&outside, world.repo.join("docs")).unwrap();
    world.commit("links");
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    sandboxes
        .write_file(&sandbox, "plan.md", "the plan")
        .unwrap();
    let plan = sandbox.path.join("plan.md");
    assert!(plan.symlink_metadata().unwrap().is_file());
    assert_eq!(std::fs::read_to_string(plan).unwrap(), "the plan");
    for path in ["docs/plan.md", "../plan.md", "/tmp/plan.md", ""] {
        let problem = sandboxes.write_file(&sandbox, path, "x").unwrap_err();
        assert_eq!(problem.kind, Kind::NotWritten, "{path}");
    }
    sandboxes
        .write_file(&sandbox, "src/plan.md", "deep")
        .unwrap();
    let names = |folder: &std::path::Path| {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|one| one.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&outside), ["mine.txt"]);
    assert_eq!(names(&sandbox.path.join("src")), ["b.txt", "plan.md"]);
    let mine = std::fs::read_to_string(outside.join("mine.txt")).unwrap();
    assert_eq!(mine, "the user's");
}

#[test]
fn a_link_in_place_of_the_whole_sandbox_is_not_followed() {
    let world = World::new();
    let outside = world.path().join("outside");
    write(&outside.join("mine.txt"), "the user's");
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    std::fs::remove_dir_all(&sandbox.path).unwrap();
    symlink(&outside, &sandbox.path).unwrap();
    for looked in [
        sandboxes.mend(&sandbox, None),
        sandboxes.make_whole(&sandbox, None),
    ] {
        assert_eq!(looked.unwrap_err().kind, Kind::SandboxReplaced);
    }
    let refused = sandboxes.remove(&sandbox).unwrap_err();
    assert_eq!(refused.kind, Kind::SandboxNotOurs);
    sandboxes.finish_deletions();
    let mut entries = std::fs::read_dir(&outside).unwrap();
    assert_eq!(entries.next().unwrap().unwrap().file_name(), "mine.txt");
    assert!(entries.next().is_none());
}

#[test]
fn the_same_holds_for_an_ordinary_user() {
    crate::support::again_as_ordinary_user(module_path!());
}
