//! Putting a sandbox back to a commit, with nothing lost.

use super::record::Record;
use super::{Worktrees, gone, keep, storage_problem};
use crate::git::{self, Call, Touches};
use drive_core::Problem;
use drive_core::sandbox::{InProgress, KeptWork, Stage};
use std::ffi::OsString;
use std::io;
use std::path::Path;

/// Saves what comes after `to`, then makes branch, index and files what they were there. Doing it
/// again finds nothing to save.
pub(super) fn roll_back(
    all: &Worktrees,
    record: &Record,
    to: &str,
) -> Result<Option<KeptWork>, Problem> {
    if record.stage != Stage::Ready {
        return Err(gone(&record.sandbox.id));
    }
    let at = all.location_of(record);
    let to = git::resolve(&all.git, &at, to)?;
    let admin = &record.sandbox.admin_dir;
    // Nobody works in the sandbox now: a lock was left by somebody who was killed.
    unlock(&admin.join("index.lock"))?;
    let kept = keep::keep_after(all, record, &to)?;
    let call = || all.git.call_at(at.clone(), Touches::Files);
    if let Some(quit) = git::in_progress(admin).and_then(quitting) {
        call().args(quit).ok()?;
    }
    reset(record, &to, call)?;
    let brought = record.sandbox.brought.iter();
    call()
        .args(["clean", "--quiet", "--force", "-d", "--", ":/"])
        .args(brought.flat_map(|one| git::excluded(&one.path)))
        .ok()?;
    Ok(kept)
}

fn reset<'a>(record: &Record, to: &str, call: impl Fn() -> Call<'a>) -> Result<(), Problem> {
    let switch: Vec<OsString> = match &record.sandbox.branch {
        Some(branch) => ["-B".into(), branch.into(), to.into()].into(),
        None => ["--detach".into(), to.into()].into(),
    };
    call()
        .args(["checkout", "--quiet", "--force", "--no-track"])
        .args(switch)
        .ok()
        .map(drop)
}

/// How an operation is forgotten. A merge is, with the checkout.
fn quitting(what: InProgress) -> Option<[&'static str; 2]> {
    match what {
        InProgress::Rebase => Some(["rebase", "--quit"]),
        InProgress::ApplyPatches => Some(["am", "--quit"]),
        InProgress::CherryPick => Some(["cherry-pick", "--quit"]),
        InProgress::Revert => Some(["revert", "--quit"]),
        InProgress::Merge => None,
    }
}

fn unlock(lock: &Path) -> Result<(), Problem> {
    match std::fs::remove_file(lock) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(storage_problem(lock, &error)),
    }
}
