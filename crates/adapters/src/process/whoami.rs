//! This process as an owner of runs, and whether another owner is alive.

use super::procfs;
use drive_core::process::ProcessMark;
use drive_engine::lease::Whoami;
use drive_engine::ports::{Liveness, Owner};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::fs;

/// The initial PID namespace of a machine, whose number is fixed in the kernel.
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// This process.
#[derive(Clone, Debug)]
pub struct ThisProcess {
    owner: Owner,
}

impl ThisProcess {
    /// Reads this process's own identity.
    pub fn load() -> Self {
        let pid = i32::try_from(std::process::id()).unwrap_or_default();
        let process = procfs::mark(pid).unwrap_or(ProcessMark {
            pid,
            start_ticks: 0,
        });
        Self {
            owner: Owner {
                machine: machine(),
                boot: procfs::boot_id(),
                process,
            },
        }
    }
}

impl Whoami for ThisProcess {
    fn owner(&self) -> Owner {
        self.owner.clone()
    }

    /// Checks another owner. Its death can only be proven on the same machine: by a new boot, or by
    /// a pid that is unused or belongs to another process.
    fn liveness(&self, owner: &Owner) -> Liveness {
        if owner.machine != self.owner.machine || owner.boot.is_empty() {
            return Liveness::Unknown;
        }
        if owner.boot != self.owner.boot {
            return Liveness::Dead;
        }
        probe(owner.process)
    }
}

/// Checks a process. One that `/proc` does not show may only be hidden, so its death also needs the
/// kernel's answer that the pid is unused.
fn probe(mark: ProcessMark) -> Liveness {
    if let Some(stat) = procfs::stat(mark.pid) {
        return if stat.mark == mark && !stat.is_dead() {
            Liveness::Alive
        } else {
            Liveness::Dead
        };
    }
    match Pid::from_raw(mark.pid).map(test_kill_process) {
        Some(Err(Errno::SRCH)) => Liveness::Dead,
        Some(_) | None => Liveness::Unknown,
    }
}

/// Distinguishes this machine from others with the same state directory. A PID namespace counts as
/// a machine of its own, because pids differ in it.
fn machine() -> String {
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    named(machine_id(), &namespace.to_string_lossy())
}

fn named(id: String, namespace: &str) -> String {
    if namespace == FIRST_NAMESPACE || namespace.is_empty() {
        id
    } else {
        format!("{id}/{namespace}")
    }
}

fn machine_id() -> String {
    [
        "/etc/machine-id",
        "/var/lib/dbus/machine-id",
        "/proc/sys/kernel/hostname",
    ]
    .iter()
    .filter_map(|path| fs::read_to_string(path).ok())
    .map(|text| text.trim().to_owned())
    .find(|text| !text.is_empty())
    .unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_its_pid_with_another_start_does_not() {
        let me = ThisProcess::load();
        assert_eq!(me.liveness(&me.owner()), Liveness::Alive);
        let mut earlier = me.owner();
        earlier.process.start_ticks += 1;
        assert_eq!(me.liveness(&earlier), Liveness::Dead);
    }

    #[test]
    fn another_boot_of_this_machine_is_dead_and_another_machine_is_unknown() {
        let me = ThisProcess::load();
        let mut before = me.owner();
        before.boot = "an earlier one".to_owned();
        assert_eq!(me.liveness(&before), Liveness::Dead);
        let mut elsewhere = me.owner();
        elsewhere.machine = "elsewhere".to_owned();
        assert_eq!(me.liveness(&elsewhere), Liveness::Unknown);
    }

    #[test]
    fn another_namespace_of_pids_is_another_machine() {
        let me = ThisProcess::load();
        let mut other = me.owner();
        other.machine = named(machine_id(), "pid:[1]");
        other.process.pid = i32::MAX;
        assert_eq!(me.liveness(&other), Liveness::Unknown);
        assert_eq!(named("m".to_owned(), FIRST_NAMESPACE), "m");
    }
}
