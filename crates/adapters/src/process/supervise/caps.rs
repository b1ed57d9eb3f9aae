//! Memory, process and disk limits: enforced by the kernel if possible, else by polling.

use super::super::procfs;
use super::disk::DiskWatch;
use super::watch::{COUNTERS, POLL, Watch};
use drive_core::process::{DiskBound, LeaderEnd};
use std::time::{Duration, Instant};

/// The poll interval while the tree is far below its memory limit: too short to reach it in
/// between. A fork bomb is faster.
const RELAXED_POLL: Duration = Duration::from_millis(60);
/// The interval at which real shares of memory are added up, which is costly.
const SHARES: Duration = Duration::from_millis(500);

impl Watch<'_> {
    /// Samples what the tree uses, if it is time, and ends the tree if it exceeds a limit.
    pub(super) fn sample(&mut self, now: Instant) {
        if now < self.next_sample {
            return;
        }
        self.next_sample = now + COUNTERS;
        self.read_counters();
        if let Some(bound) = self.disk.as_ref().and_then(DiskWatch::reached) {
            self.seen.disk = Some(bound);
            self.kill(now);
        }
        let limits = &self.request.limits;
        let memory_cap = limits.memory_bytes.filter(|_| !self.groups.caps_memory());
        let task_cap = limits.processes.filter(|_| !self.groups.caps_pids());
        let shares_due = now >= self.next_shares && self.groups.used_bytes().is_none();
        if memory_cap.is_none() && task_cap.is_none() && !shares_due {
            return;
        }
        let tree = self.tree();
        let tasks: u64 = tree.iter().map(|stat| u64::from(stat.threads)).sum();
        let resident: u64 = tree.iter().map(|stat| stat.rss_bytes).sum();
        self.seen.processes |= task_cap.is_some_and(|cap| tasks > u64::from(cap));
        let suspicious = memory_cap.is_some_and(|cap| resident > cap);
        if suspicious || shares_due {
            self.next_shares = now + SHARES;
            // Resident sizes count shared pages once per process; shares do not.
            let shares: u64 = tree.iter().map(|stat| procfs::share_bytes(stat.mark)).sum();
            self.sampled_bytes = self.sampled_bytes.max(shares);
            self.seen.memory |= memory_cap.is_some_and(|cap| shares > cap);
        }
        if self.seen.memory || self.seen.processes {
            self.kill(now);
        }
        let near = task_cap.is_some() || memory_cap.is_some_and(|cap| resident > cap / 4);
        if memory_cap.is_some() || task_cap.is_some() {
            self.next_sample = now + if near { POLL } else { RELAXED_POLL };
        }
    }

    /// Finds out whether a leader that failed by itself reached a disk limit: the kernel ends a program whose
    /// file gets too large, or returns an error to it, and its parent only reports a failure.
    pub(super) fn explain_failure(&mut self, end: LeaderEnd) {
        let Some(disk) = self.disk.as_ref().filter(|_| end != LeaderEnd::Exited(0)) else {
            return;
        };
        let too_large = end == LeaderEnd::Signalled(libc::SIGXFSZ);
        let largest = self.request.limits.disk_bytes.filter(|_| too_large);
        self.seen.disk = largest.map(DiskBound::Bytes).or_else(|| disk.count());
    }

    /// Reads the kernel's counters.
    pub(super) fn read_counters(&mut self) {
        let used = self.groups.used_bytes().unwrap_or(0);
        self.sampled_bytes = self.sampled_bytes.max(used);
        let memory = self.groups.memory_kills() > 0;
        let processes = self.groups.refused_forks() > 0;
        self.seen.memory |= memory;
        self.seen.processes |= processes;
        if (memory || processes) && !self.empty {
            self.kill(Instant::now());
        }
    }
}
