//! Tests rolling a sandbox back to a commit.

use crate::support::{World, write};
use drive_core::ids::CommitSha;
use drive_core::sandbox::{InProgress, Sandbox};
use drive_engine::ports::Sandboxes;
use std::os::unix::fs::symlink;

struct Scene {
    world: World,
    sandbox: Sandbox,
    base: String,
}

impl Scene {
    fn new() -> Self {
        let world = World::new();
        world.write(".gitignore", "ignored.txt\n");
        world.commit("ignore");
        world.write("brought.txt", "the user's");
        let mut spec = world.spec("x");
        spec.copy = vec!["brought.txt".into()];
        let sandbox = world.sandboxes().create(&spec).unwrap();
        let base = world.git(["rev-parse", "HEAD"]);
        Self {
            world,
            sandbox,
            base,
        }
    }

    fn write(&self, path: &str, text: &str) {
        write(&self.sandbox.path.join(path), text);
    }

    fn git(&self, args: &[&str]) -> String {
        self.world.git_in(&self.sandbox.path, args)
    }

    fn commit(&self, message: &str) -> String {
        self.git(&["add", "a.txt", "src"]);
        self.git(&["commit", "-qm", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// A commit in the user's checkout that changes the same file.
    fn theirs(&self) -> String {
        self.world.write("a.txt", "theirs\n");
        self.world.git(["commit", "-qam", "theirs"]);
        self.world.git(["rev-parse", "HEAD"])
    }

    /// Asserts that the sandbox is at the base, clean, on its branch, with the copied files.
    fn assert_at_base(&self) {
        assert_eq!(self.git(&["rev-parse", "HEAD"]), self.base);
        assert_eq!(self.git(&["symbolic-ref", "--short", "HEAD"]), "drive/x");
        assert_eq!(self.git(&["status", "--porcelain"]), "?? brought.txt");
        assert_eq!(
            std::fs::read_to_string(self.sandbox.path.join("a.txt")).unwrap(),
            "a\n"
        );
    }
}

#[test]
fn half_work_and_its_commits_are_kept_and_taken_away() {
    let scene = Scene::new();
    scene.write("a.txt", "committed\n");
    let commit = scene.commit("half");
    scene.write("src/b.txt", "dirty\n");
    scene.write("new/untracked.txt", "untracked\n");
    scene.write("ignored.txt", "a cache\n");
    let sandboxes = scene.world.sandboxes();
    let kept = sandboxes
        .roll_back(&scene.sandbox, &CommitSha::new(&scene.base))
        .unwrap();
    let kept = kept.unwrap();
    scene.assert_at_base();
    assert_eq!(
        scene.git(&["rev-parse", &format!("{}^1", kept.sha)]),
        commit
    );
    let saved = scene
        .world
        .git(["ls-tree", "-r", "--name-only", &kept.reference]);
    assert_eq!(
        saved.lines().collect::<Vec<_>>(),
        [".gitignore", "a.txt", "new/untracked.txt", "src/b.txt"]
    );
    assert!(!scene.sandbox.path.join("new").exists());
    assert!(scene.sandbox.path.join("ignored.txt").exists());
    // A repetition finds nothing to do.
    assert_eq!(
        sandboxes.roll_back(&scene.sandbox, &CommitSha::new(&scene.base)),
        Ok(None)
    );
    scene.assert_at_base();
}

#[test]
fn a_file_that_only_the_works_own_gitignore_covered_is_kept() {
    let scene = Scene::new();
    scene.write(".gitignore", "ignored.txt\nnotes/\n");
    scene.write("notes/found.txt", "hours of work\n");
    let sandboxes = scene.world.sandboxes();
    let base = CommitSha::new(&scene.base);
    sandboxes.roll_back(&scene.sandbox, &base).unwrap().unwrap();
    scene.assert_at_base();
    assert!(!scene.sandbox.path.join("notes").exists());
    let kept = scene
        .world
        .git(["for-each-ref", "--format=%(refname)", "refs/drive/kept"]);
    let is_in = |name: &str| {
        let file = format!("{name}:notes/found.txt");
        scene
            .world
            .command(&scene.world.repo, ["cat-file", "-e", &file])
            .status()
            .unwrap()
            .success()
    };
    assert!(kept.lines().any(is_in), "{kept}");
}

#[test]
fn commits_alone_are_kept_although_they_are_on_the_branch() {
    let scene = Scene::new();
    scene.write("a.txt", "committed\n");
    let commit = scene.commit("half");
    let kept = scene
        .world
        .sandboxes()
        .roll_back(&scene.sandbox, &CommitSha::new(&scene.base))
        .unwrap()
        .unwrap();
    scene.assert_at_base();
    scene.git(&["merge-base", "--is-ancestor", &commit, &kept.sha]);
}

#[test]
fn a_merge_in_progress_is_kept_with_what_was_resolved_so_far() {
    let scene = Scene::new();
    let theirs = scene.theirs();
    scene.write("a.txt", "ours\n");
    let ours = scene.commit("ours");
    let merge = scene
        .world
        .command(&scene.sandbox.path, ["merge", "-q", &theirs])
        .output();
    assert!(!merge.unwrap().status.success());
    scene.write("a.txt", "half resolved\n");
    let kept = scene
        .world
        .sandboxes()
        .roll_back(&scene.sandbox, &CommitSha::new(&ours))
        .unwrap()
        .unwrap();
    assert_eq!(kept.about.in_progress, Some(InProgress::Merge));
    assert_eq!(
        scene.git(&["show", &format!("{}:a.txt", kept.sha)]),
        "half resolved"
    );
    assert_eq!(scene.git(&["rev-parse", "HEAD"]), ours);
    assert!(!scene.sandbox.path.join(".git").join("MERGE_HEAD").exists());
    assert_eq!(scene.git(&["status", "--porcelain"]), "?? brought.txt");
}

#[test]
fn a_rebase_a_switch_and_a_lock_of_somebody_who_was_killed_are_undone() {
    let scene = Scene::new();
    scene.write("a.txt", "one\n");
    scene.commit("one");
    let theirs = scene.theirs();
    let rebase = scene
        .world
        .command(&scene.sandbox.path, ["rebase", "-q", &theirs])
        .output();
    assert!(!rebase.unwrap().status.success());
    write(&scene.sandbox.path.join(".git").join("index.lock"), "");
    let kept = scene
        .world
        .sandboxes()
        .roll_back(&scene.sandbox, &CommitSha::new(&scene.base))
        .unwrap()
        .unwrap();
    assert_eq!(kept.about.in_progress, Some(InProgress::Rebase));
    scene.assert_at_base();
    scene.git(&["checkout", "-q", "--detach"]);
    let sandboxes = scene.world.sandboxes();
    assert_eq!(
        sandboxes.roll_back(&scene.sandbox, &CommitSha::new(&scene.base)),
        Ok(None)
    );
    scene.assert_at_base();
}

#[test]
fn a_lock_of_the_index_that_somebody_holds_is_left_to_them() {
    let scene = Scene::new();
    scene.write("a.txt", "dirty\n");
    let lock = scene.sandbox.path.join(".git").join("index.lock");
    write(&lock, "");
    let holder = std::fs::File::open(&lock).unwrap();
    let sandboxes = scene.world.sandboxes();
    let roll_back = || sandboxes.roll_back(&scene.sandbox, &CommitSha::new(&scene.base));
    assert!(roll_back().is_err());
    assert!(sandboxes.mend(&scene.sandbox, None).is_ok());
    assert!(lock.exists());
    assert_eq!(scene.git(&["show", ":a.txt"]), "a");
    drop(holder);
    assert!(roll_back().is_ok());
    assert!(!lock.exists());
    scene.assert_at_base();
}

#[test]
fn work_in_a_brought_folder_is_kept_and_taken_away_and_what_was_brought_stays() {
    let world = World::new();
    world.write("data/same.txt", "the user's");
    world.write("data/u.txt", "the user's");
    let mut spec = world.spec("x");
    spec.copy = vec!["data".into()];
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&spec).unwrap();
    write(&sandbox.path.join("data/deep/new.txt"), "work");
    write(&sandbox.path.join("data/u.txt"), "worked on");
    let kept = sandboxes.roll_back(&sandbox, &sandbox.base_sha).unwrap();
    let kept = kept.unwrap().sha;
    assert_eq!(
        world.git(["diff", "--name-only", &format!("{kept}^1"), &kept]),
        "data/deep/new.txt\ndata/u.txt"
    );
    let status = ["status", "--porcelain", "--untracked-files=all"];
    assert_eq!(world.git_in(&sandbox.path, status), "?? data/same.txt");
    assert!(!sandbox.path.join("data/deep").exists());
    assert_eq!(
        sandboxes.roll_back(&sandbox, &sandbox.base_sha).unwrap(),
        None
    );
}

#[test]
fn the_same_holds_for_an_ordinary_user() {
    crate::support::again_as_ordinary_user(module_path!());
}

#[test]
fn what_stands_in_the_place_of_a_lock_and_is_none_is_removed() {
    let scene = Scene::new();
    let lock = scene.sandbox.path.join(".git").join("index.lock");
    let base = CommitSha::new(&scene.base);
    let sandboxes = scene.world.sandboxes();
    let makers: [fn(&std::path::Path); 2] = [
        |lock| symlink("nowhere", lock).unwrap(),
        |lock| std::fs::create_dir(lock).unwrap(),
    ];
    for make in makers {
        write(&scene.sandbox.path.join("new.txt"), "new");
        make(&lock);
        sandboxes.roll_back(&scene.sandbox, &base).unwrap().unwrap();
        assert!(lock.symlink_metadata().is_err());
        assert!(!scene.sandbox.path.join("new.txt").exists());
    }
}
