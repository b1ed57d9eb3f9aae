//! Tests untracked files that `copy` and `seed` copy into a sandbox.

use crate::support::{World, write};
use drive_core::ids::RunId;
use drive_core::problem::Kind;
use drive_core::sandbox::{Sandbox, SandboxNote};
use drive_engine::ports::{Leftovers, Place, Sandboxes, VersionControl};
use std::os::unix::fs::{MetadataExt, symlink};

#[test]
fn files_and_caches_come_along_as_files_of_their_own() {
    let world = World::new();
    world.write(".env.example", "A=1");
    world.write("target/debug/app", "binary");
    symlink("app", world.repo.join("target/debug/link")).unwrap();
    let mut spec = world.spec("one");
    spec.copy = vec![".env.*".into()];
    spec.seed = vec!["target".into()];
    let sandbox = world.sandboxes().create(&spec).unwrap();
    for (path, content) in [(".env.example", "A=1"), ("target/debug/app", "binary")] {
        let copy = sandbox.path.join(path);
        assert_eq!(std::fs::read_to_string(&copy).unwrap(), content);
        assert_eq!(
            copy.metadata().unwrap().nlink(),
            1,
            "{path} is no hard link"
        );
        let original = world.repo.join(path).metadata().unwrap();
        assert_ne!(copy.metadata().unwrap().ino(), original.ino());
    }
    assert_eq!(
        std::fs::read_link(sandbox.path.join("target/debug/link")).unwrap(),
        std::path::Path::new("app")
    );
    assert_eq!(sandbox.notes, []);
}

#[test]
fn links_that_lead_out_are_left_out_and_named() {
    let world = World::new();
    let outside = world.path().join("secret");
    write(&outside.join("key"), "secret");
    std::fs::create_dir(world.repo.join("data")).unwrap();
    symlink(&outside, world.repo.join("data/out")).unwrap();
    symlink("../../secret/key", world.repo.join("data/up")).unwrap();
    let mut spec = world.spec("one");
    spec.copy = vec!["data".into(), "data/out/key".into(), "missing".into()];
    let sandbox = world.sandboxes().create(&spec).unwrap();
    assert!(
        sandbox
            .path
            .join("data")
            .read_dir()
            .unwrap()
            .next()
            .is_none()
    );
    let mut notes: Vec<String> = sandbox.notes.iter().map(SandboxNote::to_string).collect();
    notes.sort();
    assert_eq!(
        notes,
        [
            "`data/out/key` matched no files to copy",
            "`data/out` was not copied: a link that leads out of the repository",
            "`data/up` was not copied: a link that leads out of the repository",
            "`missing` matched no files to copy",
        ]
    );
}

#[test]
fn patterns_that_escape_are_refused_before_anything_is_made() {
    let world = World::new();
    for pattern in ["../secret", "/etc/passwd", "a/../../b", ".git/config"] {
        let mut spec = world.spec("one");
        spec.seed = vec![pattern.into()];
        let problem = world.sandboxes().create(&spec).unwrap_err();
        assert_eq!(problem.kind, Kind::BadPattern, "{pattern}");
    }
    assert_eq!(world.traces(), Vec::<String>::new());
}

#[test]
fn a_tracked_file_is_not_overwritten() {
    let world = World::new();
    world.write("a.txt", "dirty in the caller's checkout");
    let mut spec = world.spec("one");
    spec.copy = vec!["a.txt".into()];
    let sandbox = world.sandboxes().create(&spec).unwrap();
    assert_eq!(
        std::fs::read_to_string(sandbox.path.join("a.txt")).unwrap(),
        "a\n"
    );
}

#[test]
fn what_was_brought_is_neither_committed_nor_kept_until_it_was_worked_on() {
    let world = World::new();
    world.write("local.cfg", "mine");
    world.write("cache/x", "cache");
    let mut spec = world.spec("one");
    spec.copy = vec!["local.cfg".into()];
    spec.seed = vec!["cache".into()];
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&spec).unwrap();
    let leftovers = Leftovers {
        run: RunId::new("r-one"),
        message: "leftovers".into(),
    };
    let git = world.builder();
    let commit = |leftovers| {
        let place = Place::Sandbox(&sandbox);
        let work = git.collect_work(place, leftovers, &sandbox.base_sha);
        work.unwrap().commits.pop()
    };
    assert_eq!(commit(&leftovers), None);
    assert_eq!(sandboxes.keep(&sandbox).unwrap(), None);

    write(&sandbox.path.join("work.txt"), "work");
    commit(&leftovers).unwrap();
    assert_eq!(
        world.git_in(&sandbox.path, ["show", "--format=", "--name-only", "HEAD"]),
        "work.txt"
    );
    write(&sandbox.path.join("local.cfg"), "worked on");
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    assert_eq!(kept.about.dirty_files, 1);
    assert_eq!(
        world.git(["show", &format!("{}:local.cfg", kept.sha)]),
        "worked on"
    );
}

/// Changes files in a copied folder that git does not ignore; some of the changes are work.
fn work_in(sandbox: &Sandbox, folder: &str) {
    write(&sandbox.path.join(folder).join("new.txt"), "new");
    write(&sandbox.path.join(folder).join("u.txt"), "changed");
}

