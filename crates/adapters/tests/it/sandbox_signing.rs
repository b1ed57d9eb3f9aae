//! Tests that commits are signed if the user's git signs, outside of the sandbox.

use crate::support::{World, write};
use drive_core::ids::RunId;
use drive_core::problem::Kind;
use drive_core::sandbox::Sandbox;
use drive_engine::ports::{CollectedWork, Leftovers, Place, Sandboxes, VersionControl};
use std::path::PathBuf;
use std::process::{Command, Output};

fn run(world: &World, program: &str, args: &[&str]) -> Output {
    Command::new(program)
        .args(args)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", world.home())
        .output()
        .unwrap()
}

/// A key of the user, with or without a passphrase.
fn ssh_key(world: &World, passphrase: &str) -> PathBuf {
    std::fs::create_dir_all(world.home().join(".ssh")).unwrap();
    let key = world.home().join(".ssh/id");
    let path = key.to_str().unwrap();
    let args = [
        "-q", "-t", "ed25519", "-N", passphrase, "-C", "ann", "-f", path,
    ];
    let made = run(world, "ssh-keygen", &args);
    assert!(made.status.success(), "{made:?}");
    key
}

fn settings(world: &World, pairs: &[(&str, &str)]) {
    for (key, value) in pairs {
        world.git(["config", key, value]);
    }
}

/// Makes the user's git sign with this key, and trust it as Ann's.
fn sign_by_ssh(world: &World, key: &str) {
    let public = std::fs::read_to_string(world.home().join(".ssh/id.pub")).unwrap();
    let signers = world.home().join(".ssh/signers");
    write(&signers, &format!("* {public}"));
    settings(
        world,
        &[
            ("commit.gpgsign", "true"),
            ("gpg.format", "ssh"),
            ("user.signingkey", key),
            ("gpg.ssh.allowedSignersFile", signers.to_str().unwrap()),
        ],
    );
}

/// Two commits of an agent, and a file that it left.
fn work(world: &World) -> (Sandbox, CollectedWork) {
    let sandbox = world.sandboxes().create(&world.spec("one")).unwrap();
    let in_sandbox = |args: &[&str]| world.git_in(&sandbox.path, args);
    for name in ["a", "b"] {
        write(&sandbox.path.join(name), name);
        in_sandbox(&["add", "--all"]);
        let author = "--author=Bot <bot@example.org>";
        in_sandbox(&["commit", "-q", "--no-gpg-sign", author, "-m", name]);
    }
    write(&sandbox.path.join("left"), "left\n");
    let leftovers = Leftovers {
        run: RunId::new("r1"),
        message: "Keep what is left".to_owned(),
    };
    let place = Place::Sandbox(&sandbox);
    let collected = world
        .builder()
        .collect_work(place, &leftovers, &sandbox.base_sha)
        .unwrap();
    (sandbox, collected)
}

fn assert_all_signed(world: &World, sandbox: &Sandbox, collected: &CollectedWork) {
    assert_eq!(collected.commits.len(), 3);
    let range = format!("{}..{}", sandbox.base_sha, collected.state.head_sha);
    let shas = world.git(["rev-list", &range]);
    assert_eq!(shas.lines().count(), 3);
    for sha in shas.lines() {
        world.git(["verify-commit", sha]);
    }
    let authors = world.git(["log", "--format=%an %s", &range]);
    assert!(authors.ends_with("Bot b\nBot a"), "{authors}");
    let inside = |args: &[&str]| world.git_in(&sandbox.path, args);
    let head = collected.state.head_sha.to_string();
    assert_eq!(inside(&["rev-parse", "HEAD"]), head);
    assert_eq!(inside(&["status", "--porcelain"]), "");
    let branch = sandbox.branch.as_ref().unwrap().full();
    assert_eq!(world.git(["rev-parse", &branch]), head);
    let again = world.builder().state(Place::Sandbox(sandbox)).unwrap();
    assert_eq!(again.head_sha.to_string(), head, "nothing is signed twice");
}

#[test]
fn every_commit_of_an_agent_is_signed_with_the_ssh_key_of_the_user() {
    let world = World::new();
    let key = ssh_key(&world, "");
    sign_by_ssh(&world, key.to_str().unwrap());
    let (sandbox, collected) = work(&world);
    assert_all_signed(&world, &sandbox, &collected);
}

#[test]
fn a_key_below_the_home_may_be_named_with_a_tilde() {
    let world = World::new();
    ssh_key(&world, "");
    sign_by_ssh(&world, "~/.ssh/id");
    let (sandbox, collected) = work(&world);
    assert_all_signed(&world, &sandbox, &collected);
}

#[test]
fn every_commit_of_an_agent_is_signed_with_the_openpgp_key_of_the_user() {
    let world = World::new();
    if Command::new("gpg").arg("--version").output().is_err() {
        eprintln!("skipped: gpg is not installed");
        return;
    }
    let folder = world.home().join(".gnupg");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let ann = "Ann <ann@example.org>";
    let args = [
        "--batch",
        "--passphrase",
        "",
        "--quick-gen-key",
        ann,
        "ed25519",
        "sign",
    ];
    let made = run(&world, "gpg", &args);
    assert!(made.status.success(), "{made:?}");
    settings(
        &world,
        &[
            ("commit.gpgsign", "true"),
            ("user.signingkey", "ann@example.org"),
        ],
    );
    let (sandbox, collected) = work(&world);
    assert_all_signed(&world, &sandbox, &collected);
    run(&world, "gpgconf", &["--kill", "all"]);
}

#[test]
fn without_the_setting_commits_stay_as_the_agent_made_them() {
    let world = World::new();
    let key = ssh_key(&world, "");
    sign_by_ssh(&world, key.to_str().unwrap());
    settings(&world, &[("commit.gpgsign", "false")]);
    let (_, collected) = work(&world);
    let stored = world.git(["cat-file", "commit", &collected.state.head_sha]);
    assert!(!stored.contains("gpgsig"), "{stored}");
}

#[test]
fn a_key_that_asks_for_a_passphrase_is_told_before_there_is_a_sandbox() {
    let world = World::new();
    let key = ssh_key(&world, "secret");
    sign_by_ssh(&world, key.to_str().unwrap());
    let before = world.traces();
    let problem = world.sandboxes().create(&world.spec("one")).unwrap_err();
    assert_eq!(problem.kind, Kind::SigningFailed, "{problem:?}");
    assert!(
        problem.hint.as_ref().unwrap().contains("ssh-add"),
        "{problem:?}"
    );
    assert_eq!(world.traces(), before);
}

#[test]
fn a_key_that_is_missing_is_told_before_there_is_a_sandbox() {
    let world = World::new();
    settings(
        &world,
        &[
            ("commit.gpgsign", "true"),
            ("gpg.format", "ssh"),
            ("user.signingkey", "/nowhere/id"),
        ],
    );
    let problem = world.sandboxes().create(&world.spec("one")).unwrap_err();
    assert_eq!(problem.kind, Kind::SigningFailed, "{problem:?}");
}
