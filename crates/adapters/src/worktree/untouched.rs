//! Checks on all processors whether the files of a sandbox are exactly as git last saw them. A
//! negative answer only means that git must be asked.

use crate::git::{IgnoredFiles, Index, Stamp, path_from};
use drive_core::sandbox::Brought;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use std::collections::{HashMap, HashSet};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// More threads than this wait for the same disk.
const MOST_THREADS: usize = 8;
const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Whether the folder holds the files of the index, unchanged since, and nothing else but what was
/// brought along and not worked on.
pub(super) fn is_untouched(folder: &Path, index: &Index, brought: &[Brought]) -> bool {
    let Ok(root) = openat(rustix::fs::CWD, folder, FOLDER, Mode::empty()) else {
        return false;
    };
    let stamps: HashMap<&[u8], &Stamp> = index
        .files
        .iter()
        .map(|(path, stamp)| (path.as_slice(), stamp))
        .collect();
    let files = index.files.iter().map(|(path, _)| path.as_slice());
    let listed = brought.iter().filter(|one| one.stamp.is_some());
    let listed = listed.map(|one| one.path.as_os_str().as_bytes());
    let known = folders_of(files.chain(listed));
    let folders = known.iter().copied().collect();
    let search = Search {
        folder,
        root,
        index,
        known,
        folders,
        stamps,
        brought: IgnoredFiles::of(brought),
        next: AtomicUsize::new(0),
        seen: AtomicUsize::new(0),
        over: AtomicBool::new(false),
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 1..threads.min(MOST_THREADS) {
            // Without a second thread the first one does it all.
            let _ = std::thread::Builder::new().spawn_scoped(scope, || search.work());
        }
        search.work();
    });
    !search.over.into_inner() && search.seen.into_inner() == index.files.len()
}

/// Every folder that holds one of the files or such a folder; the root is the empty name.
fn folders_of<'a>(files: impl Iterator<Item = &'a [u8]>) -> HashSet<&'a [u8]> {
    let mut known: HashSet<&[u8]> = HashSet::from([&b""[..]]);
    for mut path in files {
        while let Some(slash) = path.iter().rposition(|byte| *byte == b'/') {
            path = &path[..slash];
            if !known.insert(path) {
                break;
            }
        }
    }
    known
}

struct Search<'a> {
    folder: &'a Path,
    root: OwnedFd,
    index: &'a Index,
    known: HashSet<&'a [u8]>,
    folders: Vec<&'a [u8]>,
    stamps: HashMap<&'a [u8], &'a Stamp>,
    brought: IgnoredFiles<'a>,
    next: AtomicUsize,
    seen: AtomicUsize,
    over: AtomicBool,
}

impl Search<'_> {
    /// Takes one folder after the other until all are done or one has something new in it.
    fn work(&self) {
        while !self.over.load(Ordering::Relaxed) {
            let next = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = self.folders.get(next) else {
                return;
            };
            match self.files_in(path) {
                Some(count) => {
                    self.seen.fetch_add(count, Ordering::Relaxed);
                }
                None => self.over.store(true, Ordering::Relaxed),
            }
        }
    }

    /// How many files of the index it holds, unchanged; `None` when there is anything else.
    fn files_in(&self, folder: &[u8]) -> Option<usize> {
        let name = if folder.is_empty() { b"." } else { folder };
        let fd = openat(self.root.as_fd(), name, FOLDER, Mode::empty()).ok()?;
        let mut count = 0;
        let mut path = folder.to_vec();
        for entry in Dir::read_from(&fd).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") || folder.is_empty() && name == b".git" {
                continue;
            }
            path.truncate(folder.len());
            if !folder.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name);
            if entry.file_type() == FileType::Directory && self.known.contains(path.as_slice()) {
                continue;
            }
            let Some(stamp) = self.stamps.get(path.as_slice()) else {
                if self.is_brought(&path) {
                    continue;
                }
                return None;
            };
            let now = statat(&fd, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
            if Stamp::of(&now).as_ref() != Some(*stamp) || self.index.is_racy(stamp) {
                return None;
            }
            count += 1;
        }
        Some(count)
    }

    fn is_brought(&self, path: &[u8]) -> bool {
        self.brought.covers(self.folder, &path_from(path))
    }
}