#[test]
fn work_in_a_brought_folder_is_kept_and_committed_and_what_was_brought_is_not() {
    for (folder, how) in [("data", "copy"), ("cache", "seed")] {
        let world = World::new();
        for name in ["u.txt", "same.txt", "sub/same.txt"] {
            world.write(&format!("{folder}/{name}"), "brought");
        }
        let sandboxes = world.sandboxes();
        let make = |id: &str| {
            let mut spec = world.spec(id);
            match how {
                "copy" => spec.copy = vec![folder.into()],
                _ => spec.seed = vec![folder.into()],
            }
            sandboxes.create(&spec).unwrap()
        };
        let expected = format!("{folder}/new.txt\n{folder}/u.txt");
        let sandbox = make("one");
        assert_eq!(sandboxes.keep(&sandbox).unwrap(), None, "{how}");
        work_in(&sandbox, folder);
        let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
        assert_eq!(kept.about.dirty_files, 2, "{how}");
        let range = format!("{}^1", kept.sha);
        assert_eq!(
            world.git(["diff", "--name-only", &range, &kept.sha]),
            expected,
            "{how}"
        );

        let sandbox = make("two");
        work_in(&sandbox, folder);
        let leftovers = Leftovers {
            run: RunId::new("r-two"),
            message: "leftovers".into(),
        };
        let place = Place::Sandbox(&sandbox);
        let work = world
            .builder()
            .collect_work(place, &leftovers, &sandbox.base_sha)
            .unwrap();
        assert_eq!(work.commits.len(), 1, "{how}");
        let shown = ["show", "--format=", "--name-only", "HEAD"];
        assert_eq!(world.git_in(&sandbox.path, shown), expected, "{how}");
        assert_eq!(sandboxes.remove(&sandbox).unwrap().kept, None, "{how}");
    }
}

#[test]
fn a_change_of_a_brought_file_with_its_time_set_back_is_work() {
    let world = World::new();
    world.write("data/u.txt", "brought");
    let sandboxes = world.sandboxes();
    let mut spec = world.spec("one");
    spec.copy = vec!["data".into()];
    let sandbox = sandboxes.create(&spec).unwrap();
    let path = sandbox.path.join("data/u.txt");
    let before = path.metadata().unwrap().modified().unwrap();
    write(&path, "changed");
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(before).unwrap();
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    let name = format!("{}:data/u.txt", kept.sha);
    assert_eq!(world.git(["show", &name]), "changed");
}

#[test]
fn what_is_done_in_an_ignored_folder_is_no_work_unless_it_was_added_by_hand() {
    let world = World::new();
    world.write(".gitignore", "target\n");
    world.commit("ignore");
    world.write("target/app", "binary");
    let sandboxes = world.sandboxes();
    let make = |id: &str| {
        let mut spec = world.spec(id);
        spec.seed = vec!["target".into()];
        sandboxes.create(&spec).unwrap()
    };
    let sandbox = make("one");
    write(&sandbox.path.join("target/new"), "built");
    write(&sandbox.path.join(".gitignore"), "");
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    assert_eq!(
        world.git(["ls-tree", "-r", "--name-only", &kept.sha]),
        ".gitignore\na.txt\nsrc/b.txt"
    );

    let sandbox = make("two");
    world.git_in(&sandbox.path, ["add", "--force", "target/app"]);
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    let name = format!("{}:target/app", kept.sha);
    assert_eq!(world.git(["show", &name]), "binary");
}

#[test]
fn the_files_of_a_repository_made_in_a_brought_folder_are_kept() {
    let world = World::new();
    world.write("data/u.txt", "brought");
    let sandboxes = world.sandboxes();
    let mut spec = world.spec("one");
    spec.copy = vec!["data".into()];
    let sandbox = sandboxes.create(&spec).unwrap();
    let nested = sandbox.path.join("data/own");
    std::fs::create_dir(&nested).unwrap();
    world.git_in(&nested, ["init", "-q"]);
    write(&nested.join("x.txt"), "x");
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    let saved = world.git(["show", &format!("{}:data/own/x.txt", kept.sha)]);
    assert_eq!(saved, "x");
}

#[test]
fn a_folder_with_too_many_files_that_git_does_not_ignore_is_left_out_and_named() {
    let world = World::new();
    for number in 0..5_001 {
        world.write(&format!("cache/{}/{number}", number % 50), "x");
    }
    let sandboxes = world.sandboxes();
    let mut spec = world.spec("one");
    spec.seed = vec!["cache".into()];
    let sandbox = sandboxes.create(&spec).unwrap();
    let notes: Vec<String> = sandbox.notes.iter().map(SandboxNote::to_string).collect();
    assert_eq!(
        notes,
        ["`cache` was not copied: too many files that git does not ignore"]
    );
    assert!(!sandbox.path.join("cache").exists());
    assert_eq!(sandboxes.remove(&sandbox).unwrap().kept, None);
}

#[test]
fn a_tracked_link_on_the_way_leads_nothing_out_of_the_sandbox() {
    let world = World::new();
    let outside = world.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, world.repo.join("data")).unwrap();
    world.commit("a link");
    // The caller's checkout now has a folder there.
    std::fs::remove_file(world.repo.join("data")).unwrap();
    world.write("data/local.cfg", "mine");
    let mut spec = world.spec("one");
    spec.copy = vec!["data/local.cfg".into()];
    let sandbox = world.sandboxes().create(&spec).unwrap();
    assert!(outside.read_dir().unwrap().next().is_none());
    let notes: Vec<String> = sandbox.notes.iter().map(SandboxNote::to_string).collect();
    assert_eq!(
        notes,
        ["`data/local.cfg` was not copied: a tracked link is in the way"]
    );
}

#[test]
fn the_same_holds_for_an_ordinary_user() {
    crate::support::again_as_ordinary_user(module_path!());
}
