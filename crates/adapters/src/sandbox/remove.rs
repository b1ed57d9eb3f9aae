//! Removes a sandbox: moves it aside, saves its work, removes its refs and records, and deletes its
//! files last.

use super::evidence::{gather, refused};
use super::problems::storage_problem;
use super::record::{Record, folder_id};
use super::sandboxes::GitSandboxes;
use super::steps::Step;
use super::{keep, mend, refs};
use crate::files;
use crate::git::{self, Location};
use drive_core::ids::SandboxId;
use drive_core::problem::{Kind, Problem};
use drive_core::sandbox::{
    Asker, KeptWork, Lifetime, Probe, Refusal, Stage, Verdict, check_folder_name, may_remove,
};
use std::io;
use std::path::Path;

/// Moves a sandbox aside.
pub(super) fn retire(all: &GitSandboxes, id: &SandboxId) -> Result<bool, Problem> {
    check_folder_name(id)?;
    let _lock = all.lock_sandbox(id, "being removed")?;
    let loaded = all.records.load(id);
    match may_remove(&gather(all, &loaded), Asker::Command) {
        Verdict::Remove | Verdict::Forget => {}
        Verdict::Refuse(Refusal::NotOurs) if !all.root.join(id.as_str()).exists() => {
            return Ok(false);
        }
        Verdict::Refuse(refusal) => return Err(refused(id, &refusal)),
        Verdict::Undo => {
            return match loaded {
                Probe::Found(record) => undo(all, &record).map(|()| true),
                Probe::Absent | Probe::Failed(_) => Ok(false),
            };
        }
    }
    match loaded {
        Probe::Found(record) => set_aside(all, record).map(|_| true),
        Probe::Absent | Probe::Failed(_) => Ok(false),
    }
}

/// Saves the work of a sandbox that was moved aside, and removes the rest.
pub(super) fn settle(all: &GitSandboxes, id: &SandboxId) -> Result<Option<KeptWork>, Problem> {
    check_folder_name(id)?;
    let _lock = all.lock_sandbox(id, "being removed")?;
    let loaded = all.records.load(id);
    match may_remove(&gather(all, &loaded), Asker::Command) {
        Verdict::Remove | Verdict::Forget => {}
        Verdict::Refuse(Refusal::NotOurs) => return Ok(None),
        Verdict::Refuse(refusal) => return Err(refused(id, &refusal)),
        Verdict::Undo => {
            return match loaded {
                Probe::Found(record) => undo(all, &record).map(|()| None),
                Probe::Absent | Probe::Failed(_) => Ok(None),
            };
        }
    }
    match loaded {
        Probe::Found(record) => settle_locked(all, record),
        Probe::Absent | Probe::Failed(_) => Ok(None),
    }
}

/// Like `settle`, for a caller that holds the sandbox's lock and has checked the evidence.
pub(super) fn settle_locked(
    all: &GitSandboxes,
    record: Record,
) -> Result<Option<KeptWork>, Problem> {
    let record = set_aside(all, record)?;
    let record = save_work(all, record)?;
    dismantle(all, &record)?;
    Ok(record.kept)
}

fn set_aside(all: &GitSandboxes, mut record: Record) -> Result<Record, Problem> {
    let is_disposable = record.sandbox.lifetime == Lifetime::Disposable;
    if record.stage == Stage::Ready && !is_disposable && !record.sandbox.git_dir.is_dir() {
        return Err(repository_gone(&record));
    }
    // Defects that cannot be repaired are found and reported when the work is saved.
    if is_ours(all, &record) {
        let _ = mend::mend_repository(all, &record, None);
    }
    if record.stage == Stage::Ready {
        record.stage = Stage::Removing;
        all.records.save(&record)?;
        all.steps.done(Step::RemovalWritten);
    }
    if record.stage == Stage::Removing {
        let aside = all.trash.place(&record);
        // An agent may have removed the permission to move the folder. If it cannot be restored,
        // the move reports it.
        let _ = files::make_usable(&record.sandbox.path);
        rename(&record.sandbox.path, &aside)?;
        all.steps.done(Step::MovedAside);
    }
    Ok(record)
}

