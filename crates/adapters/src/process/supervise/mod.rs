//! The helper: a small process with one thread that enforces the limits of one tree, even if drive is gone.
//!
//! There are three processes in a row: this supervisor, which is outside of every layer and inherits every
//! orphan; the init, which is the first process inside; and the child, which waits at a gate until drive has
//! journaled its identity. Standard input belongs to the child, standard output carries events to drive, and
//! standard error is the control socket from drive (which also carries a panic message back).

mod birth;
mod caps;
mod child;
mod disk;
mod init;
mod layers;
mod mounts;
mod outlet;
mod prepared;
mod relay;
mod restrict;
mod syscalls;
mod trees;
mod view;
mod watch;

use super::cgroup::Cgroups;
use super::wire::{Request, event, read_json};
use super::{procfs, sys};
use drive_core::problem::Problem;
use drive_core::process::ProcessReport;
use outlet::Outlet;
use prepared::Prepared;
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Pid, set_child_subreaper, setsid};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;
use watch::{Outcome, Watch};

/// The hidden first argument that makes the binary its own helper.
pub const SUPERVISE: &str = "__supervise";

/// The hidden first argument of a program that does nothing, for testing the layers.
pub const NOTHING: &str = "__nothing";

/// How long drive may take to journal the identity.
const JOURNAL: Duration = Duration::from_secs(300);
/// How long to wait until a slow drive reads the last event.
const GOODBYE: Duration = Duration::from_secs(600);

/// Does the helper's work if the arguments ask for it, and then ends the process. Must be called
/// before anything else in `main`: the helper must be small and have one thread.
pub fn supervise_if_asked() {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(word) if word == SUPERVISE => std::process::exit(i32::from(supervise().is_err())),
        Some(word) if word == NOTHING => std::process::exit(0),
        Some(_) | None => {}
    }
}

fn supervise() -> io::Result<()> {
    let _ = setsid();
    sys::close_inherited()?;
    set_child_subreaper(Pid::from_raw(1))?;
    let control = fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3)?;
    let mut outlet = Outlet::new(fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?)?;
    rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?;
    let Some(request) = read_json::<Request>(&mut File::from(control.try_clone()?))? else {
        return Ok(());
    };
    let (kind, last) = match run(&request, control, &mut outlet) {
        Ok(Outcome::Report(report)) => (event::REPORT, serde_json::to_vec(&report)?),
        Ok(Outcome::NotStarted(problem)) | Err(problem) => {
            (event::PROBLEM, serde_json::to_vec(&problem)?)
        }
    };
    outlet.push(kind, &last);
    outlet.flush_all(GOODBYE);
    Ok(())
}

/// Sets everything up, waits for the order to go, and watches the tree until its end.
fn run(request: &Request, control: OwnedFd, outlet: &mut Outlet) -> Result<Outcome, Problem> {
    let (mut groups, missing) = Cgroups::create(&group_name(), &request.limits, &request.without);
    let prepared = Prepared::new(request, &mut groups, missing).inspect_err(|_| groups.remove())?;
    let mut watch = Watch::new(request, control, outlet, groups, prepared);
    watch.offer_identity(JOURNAL);
    watch.watch();
    let outcome = watch.finish();
    if let (Some(folder), Outcome::Report(report)) = (&request.log_dir, &outcome) {
        // If no report can be stored, the one that is sent still counts.
        let _ = store_report(folder, report);
    }
    Ok(outcome)
}

/// The name of the tree's groups. The start time makes it different from that of any other helper,
/// now or later.
fn group_name() -> String {
    let own = std::process::id() as i32;
    let start = procfs::mark(own).map_or(0, |mark| mark.start_ticks);
    format!("drive-{own}-{start}")
}

/// Stores the report atomically, so that a reader never sees half a report. It is not synced to the disk:
/// after a power cut the process has ended in any case, and the next drive treats a lost report like that.
fn store_report(folder: &Path, report: &ProcessReport) -> io::Result<()> {
    let temporary = folder.join(".report.json");
    let mut file = File::create(&temporary)?;
    file.write_all(&serde_json::to_vec(report)?)?;
    fs::rename(temporary, folder.join(super::leftover::REPORT))
}
