//! Tests unusual state directories and repositories: a clear error or message, and nothing is lost.

use crate::spawn::agents::{COMMIT, warnings};
use crate::spawn::support::{World, text};
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_remount, unmount};
use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::process::CommandExt;

/// The offset at which SQLite stores a database's format number.
const USER_VERSION: u64 = 60;
const WRITES_A_FILE: &str = "echo new > new.txt";

#[test]
fn a_database_that_is_newer_or_no_database_is_refused_and_left_as_it_was() {
    let newer: fn(&fs::File) = |file| {
        file.write_all_at(&[0, 0, 0x27, 0x0f], USER_VERSION)
            .unwrap()
    };
    let damaged: fn(&fs::File) = |file| file.write_all_at(&[b'x'; 100], 0).unwrap();
    for (change, kind) in [(newer, "newerDatabase"), (damaged, "corruptDatabase")] {
        let world = World::with_agent(WRITES_A_FILE);
        assert_eq!(world.drive(&["runs", "list"]).code, Some(0));
        let path = world.path("state/drive.sqlite3");
        change(&fs::File::options().write(true).open(&path).unwrap());
        let before = fs::read(&path).unwrap();
        let ended = world.drive(&["spawn", "Do it", "--json"]);
        assert_eq!(ended.failure(), (Some(3), kind.into()), "{ended:?}");
        let hint = text(&ended.document()["failure"]["hint"]);
        assert_ne!(hint, "", "{ended:?}");
        assert_eq!(fs::read(&path).unwrap(), before, "{kind}");
        assert_eq!(world.branches(), Vec::<String>::new());
        world.assert_nothing_is_left();
    }
}

#[test]
fn an_agent_commits_by_itself_where_refs_are_in_tables() {
    let world = World::with_agent(&format!("echo x > x.txt; {COMMIT} 'My own'"));
    let again = "rm -rf .git; git init -q -b main --ref-format=reftable 2> /dev/null || { echo no; exit; }; git add -A; git commit -qm first";
    if world.shell(&format!("cd repo; {again}")) == "no" {
        eprintln!("skipped: this git has no reftable");
        return;
    }
    let (code, run) = world.spawn(&["Do it", "--branch", "mine"]);
    assert_eq!((code, warnings(&run)), (Some(0), String::new()), "{run:#}");
    assert_eq!(world.files("mine"), "a.txt src/b.txt x.txt");
    assert_eq!(world.git("log -1 --format=%s mine"), "My own");
    world.assert_nothing_is_left();
}

#[test]
fn a_state_directory_that_cannot_be_written_is_named_before_anything_is_made() {
    let world = World::with_agent(WRITES_A_FILE);
    // The folder belongs to another user, as if another user's program had created it.
    let state = world.path("state");
    fs::create_dir(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o555)).unwrap();
    let mut command = world.drive_command(&["spawn", "Do it", "--json"]);
    if rustix::process::geteuid().is_root() {
        fs::set_permissions(world.path(""), fs::Permissions::from_mode(0o755)).unwrap();
        world.git("config --global --add safe.directory '*'");
        command.uid(65534).gid(65534);
    }
    let output = match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            eprintln!("skipped: an ordinary user cannot reach the program under test");
            return;
        }
        output => output.unwrap(),
    };
    let ended = crate::spawn::support::Ended::from(output);
    assert_eq!(ended.failure().0, Some(3), "{ended:?}");
    let told = ended.document()["failure"].to_string();
    assert!(told.contains(state.to_str().unwrap()), "{told}");
    assert_ne!(text(&ended.document()["failure"]["hint"]), "", "{told}");
    assert_eq!(fs::read_dir(&state).unwrap().count(), 0);
    assert_eq!(world.branches(), Vec::<String>::new());
}

/// A disk for the state directory, with this initial size.
struct Disk(std::path::PathBuf);

