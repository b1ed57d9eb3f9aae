//! A seal over the tracked files of a workspace: taken before the first stage, and checked after each.
//!
//! A stage cannot set back the kernel's change time of a file, so an unchanged stat means an
//! unchanged file; everything else is hashed and compared with the commit. The workspace's own
//! metadata (index, flags, modification times) is never trusted.

use crate::git::{Git, Touches};
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::Place;
use rustix::fs::{Timespec, Timestamps, UTIME_NOW, futimens};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A change within this time of the seal may not show in the change time: such a file is hashed.
const RACY_NANOS: i128 = 50_000_000;

/// A tracked file as it was right after the checkout.
struct Entry {
    path: PathBuf,
    kind: EntryKind,
    stat: Stat,
    /// When its content was last known to be the commit's, by the disk's clock.
    known_at: i128,
}

enum EntryKind {
    /// A regular file with the content of the blob.
    Blob { oid: String },
    /// A regular file that the checkout converted, e.g. its line ends, with the hash of the result.
    Converted { hash: [u8; 32] },
    /// A link with its target.
    Link { target: PathBuf },
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Stat {
    dev: u64,
    ino: u64,
    mode: u32,
    size: u64,
    mtime: i128,
    ctime: i128,
}

impl Stat {
    fn of(meta: &Metadata) -> Self {
        let nanos =
            |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Self {
            dev: meta.dev(),
            ino: meta.ino(),
            mode: meta.mode(),
            size: meta.size(),
            mtime: nanos(meta.mtime(), meta.mtime_nsec()),
            ctime: nanos(meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// An entry of the commit's tree.
pub(super) struct TreeEntry {
    pub(super) path: PathBuf,
    pub(super) mode: u32,
    pub(super) oid: String,
    pub(super) size: Option<u64>,
}

/// The files of a commit.
pub(super) fn load_tree(git: &Git, repo: &Path, commit: &str) -> Result<Vec<TreeEntry>, Problem> {
    let answer = git
        .call(Place::Checkout(repo), Touches::Objects)
        .args(["ls-tree", "-r", "-l", "-z", "--full-tree", commit])
        .ok()?;
    Ok(answer.fields().filter_map(tree_entry).collect())
}

/// Parses `100644 blob OID    SIZE<tab>PATH`.
fn tree_entry(row: &[u8]) -> Option<TreeEntry> {
    let tab = row.iter().position(|&b| b == b'\t')?;
    let (head, path) = row.split_at(tab);
    let head = std::str::from_utf8(head).ok()?;
    let mut words = head.split_ascii_whitespace();
    let mode = u32::from_str_radix(words.next()?, 8).ok()?;
    let oid = words.nth(1)?.to_owned();
    Some(TreeEntry {
        path: PathBuf::from(OsString::from_vec(path[1..].to_vec())),
        mode,
        oid,
        size: words.next()?.parse().ok(),
    })
}

/// The seal of one workspace.
pub(super) struct Seal {
    root: PathBuf,
    repo: PathBuf,
    entries: Vec<Entry>,
    folders: BTreeSet<PathBuf>,
}

const LINK: u32 = 0o120_000;
const SUBMODULE: u32 = 0o160_000;

impl Seal {
    /// Seals a fresh checkout. `clock` is a file that no stage can touch: it yields the time as the
    /// disk records it.
    pub(super) fn take(
        root: &Path,
        repo: &Path,
        tree: &[TreeEntry],
        clock: &File,
    ) -> io::Result<Self> {
        let known_at = disk_time(clock)?;
        let mut entries = Vec::with_capacity(tree.len());
        let mut folders = BTreeSet::new();
        for file in tree.iter().filter(|file| file.mode != SUBMODULE) {
            let full = root.join(&file.path);
            let meta = full.symlink_metadata()?;
            let kind = if file.mode == LINK && meta.is_symlink() {
                EntryKind::Link {
                    target: std::fs::read_link(&full)?,
                }
            } else if file.size == Some(meta.size()) && is_askable(&file.path) {
                EntryKind::Blob {
                    oid: file.oid.clone(),
                }
            } else {
                EntryKind::Converted {
                    hash: hash_of(&full)?,
                }
            };
            folders.extend(
                file.path
                    .ancestors()
                    .skip(1)
                    .filter(|dir| *dir != Path::new(""))
                    .map(Path::to_path_buf),
            );
            entries.push(Entry {
                path: file.path.clone(),
                kind,
                stat: Stat::of(&meta),
                known_at,
            });
        }
        Ok(Self {
            root: root.to_path_buf(),
            repo: repo.to_path_buf(),
            entries,
            folders,
        })
    }

    /// The paths that differ from the seal. If a hashed file is unchanged, this is recorded, so
    /// that the next check need not hash it again.
    pub(super) fn broken(&mut self, git: &Git, clock: &File) -> Result<Vec<String>, Problem> {
        let now = disk_time(clock).map_err(|error| {
            Problem::new(
                Kind::DiskTimeUnknown,
                "cannot determine the time of the disk",
            )
            .because(error)
        })?;
        let mut broken: BTreeSet<String> = BTreeSet::new();
        for folder in &self.folders {
            // If a link replaces a folder, every file below it could be elsewhere.
            let is_folder = self
                .root
                .join(folder)
                .symlink_metadata()
                .is_ok_and(|meta| meta.is_dir());
            if !is_folder {
                broken.insert(shown(folder));
            }
        }
        let mut suspects = Vec::new();
        let mut settled = Vec::new();
        for (index, entry) in self.entries.iter().enumerate() {
            match self.look(entry) {
                Look::Untouched => {}
                Look::Same(stat) => settled.push((index, stat)),
                Look::Altered => {
                    broken.insert(shown(&entry.path));
                }
                Look::Suspect { stat, oid } => suspects.push((index, stat, oid)),
            }
        }
        let hashes = self.hashes(git, suspects.iter().map(|(index, ..)| *index))?;
        let mut hashes = hashes.lines();
        for (index, stat, oid) in suspects {
            // An unreadable file ends the list early: it and the following ones count as altered.
            if hashes.next() == Some(oid) {
                settled.push((index, stat));
            } else {
                broken.insert(shown(&self.entries[index].path));
            }
        }
        for (index, stat) in settled {
            let entry = &mut self.entries[index];
            (entry.stat, entry.known_at) = (stat, now);
        }
        Ok(broken.into_iter().collect())
    }

    fn look<'a>(&self, entry: &'a Entry) -> Look<'a> {
        let full = self.root.join(&entry.path);
        let Ok(meta) = full.symlink_metadata() else {
            return Look::Altered;
        };
        let stat = Stat::of(&meta);
        let is_racy = stat.ctime + RACY_NANOS >= entry.known_at;
        if entry.stat == stat && !is_racy {
            return Look::Untouched;
        }
        let is_same = match &entry.kind {
            // Its kind or its executable bit changed.
            _ if entry.stat.mode & 0o170_100 != stat.mode & 0o170_100 => false,
            EntryKind::Link { target } => std::fs::read_link(&full).is_ok_and(|now| now == *target),
            EntryKind::Converted { .. } if entry.stat.size != stat.size => false,
            EntryKind::Converted { hash } => hash_of(&full).is_ok_and(|now| now == *hash),
            EntryKind::Blob { .. } if entry.stat.size != stat.size => false,
            EntryKind::Blob { oid } => return Look::Suspect { stat, oid },
        };
        if is_same {
            Look::Same(stat)
        } else {
            Look::Altered
        }
    }

    /// Git's hashes of the contents of these entries, one per line.
    fn hashes(&self, git: &Git, entries: impl Iterator<Item = usize>) -> Result<String, Problem> {
        let mut list = Vec::new();
        for index in entries {
            let full = self.root.join(&self.entries[index].path);
            list.extend_from_slice(full.as_os_str().as_bytes());
            list.push(b'\n');
        }
        if list.is_empty() {
            return Ok(String::new());
        }
        let answer = git
            .call(Place::Checkout(&self.repo), Touches::Objects)
            .args(["hash-object", "--no-filters", "--stdin-paths"])
            .stdin(list)
            .run()?;
        Ok(String::from_utf8_lossy(&answer.stdout).into_owned())
    }
}

enum Look<'a> {
    /// The file was not changed.
    Untouched,
    /// The file was touched, and its content is still the same.
    Same(Stat),
    /// The file was altered.
    Altered,
    /// Only git can decide.
    Suspect { stat: Stat, oid: &'a str },
}

/// Whether the path can be in a list of lines: it contains no line break.
fn is_askable(path: &Path) -> bool {
    !path.as_os_str().as_bytes().contains(&b'\n')
}

/// The current time, as the disk records it.
fn disk_time(clock: &File) -> io::Result<i128> {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let times = Timestamps {
        last_access: now,
        last_modification: now,
    };
    futimens(clock, &times)?;
    Ok(Stat::of(&clock.metadata()?).ctime)
}

fn hash_of(path: &Path) -> io::Result<[u8; 32]> {
    let mut hasher = Sha256::new();
    io::copy(&mut File::open(path)?, &mut HashWriter(&mut hasher))?;
    Ok(hasher.finalize().into())
}

struct HashWriter<'a>(&'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
