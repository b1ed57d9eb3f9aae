//! The state file of a phase, in a folder in which an agent works.
//!
//! The agent may have replaced the folder or the file by a link, a pipe or a huge file. So each
//! step starts from an open folder, follows no link, and reads a regular file up to a size limit.

use super::inside;
use super::problems::storage_problem;
use crate::files::FOLDER;
use drive_core::phase::{LONGEST_STATE_FILE, PhaseState, STATE_FILE, STATE_FOLDER};
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::FoundState;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

pub(super) fn write(sandbox: &Path, state: &PhaseState) -> Result<(), Problem> {
    let text = state.write()?;
    let Some(top) = open_sandbox(sandbox)? else {
        return Err(Problem::new(
            Kind::SandboxGone,
            format!("sandbox `{}` no longer exists", sandbox.display()),
        )
        .hint("it was removed by hand or by a cleanup; its commits are on its branch"));
    };
    let path = sandbox.join(STATE_FOLDER);
    match mkdirat(&top, STATE_FOLDER, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(storage_problem(&path, &error.into())),
    }
    let Some(folder) = open_folder(top.as_fd(), &path)? else {
        return Err(storage_problem(&path, &Errno::NOENT.into()));
    };
    // Each idle poll changes the poll interval. That does not justify waiting for the disk, which
    // would serialise a thousand phases.
    let known = read(sandbox).ok().flatten();
    let is_pace = known.is_some_and(|known| known.differs_only_in_pace(state));
    inside::replace(
        folder.as_fd(),
        STATE_FILE.as_ref(),
        text.as_bytes(),
        !is_pace,
    )
    .map_err(|error| storage_problem(&path.join(STATE_FILE), &error))
}

pub(super) fn read(sandbox: &Path) -> Result<Option<PhaseState>, Problem> {
    let Some(top) = open_sandbox(sandbox)? else {
        return Ok(None);
    };
    let path = sandbox.join(STATE_FOLDER);
    let Some(folder) = open_folder(top.as_fd(), &path)? else {
        return Ok(None);
    };
    let path = path.join(STATE_FILE);
    // Opening a pipe must not block until another process writes into it.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(&folder, STATE_FILE, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP | Errno::NXIO) => return Err(not_plain(&path, "file")),
        Err(error) => return Err(storage_problem(&path, &error.into())),
    };
    let failed = |error: io::Error| storage_problem(&path, &error);
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(not_plain(&path, "file"));
    }
    // One byte more than allowed is enough to detect a file that is too large.
    let mut bytes = Vec::new();
    file.take(LONGEST_STATE_FILE as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    PhaseState::read(&bytes).map(Some)
}

pub(super) fn list(root: &Path) -> Result<Vec<FoundState>, Problem> {
    let failed = |error: io::Error| storage_problem(root, &error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // Sandboxes that are about to be removed are in a hidden folder.
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if is_hidden || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let sandbox_path = entry.path();
        if let Some(state) = read(&sandbox_path).transpose() {
            found.push(FoundState {
                sandbox_path,
                state,
            });
        }
    }
    found.sort_by(|one, other| one.sandbox_path.cmp(&other.sandbox_path));
    Ok(found)
}

fn open_sandbox(path: &Path) -> Result<Option<OwnedFd>, Problem> {
    match openat(CWD, path, FOLDER, Mode::empty()) {
        Ok(folder) => Ok(Some(folder)),
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::LOOP | Errno::NOTDIR) => Err(not_plain(path, "folder")),
        Err(error) => Err(storage_problem(path, &error.into())),
    }
}

fn open_folder(top: BorrowedFd<'_>, path: &Path) -> Result<Option<OwnedFd>, Problem> {
    match openat(top, STATE_FOLDER, FOLDER, Mode::empty()) {
        Ok(folder) => Ok(Some(folder)),
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::LOOP | Errno::NOTDIR) => Err(not_plain(path, "folder")),
        Err(error) => Err(storage_problem(path, &error.into())),
    }
}

fn not_plain(path: &Path, wanted: &str) -> Problem {
    Problem::new(
        Kind::PhaseFileNotPlain,
        format!("`{}` is not a plain {wanted}", path.display()),
    )
    .hint("an agent replaced it; remove what is there")
}
