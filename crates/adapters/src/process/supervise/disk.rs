//! Disk limits of a process tree. Quotas need privileges, so a thread counts what is new in the
//! tree's folders, and watches the free space on their disks. It is a thread because walking many
//! files must not delay output or a timeout.

use super::super::wire::Request;
use drive_core::process::{DiskBound, LayerName};
use drive_engine::ports::Writes;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, StatVfs, fstat, openat, statat};
use rustix::time::{ClockId, clock_gettime};
use std::collections::HashSet;
use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// How often the free space of the disks is read, which takes 16 µs.
const ROOM: Duration = Duration::from_secs(1);
/// How often the files are counted: 40 ms for 30,000 of them.
const COUNT: Duration = Duration::from_secs(5);
/// A count may use at most this part of a core.
const REST: u32 = 10;
/// The space that stays free on any disk, unless a hundredth of the disk is less.
const FREE_BYTES: u64 = 512 << 20;
/// The number of nested folders that a count keeps open, besides the outermost one.
const OPEN: usize = 64;
const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The size limit of a single file.
pub(super) fn largest_file(request: &Request) -> Option<u64> {
    let is_on = !request.without.contains(&LayerName::DiskLimit);
    request.limits.disk_bytes.filter(|_| is_on)
}

/// Watches what one tree writes.
pub(super) struct DiskWatch {
    meter: Arc<Meter>,
    reached: Arc<OnceLock<DiskBound>>,
}

impl DiskWatch {
    /// Starts to count, before the tree writes anything. `None` without limits.
    pub(super) fn start(request: &Request) -> io::Result<Option<Self>> {
        let limits = &request.limits;
        let is_limited = limits.disk_bytes.is_some() || limits.files.is_some();
        if !is_limited || request.without.contains(&LayerName::DiskLimit) {
            return Ok(None);
        }
        let meter = Arc::new(Meter::new(request));
        let reached = Arc::new(OnceLock::new());
        let watch = Self {
            meter: Arc::clone(&meter),
            reached: Arc::clone(&reached),
        };
        let watching = thread::Builder::new().name("disk".to_owned());
        watching.spawn(move || {
            let _ = reached.set(meter.watch());
        })?;
        Ok(Some(watch))
    }

    /// The limit that was reached, if any.
    pub(super) fn reached(&self) -> Option<DiskBound> {
        self.reached.get().copied()
    }

    /// Counts now: a program that fails because of a limit fails before the next regular count.
    pub(super) fn count(&self) -> Option<DiskBound> {
        self.reached().or_else(|| self.meter.count())
    }
}

struct Meter {
    folders: Vec<PathBuf>,
    disks: Vec<Room>,
    bytes: Option<u64>,
    files: Option<u64>,
    /// Older changes belong to others. No process in the tree can set this time of a file; it is
    /// read from the same coarse clock.
    since: (i64, i64),
}

impl Meter {
    fn new(request: &Request) -> Self {
        let now = clock_gettime(ClockId::RealtimeCoarse);
        let folders = outermost(request);
        let mut known = HashSet::new();
        let mut is_new = |folder: &Path| {
            let device = openat(CWD, folder, FOLDER, Mode::empty()).and_then(fstat);
            device.is_ok_and(|folder| known.insert(folder.st_dev))
        };
        let disks = folders.iter().filter(|folder| is_new(folder));
        Self {
            disks: disks.filter_map(|folder| Room::new(folder)).collect(),
            folders,
            bytes: request.limits.disk_bytes,
            files: request.limits.files,
            since: (now.tv_sec, now.tv_nsec),
        }
    }

    /// Watches until a limit is reached.
    fn watch(&self) -> DiskBound {
        let mut counted = Instant::now();
        let mut rest = Duration::ZERO;
        let mut before = self.left();
        loop {
            thread::sleep(ROOM);
            if let Some(bound) = self.disks.iter().find_map(Room::is_short) {
                return bound;
            }
            // Writes of other processes count here as well, which only causes an earlier count.
            let left = self.left();
            let gone = |of: fn(&Left) -> u64, limit: Option<u64>| {
                limit.is_some_and(|limit| of(&before).saturating_sub(of(&left)) > limit / 4)
            };
            let is_fast =
                gone(|left| left.bytes, self.bytes) || gone(|left| left.files, self.files);
            let since = counted.elapsed();
            if since < rest || (since < COUNT && !is_fast) {
                continue;
            }
            let start = Instant::now();
            if let Some(bound) = self.count() {
                return bound;
            }
            rest = start.elapsed() * REST;
            counted = Instant::now();
            before = left;
        }
    }

