//! A program that is stopped at a time limit.

use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The interval at which a program is checked.
const STEP: Duration = Duration::from_millis(5);
/// How long `drive` may take to stop its agents and save their work.
const GRACE: Duration = Duration::from_secs(30);
/// The most that is read of what a program printed.
const MAX_OUTPUT: u64 = 64 << 20;

/// How a program ended.
pub(super) struct Ended {
    pub(super) success: bool,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// Whether it was stopped at the limit.
    pub(super) timed_out: bool,
}

/// Runs a program to its end or to the limit. Its output goes to files in `folder`, so that it never
/// waits for a reader.
pub(super) fn run(command: &mut Command, limit: Duration, folder: &Path) -> Result<Ended, String> {
    let (out, err) = (folder.join("stdout"), folder.join("stderr"));
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |error: std::io::Error| format!("cannot run `{program}`: {error}");
    let files = File::create(&out).and_then(|out| Ok((out, File::create(&err)?)));
    let (stdout, stderr) = files.map_err(failed)?;
    let spawned = command
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .spawn();
    let mut child = spawned.map_err(failed)?;
    let mut timed_out = false;
    let mut status = wait(&mut child, limit).map_err(failed)?;
    if status.is_none() {
        timed_out = true;
        interrupt(&child);
        status = wait(&mut child, GRACE).map_err(failed)?;
    }
    if status.is_none() {
        child.kill().map_err(failed)?;
        status = Some(child.wait().map_err(failed)?);
    }
    Ok(Ended {
        success: status.is_some_and(|status| status.success()),
        stdout: read(&out),
        stderr: read(&err),
        timed_out,
    })
}

/// Waits for the end of a program, this long at most.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        let status = child.try_wait()?;
        if status.is_some() || start.elapsed() >= limit {
            return Ok(status);
        }
        std::thread::sleep(STEP);
    }
}

/// Does what Ctrl-C does. The program may have ended meanwhile.
fn interrupt(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        let _ = kill_process(pid, Signal::INT);
    }
}

fn read(path: &Path) -> String {
    let mut bytes = Vec::new();
    let file = File::open(path).map(|file| file.take(MAX_OUTPUT));
    let _ = file.and_then(|mut file| file.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}
