//! Tests refused work: the user's repository stays unchanged, and the work is saved as files.

use crate::sandbox_take::{collect, files};
use crate::support::{World, write};
use drive_core::problem::Kind;
use drive_core::sandbox::Sandbox;
use drive_engine::ports::Sandboxes;

/// Commits one file on the sandbox's branch, with a path that no work tree can contain.
fn commit_path(world: &World, sandbox: &Sandbox, mode: &str, path: &str) {
    let git = |args: &[&str]| world.git_in(&sandbox.path, args);
    let blob = git(&["hash-object", "-w", "a.txt"]);
    let mut names: Vec<&str> = path.split('/').collect();
    let name = names.pop().unwrap();
    let base = git(&["ls-tree", "HEAD"]);
    let mut tree = make_tree(world, sandbox, &format!("{mode} {blob}\t{name}"), "blob");
    while let Some(folder) = names.pop() {
        tree = make_tree(world, sandbox, &format!("040000 {tree}\t{folder}"), "tree");
    }
    let whole = match path.split_once('/') {
        Some((top, _)) => {
            let inner = git(&["ls-tree", &tree]);
            let inner = inner.split_whitespace().nth(2).unwrap().to_owned();
            format!("{base}\n040000 tree {inner}\t{top}")
        }
        None => format!("{base}\n{mode} blob {blob}\t{name}"),
    };
    let root = raw_tree(world, sandbox, &whole);
    let commit = git(&["commit-tree", "-p", "HEAD", "-m", "odd", &root]);
    git(&["update-ref", "HEAD", &commit]);
}

fn make_tree(world: &World, sandbox: &Sandbox, entry: &str, kind: &str) -> String {
    let (mode, rest) = entry.split_once(' ').unwrap();
    raw_tree(world, sandbox, &format!("{mode} {kind} {rest}"))
}

/// Writes a tree object by its bytes: `git mktree` would refuse some of these.
fn raw_tree(world: &World, sandbox: &Sandbox, listing: &str) -> String {
    let mut bytes = Vec::new();
    let mut entries: Vec<(String, Vec<u8>)> = Vec::new();
    for line in listing.lines().filter(|line| !line.is_empty()) {
        let (about, name) = line.split_once('\t').unwrap();
        let mut words = about.split(' ');
        let mode = words.next().unwrap().trim_start_matches('0');
        let sha = words.next_back().unwrap();
        let raw: Vec<u8> = (0..sha.len() / 2)
            .map(|at| u8::from_str_radix(&sha[2 * at..2 * at + 2], 16).unwrap())
            .collect();
        let key = if mode == "40000" {
            format!("{name}/")
        } else {
            name.to_owned()
        };
        let entry = [format!("{mode} {name}\0").as_bytes(), &raw].concat();
        entries.push((key, entry));
    }
    entries.sort();
    for (_, entry) in entries {
        bytes.extend(entry);
    }
    let file = world.path().join("tree");
    std::fs::write(&file, bytes).unwrap();
    let file = file.to_str().unwrap();
    let hash = ["hash-object", "--literally", "-w", "-t", "tree", file];
    world.git_in(&sandbox.path, hash)
}

#[test]
fn a_path_that_no_checkout_should_have_is_refused_and_its_files_are_saved() {
    for (path, why) in [
        ("x/.git/config", "its objects are damaged"),
        ("..", "its objects are damaged"),
        ("a\u{1}b", "has a control character"),
        ("A.TXT", "differ only in case"),
    ] {
        let world = World::new();
        let sandboxes = world.sandboxes();
        let sandbox = sandboxes.create(&world.spec("one")).unwrap();
        write(&sandbox.path.join("work.txt"), "the work\n");
        world.git_in(&sandbox.path, ["add", "-A"]);
        world.git_in(&sandbox.path, ["commit", "-qm", "work"]);
        commit_path(&world, &sandbox, "100644", path);
        let before = files(&world.repo);
        let refused = collect(&world, &sandbox).unwrap_err();
        assert_eq!(refused.kind, Kind::WorkRefused, "{path:?}");
        assert!(
            refused.message.contains(why),
            "{path:?}: {}",
            refused.message
        );
        assert_eq!(files(&world.repo), before, "{path:?}");
        let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
        let saved = world.git(["show", &format!("{}:work.txt", kept.sha)]);
        assert_eq!(saved, "the work", "{path:?}");
        assert_eq!(world.git(["for-each-ref", "refs/heads/drive"]), "");
    }
}

