//! Lock files that a killed git left behind.
//!
//! Git takes a lock by creating `NAME.lock` and never removes a lock that it did not create. So the
//! lock of a killed git stops every later one until somebody deletes the file. It is stale if no
//! process has it open and no git works in the repository.

use super::{Answer, Location};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How old a lock must be. A git closes the file before it renames it: during that moment only its
/// running process shows that the lock is held.
const LEAST_AGE: Duration = Duration::from_secs(1);
const COMPLAINT: &str = "Unable to create '";
const SUFFIX: &str = ".lock";
/// How many bytes of a process's environment and arguments are read.
const MOST_BYTES: u64 = 1024 * 1024;

/// Removes the lock that stopped this call, if it is stale. Returns whether the call can be repeated.
pub(super) fn remove_stale(answer: &Answer, location: &Location) -> bool {
    lock_in_the_way(answer).is_some_and(|lock| remove_if_stale(&lock, location))
}

/// Removes a lock of this location, if it is stale. Returns whether it is gone.
pub(crate) fn remove_if_stale(lock: &Path, location: &Location) -> bool {
    let folders = folders_of(location);
    if !folders.iter().any(|folder| lock.starts_with(folder)) {
        return false;
    }
    let Some(before) = Identity::of(lock) else {
        // Its holder has finished.
        return true;
    };
    std::thread::sleep(LEAST_AGE.saturating_sub(before.age));
    let holders = own_worktree(lock, location).unwrap_or_else(|| with_linked_worktrees(folders));
    if is_held(lock, before.owner, &holders) {
        return false;
    }
    match Identity::of(lock) {
        Some(now) if now.inode == before.inode => std::fs::remove_file(lock).is_ok(),
        Some(_) => false,
        None => true,
    }
}

/// The lock file that git names.
fn lock_in_the_way(answer: &Answer) -> Option<PathBuf> {
    let text = String::from_utf8_lossy(&answer.stderr);
    let (_, rest) = text.split_once(COMPLAINT)?;
    let (path, after) = rest.split_once('\'')?;
    let is_there = after.starts_with(": File exists");
    (is_there && path.ends_with(SUFFIX)).then(|| PathBuf::from(path))
}

struct Identity {
    inode: u64,
    owner: u32,
    age: Duration,
}

impl Identity {
    fn of(lock: &Path) -> Option<Self> {
        let meta = lock.symlink_metadata().ok().filter(|meta| meta.is_file())?;
        let age = meta.modified().ok()?;
        Some(Self {
            inode: meta.ino(),
            owner: meta.uid(),
            age: SystemTime::now().duration_since(age).unwrap_or_default(),
        })
    }
}

/// The git directories of a location, and its worktree.
fn folders_of(location: &Location) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    match &location.pinned {
        Some(pinned) => {
            folders.extend([pinned.git_dir.clone(), pinned.common_dir.clone()]);
            folders.extend(pinned.work_tree.clone());
            let is_dot_git = pinned.common_dir.ends_with(".git");
            let checkout = pinned.common_dir.parent().filter(|_| is_dot_git);
            folders.extend(checkout.map(Path::to_path_buf));
        }
        None => folders.push(location.dir.clone()),
    }
    with_resolved(folders)
}

fn with_resolved(mut folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let resolved: Vec<PathBuf> = folders
        .iter()
        .filter_map(|folder| folder.canonicalize().ok())
        .collect();
    folders.extend(resolved);
    folders
}

/// The folders of a linked worktree, if the lock is in its own git directory: a git in another
/// worktree cannot hold it.
fn own_worktree(lock: &Path, location: &Location) -> Option<Vec<PathBuf>> {
    let pinned = location.pinned.as_ref()?;
    let mut folders = with_resolved(vec![pinned.git_dir.clone()]);
    let is_own = folders.iter().any(|folder| lock.starts_with(folder));
    if !is_own || pinned.git_dir == pinned.common_dir {
        return None;
    }
    folders.extend(pinned.work_tree.clone());
    Some(with_resolved(folders))
}

/// The folders with those of all linked worktrees: a git that works in one may hold a lock of the
/// shared directory.
fn with_linked_worktrees(mut folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut linked = Vec::new();
    for folder in &folders {
        let Ok(entries) = std::fs::read_dir(folder.join("worktrees")) else {
            continue;
        };
        for entry in entries.flatten() {
            let text = std::fs::read_to_string(entry.path().join("gitdir")).unwrap_or_default();
            linked.extend(Path::new(text.trim()).parent().map(Path::to_path_buf));
        }
    }
    linked.retain(|folder| !folder.as_os_str().is_empty());
    folders.extend(linked);
    folders
}

/// Whether a process of the lock's owner has it open, or a git of theirs works in one of the
/// folders. A git that cannot be inspected counts as one. No other user can have created the file.
fn is_held(lock: &Path, owner: u32, folders: &[PathBuf]) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return true;
    };
    processes.flatten().any(|entry| {
        let name = entry.file_name();
        let is_process = name.as_bytes().iter().all(u8::is_ascii_digit);
        let is_theirs = || entry.metadata().is_ok_and(|meta| meta.uid() == owner);
        is_process && is_theirs() && holds(&entry.path(), lock, folders)
    })
}

fn holds(process: &Path, lock: &Path, folders: &[PathBuf]) -> bool {
    let Ok(comm) = std::fs::read(process.join("comm")) else {
        // It has just ended.
        return false;
    };
    let is_open = std::fs::read_dir(process.join("fd")).is_ok_and(|files| {
        let mut targets = files.flatten().map(|file| std::fs::read_link(file.path()));
        targets.any(|target| target.is_ok_and(|target| target == lock))
    });
    if is_open || !comm.starts_with(b"git") {
        return is_open;
    }
    let cwd = match std::fs::read_link(process.join("cwd")) {
        Ok(cwd) => cwd,
        // It has ended and is a zombie.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return false,
        Err(_) => return true,
    };
    let words = ["environ", "cmdline"].map(|file| {
        crate::files::load_from(&process.join(file), 0, MOST_BYTES).unwrap_or_default()
    });
    folders.iter().any(|folder| {
        let name = folder.as_os_str().as_bytes();
        let is_named = |word: &Vec<u8>| word.windows(name.len()).any(|part| part == name);
        cwd.starts_with(folder) || words.iter().any(is_named)
    })
}
