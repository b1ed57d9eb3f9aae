//! Tests bad input from a sandbox: each case is reported, the work is saved, and the user's
//! repository stays unchanged.

use crate::support::{FixedClock, SmallDisk, World, write};
use drive_adapters::Environment;
use drive_adapters::git::Git;
use drive_adapters::sandbox::GitSandboxes;
use drive_core::Problem;
use drive_core::ids::RunId;
use drive_core::problem::Kind;
use drive_core::sandbox::{OwnerState, Sandbox};
use drive_engine::ports::{CollectedWork, Leftovers, Place, Sandboxes, VersionControl};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

fn collect_with(git: &Git, sandbox: &Sandbox) -> Result<CollectedWork, Problem> {
    let leftovers = Leftovers {
        run: RunId::new("r-one"),
        message: "leftovers".into(),
    };
    git.collect_work(Place::Sandbox(sandbox), &leftovers, &sandbox.base_sha)
}

/// Every file of a folder with its content.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else {
                all.insert(entry.path(), std::fs::read(entry.path()).unwrap());
            }
        }
    }
    all
}

/// Fails if the action hangs.
fn within<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, answer) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(act()));
    let answer = answer.recv_timeout(Duration::from_secs(40));
    answer.expect("it hangs")
}

/// Bytes that git cannot compress.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut out = Vec::with_capacity(bytes + 8);
    while out.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.extend(state.to_le_bytes());
    }
    out
}

type Deed = (&'static str, fn(&Path, &Path));

/// What an agent may replace its `.git` with.
const REPLACED: &[Deed] = &[
    ("deleted", |_, _| {}),
    ("emptied", |own, _| std::fs::create_dir(own).unwrap()),
    ("a file", |own, _| write(own, "no repository\n")),
    ("a file that leads to the user's", |own, users| {
        write(own, &format!("gitdir: {}\n", users.display()));
    }),
    ("a link to the user's", |own, users| {
        std::os::unix::fs::symlink(users, own).unwrap();
    }),
    ("a pipe", |own, _| {
        assert!(Command::new("mkfifo").arg(own).status().unwrap().success());
    }),
];

#[test]
fn work_beside_a_git_folder_that_is_gone_is_committed_and_that_is_told() {
    for (what, put) in REPLACED {
        let world = World::new();
        let users = world.repo.join(".git");
        let sandbox = world.sandboxes().create(&world.spec("one")).unwrap();
        write(&sandbox.path.join("work.txt"), "the work\n");
        let own = sandbox.path.join(".git");
        std::fs::remove_dir_all(&own).unwrap();
        put(&own, &users);
        let before = files(&world.repo);
        let sandboxes = world.sandboxes();
        let (git, moved) = (world.builder(), sandbox.clone());
        // Without the repair it may fail, but it must not hang, and it changes nothing.
        within(move || drop(collect_with(&git, &moved)));
        assert_eq!(files(&world.repo), before, "{what}");
        let notes = sandboxes.mend(&sandbox, None).unwrap();
        assert_eq!(
            notes,
            [
                "the agent deleted the git files of its folder",
                "the agent damaged git's index"
            ],
            "{what}"
        );
        collect_with(&world.builder(), &sandbox).unwrap();
        let saved = world.git(["show", "drive/one:work.txt"]);
        assert_eq!(saved, "the work", "{what}");
        assert_unchanged(&before, &files(&world.repo), what);
    }
}

/// Asserts that the user's repository got objects and refs of drive, and did not change otherwise.
fn assert_unchanged(
    before: &BTreeMap<PathBuf, Vec<u8>>,
    after: &BTreeMap<PathBuf, Vec<u8>>,
    what: &str,
) {
    let is_drives = |path: &Path| {
        let path = path.to_string_lossy();
        path.contains(".git/objects/") || path.contains("/drive/")
    };
    let others = |all: &BTreeMap<PathBuf, Vec<u8>>| -> Vec<(PathBuf, Vec<u8>)> {
        let all = all.iter().filter(|(path, _)| !is_drives(path));
        all.map(|(path, text)| (path.clone(), text.clone()))
            .collect()
    };
    assert_eq!(others(before), others(after), "{what}");
}

#[test]
fn work_beside_a_git_folder_that_is_gone_is_saved_without_mending() {
    for (what, put) in REPLACED {
        let world = World::new();
        let sandboxes = world.sandboxes();
        let sandbox = sandboxes.create(&world.spec("one")).unwrap();
        write(&sandbox.path.join("work.txt"), "the work\n");
        let own = sandbox.path.join(".git");
        std::fs::remove_dir_all(&own).unwrap();
        put(&own, &world.repo.join(".git"));
        let before = files(&world.repo);
        let kept = within(move || sandboxes.keep(&sandbox)).unwrap().unwrap();
        let saved = world.git(["show", &format!("{}:work.txt", kept.sha)]);
        assert_eq!(saved, "the work", "{what}");
        assert_unchanged(&before, &files(&world.repo), what);
    }
}

#[test]
fn a_truncated_pack_is_refused_and_its_files_are_saved() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let git = |args: &[&str]| world.git_in(&sandbox.path, args);
    for number in 0..20 {
        let text = String::from_utf8_lossy(&noise(5_000 + number)).into_owned();
        write(&sandbox.path.join(format!("work-{number}.txt")), &text);
    }
    git(&["add", "-A"]);
    git(&["commit", "-qm", "work"]);
    git(&["repack", "-qadl"]);
    let packs = std::fs::read_dir(sandbox.path.join(".git/objects/pack")).unwrap();
    let pack = packs.flatten().map(|entry| entry.path());
    let pack = pack.filter(|path| path.extension().is_some_and(|end| end == "pack"));
    let pack = pack.last().unwrap();
    std::fs::set_permissions(&pack, PermissionsExt::from_mode(0o644)).unwrap();
    let length = pack.metadata().unwrap().len();
    let file = std::fs::File::options().write(true).open(&pack).unwrap();
    file.set_len(length / 2).unwrap();
    let before = files(&world.repo);
    let refused = collect_with(&world.builder(), &sandbox).unwrap_err();
    assert!(
        matches!(refused.kind, Kind::WorkRefused | Kind::GitFailed),
        "{refused:?}"
    );
    assert_eq!(files(&world.repo), before);
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    let listed = world.git(["ls-tree", "--name-only", kept.sha.as_str()]);
    assert!(listed.contains("work-7.txt"), "{listed}");
    world.git(["fsck", "--strict", "--full"]);
}

