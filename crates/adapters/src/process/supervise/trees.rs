//! Mounts that are not attached yet.

use super::super::sys;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::mount::{MountAttrFlags, MoveMountFlags, OpenTreeFlags, move_mount, open_tree};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Opens the path itself, even if it is a link.
pub(super) const PATH: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// Attributes of every mount that drive makes: no privileged programs and no devices.
pub(super) fn harmless() -> MountAttrFlags {
    MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV
}

/// A copy of the mounts at and below a path, not attached yet. The path must be real: a link that
/// was put there meanwhile is not followed.
pub(super) fn clone_tree(path: &Path, attributes: u64) -> io::Result<OwnedFd> {
    let at = openat2(CWD, path, PATH, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    clone_at(&at, attributes)
}

pub(super) fn clone_at(at: &OwnedFd, attributes: u64) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    let tree = open_tree(at, "", flags)?;
    sys::set_mount_attributes(&tree, attributes, true)?;
    Ok(tree)
}

pub(super) fn attach(tree: &OwnedFd, at: &OwnedFd) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(tree, "", at, "", flags)?)
}