impl Disk {
    fn new(world: &World, size: &std::ffi::CStr) -> Option<Self> {
        let at = world.path("state");
        fs::create_dir(&at).unwrap();
        match mount("tmpfs", &at, "tmpfs", MountFlags::empty(), Some(size)) {
            Ok(()) => Some(Self(at)),
            Err(error) => {
                eprintln!("skipped: no disk of its own can be mounted here: {error}");
                None
            }
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = unmount(&self.0, UnmountFlags::DETACH);
    }
}

#[test]
fn an_agent_that_fills_the_disk_is_named_and_its_work_is_kept_once_there_is_room() {
    let world =
        World::with_agent("echo work > work.txt; head -c 30000000 /dev/zero > big.bin; true");
    let Some(disk) = Disk::new(&world, c"size=20m") else {
        return;
    };
    let ended = world.drive(&["spawn", "Do it", "--branch", "mine", "--json"]);
    assert_eq!(ended.failure(), (Some(3), "diskFull".into()), "{ended:?}");
    let hint = text(&ended.document()["failure"]["hint"]);
    assert_eq!(hint, "free some space, then run the command again");
    assert_eq!(world.survivors(), Vec::<String>::new());
    // While it is full, that is reported, and nothing is changed.
    let full = world.drive(&["runs", "list"]);
    assert!(
        full.stderr
            .contains("could not clean up after a killed drive process: no space left"),
        "{full:?}"
    );
    assert_eq!(world.sandboxes().len(), 1);
    mount_remount(&disk.0, MountFlags::empty(), c"size=80m").unwrap();
    let next = world.drive(&["runs", "list"]);
    assert!(next.stderr.contains("its work is saved"), "{next:?}");
    let kept = world.git("for-each-ref --format='%(refname)' refs/drive/kept");
    assert_eq!(world.files(&kept), "a.txt big.bin src/b.txt work.txt");
    world.assert_nothing_is_left();
}

#[test]
fn a_shallow_clone_is_worked_in_and_told_of() {
    let world = World::with_agent(WRITES_A_FILE);
    world.shell("cd repo && echo 2 > a.txt && git commit -qam second && cd .. && mv repo origin && git clone -q --depth=1 \"file://$PWD/origin\" repo");
    let ended = world.drive(&["spawn", "Do it", "--branch", "mine"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("warning: "), "{ended:?}");
    assert!(ended.stderr.contains("shallow"), "{ended:?}");
    assert_eq!(world.files("mine"), "a.txt new.txt src/b.txt");
    world.assert_nothing_is_left();
}

#[test]
fn a_repository_with_a_submodule_and_a_pointer_is_worked_in_and_told_of() {
    let world = World::with_agent(&format!(
        "{WRITES_A_FILE}; cp big.bin copy.txt; ls lib > lib.txt"
    ));
    world.shell(
        "git init -q lib && cd lib && echo l > l.txt && git add -A && git commit -qm lib && cd ../repo
git -c protocol.file.allow=always submodule --quiet add \"$PWD/../lib\" lib
echo '*.bin filter=lfs diff=lfs merge=lfs -text' > .gitattributes
echo 'version https://git-lfs.github.com/spec/v1' > big.bin
git add -A && git commit -qm odd
for key in smudge clean process; do git config filter.lfs.$key false; done; git config filter.lfs.required true",
    );
    let (code, run) = world.spawn(&["Do it", "--branch", "mine"]);
    assert_eq!(code, Some(0), "{run:#}");
    let log = world.git("show mine:copy.txt");
    assert_eq!(log, "version https://git-lfs.github.com/spec/v1");
    assert_eq!(world.git("show mine:lib.txt"), "");
    assert_eq!(warnings(&run), "");
    let shown = world.drive(&["runs", "show", "--json"]).stdout;
    for note in ["submodulesNotFetched", "filtersNotRun"] {
        assert!(shown.contains(note), "{shown}");
    }
    assert_eq!(
        world.git("rev-parse mine:lib"),
        world.git("rev-parse main:lib")
    );
}
