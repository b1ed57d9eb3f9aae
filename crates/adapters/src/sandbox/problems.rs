//! Problems that several steps share.

use crate::files;
use drive_core::ids::SandboxId;
use drive_core::problem::{Kind, Problem};
use std::io;
use std::path::Path;

/// Refuses a link in place of a sandbox's folder.
pub(super) fn require_plain(path: &Path) -> Result<(), Problem> {
    match path.symlink_metadata() {
        Ok(meta) if !meta.is_dir() => Err(Problem::new(
            Kind::SandboxReplaced,
            format!("`{}` is no longer a plain folder", path.display()),
        )
        .hint("something replaced it; remove what is there")),
        Ok(_) | Err(_) => Ok(()),
    }
}

pub(super) fn gone(id: &SandboxId) -> Problem {
    Problem::new(
        Kind::SandboxGone,
        format!("sandbox `{id}` no longer exists"),
    )
    .hint("it was removed by hand; its commits are on its branch")
}

pub(super) fn root_problem(root: &Path, error: &io::Error) -> Problem {
    if files::is_full(root) {
        return disk_full(root);
    }
    Problem::new(
        Kind::SandboxRootUnusable,
        format!("cannot write to the sandbox folder `{}`", root.display()),
    )
    .because(error)
    .hint("make it writable, or set `sandbox.root` to another folder")
}

/// The problem of a failed access to one of drive's own files.
pub(super) fn storage_problem(path: &Path, error: &io::Error) -> Problem {
    if files::is_full(path) {
        return disk_full(path);
    }
    Problem::new(
        Kind::StorageFailed,
        format!("cannot use `{}`", path.display()),
    )
    .because(error)
    .hint("check whether the disk is mounted read-only and who owns the folder")
}

pub(super) fn disk_full(path: &Path) -> Problem {
    Problem::new(
        Kind::DiskFull,
        format!("the disk of `{}` is full", path.display()),
    )
    .hint("free some space, or set `sandbox.root` to another disk")
}