#[test]
fn a_forged_object_is_refused() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("a.txt"), "honest\n");
    world.git_in(&sandbox.path, ["commit", "-qam", "honest"]);
    // The content of the blob does not match its name.
    let blob = world.git_in(&sandbox.path, ["rev-parse", "HEAD:a.txt"]);
    write(&sandbox.path.join("b"), "forged\n");
    let other = world.git_in(&sandbox.path, ["hash-object", "-w", "b"]);
    let object = |sha: &str| {
        let (folder, name) = sha.split_at(2);
        sandbox.path.join(".git/objects").join(folder).join(name)
    };
    std::fs::remove_file(object(&blob)).unwrap();
    std::fs::copy(object(&other), object(&blob)).unwrap();
    let before = files(&world.repo);
    let refused = collect(&world, &sandbox).unwrap_err();
    assert_eq!(refused.kind, Kind::WorkRefused);
    assert_eq!(files(&world.repo), before);
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    let saved = world.git(["show", &format!("{}:a.txt", kept.sha)]);
    assert_eq!(saved, "honest");
}

#[test]
fn a_link_and_a_folder_that_differ_only_in_case_are_refused() {
    let world = World::new();
    let sandbox = world.sandboxes().create(&world.spec("one")).unwrap();
    std::os::unix::fs::symlink("src", sandbox.path.join("x")).unwrap();
    write(&sandbox.path.join("X/hook"), "evil\n");
    let refused = collect(&world, &sandbox).unwrap_err();
    assert_eq!(refused.kind, Kind::WorkRefused);
    assert!(
        refused.message.contains("differ only in case"),
        "{}",
        refused.message
    );
}

#[test]
fn work_that_was_refused_once_is_refused_again_when_it_was_saved_meanwhile() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("A.TXT"), "clash\n");
    assert_eq!(
        collect(&world, &sandbox).unwrap_err().kind,
        Kind::WorkRefused
    );
    let evil = world.git_in(&sandbox.path, ["rev-parse", "HEAD"]);
    sandboxes.roll_back(&sandbox, &sandbox.base_sha).unwrap();
    world.git(["cat-file", "-e", &evil]);
    world.git_in(&sandbox.path, ["reset", "-q", "--hard", &evil]);
    assert_eq!(
        collect(&world, &sandbox).unwrap_err().kind,
        Kind::WorkRefused
    );
    assert_eq!(
        world.git(["rev-parse", "drive/one"]),
        sandbox.base_sha.as_str()
    );
}

#[test]
fn work_that_was_refused_is_refused_on_the_branch_while_something_else_is_checked_out() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("A.TXT"), "clash\n");
    collect(&world, &sandbox).unwrap_err();
    let evil = world.git_in(&sandbox.path, ["rev-parse", "HEAD"]);
    sandboxes.roll_back(&sandbox, &sandbox.base_sha).unwrap();
    let git = |args: &[&str]| world.git_in(&sandbox.path, args);
    git(&["checkout", "-q", "--detach"]);
    git(&["update-ref", "refs/heads/drive/one", &evil]);
    write(&sandbox.path.join("new.txt"), "new\n");
    let refused = collect(&world, &sandbox).unwrap_err();
    assert_eq!(refused.kind, Kind::WorkRefused);
    assert_eq!(
        world.git(["rev-parse", "drive/one"]),
        sandbox.base_sha.as_str()
    );
}

#[test]
fn the_same_holds_for_an_ordinary_user() {
    crate::support::again_as_ordinary_user(module_path!());
}
