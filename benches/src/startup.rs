//! Start-up of `drive --help` against `git --version`.

use crate::table::{Row, median};
use std::path::PathBuf;
use std::process::{Command, Stdio};

pub(crate) fn run() -> Vec<Row> {
    let Some(drive) = built_drive() else {
        return Vec::new();
    };
    let plain = median(50, || quiet(Command::new("git").arg("--version")));
    let ours = median(50, || quiet(Command::new(&drive).arg("--help")));
    vec![Row {
        what: "start-up: `drive --help` against `git --version`".into(),
        plain: format!("{:.1} ms", plain.as_secs_f64() * 1e3),
        ours: format!("{:.1} ms", ours.as_secs_f64() * 1e3),
        result: format!("{:.2}", ours.as_secs_f64() / plain.as_secs_f64()),
        bound: "—".into(),
    }]
}

/// The binary beside this one, as `cargo build --release` leaves it.
pub(crate) fn built_drive() -> Option<PathBuf> {
    let drive = std::env::current_exe().ok()?.with_file_name("drive");
    if drive.exists() {
        return Some(drive);
    }
    eprintln!(
        "skipped: no `{}`; build it with `cargo build --release`",
        drive.display()
    );
    None
}

fn quiet(command: &mut Command) {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.is_ok_and(|s| s.success()), "{command:?} failed");
}