    fn left(&self) -> Left {
        let mut all = Left::default();
        for disk in self.disks.iter().filter_map(Room::read) {
            all.bytes += free_bytes(&disk);
            all.files += disk.f_favail;
        }
        all
    }

    /// Counts what is new, and stops at a limit.
    fn count(&self) -> Option<DiskBound> {
        let mut seen = Seen::default();
        self.folders
            .iter()
            .find_map(|folder| self.count_below(folder, &mut seen))
    }

    /// Counts below a folder. Only some levels are kept open: deep nesting would otherwise use up
    /// the descriptors, and hide everything below. A folder is opened by its name in its parent, so
    /// that no path is too long.
    fn count_below(&self, folder: &Path, seen: &mut Seen) -> Option<DiskBound> {
        let root = openat(CWD, folder, FOLDER, Mode::empty()).ok()?;
        let device = fstat(&root).ok()?.st_dev;
        let mut levels: Vec<Level> = Vec::new();
        let mut here = (root, c".".to_owned());
        loop {
            let mut below = Vec::new();
            if let Some(bound) = self.count_in(&here.0, device, seen, &mut below) {
                return Some(bound);
            }
            levels.push(Level {
                id: identity(&here.0),
                open: Some(here.0),
                name: here.1,
                below,
            });
            let depth = levels.len();
            if let Some(far) = levels[1..].get_mut(depth.wrapping_sub(OPEN + 2)) {
                far.open = None;
            }
            here = loop {
                let level = levels.last_mut()?;
                match (&level.open, level.below.pop()) {
                    (Some(at), Some(name)) => {
                        if let Ok(next) = openat(at, &name, FOLDER, Mode::empty()) {
                            break (next, name);
                        }
                    }
                    (None, Some(_)) | (_, None) => {
                        let done = levels.pop()?;
                        reopen(&mut levels, done.open.as_ref());
                    }
                }
            };
        }
    }

    /// Counts what is new in one folder, and adds its subfolders to `below`.
    fn count_in(
        &self,
        here: &OwnedFd,
        device: u64,
        seen: &mut Seen,
        below: &mut Vec<CString>,
    ) -> Option<DiskBound> {
        for entry in Dir::read_from(here).ok()?.flatten() {
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let Ok(stat) = statat(here, name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
            if is_folder && stat.st_dev == device {
                below.push(name.to_owned());
            }
            let changed = (stat.st_ctime, stat.st_ctime_nsec as i64);
            if changed < self.since {
                continue;
            }
            seen.files += 1;
            let is_first = is_folder || stat.st_nlink == 1;
            if is_first || seen.linked.insert((stat.st_dev, stat.st_ino)) {
                seen.bytes += stat.st_blocks as u64 * 512;
            }
            if let Some(limit) = self.bytes.filter(|limit| seen.bytes >= *limit) {
                return Some(DiskBound::Bytes(limit));
            }
            if let Some(limit) = self.files.filter(|limit| seen.files > *limit) {
                return Some(DiskBound::Files(limit));
            }
        }
        None
    }
}

/// A folder whose contents are being counted.
struct Level {
    name: CString,
    /// `None` while the count is far below it.
    open: Option<OwnedFd>,
    id: Option<(u64, u64)>,
    /// Its subfolders that are not counted yet.
    below: Vec<CString>,
}

/// Opens the last level again: as parent of the folder in it that was counted last, or, if that one
/// was moved, by the names from the outermost folder.
fn reopen(levels: &mut [Level], last: Option<&OwnedFd>) {
    let Some((level, above)) = levels.split_last_mut() else {
        return;
    };
    if level.open.is_some() {
        return;
    }
    let up = last.and_then(|last| openat(last, c"..", FOLDER, Mode::empty()).ok());
    let up = up.filter(|up| level.id.is_some() && identity(up) == level.id);
    let is_done = level.below.is_empty();
    level.open = up.or_else(|| {
        if is_done {
            return None;
        }
        let mut names = above.iter().skip(1).map(|level| &level.name);
        let mut at = openat(above.first()?.open.as_ref()?, c".", FOLDER, Mode::empty()).ok()?;
        names.try_for_each(|name| {
            at = openat(&at, name, FOLDER, Mode::empty()).ok()?;
            Some(())
        })?;
        openat(&at, &level.name, FOLDER, Mode::empty()).ok()
    });
}

fn identity(folder: &OwnedFd) -> Option<(u64, u64)> {
    fstat(folder).ok().map(|stat| (stat.st_dev, stat.st_ino))
}

/// What a count found so far.
#[derive(Default)]
struct Seen {
    bytes: u64,
    files: u64,
    /// Files with several names that were counted already.
    linked: HashSet<(u64, u64)>,
}

#[derive(Default)]
struct Left {
    bytes: u64,
    files: u64,
}

/// A disk, and the space that must stay free on it.
struct Room {
    folder: PathBuf,
    bytes: u64,
    files: u64,
}

impl Room {
    /// For a disk that is nearly full already, half of the rest must stay free.
    fn new(folder: &Path) -> Option<Self> {
        let disk = rustix::fs::statvfs(folder).ok()?;
        let hundredth = disk.f_blocks.saturating_mul(disk.f_frsize) / 100;
        let bytes = FREE_BYTES.min(hundredth).min(free_bytes(&disk) / 2);
        Some(Self {
            folder: folder.to_owned(),
            bytes: if bytes < 1 << 20 {
                bytes
            } else {
                bytes >> 20 << 20
            },
            files: (disk.f_files / 100).min(disk.f_favail / 2),
        })
    }