fn save_work(all: &GitSandboxes, mut record: Record) -> Result<Record, Problem> {
    if record.stage == Stage::Kept {
        return Ok(record);
    }
    match keep::keep(all, &record) {
        Ok(kept) => record.kept = kept,
        Err(problem) => {
            put_back(all, record)?;
            return Err(problem);
        }
    }
    all.steps.done(Step::WorkKept);
    record.stage = Stage::Kept;
    all.records.save(&record)?;
    all.steps.done(Step::KeptWritten);
    Ok(record)
}

/// Moves the sandbox back to its place, because its work could not be saved.
fn put_back(all: &GitSandboxes, mut record: Record) -> Result<(), Problem> {
    let aside = all.trash.place(&record);
    rename(&aside, &record.sandbox.path)?;
    record.stage = Stage::Ready;
    all.records.save(&record)
}

/// Removes everything except the files, which are deleted in the background.
fn dismantle(all: &GitSandboxes, record: &Record) -> Result<(), Problem> {
    let aside = all.trash.place(record);
    if !aside.exists() && is_ours(all, record) {
        rename(&record.sandbox.path, &aside)?;
    }
    if record.sandbox.git_dir.is_dir() {
        drop_refs(all, record)?;
        all.steps.done(Step::RefsDropped);
    }
    for remains in [&aside, &all.trash.repository_of(record)] {
        all.trash
            .mark_dead(remains)
            .map_err(|error| storage_problem(remains, &error))?;
    }
    all.steps.done(Step::MarkedDead);
    all.records.delete(&record.sandbox.id)?;
    all.steps.done(Step::Forgotten);
    all.trash.empty_in_background(&aside);
    Ok(())
}

/// Undoes the creation of a sandbox in which no agent has worked.
pub(super) fn undo(all: &GitSandboxes, record: &Record) -> Result<(), Problem> {
    if let Some(process) = &record.process {
        all.git.end(process)?;
    }
    let path = &record.sandbox.path;
    if record.sandbox.git_dir.is_dir() {
        drop_refs(all, record)?;
    }
    // A folder without a record was created just before the crash, or by another program: only
    // drive's own folder is removed.
    if record.folder.is_none() || is_ours(all, record) {
        files::remove_tree(path).map_err(|error| storage_problem(path, &error))?;
    }
    all.records.delete(&record.sandbox.id)
}

/// The problem of a missing user repository: without it, the work cannot be saved.
fn repository_gone(record: &Record) -> Problem {
    Problem::new(
        Kind::WorkCannotBeKept,
        format!(
            "sandbox `{}` is not removed: its repository `{}` is gone",
            record.sandbox.id,
            record.sandbox.git_dir.display()
        ),
    )
    .hint(format!(
        "copy what you need out of `{}`, then delete it",
        record.sandbox.path.display()
    ))
}

/// Whether the folder is the one that drive created.
fn is_ours(all: &GitSandboxes, record: &Record) -> bool {
    let found = folder_id(&all.folder_of(record)).found();
    found.is_some() && found == record.folder
}

/// Deletes the pins, and a branch that drive created if nobody committed to it.
fn drop_refs(all: &GitSandboxes, record: &Record) -> Result<(), Problem> {
    let common = Location::bare(&record.sandbox.git_dir);
    let id = &record.sandbox.id;
    let pins = [git::pin_of(id), git::head_of(id), git::theirs_of(id)];
    refs::delete_any(&all.git, &common, &pins)?;
    if let (true, Some(branch)) = (record.owns_branch, &record.sandbox.branch) {
        let full = branch.full();
        if points_elsewhere(record, &full) {
            return Ok(());
        }
        refs::delete(&all.git, &common, &full, Some(&record.sandbox.base_sha))?;
    }
    Ok(())
}

/// Whether a ref is stored in its own file and points to another commit than the base. In every
/// other case git decides.
fn points_elsewhere(record: &Record, name: &str) -> bool {
    let bytes = std::fs::read(record.sandbox.git_dir.join(name)).unwrap_or_default();
    let sha = bytes.trim_ascii_end();
    let is_sha =
        sha.len() == record.sandbox.base_sha.len() && sha.iter().all(u8::is_ascii_hexdigit);
    is_sha && sha != record.sandbox.base_sha.as_bytes()
}

/// Moves a folder. A missing folder is fine: it was moved before, or deleted by hand.
fn rename(from: &Path, to: &Path) -> Result<(), Problem> {
    match std::fs::rename(from, to) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(storage_problem(from, &error)),
    }
}
