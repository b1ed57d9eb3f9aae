//! Resets a sandbox to a commit after saving its work.

use super::mend::clear_lock;
use super::record::Record;
use super::{Worktrees, gone, keep, refs, storage_problem};
use crate::git::{self, Call, IgnoredFiles, Location, Touches};
use drive_core::Problem;
use drive_core::ids::BranchName;
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
    // A stale lock would stop the next agent. A lock that is held fails the calls below.
    clear_lock(&admin.join("index.lock"), &at)?;
    if is_there(all, record, &at, &to) {
        return Ok(None);
    }
    let mut kept = keep::keep_after(all, record, &to)?;
    let call = || all.git.call_at(at.clone(), Touches::Files);
    if let Some(quit) = git::load_in_progress(&all.git, &at, admin)?.and_then(quitting) {
        call().args(quit).ok()?;
    }
    let safe: Vec<&str> = kept
        .iter()
        .map(|kept| kept.sha.as_str())
        .chain([to.as_str()])
        .collect();
    if let Some(branch) = branch_left_behind(all, record, &at, &safe)? {
        let forced = ["checkout", "--quiet", "--force"];
        call().args(forced).arg(branch.as_str()).arg("--").ok()?;
        let behind = keep::keep_after(all, record, &to)?;
        kept = kept.or(behind);
    }
    reset(record, &to, call)?;
    // A file that the work's own `.gitignore` covered is untracked only now.
    let uncovered = keep::keep_after(all, record, &to)?;
    kept = kept.or(uncovered);
    clean(all, record, &at)?;
    Ok(kept)
}

/// Whether the sandbox shows the commit and nothing else: the common case, told by two calls of git.
fn is_there(all: &Worktrees, record: &Record, at: &Location, to: &str) -> bool {
    let Some(branch) = &record.sandbox.branch else {
        return false;
    };
    let tip = refs::value_of(&all.git, at, &branch.full());
    tip.is_ok_and(|tip| tip.as_deref() == Some(to)) && keep::is_all_on_its_branch(all, record)
}

/// The sandbox's branch, where something else is checked out and the branch holds commits that none
/// of these has: they are not saved with the head.
fn branch_left_behind<'a>(
    all: &Worktrees,
    record: &'a Record,
    at: &Location,
    safe: &[&str],
) -> Result<Option<&'a BranchName>, Problem> {
    let Some(branch) = &record.sandbox.branch else {
        return Ok(None);
    };
    if git::head_branch(&all.git, at)?.as_ref() == Some(branch) {
        return Ok(None);
    }
    let Some(tip) = refs::value_of(&all.git, at, &branch.full())? else {
        return Ok(None);
    };
    for commit in safe {
        if git::is_ancestor(&all.git, at, &tip, commit)? {
            return Ok(None);
        }
    }
    Ok(Some(branch))
}

/// Removes the untracked files that are work, with the folders that are empty then.
fn clean(all: &Worktrees, record: &Record, at: &Location) -> Result<(), Problem> {
    let mut status = git::status(&all.git, at, None)?;
    let ignored = IgnoredFiles::of(&record.sandbox.brought);
    status.retain_work(|path| !ignored.covers(&at.dir, path));
    for path in &status.untracked {
        let file = at.dir.join(path);
        unlink(&file)?;
        for folder in path.ancestors().skip(1) {
            let is_top = folder.as_os_str().is_empty();
            if is_top || std::fs::remove_dir(at.dir.join(folder)).is_err() {
                break;
            }
        }
    }
    Ok(())
}

fn reset<'a>(record: &Record, to: &str, call: impl Fn() -> Call<'a>) -> Result<(), Problem> {
    let switch: Vec<OsString> = match &record.sandbox.branch {
        Some(branch) => ["-B".into(), branch.as_str().into(), to.into()].into(),
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

fn unlink(file: &Path) -> Result<(), Problem> {
    match std::fs::remove_file(file) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(storage_problem(file, &error)),
    }
}
