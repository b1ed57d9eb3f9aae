//! Tests the log that `-v` and `DRIVE_LOG` enable.

use crate::spawn::support::{Ended, World};

fn world() -> World {
    World::with_agent("echo new > new.txt")
}

/// Runs `drive spawn` with this filter.
fn logged(world: &World, filter: &str, args: &[&str]) -> Ended {
    let mut command = world.drive_command(&["spawn", "Add a file", "--json"]);
    let ended = command.args(args).env("DRIVE_LOG", filter).output();
    let ended = Ended::from(ended.unwrap());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.run()["schema"], "drive.run/1");
    ended
}

#[test]
fn nobody_who_did_not_ask_sees_the_log() {
    let ended = world().drive(&["spawn", "Add a file"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stderr.contains("drive::"), "{ended:?}");
}

#[test]
fn verbose_shows_the_steps_and_no_processes() {
    let ended = world().drive(&["spawn", "Add a file", "-v"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let steps = |word: &str| {
        let step = format!("INFO drive::run: {word} ");
        ended
            .stderr
            .lines()
            .filter(|line| line.contains(&step))
            .count()
    };
    assert!(steps("begins") >= 4, "{ended:?}");
    assert_eq!(steps("begins"), steps("ends"), "{ended:?}");
    assert!(!ended.stderr.contains("drive::process"), "{ended:?}");
}

#[test]
fn the_log_of_processes_shows_the_arguments_of_git_alone() {
    let world = world();
    let ended = logged(&world, "drive::process=debug", &["-q"]);
    assert!(ended.stderr.contains("`git rev-parse "), "{ended:?}");
    let agent = format!("`{}`: exit code 0", world.path("bin/script").display());
    assert!(ended.stderr.contains(&agent), "{ended:?}");
    assert!(!ended.stderr.contains("drive::run"), "{ended:?}");
}

#[test]
fn a_filter_that_cannot_be_read_is_a_warning() {
    let ended = logged(&world(), "drive=loud", &[]);
    let warning = "warning: `DRIVE_LOG` is ignored: ";
    assert!(ended.stderr.contains(warning), "{ended:?}");
}
