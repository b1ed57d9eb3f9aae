//! Starts a detached drive process that outlives the command.

use crate::files;
use drive_core::problem::{Kind, Problem};
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The same with a file as its standard input.
pub fn start_reading(arguments: &[OsString], log: &Path, input: &Path) -> Result<u32, Problem> {
    let input = std::fs::File::open(input).map_err(|error| {
        let message = format!("cannot read `{}`", input.display());
        Problem::new(Kind::NotDetached, message).because(error)
    })?;
    start_with(arguments, log, Stdio::from(input))
}

/// Starts this program with these arguments, in a process group of its own so that neither an
/// interrupt nor the end of a terminal reaches it. Its output goes to `log`. Returns its pid.
pub fn start(arguments: &[OsString], log: &Path) -> Result<u32, Problem> {
    start_with(arguments, log, Stdio::null())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the child is drive itself and must outlive this process"
)]
fn start_with(arguments: &[OsString], log: &Path, input: Stdio) -> Result<u32, Problem> {
    let failed = |error: std::io::Error| {
        Problem::new(
            Kind::NotDetached,
            "cannot continue the cruise in the background",
        )
        .because(error)
        .hint("check free space in the state directory, then run `drive cruise resume`")
    };
    if let Some(folder) = log.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
        files::sync_dir(folder).map_err(failed)?;
    }
    let mut options = OpenOptions::new();
    let file = options
        .create(true)
        .append(true)
        .mode(0o600)
        .open(log)
        .map_err(failed)?;
    let child = Command::new("/proc/self/exe")
        .args(arguments)
        .stdin(input)
        .stdout(file.try_clone().map_err(failed)?)
        .stderr(file)
        .process_group(0)
        .spawn()
        .map_err(failed)?;
    Ok(child.id())
}
