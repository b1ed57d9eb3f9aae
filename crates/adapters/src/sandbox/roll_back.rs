//! Resets a sandbox to a commit after saving its work.

use super::mend::{clear_lock, make_safe};
use super::problems::{gone, storage_problem};
use super::record::Record;
use super::sandboxes::GitSandboxes;
use super::{inside, keep, refs};
use crate::git::{self, Call, IgnoredFiles, Location, Touches};
use drive_core::Problem;
use drive_core::ids::{BranchName, CommitSha};
use drive_core::sandbox::{InProgress, KeptWork, Stage};
use std::ffi::OsString;

/// Saves what comes after `to`, then resets branch, index and files to it. A repetition finds
/// nothing to save.
pub(super) fn roll_back(
    all: &GitSandboxes,
    record: &Record,
    to: &CommitSha,
) -> Result<Option<KeptWork>, Problem> {
    if record.stage != Stage::Ready {
        return Err(gone(&record.sandbox.id));
    }
    make_safe(all, record)?;
    let at = all.inside(record);
    let taken = git::take(&all.git, &record.sandbox, &at, std::slice::from_ref(to));
    // A missing commit is reported as such.
    let _held =
        taken.or_else(|problem| git::resolve(&all.git, &at, to).and(Err::<_, Problem>(problem)))?;
    let own = record.sandbox.path.join(".git");
    // A stale lock would block the next agent. If a process holds it, the calls below fail.
    clear_lock(&own.join("index.lock"), &at)?;
    if keep::shows(all, record, to)? {
        git::put_branch(&all.git, &record.sandbox, to)?;
        return Ok(None);
    }
    let mut kept = keep::keep_after(all, record, to)?;
    let call = || all.git.call_at(at.clone(), Touches::Files);
    if let Some(quit) = git::load_in_progress(&all.git, &at, &own)?.and_then(quitting) {
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
        let behind = keep::keep_after(all, record, to)?;
        kept = kept.or(behind);
    }
    reset(record, to, call)?;
    // A file that the work's own `.gitignore` ignored is untracked only now.
    let uncovered = keep::keep_after(all, record, to)?;
    kept = kept.or(uncovered);
    clean(all, record, &at)?;
    git::put_branch(&all.git, &record.sandbox, to)?;
    Ok(kept)
}

/// The sandbox's branch, if something else is checked out and the branch contains commits that none
/// of these has: they are not saved with the head.
fn branch_left_behind<'a>(
    all: &GitSandboxes,
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

/// Removes the untracked files that count as work, and the folders that are then empty.
fn clean(all: &GitSandboxes, record: &Record, at: &Location) -> Result<(), Problem> {
    let mut status = git::status(&all.git, at, None)?;
    let ignored = IgnoredFiles::of(&record.sandbox.brought);
    status.retain_work(|path| !ignored.covers(&at.dir, path));
    for path in &status.untracked {
        inside::remove(&at.dir, path)
            .map_err(|error| storage_problem(&at.dir.join(path), &error))?;
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

/// The command that abandons an operation. A merge is abandoned with the checkout.
fn quitting(what: InProgress) -> Option<[&'static str; 2]> {
    match what {
        InProgress::Rebase => Some(["rebase", "--quit"]),
        InProgress::ApplyPatches => Some(["am", "--quit"]),
        InProgress::CherryPick => Some(["cherry-pick", "--quit"]),
        InProgress::Revert => Some(["revert", "--quit"]),
        InProgress::Merge => None,
    }
}
