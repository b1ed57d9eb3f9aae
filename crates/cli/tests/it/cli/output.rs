use crate::cli::support::{World, ended};
use std::fs::File;
use std::io::pipe;

#[test]
fn a_reader_that_goes_away_is_no_failure_and_no_noise() {
    let world = World::new();
    let answers = [
        &["config", "show"][..],
        &["config", "show", "--json"],
        &["--help"],
        &["completions", "zsh"],
    ];
    for args in answers {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let ended = ended(world.command(args).stdout(writer));
        assert_eq!(
            (ended.code, ended.stderr.as_str()),
            (Some(0), ""),
            "{args:?}"
        );
    }
}

#[test]
fn a_failure_keeps_its_code_when_nobody_reads() {
    let world = World::new();
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let ended = ended(world.command(&["confg", "--json"]).stdout(writer));
    assert_eq!(ended.code, Some(2));
}

#[test]
fn narration_nobody_reads_is_no_failure() {
    let world = World::new();
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let ended = ended(world.command(&["confg"]).stderr(writer));
    assert_eq!(ended.code, Some(2));
}

#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let world = World::new();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let ended = ended(world.command(&["config", "show"]).stdout(full));
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (
            Some(3),
            "error: cannot write to standard output\n  No space left on device (os error 28)\n"
        )
    );
}

#[test]
fn colour_is_only_there_when_wanted_and_never_needed() {
    let world = World::new();
    let plain = world.drive(&["confg"]);
    let coloured = world.drive(&["confg", "--color", "always"]);
    assert!(!plain.stderr.contains('\x1b'), "{plain:?}");
    assert!(
        coloured.stderr.contains("\x1b[1;31merror:\x1b[0m"),
        "{coloured:?}"
    );
    let stripped = coloured
        .stderr
        .replace("\x1b[1;31m", "")
        .replace("\x1b[1;36m", "")
        .replace("\x1b[0m", "");
    assert_eq!(stripped, plain.stderr);
}

#[test]
fn quiet_still_shows_errors() {
    let ended = World::new().drive(&["-q", "config", "show", "--repo", "nowhere"]);
    assert!(ended.stderr.starts_with("error: "), "{ended:?}");
}

#[test]
fn a_name_cannot_paint_the_terminal() {
    let ended = World::new().drive(&["config", "show", "--repo", "x\x1b[2J"]);
    assert!(ended.stderr.contains("`x\\u{1b}[2J`"), "{ended:?}");
    assert!(!ended.stderr.contains('\x1b'), "{ended:?}");
}
