//! Tests what is transferred from a sandbox's repository, and what must not be.

use crate::support::{World, write};
use drive_adapters::git::Touches;
use drive_core::Problem;
use drive_core::ids::RunId;
use drive_core::problem::Kind;
use drive_core::sandbox::Sandbox;
use drive_engine::ports::{CollectedWork, Leftovers, Place, Sandboxes, VersionControl};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Commits the changes in a sandbox, and transfers them to the user's branch.
pub(crate) fn collect(world: &World, sandbox: &Sandbox) -> Result<CollectedWork, Problem> {
    let leftovers = Leftovers {
        run: RunId::new("r-one"),
        message: "leftovers".into(),
    };
    let place = Place::Sandbox(sandbox);
    let git = world.builder();
    git.collect_work(place, &leftovers, &sandbox.base_sha)
}

/// Every file of a folder with its content.
pub(crate) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
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

#[test]
fn commits_and_leftovers_reach_the_users_branch() {
    let world = World::new();
    let sandbox = world.sandboxes().create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("new.txt"), "new\n");
    world.git_in(&sandbox.path, ["add", "-A"]);
    world.git_in(&sandbox.path, ["commit", "-qm", "mine"]);
    write(&sandbox.path.join("left.txt"), "left\n");
    let work = collect(&world, &sandbox).unwrap();
    assert_eq!(work.commits.len(), 2);
    let tip = world.git(["rev-parse", "drive/one"]);
    assert_eq!(tip, work.state.head_sha.as_str());
    assert_eq!(world.git(["show", "drive/one:left.txt"]), "left");
    world.git(["fsck", "--strict", "--connectivity-only"]);
    let keeps = files(&world.repo.join(".git/objects"));
    let is_rest = |path: &&PathBuf| {
        let path = path.to_string_lossy();
        path.ends_with(".keep") || path.contains("drive-take")
    };
    assert_eq!(keeps.keys().find(is_rest), None, "nothing stays behind");
}

#[test]
fn replacements_and_grafts_deceive_nobody_outside() {
    let world = World::new();
    let sandbox = world.sandboxes().create(&world.spec("one")).unwrap();
    let git = |args: &[&str]| world.git_in(&sandbox.path, args);
    write(&sandbox.path.join("a.txt"), "evil\n");
    git(&["commit", "-qam", "evil"]);
    let evil = git(&["rev-parse", "HEAD"]);
    write(&sandbox.path.join("a.txt"), "nice\n");
    git(&["commit", "-qam", "nice", "--amend"]);
    let nice = git(&["rev-parse", "HEAD"]);
    git(&["update-ref", "refs/heads/drive/one", &evil]);
    git(&["replace", &evil, &nice]);
    assert_eq!(
        git(&["show", "HEAD:a.txt"]),
        "nice",
        "the control: it works inside"
    );
    let work = collect(&world, &sandbox).unwrap();
    let shown = world.git(["show", &format!("{}:a.txt", work.state.head_sha)]);
    assert_eq!(
        shown,
        world.git(["show", "drive/one:a.txt"]),
        "what is told is what is on the branch"
    );
    assert_eq!(world.git(["for-each-ref", "refs/replace"]), "");
}

#[test]
fn a_fifo_in_place_of_a_git_file_hangs_nobody() {
    for name in [
        "HEAD",
        "index",
        "config",
        "packed-refs",
        "objects/info/alternates",
    ] {
        let world = World::new();
        let sandboxes = world.sandboxes();
        let sandbox = sandboxes.create(&world.spec("one")).unwrap();
        write(&sandbox.path.join("work.txt"), "the work\n");
        let path = sandbox.path.join(".git").join(name);
        let _ = std::fs::remove_file(&path);
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        sandboxes.mend(&sandbox, None).unwrap();
        collect(&world, &sandbox).unwrap();
        let saved = world.git(["show", "drive/one:work.txt"]);
        assert_eq!(saved, "the work", "{name}");
        sandboxes.remove(&sandbox).unwrap();
    }
}

