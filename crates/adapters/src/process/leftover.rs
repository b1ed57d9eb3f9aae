//! Processes left by an earlier drive: checks whether they still run, reads their reports, and
//! kills them.

use super::cgroup::Cgroups;
use super::procfs;
use drive_core::problem::{Kind, Problem};
use drive_core::process::{Presence, ProcessIdentity, ProcessMark, ProcessReport};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

/// The file name of a report in its log folder.
pub(super) const REPORT: &str = "report.json";

/// How long killing a tree may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether the helper or the child still runs.
pub(super) fn inspect(identity: &ProcessIdentity) -> Presence {
    let same_boot = identity.boot_id == procfs::boot_id();
    if same_boot && roots(identity).into_iter().any(procfs::is_alive) {
        Presence::Alive
    } else {
        Presence::Gone
    }
}

fn roots(identity: &ProcessIdentity) -> Vec<ProcessMark> {
    let outer = [identity.supervisor, identity.init].into_iter().flatten();
    outer.chain([identity.child]).collect()
}

/// Kills the remaining processes and returns their number: first those below the helper, so that
/// none escapes when the root of its tree ends, then the helper.
pub(super) fn end(identity: &ProcessIdentity) -> Result<u32, Problem> {
    if identity.boot_id != procfs::boot_id() {
        return Ok(0);
    }
    let groups = Cgroups::recorded(&identity.cgroups);
    let keepers: Vec<ProcessMark> = [identity.supervisor, identity.init]
        .into_iter()
        .flatten()
        .collect();
    let mut killed = BTreeSet::new();
    let until = Instant::now() + PATIENCE;
    loop {
        let mut left = below(identity);
        for group in &groups {
            left.extend(group.members().into_iter().filter_map(procfs::mark));
        }
        left.retain(|mark| !keepers.contains(mark) && procfs::is_alive(*mark));
        if left.is_empty() {
            let alive: Vec<ProcessMark> = keepers
                .iter()
                .copied()
                .filter(|mark| procfs::is_alive(*mark))
                .collect();
            if alive.is_empty() {
                break;
            }
            left = alive;
        }
        if Instant::now() >= until {
            return Err(Problem::new(
                Kind::ProcessSurvived,
                format!("could not kill {} processes of an earlier run", left.len()),
            )
            .hint("look for processes that are blocked on a disk or a network file system"));
        }
        for group in &groups {
            group.kill();
        }
        for mark in left {
            // It counts as killed, whether this signal or its group's end came first.
            killed.insert((mark.pid, mark.start_ticks));
            procfs::signal(mark, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    for group in &groups {
        group.remove();
    }
    Ok(killed.len() as u32)
}

fn below(identity: &ProcessIdentity) -> Vec<ProcessMark> {
    let mut all = vec![identity.child];
    for root in roots(identity) {
        if procfs::mark(root.pid) == Some(root) {
            all.extend(
                procfs::descendants(root.pid)
                    .into_iter()
                    .map(|stat| stat.mark),
            );
        }
    }
    all
}

/// The report that a helper wrote, if it did.
pub(super) fn load_report(identity: &ProcessIdentity) -> Result<Option<ProcessReport>, Problem> {
    let Some(folder) = &identity.log_dir else {
        return Ok(None);
    };
    let path = folder.join(REPORT);
    let unreadable = |error: &dyn std::error::Error| {
        Problem::new(
            Kind::ReportUnreadable,
            format!("cannot read report `{}`", path.display()),
        )
        .cause(error.to_string())
    };
    match fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|e| unreadable(&e)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(&error)),
    }
}