#[test]
fn folders_nested_deeper_than_any_path_among_gits_files_are_removed() {
    use rustix::fs::{Mode, OFlags};
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("work.txt"), "the work\n");
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut here = rustix::fs::open(sandbox.path.join(".git"), flags, Mode::empty()).unwrap();
    for _ in 0..1_000 {
        rustix::fs::mkdirat(&here, "a-long-name", Mode::RWXU).unwrap();
        here = rustix::fs::openat(&here, "a-long-name", flags, Mode::empty()).unwrap();
    }
    let notes = sandboxes.mend(&sandbox, None).unwrap();
    assert_eq!(notes.len(), 1, "{notes:?}");
    collect_with(&world.builder(), &sandbox).unwrap();
    assert_eq!(world.git(["show", "drive/one:work.txt"]), "the work");
    sandboxes.remove(&sandbox).unwrap();
}

#[test]
fn a_link_among_the_git_files_of_a_submodule_is_not_followed_and_a_pipe_hangs_nobody() {
    let world = World::new();
    let origin = world.path().join("origin");
    std::fs::create_dir(&origin).unwrap();
    world.git_in(&origin, ["init", "-q", "-b", "main"]);
    write(&origin.join("lib.txt"), "lib\n");
    world.git_in(&origin, ["add", "-A"]);
    world.git_in(&origin, ["commit", "-qm", "lib"]);
    let from = origin.to_str().unwrap();
    world.git(["submodule", "--quiet", "add", from, "lib"]);
    world.commit("submodule");
    // A folder outside that looks like a repository with its own commits.
    let outside = world.path().join("outside");
    write(&outside.join("HEAD"), "ref: refs/heads/main\n");
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let lib = sandbox.path.join("lib");
    std::fs::remove_dir(&lib).unwrap();
    world.git_in(&sandbox.path, ["clone", "-q", from, "lib"]);
    std::os::unix::fs::symlink(&outside, lib.join(".git/modules")).unwrap();
    assert_eq!(sandboxes.remove(&sandbox).unwrap().kept, None);
    let sandbox = sandboxes.create(&world.spec("two")).unwrap();
    let pipe = sandbox.path.join("lib/.git");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let refused = within(move || sandboxes.remove(&sandbox)).unwrap_err();
    assert_eq!(refused.kind, Kind::WorkCannotBeKept);
}

#[test]
fn a_history_that_shares_nothing_with_the_base_is_refused_and_saved() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let git = |args: &[&str]| world.git_in(&sandbox.path, args);
    git(&["checkout", "-q", "--orphan", "new"]);
    git(&["commit", "-qm", "from nothing"]);
    git(&["branch", "-f", "drive/one", "new"]);
    git(&["checkout", "-q", "drive/one"]);
    let tip = git(&["rev-parse", "HEAD"]);
    let before = files(&world.repo);
    let refused = collect_with(&world.builder(), &sandbox).unwrap_err();
    assert_eq!(refused.kind, Kind::HistoryUnrelated);
    assert_eq!(files(&world.repo), before);
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    world.git(["merge-base", "--is-ancestor", &tip, &kept.sha]);
}

