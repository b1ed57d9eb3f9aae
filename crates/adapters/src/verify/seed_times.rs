//! Aligns file times for seeded caches, which are only useful if sources do not look newer than
//! what was built from them. A fresh checkout makes every file new, so files that are identical in
//! the caller's checkout get their time from there.

use super::seal::TreeEntry;
use crate::git::{Git, Touches};
use drive_core::Problem;
use drive_engine::ports::Place;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Gives the files of `workspace` the times of identical files in the caller's checkout. A file
/// that differs there, or has changes, keeps its new time and is built again.
pub(super) fn align(
    git: &Git,
    checkout: &Path,
    workspace: &Path,
    tree: &[TreeEntry],
) -> Result<(), Problem> {
    let place = Place::Checkout(checkout);
    let staged = git
        .call(place, Touches::Objects)
        .args(["ls-files", "-s", "-z"])
        .ok()?;
    let staged: HashMap<PathBuf, String> = staged.fields().filter_map(index_entry).collect();
    let dirty = git
        .call(place, Touches::Files)
        .args(["diff-files", "--name-only", "-z"])
        .ok()?;
    let dirty: HashSet<PathBuf> = dirty.fields().map(crate::git::path_from).collect();
    for file in tree {
        let same = staged.get(&file.path) == Some(&file.oid) && !dirty.contains(&file.path);
        if same {
            // If a time cannot be set, that only costs a rebuild.
            let _ = copy_time(&checkout.join(&file.path), &workspace.join(&file.path));
        }
    }
    Ok(())
}

fn copy_time(from: &Path, to: &Path) -> std::io::Result<()> {
    let meta = from.symlink_metadata()?;
    let time = Timespec {
        tv_sec: meta.mtime(),
        tv_nsec: meta.mtime_nsec(),
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    Ok(utimensat(CWD, to, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// `100644 OID 0<tab>PATH`
fn index_entry(row: &[u8]) -> Option<(PathBuf, String)> {
    let tab = row.iter().position(|&b| b == b'\t')?;
    let head = std::str::from_utf8(&row[..tab]).ok()?;
    let oid = head.split(' ').nth(1)?;
    Some((crate::git::path_from(&row[tab + 1..]), oid.to_owned()))
}
