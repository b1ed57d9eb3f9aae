//! Tests that a sandbox is removed at once if its files are as git last saw them, and that every
//! change to a file is detected, however well it is hidden.

use crate::support::{World, write};
use drive_core::sandbox::Sandbox;
use drive_engine::ports::Sandboxes;
use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::{Duration, Instant};

/// An action in a sandbox, and what is kept of it; `None` if nothing must be kept.
type Deed = (&'static str, fn(&World, &Sandbox), Option<&'static str>);

const DEEDS: &[Deed] = &[
    ("nothing", |_, _| {}, None),
    (
        "an empty folder",
        |_, it| fs::create_dir(it.path.join("empty")).unwrap(),
        None,
    ),
    (
        "a read",
        |_, it| drop(fs::read(it.path.join("a.txt")).unwrap()),
        None,
    ),
    (
        "a commit on its branch",
        |world, it| {
            write(&it.path.join("new.txt"), "new");
            world.git_in(&it.path, ["add", "-A"]);
            world.git_in(&it.path, ["commit", "-qm", "new"]);
        },
        None,
    ),
    (
        "a change of the same size with its time set back",
        |_, it| {
            let path = it.path.join("a.txt");
            let before = fs::metadata(&path).unwrap().modified().unwrap();
            fs::write(&path, "b\n").unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            file.set_times(FileTimes::new().set_modified(before))
                .unwrap();
        },
        Some("M\ta.txt"),
    ),
    (
        "a change in the moment after a commit",
        |world, it| {
            write(&it.path.join("a.txt"), "1\n");
            world.git_in(&it.path, ["commit", "-qam", "one"]);
            fs::write(it.path.join("a.txt"), "2\n").unwrap();
        },
        Some("M\ta.txt"),
    ),
    (
        "a staged change that was taken back in the file only",
        |world, it| {
            write(&it.path.join("a.txt"), "x\n");
            world.git_in(&it.path, ["add", "-A"]);
            write(&it.path.join("a.txt"), "a\n");
        },
        Some(""),
    ),
    (
        "a file that may be executed now",
        |_, it| {
            let mode = PermissionsExt::from_mode(0o755);
            fs::set_permissions(it.path.join("a.txt"), mode).unwrap();
        },
        Some("M\ta.txt"),
    ),
    (
        "a file deleted",
        |_, it| fs::remove_file(it.path.join("a.txt")).unwrap(),
        Some("D\ta.txt"),
    ),
    (
        "a file replaced by its copy, then changed",
        |_, it| {
            fs::copy(it.path.join("a.txt"), it.path.join("c")).unwrap();
            fs::rename(it.path.join("c"), it.path.join("a.txt")).unwrap();
            fs::write(it.path.join("a.txt"), "c\n").unwrap();
        },
        Some("M\ta.txt"),
    ),
    (
        "a file beside the others",
        |_, it| write(&it.path.join("src/new.txt"), "new"),
        Some("A\tsrc/new.txt"),
    ),
    (
        "a file in a folder of its own",
        |_, it| write(&it.path.join("more/deep/new.txt"), "new"),
        Some("A\tmore/deep/new.txt"),
    ),
    (
        "a folder replaced by a link to the same files",
        |world, it| {
            fs::rename(it.path.join("src"), world.path().join("moved")).unwrap();
            symlink(world.path().join("moved"), it.path.join("src")).unwrap();
        },
        Some("A\tsrc\nD\tsrc/b.txt"),
    ),
    (
        "a change hidden from git",
        |world, it| {
            world.git_in(&it.path, ["update-index", "--assume-unchanged", "a.txt"]);
            write(&it.path.join("a.txt"), "hidden\n");
        },
        Some("M\ta.txt"),
    ),
    (
        "a file that differs in case only, where git is told that this means nothing",
        |world, it| {
            world.git(["config", "core.ignoreCase", "true"]);
            write(&it.path.join("A.TXT"), "another");
        },
        Some("A\tA.TXT"),
    ),
    (
        "a change that a cheaper look would miss",
        |world, it| {
            world.git(["config", "core.checkStat", "minimal"]);
            world.git(["config", "core.trustctime", "false"]);
            let path = it.path.join("a.txt");
            let before = fs::metadata(&path).unwrap().modified().unwrap();
            fs::write(&path, "b\n").unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            file.set_times(FileTimes::new().set_modified(before))
                .unwrap();
        },
        Some("M\ta.txt"),
    ),
    (
        "line ends that git is told to refuse",
        |world, it| {
            world.git(["config", "core.autocrlf", "input"]);
            world.git(["config", "core.safecrlf", "true"]);
            write(&it.path.join("dos.txt"), "one\r\ntwo\r\n");
        },
        Some("A\tdos.txt"),
    ),
    (
        "a file outside of a sparse checkout",
        |world, it| {
            world.git_in(&it.path, ["sparse-checkout", "set", "src"]);
            write(&it.path.join("other/new.txt"), "new");
        },
        Some("A\tother/new.txt"),
    ),
    (
        "commits on no branch",
        |world, it| {
            world.git_in(&it.path, ["checkout", "-q", "--detach"]);
            write(&it.path.join("new.txt"), "new");
            world.git_in(&it.path, ["add", "-A"]);
            world.git_in(&it.path, ["commit", "-qm", "new"]);
        },
        Some(""),
    ),
];

