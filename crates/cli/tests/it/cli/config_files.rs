//! Tests settings files that nobody would write on purpose.

use crate::cli::support::{World, ended_as_ordinary_user};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

#[track_caller]
fn assert_refused(world: &World, because: &str) {
    let ended = world.drive(&["config", "check"]);
    assert_eq!((ended.code, ended.stderr), refusal(because));
}

fn refusal(because: &str) -> (Option<i32>, String) {
    let text = format!(
        "error: cannot read the settings file `drive.toml`\n  {because}\n\
         hint: correct the file, or pass another one with `--config`\n"
    );
    (Some(2), text)
}

#[test]
fn a_file_that_is_not_utf8_names_the_line() {
    let world = World::new();
    world.settings(b"[spawn]\nagent = \"caf\xe9\"\n");
    assert_refused(&world, "line 2 is not UTF-8");
}

#[test]
fn a_folder_is_no_settings_file() {
    let world = World::new();
    fs::create_dir(world.repo().join("drive.toml")).unwrap();
    assert_refused(&world, "it is a folder");
}

#[test]
fn ten_megabytes_are_not_read() {
    let world = World::new();
    world.settings(vec![b'#'; 10 << 20]);
    assert_refused(&world, "it is larger than 1 MiB");
}

#[test]
fn a_pipe_nobody_writes_to_does_not_hang() {
    let world = World::new();
    let path = world.repo().join("drive.toml");
    mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    assert_refused(&world, "it is not a regular file");
}

#[test]
fn an_endless_device_is_not_read() {
    let world = World::new();
    symlink("/dev/zero", world.repo().join("drive.toml")).unwrap();
    assert_refused(&world, "it is not a regular file");
}

#[test]
fn a_link_to_itself_is_unreadable() {
    let world = World::new();
    symlink("drive.toml", world.repo().join("drive.toml")).unwrap();
    assert_refused(&world, "Too many levels of symbolic links (os error 40)");
}

#[test]
fn a_file_without_permission_is_unreadable() {
    let world = World::new();
    world.settings("");
    let path = world.repo().join("drive.toml");
    fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
    let mut command = world.command(&["config", "check"]);
    let Some(ended) = ended_as_ordinary_user(&world, &mut command) else {
        return;
    };
    assert_eq!(
        (ended.code, ended.stderr),
        refusal("Permission denied (os error 13)")
    );
}

#[test]
fn a_file_given_and_not_there_is_an_error() {
    let ended = World::new().drive(&["config", "check", "--config", "nope.toml"]);
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (
            Some(2),
            "error: settings file `nope.toml` does not exist\nhint: check the path given with `--config`\n"
        )
    );
}

#[test]
fn a_thousand_mistakes_are_counted_not_poured_out() {
    let world = World::new();
    let text: String = (0..1000).map(|n| format!("key{n} = 1\n")).collect();
    world.settings(text);
    let ended = world.drive(&["config", "check"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("the settings have 1000 errors"));
    assert!(ended.stderr.contains("and 980 more"));
    assert!(ended.stderr.lines().count() < 60);
}

#[test]
fn an_empty_file_and_windows_line_ends_are_fine() {
    let world = World::new();
    world.settings("");
    assert_eq!(world.drive(&["config", "check"]).code, Some(0));
    world.settings("[spawn]\r\nagent = \"codex\"\r\n");
    assert_eq!(world.drive(&["config", "check"]).code, Some(0));
    world.settings("\u{feff}[spawn]\nagent = \"codex\"\n");
    assert_eq!(world.drive(&["config", "check"]).code, Some(0));
}
