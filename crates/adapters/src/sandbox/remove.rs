//! Removes a sandbox: moves it aside, saves its work, removes its traces, and deletes its files
//! last.

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

/// Saves the work of a sandbox that was moved aside, and removes what is left of it.
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

/// The same, by somebody who holds the sandbox's lock and has seen the evidence.
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
    // What cannot be put right is found out, and said, when the work is saved.
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
        // Somebody who worked in it may have taken the right to move it away. What cannot be given
        // back shows when it is moved.
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

/// The work could not be saved: the sandbox stands again where it was.
fn put_back(all: &GitSandboxes, mut record: Record) -> Result<(), Problem> {
    let aside = all.trash.place(&record);
    rename(&aside, &record.sandbox.path)?;
    record.stage = Stage::Ready;
    all.records.save(&record)
}

/// Removes every trace but the files, which are left to the background.
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

/// Undoes a sandbox nobody has worked in.
pub(super) fn undo(all: &GitSandboxes, record: &Record) -> Result<(), Problem> {
    if let Some(process) = &record.process {
        all.git.end(process)?;
    }
    let path = &record.sandbox.path;
    if record.sandbox.git_dir.is_dir() {
        drop_refs(all, record)?;
    }
    // A folder that stands there without having been recorded was made in the moment before the crash,
    // or by somebody else: only one of ours is removed.
    if record.folder.is_none() || is_ours(all, record) {
        files::remove_tree(path).map_err(|error| storage_problem(path, &error))?;
    }
    all.records.delete(&record.sandbox.id)
}

/// Its work is saved in the user's repository: without that there is nowhere to save it.
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

/// Whether the folder is the one that was made.
fn is_ours(all: &GitSandboxes, record: &Record) -> bool {
    let found = folder_id(&all.folder_of(record)).found();
    found.is_some() && found == record.folder
}

/// The pins go; so does a branch of ours that nobody committed to.
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

/// Whether a ref stands in a file of its own and names another commit than the base. Every other
/// case is git's to tell.
fn points_elsewhere(record: &Record, name: &str) -> bool {
    let bytes = std::fs::read(record.sandbox.git_dir.join(name)).unwrap_or_default();
    let sha = bytes.trim_ascii_end();
    let is_sha =
        sha.len() == record.sandbox.base_sha.len() && sha.iter().all(u8::is_ascii_hexdigit);
    is_sha && sha != record.sandbox.base_sha.as_bytes()
}

/// Moves a folder; fine when it is not there, because it was moved before or deleted by hand.
fn rename(from: &Path, to: &Path) -> Result<(), Problem> {
    match std::fs::rename(from, to) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(storage_problem(from, &error)),
    }
}
