//! The mount namespace of a tree: hidden and protected paths, its own `/proc` and shared memory.

use super::super::sys::make_mounts_read_only;
use super::super::wire::Request;
use drive_engine::ports::Writes;
use rustix::fs::{CWD, StatVfsMountFlags, statvfs};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_bind,
    mount_change, mount_remount, move_mount, open_tree,
};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Where a private shared memory is mounted.
pub(super) const SHARED_MEMORY: &str = "/dev/shm";

/// Cuts the view off from the machine's: no mount of ours is seen outside.
pub(super) fn detach() -> io::Result<()> {
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    Ok(mount_change("/", flags)?)
}

/// A fresh `/proc`, so that pids mean the same in it as in the namespace. Refused in some
/// containers; the old one still works there, with the outer pids.
pub(super) fn mount_proc() -> io::Result<()> {
    Ok(mount("proc", "/proc", "proc", quiet(), None)?)
}

/// An empty shared memory of its own.
pub(super) fn mount_shared_memory() -> io::Result<()> {
    Ok(mount(
        "tmpfs",
        SHARED_MEMORY,
        "tmpfs",
        MountFlags::NOSUID | MountFlags::NODEV,
        None,
    )?)
}

/// Makes everything read-only but the writable folders. Landlock alone does not keep modes, owners
/// and times as they are; a read-only mount does.
pub(super) fn confine_writes(request: &Request) -> io::Result<()> {
    let Writes::Only(folders) = &request.writes else {
        return Ok(());
    };
    let mut writable = Vec::new();
    for folder in folders {
        // A place is found by its real name: mounting does not follow a last symbolic link.
        let folder = folder.canonicalize()?;
        if folder == Path::new("/") {
            return Ok(());
        }
        let tree = clone_tree(&folder).map_err(|e| named("keep writable", &folder, e))?;
        writable.push((folder, tree));
    }
    make_mounts_read_only()?;
    for (folder, tree) in &writable {
        move_mount(
            tree,
            "",
            CWD,
            folder,
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
        )
        .map_err(|e| named("keep writable", folder, e.into()))?;
    }
    Ok(())
}

/// A copy of the mounts at and below a path, not attached anywhere yet.
fn clone_tree(path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    Ok(open_tree(CWD, path, flags)?)
}

/// Hides and protects what the request names.
pub(super) fn mask(request: &Request) -> io::Result<()> {
    let kept = kept_visible(request);
    for path in &request.hidden {
        let Ok(path) = path.canonicalize() else {
            continue; // What does not exist is hidden already.
        };
        hide(&path, &kept).map_err(|error| named("hide", &path, error))?;
    }
    for path in &request.protected {
        let Ok(path) = path.canonicalize() else {
            continue;
        };
        protect(&path).map_err(|error| named("protect", &path, error))?;
    }
    Ok(())
}

fn named(step: &str, path: &Path, error: io::Error) -> io::Error {
    io::Error::other(format!("cannot {step} `{}`: {error}", path.display()))
}

/// What must stay reachable inside a hidden folder.
fn kept_visible(request: &Request) -> Vec<PathBuf> {
    let mut all = vec![request.cwd.clone()];
    all.extend(request.shown.iter().cloned());
    if let Writes::Only(folders) = &request.writes {
        all.extend(folders.iter().cloned());
    }
    let mut all: Vec<PathBuf> = all
        .iter()
        .filter_map(|path| path.canonicalize().ok())
        .collect();
    all.sort();
    all.dedup();
    all
}

/// A folder is covered by an empty one, a file by the null device. What must stay visible below is
/// taken off first and put back at the same place.
fn hide(path: &Path, kept: &[PathBuf]) -> io::Result<()> {
    if !path.is_dir() {
        return Ok(mount_bind("/dev/null", path)?);
    }
    if kept.iter().any(|keep| keep == path) {
        return Err(io::Error::other("it is to be used as well"));
    }
    let mut saved = Vec::new();
    for keep in kept.iter().filter(|keep| keep.starts_with(path)) {
        if !saved
            .iter()
            .any(|(outer, _, _): &(&PathBuf, OwnedFd, bool)| keep.starts_with(outer))
        {
            saved.push((keep, clone_tree(keep)?, keep.is_dir()));
        }
    }
    mount("tmpfs", path, "tmpfs", quiet(), Some(c"size=64k,mode=0755"))?;
    for (at, tree, is_folder) in &saved {
        make_place(at, *is_folder)?;
        move_mount(tree, "", CWD, *at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    }
    Ok(mount_remount(
        path,
        quiet() | MountFlags::RDONLY | MountFlags::BIND,
        c"",
    )?)
}

/// An empty folder or file to mount on.
fn make_place(at: &Path, is_folder: bool) -> io::Result<()> {
    if is_folder {
        return std::fs::create_dir_all(at);
    }
    if let Some(parent) = at.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::File::create(at).map(drop)
}

fn quiet() -> MountFlags {
    MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC
}

/// A mount of the path on itself, read-only. Flags the outer mount has cannot be taken away by an
/// ordinary user, so they are kept.
fn protect(path: &Path) -> io::Result<()> {
    mount_bind(path, path)?;
    let has = statvfs(path)?.f_flag;
    let mut flags = MountFlags::BIND | MountFlags::RDONLY;
    for (seen, keep) in [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ] {
        if has.contains(seen) {
            flags |= keep;
        }
    }
    Ok(mount_remount(path, flags, c"")?)
}