#[test]
fn a_history_that_rewrites_its_base_is_refused_and_saved() {
    let world = World::new();
    write(&world.repo.join("second.txt"), "second\n");
    world.commit("second");
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let git = |args: &[&str]| world.git_in(&sandbox.path, args);
    write(&sandbox.path.join("work.txt"), "the work\n");
    git(&["add", "-A"]);
    git(&["commit", "-q", "--amend", "-m", "amended"]);
    git(&["commit", "-q", "--allow-empty", "-m", "on top"]);
    let tip = git(&["rev-parse", "HEAD"]);
    let before = files(&world.repo);
    let refused = collect_with(&world.builder(), &sandbox).unwrap_err();
    assert_eq!(refused.kind, Kind::HistoryUnrelated);
    let says = format!("the agent rewrote existing commits: {tip} does not contain ");
    assert_eq!(
        refused.message,
        format!("{says}{}", sandbox.base_sha.as_str())
    );
    assert_eq!(files(&world.repo), before);
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    world.git(["merge-base", "--is-ancestor", &tip, &kept.sha]);
    let saved = world.git(["show", &format!("{}:work.txt", kept.sha)]);
    assert_eq!(saved, "the work");
}

#[test]
fn a_fixer_that_amends_its_own_commit_is_taken() {
    let world = World::new();
    let sandbox = world.sandboxes().create(&world.spec("one")).unwrap();
    let git = |args: &[&str]| world.git_in(&sandbox.path, args);
    // The first commit of the branch stays; the second is replaced after drive has transferred both.
    for name in ["first", "second"] {
        write(&sandbox.path.join(name), name);
        git(&["add", "-A"]);
        git(&["commit", "-qm", name]);
    }
    collect_with(&world.builder(), &sandbox).unwrap();
    write(&sandbox.path.join("second"), "better");
    git(&["commit", "-qa", "--amend", "-m", "better"]);
    let work = collect_with(&world.builder(), &sandbox).unwrap();
    assert!(work.builds_on_base);
    assert_eq!(world.git(["show", "drive/one:second"]), "better");
}

#[test]
fn a_history_beside_the_branch_that_shares_nothing_with_it_is_saved() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let git = |args: &[&str]| world.git_in(&sandbox.path, args);
    git(&["checkout", "-q", "--orphan", "new"]);
    git(&["commit", "-qm", "from nothing"]);
    let tip = git(&["rev-parse", "HEAD"]);
    let work = collect_with(&world.builder(), &sandbox).unwrap();
    assert_eq!(work.state.head_sha.as_str(), tip);
    assert_eq!(
        world.git(["rev-parse", "drive/one"]),
        sandbox.base_sha.as_str()
    );
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    world.git(["merge-base", "--is-ancestor", &tip, &kept.sha]);
}

#[test]
fn a_root_that_is_merged_with_the_base_is_taken() {
    let world = World::new();
    let sandbox = world.sandboxes().create(&world.spec("one")).unwrap();
    let git = |args: &[&str]| world.git_in(&sandbox.path, args);
    git(&["checkout", "-q", "--orphan", "new"]);
    git(&["commit", "-qm", "from nothing"]);
    git(&["checkout", "-q", "drive/one"]);
    git(&[
        "merge",
        "-q",
        "--allow-unrelated-histories",
        "-m",
        "both",
        "new",
    ]);
    let work = collect_with(&world.builder(), &sandbox).unwrap();
    assert!(work.builds_on_base);
}

#[test]
fn a_full_disk_of_the_repository_is_named_and_nothing_is_refused_for_it() {
    let mut world = World::new();
    let Some(_disk) = SmallDisk::mount(&world.path().join("small"), c"size=2m") else {
        return;
    };
    let small = world.path().join("small/repo");
    world.git(["clone", "-q", ".", small.to_str().unwrap()]);
    world.repo = small;
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    std::fs::write(sandbox.path.join("noise"), noise(4 << 20)).unwrap();
    let problem = collect_with(&world.builder(), &sandbox).unwrap_err();
    assert_eq!(problem.kind, Kind::DiskFull, "{problem:?}");
    let mine = world.git_in(&sandbox.path, ["rev-parse", "HEAD"]);
    assert_eq!(sandboxes.remove(&sandbox).unwrap_err().kind, Kind::DiskFull);
    assert_eq!(
        world.git_in(&sandbox.path, ["rev-parse", "HEAD"]),
        mine,
        "its repository stays"
    );
    assert_eq!(
        world.git(["rev-parse", "drive/one"]),
        sandbox.base_sha.as_str()
    );
}