    fn read(&self) -> Option<StatVfs> {
        rustix::fs::statvfs(&self.folder).ok()
    }

    fn is_short(&self) -> Option<DiskBound> {
        let disk = self.read()?;
        if free_bytes(&disk) < self.bytes {
            return Some(DiskBound::FreeBytes(self.bytes));
        }
        (disk.f_favail < self.files).then_some(DiskBound::FreeFiles(self.files))
    }
}

fn free_bytes(disk: &StatVfs) -> u64 {
    disk.f_bavail.saturating_mul(disk.f_frsize)
}

/// The folders that the tree can write, without nested ones.
fn outermost(request: &Request) -> Vec<PathBuf> {
    let folders = match &request.writes {
        Writes::Only(folders) => folders.as_slice(),
        // It may write anywhere, but will mostly write here.
        Writes::Anywhere => std::slice::from_ref(&request.cwd),
    };
    let layers = request.layered.iter().map(|folder| &folder.layer);
    let named = folders.iter().chain(&request.tmp).chain(layers);
    // At this point everything is set up, including the private layers.
    let mut real: Vec<PathBuf> = named.filter_map(|path| path.canonicalize().ok()).collect();
    real.sort();
    // A folder sorts before its contents.
    let mut outermost: Vec<PathBuf> = Vec::new();
    for path in real {
        if !outermost.iter().any(|outer| path.starts_with(outer)) {
            outermost.push(path);
        }
    }
    outermost
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::mkdirat;
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    const DEPTH: u64 = 600;

    #[test]
    fn a_comb_of_folders_is_counted_to_its_end_with_few_descriptors() {
        let comb = tempfile::tempdir().unwrap();
        let mut at = openat(CWD, comb.path(), FOLDER, Mode::empty()).unwrap();
        for _ in 0..DEPTH {
            // Whichever is read first, the folder above has others left.
            for name in ["a", "b", "c"] {
                mkdirat(&at, name, Mode::RWXU).unwrap();
            }
            let entries = Dir::read_from(&at).unwrap().flatten();
            let named = entries.filter(|entry| !entry.file_name().to_bytes().starts_with(b"."));
            let last = named.last().unwrap();
            at = openat(&at, last.file_name(), FOLDER, Mode::empty()).unwrap();
        }
        let all = 3 * DEPTH;
        let count = |files| {
            let meter = Meter {
                folders: vec![comb.path().to_owned()],
                disks: Vec::new(),
                bytes: None,
                files: Some(files),
                since: (0, 0),
            };
            meter.count()
        };
        let limit = getrlimit(Resource::Nofile);
        let few = Rlimit {
            current: Some(200),
            ..limit
        };
        setrlimit(Resource::Nofile, few).unwrap();
        let counted = (count(all - 1), count(all));
        setrlimit(Resource::Nofile, limit).unwrap();
        assert_eq!(counted, (Some(DiskBound::Files(all - 1)), None));
    }
}