#[test]
fn a_link_out_of_the_git_folder_is_written_through_by_nobody() {
    for name in [
        "HEAD", "index", "config", "objects", "refs", "logs", "info", "",
    ] {
        let world = World::new();
        let sandboxes = world.sandboxes();
        let sandbox = sandboxes.create(&world.spec("one")).unwrap();
        let outside = world.path().join("outside");
        write(&outside.join("mine"), "mine\n");
        let before = files(&outside);
        let users = files(&world.repo);
        let path = match name {
            "" => sandbox.path.join(".git"),
            name => sandbox.path.join(".git").join(name),
        };
        let _ = std::fs::remove_dir_all(&path);
        let _ = std::fs::remove_file(&path);
        std::os::unix::fs::symlink(&outside, &path).unwrap();
        // Whatever drive does with it, it must not happen outside.
        let _ = sandboxes.mend(&sandbox, None);
        let _ = collect(&world, &sandbox);
        assert_eq!(files(&outside), before, "{name}");
        let kept = |all: BTreeMap<PathBuf, Vec<u8>>| -> Vec<PathBuf> {
            all.into_keys()
                .filter(|path| path.components().any(|part| part.as_os_str() == "config"))
                .collect()
        };
        assert_eq!(kept(files(&world.repo)), kept(users), "{name}");
        sandboxes.remove(&sandbox).unwrap();
        assert_eq!(files(&outside), before, "{name}");
    }
}

#[test]
fn a_program_that_the_sandboxs_settings_name_sees_nothing_of_the_home() {
    let world = World::new();
    let secret = world.home().join("secret");
    write(&secret, "the secret\n");
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let program = sandbox.path.join(".git/filter");
    let stolen = sandbox.path.join("stolen.txt");
    let script = format!(
        "#!/bin/sh\ncat {} > {} 2>&1\ncp {0} {}\ncat\n",
        secret.display(),
        stolen.display(),
        world.path().join("out").display()
    );
    write(&program, &script);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    let set = ["config", "filter.f.clean", program.to_str().unwrap()];
    world.git_in(&sandbox.path, set);
    write(&sandbox.path.join(".gitattributes"), "*.txt filter=f\n");
    write(&sandbox.path.join("new.txt"), "new\n");
    let call = world.builder();
    let call = call.call(Place::Sandbox(&sandbox), Touches::Files);
    let _ = call.args(["add", "-A"]).run();
    let text = std::fs::read_to_string(&stolen).unwrap();
    assert!(!text.contains("the secret"), "{text}");
    assert!(!world.path().join("out").exists());
    // The control: unconfined, the same filter steals the file.
    write(&sandbox.path.join("new.txt"), "newer\n");
    world.git_in(&sandbox.path, ["add", "-A"]);
    let text = std::fs::read_to_string(&stolen).unwrap();
    assert!(text.contains("the secret"), "{text}");
}

#[test]
fn what_an_agent_left_on_branches_of_its_own_is_saved_with_the_rest() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let git = |args: &[&str]| world.git_in(&sandbox.path, args);
    git(&["checkout", "-q", "-b", "mine"]);
    write(&sandbox.path.join("mine.txt"), "mine\n");
    git(&["add", "-A"]);
    git(&["commit", "-qm", "mine"]);
    let mine = git(&["rev-parse", "HEAD"]);
    git(&["checkout", "-q", "drive/one"]);
    write(&sandbox.path.join("a.txt"), "stashed\n");
    git(&["stash", "-q"]);
    let stash = git(&["rev-parse", "stash"]);
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    for commit in [mine, stash] {
        let is_saved = ["merge-base", "--is-ancestor", &commit, &kept.sha];
        world.git(is_saved);
    }
}

#[test]
fn branches_that_the_user_moved_meanwhile_are_not_taken_for_an_agents() {
    let world = World::new();
    world.git(["branch", "theirs"]);
    world.git(["checkout", "-q", "theirs"]);
    world.git(["commit", "-q", "--allow-empty", "-m", "before"]);
    let before = world.git(["rev-parse", "HEAD"]);
    world.git(["checkout", "-q", "-"]);
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    world.git(["branch", "-f", "theirs", "HEAD"]);
    assert_eq!(
        world.git_in(&sandbox.path, ["rev-parse", "theirs"]),
        before,
        "the control: the sandbox still has it"
    );
    assert_eq!(sandboxes.remove(&sandbox).unwrap().kept, None);
}

