//! Reads processes from `/proc`.

use drive_core::process::ProcessMark;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use std::collections::BTreeMap;
use std::fs;

/// The maximum number of processes in one walk: far above any limit, so that a walk always ends.
const MOST_PROCESSES: usize = 100_000;

/// One line of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) mark: ProcessMark,
    pub(super) state: u8,
    pub(super) parent: i32,
    pub(super) threads: u32,
    pub(super) rss_bytes: u64,
}

impl Stat {
    /// Whether it has ended and only waits to be reaped.
    pub(super) fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }
}

/// The current process with this pid.
pub(super) fn stat(pid: i32) -> Option<Stat> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(pid, &String::from_utf8_lossy(&text))
}

/// Parses the line. The name in the second field may contain spaces and brackets, so the fields are
/// counted from the last closing bracket.
fn parse_stat(pid: i32, text: &str) -> Option<Stat> {
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Stat {
        mark: ProcessMark {
            pid,
            start_ticks: number(19)?,
        },
        state: *fields.first()?.as_bytes().first()?,
        parent: fields.get(1)?.parse().ok()?,
        threads: u32::try_from(number(17)?).ok()?,
        rss_bytes: number(21)? * rustix::param::page_size() as u64,
    })
}

/// The mark of the current process with this pid.
pub(super) fn mark(pid: i32) -> Option<ProcessMark> {
    stat(pid).map(|stat| stat.mark)
}

/// Whether exactly this process is still running.
pub(super) fn is_alive(mark: ProcessMark) -> bool {
    stat(mark.pid).is_some_and(|stat| stat.mark == mark && !stat.is_dead())
}

/// Every living process below `root`, parents before children, without `root` itself.
pub(super) fn descendants(root: i32) -> Vec<Stat> {
    let mut found = Vec::new();
    if fs::exists(format!("/proc/{root}/task/{root}/children")).unwrap_or(false) {
        let mut open = children(root);
        while let Some(pid) = open.pop() {
            if found.len() >= MOST_PROCESSES {
                break;
            }
            let Some(stat) = stat(pid) else { continue };
            open.extend(children(pid));
            found.push(stat);
        }
    } else {
        found = scan_below(root);
    }
    found.retain(|stat| !stat.is_dead());
    found
}

fn children(pid: i32) -> Vec<i32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for task in tasks.flatten() {
        let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        all.extend(
            text.split_ascii_whitespace()
                .filter_map(|p| p.parse::<i32>().ok()),
        );
    }
    all
}

/// The slow alternative, for kernels without lists of children.
fn scan_below(root: i32) -> Vec<Stat> {
    let mut by_parent: BTreeMap<i32, Vec<Stat>> = BTreeMap::new();
    for stat in all_pids().into_iter().filter_map(stat) {
        by_parent.entry(stat.parent).or_default().push(stat);
    }
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        for stat in by_parent.remove(&pid).unwrap_or_default() {
            open.push(stat.mark.pid);
            found.push(stat);
        }
    }
    found
}

fn all_pids() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .take(MOST_PROCESSES)
        .collect()
}

/// The memory that belongs to this process: shared pages are split among their users. For a process
/// that cannot be inspected, its resident size; zero if it has just ended.
pub(super) fn share_bytes(mark: ProcessMark) -> u64 {
    let resident = || stat(mark.pid).filter(|stat| stat.mark == mark);
    pss_bytes(mark.pid)
        .or_else(|| resident().map(|stat| stat.rss_bytes))
        .unwrap_or(0)
}

fn pss_bytes(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find(|line| line.starts_with("Pss:"))?;
    let kib: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// Sends a signal to exactly this process, or to none. A descriptor of it is held while the start
/// time is compared, so the pid cannot be reused meanwhile. Returns whether it was sent.
pub(super) fn signal(mark: ProcessMark, signal: Signal) -> bool {
    let Some(pid) = Pid::from_raw(mark.pid) else {
        return false;
    };
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else {
        return false;
    };
    is_alive(mark) && pidfd_send_signal(&pidfd, signal).is_ok()
}

/// Kills all processes below the calling process, which must be single-threaded. Its own children
/// come first and without a second check, because only their parent can free their pids. So a
/// process is caught even if it keeps moving to new pids and is orphaned to us each time.
pub(super) fn kill_below_self() {
    let own = std::process::id() as i32;
    let text = fs::read_to_string(format!("/proc/self/task/{own}/children")).unwrap_or_default();
    for child in text
        .split_ascii_whitespace()
        .filter_map(|word| word.parse().ok())
        .filter_map(Pid::from_raw)
    {
        let _ = kill_process(child, Signal::KILL);
    }
    for stat in descendants(own) {
        signal(stat.mark, Signal::KILL);
    }
}

/// The id of this boot of the machine.
pub(super) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .unwrap_or_default()
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_shift_the_fields() {
        let line = "42 (a) R (b) S 7 42 42 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 3 0 987 8192 5 184467";
        let stat = parse_stat(42, line).unwrap();
        assert_eq!(
            (stat.state, stat.parent, stat.threads, stat.mark.start_ticks),
            (b'S', 7, 3, 987)
        );
        assert_eq!(stat.rss_bytes, 5 * rustix::param::page_size() as u64);
    }

    #[test]
    fn a_truncated_line_is_no_process() {
        assert_eq!(parse_stat(42, "42 (a) S 7 42"), None);
        assert_eq!(parse_stat(42, ""), None);
    }

    #[test]
    fn a_process_with_another_start_time_is_not_signalled() {
        let own = mark(std::process::id() as i32).unwrap();
        let other = ProcessMark {
            start_ticks: own.start_ticks + 1,
            ..own
        };
        assert!(!signal(other, Signal::KILL));
        assert!(is_alive(own));
    }
}