#[test]
fn a_full_disk_of_the_sandbox_is_named_and_nothing_is_refused_for_it() {
    let mut world = World::new();
    let Some(_disk) = SmallDisk::mount(&world.path().join("small"), c"size=9m") else {
        return;
    };
    world.root = world.path().join("small/sandboxes");
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    std::fs::write(sandbox.path.join("noise"), noise(3_500_000)).unwrap();
    world.git_in(&sandbox.path, ["add", "-A"]);
    world.git_in(&sandbox.path, ["commit", "-qm", "noise"]);
    let problem = collect_with(&world.builder(), &sandbox).unwrap_err();
    assert_eq!(problem.kind, Kind::DiskFull, "{problem:?}");
}

/// A program named git, first in the search path, that does something before it runs the real git.
fn git_that(world: &World, before: &str) -> Environment {
    let path = std::env::var_os("PATH").unwrap();
    let real = std::env::split_paths(&path).map(|folder| folder.join("git"));
    let real = real.into_iter().find(|git| git.is_file()).unwrap();
    let tools = world.path().join("tools");
    let script = format!(
        "#!/bin/sh\nreal={}\n{before}\nexec $real \"$@\"\n",
        real.display()
    );
    write(&tools.join("git"), &script);
    std::fs::set_permissions(tools.join("git"), PermissionsExt::from_mode(0o755)).unwrap();
    let folders = std::iter::once(tools).chain(std::env::split_paths(&path));
    Environment::from_pairs([
        ("PATH", std::env::join_paths(folders).unwrap()),
        ("HOME", world.home().into_os_string()),
    ])
}

#[test]
fn a_git_that_is_killed_while_it_saves_costs_no_commit() {
    let world = World::new();
    let sandbox = world.sandboxes().create(&world.spec("one")).unwrap();
    let own = |args: &[&str]| world.git_in(&sandbox.path, args);
    own(&["checkout", "-q", "-b", "mine"]);
    own(&["commit", "-q", "--allow-empty", "-m", "not taken yet"]);
    let commit = own(&["rev-parse", "HEAD"]);
    let killed = git_that(&world, "case \"$*\" in *pack-objects*) kill -9 $$;; esac");
    let git = Git::new(World::runner(), &killed);
    let sandboxes = GitSandboxes::open(git, Arc::new(FixedClock), &world.root, &world.state);
    let refused = sandboxes.unwrap().remove(&sandbox).unwrap_err();
    assert_eq!(refused.kind, Kind::GitFailed, "{refused}");
    assert_eq!(own(&["rev-parse", "HEAD"]), commit);
    let kept = world.sandboxes().remove(&sandbox).unwrap().kept.unwrap();
    world.git(["merge-base", "--is-ancestor", &commit, &kept.sha]);
}

#[test]
fn a_cleanup_of_the_users_repository_leaves_what_waits_for_its_check() {
    let world = World::new();
    let sandbox = world.sandboxes().create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("work.txt"), "the work\n");
    let (mark, users) = (world.path().join("mark"), world.repo.join(".git"));
    let clean = format!(
        "[ \"$1\" = index-pack ] && (unset GIT_OBJECT_DIRECTORY; $real --git-dir={} gc -q \
         --prune=now && mkdir {})",
        users.display(),
        mark.display()
    );
    let environment = git_that(&world, &clean);
    collect_with(&Git::new(World::runner(), &environment), &sandbox).unwrap();
    assert!(mark.is_dir(), "the control: it was cleaned up");
    assert_eq!(world.git(["show", "drive/one:work.txt"]), "the work");
}

#[test]
fn what_a_killed_take_left_is_swept_and_that_of_a_live_one_stays() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let _sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let mut child = Command::new("true").spawn().unwrap();
    let dead = child.id();
    child.wait().unwrap();
    let objects = world.repo.join(".git/objects");
    let waiting = |pid: u32| objects.join(format!("drive-take-{pid}-00000001"));
    let keep = |pid: u32| objects.join(format!("pack/pack-{pid:040x}.keep"));
    let other = objects.join("pack/pack-user.keep");
    write(&other, "mine\n");
    for pid in [dead, std::process::id()] {
        write(&waiting(pid).join("pack/pack-new.pack"), "half");
        write(&keep(pid), &format!("drive takes it: {pid}\n"));
    }
    sandboxes.sweep(&|_| OwnerState::Alive).unwrap();
    assert!(!waiting(dead).exists());
    assert!(!keep(dead).exists());
    let own = std::process::id();
    assert!(waiting(own).exists() && keep(own).exists() && other.exists());
}

#[test]
fn the_same_holds_for_an_ordinary_user() {
    crate::support::again_as_ordinary_user(module_path!());
}