#[test]
fn any_number_of_branches_is_saved_or_the_sandbox_stays() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    // The id is in every message: otherwise commits with equal messages in the same second would be
    // identical.
    let many = |id: &str, count: usize| {
        let sandbox = sandboxes.create(&world.spec(id)).unwrap();
        let tree = world.git_in(&sandbox.path, ["rev-parse", "HEAD^{tree}"]);
        let script = format!(
            "for n in $(seq {count}); do echo \"create refs/heads/b$n $(git commit-tree -m {id}-$n \
             {tree})\"; done | git update-ref --stdin; echo 'ref: refs/nowhere/x' > .git/refs/odd"
        );
        let status = std::process::Command::new("sh")
            .args(["-ec", &script])
            .current_dir(&sandbox.path)
            .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_NAME"), "a")))
            .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_EMAIL"), "a@b")))
            .status();
        assert!(status.unwrap().success());
        sandbox
    };
    let some = many("some", 120);
    let last = world.git_in(&some.path, ["rev-parse", "b120"]);
    let kept = sandboxes.remove(&some).unwrap().kept.unwrap();
    let saved = world.git(["rev-list", "--count", &kept.sha, "--not", "HEAD"]);
    assert_eq!(
        saved, "124",
        "120 of the agent's, 3 that join them, and the work"
    );
    world.git(["merge-base", "--is-ancestor", &last, &kept.sha]);
    let bomb = many("bomb", 1_001);
    let problem = sandboxes.remove(&bomb).unwrap_err();
    assert_eq!(problem.kind, Kind::WorkCannotBeKept, "{problem:?}");
    assert!(bomb.path.exists());
}

#[test]
fn what_was_taken_first_stays_when_more_is_taken() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let mut tips = Vec::new();
    for id in ["one", "two"] {
        let sandbox = sandboxes.create(&world.spec(id)).unwrap();
        for text in ["first\n", "second\n"] {
            write(&sandbox.path.join("a.txt"), &format!("{id} {text}"));
            tips.push(collect(&world, &sandbox).unwrap().state.head_sha);
        }
        let kept = sandboxes.roll_back(&sandbox, &sandbox.base_sha).unwrap();
        tips.push(kept.unwrap().sha);
        write(&sandbox.path.join("a.txt"), &format!("{id} third\n"));
        tips.push(collect(&world, &sandbox).unwrap().state.head_sha);
    }
    for tip in &tips {
        world.git(["rev-list", "--objects", "--quiet", tip]);
    }
    world.git(["fsck", "--strict", "--full"]);
}

#[test]
fn commits_that_were_taken_without_a_name_are_saved_with_the_sandbox() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let git = |args: &[&str]| world.git_in(&sandbox.path, args);
    git(&["checkout", "-q", "-b", "mine"]);
    write(&sandbox.path.join("mine.txt"), "mine\n");
    let mine = collect(&world, &sandbox).unwrap().state.head_sha;
    git(&["checkout", "-q", "drive/one"]);
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    world.git(["merge-base", "--is-ancestor", &mine, &kept.sha]);
}

#[test]
fn a_file_name_that_git_was_made_to_say_removes_nothing_outside() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let mine = world.path().join("mine.txt");
    write(&mine, "mine\n");
    // A filter that adds its own row to git's output.
    let filter = sandbox.path.join(".git/filter");
    let row = format!("? {}", mine.display());
    write(
        &filter,
        &format!("#!/bin/sh\nprintf '{row}\\0' > /proc/$PPID/fd/1\ncat\n"),
    );
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&filter, mode).unwrap();
    let set = ["config", "filter.f.clean", filter.to_str().unwrap()];
    world.git_in(&sandbox.path, set);
    write(&sandbox.path.join(".gitattributes"), "a.txt filter=f\n");
    write(&sandbox.path.join("a.txt"), "b\n");
    let _ = sandboxes.roll_back(&sandbox, &sandbox.base_sha);
    assert!(mine.is_file());
}

#[test]
fn the_same_holds_for_an_ordinary_user() {
    crate::support::again_as_ordinary_user(module_path!());
}
