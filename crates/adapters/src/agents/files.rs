use drive_core::problem::{Kind, Problem};
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Creates a folder that only its owner can read, with its parents.
pub(super) fn make_private(folder: &Path) -> Result<(), Problem> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| unusable(folder).because(error))
}

/// Replaces a file of this run; only its owner can read it.
pub(super) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), Problem> {
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(bytes));
    written.map_err(|error| unusable(path).because(error))
}

pub(super) fn unusable(path: &Path) -> Problem {
    Problem::new(
        Kind::AgentFolder,
        format!("cannot prepare `{}` for an agent", path.display()),
    )
    .hint("check free space and permissions of the state directory")
}