/// Waits until the second in which the sandbox was created is over: git compares times in seconds,
/// so a change within that second whose time was set back would be invisible.
fn let_time_pass(sandbox: &Sandbox) {
    let made = fs::metadata(sandbox.path.join("src/b.txt"))
        .unwrap()
        .ctime();
    let deadline = Instant::now() + Duration::from_secs(20);
    let probe = sandbox.path.parent().unwrap().join("clock");
    while {
        fs::write(&probe, "").unwrap();
        fs::metadata(&probe).unwrap().ctime() <= made
    } {
        assert!(Instant::now() < deadline, "the clock stands still");
        std::thread::sleep(Duration::from_millis(10));
    }
    fs::remove_file(&probe).unwrap();
}

#[test]
fn whatever_was_done_is_kept_and_nothing_else_is() {
    for (deed, act, expected) in DEEDS {
        let world = World::new();
        let sandboxes = world.sandboxes();
        let sandbox = sandboxes.create(&world.spec("one")).unwrap();
        let_time_pass(&sandbox);
        act(&world, &sandbox);
        let kept = sandboxes.remove(&sandbox).unwrap().kept;
        // Compared with its first parent, which is what was committed.
        let shown = kept.map(|kept| {
            let range = format!("{}^1", kept.sha);
            world.git(["diff", "--no-renames", "--name-status", &range, &kept.sha])
        });
        assert_eq!(shown.as_deref(), *expected, "{deed}");
        assert!(!sandbox.path.exists(), "{deed}");
    }
}

#[test]
fn a_sandbox_of_many_folders_is_looked_at_in_full() {
    let world = World::new();
    for number in 0..300 {
        world.write(&format!("many/{}/{number}.txt", number % 30), "x\n");
    }
    world.commit("many");
    let sandboxes = world.sandboxes();
    for (id, deed) in [
        ("one", None),
        ("two", Some("many/29/299.txt")),
        ("three", Some("many/0/new.txt")),
    ] {
        let sandbox = sandboxes.create(&world.spec(id)).unwrap();
        if let Some(path) = deed {
            write(&sandbox.path.join(path), "changed\n");
        }
        let kept = sandboxes.remove(&sandbox).unwrap().kept;
        assert_eq!(
            kept.map(|kept| kept.about.dirty_files),
            deed.map(|_| 1),
            "{id}"
        );
    }
}

#[test]
fn the_same_holds_for_an_ordinary_user() {
    crate::support::again_as_ordinary_user(module_path!());
}
