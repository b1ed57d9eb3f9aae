//! Tests that only its owner can read the state, whatever the umask.

use crate::spawn::support::{Ended, World};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Runs `drive` with a umask of zero.
fn drive_wide_open(world: &World, args: &[&str]) -> Ended {
    let output = world
        .command("sh")
        .args(["-c", "umask 000; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_drive"))
        .args(args)
        .current_dir(world.path("repo"))
        .output()
        .unwrap();
    Ended::from(output)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(files_below(&path));
        } else {
            all.push(path);
        }
    }
    all
}

#[test]
fn the_database_and_logs_are_private_under_any_umask_and_an_open_state_directory_is_closed() {
    let world = World::with_agent("echo said; echo also >&2; echo new > new.txt");
    let state = world.path("state");
    fs::create_dir(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
    let ended = drive_wide_open(&world, &["spawn", "Add a file", "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(mode(&state), 0o700);
    let mut logs = 0;
    for path in files_below(&state) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_log = name.ends_with(".log");
        logs += u32::from(is_log);
        if is_log || name.starts_with("drive.sqlite3") {
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        }
    }
    assert!(logs > 0, "no log below {}", state.display());
}

#[test]
fn a_database_that_was_open_to_others_is_closed() {
    let world = World::with_agent("echo new > new.txt");
    let listed = drive_wide_open(&world, &["runs", "list"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let database = world.path("state/drive.sqlite3");
    fs::set_permissions(&database, fs::Permissions::from_mode(0o666)).unwrap();
    let listed = drive_wide_open(&world, &["runs", "list"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert_eq!(mode(&database), 0o600);
}
