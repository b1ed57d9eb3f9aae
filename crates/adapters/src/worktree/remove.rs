//! Removes a sandbox: moves it aside, saves its work, removes its traces, and deletes its files
//! last.

use super::evidence::{gather, refused};
use super::record::{Record, load_token};
use super::steps::Step;
use super::{Worktrees, keep, mend, refs, storage_problem};
use crate::files;
use crate::git::{self, Location};
use drive_core::Problem;
use drive_core::ids::SandboxId;
use drive_core::sandbox::{
    Asker, KeptWork, Probe, Refusal, Stage, Verdict, check_folder_name, may_remove,
};
use std::io;
use std::path::{Path, PathBuf};

/// Moves a sandbox aside.
pub(super) fn retire(all: &Worktrees, id: &SandboxId) -> Result<bool, Problem> {
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
pub(super) fn settle(all: &Worktrees, id: &SandboxId) -> Result<Option<KeptWork>, Problem> {
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
pub(super) fn settle_locked(all: &Worktrees, record: Record) -> Result<Option<KeptWork>, Problem> {
    let record = set_aside(all, record)?;
    let record = save_work(all, record)?;
    dismantle(all, &record)?;
    Ok(record.kept)
}

fn set_aside(all: &Worktrees, mut record: Record) -> Result<Record, Problem> {
    // What cannot be put right is found out, and said, when the work is saved.
    let _ = mend::mend_head(all, &record, None);
    if record.stage == Stage::Ready && record.sandbox.admin_dir.join("modules").is_dir() {
        // Submodules know their git folder by a relative path, which a move would break.
        return save_work(all, record);
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

fn save_work(all: &Worktrees, mut record: Record) -> Result<Record, Problem> {
    if record.stage == Stage::Kept {
        return Ok(record);
    }
    // With the git folder gone there is nothing to save from, and the branch is still there.
    if load_token(&record.sandbox.admin_dir) != Probe::Absent {
        match keep::keep(all, &record) {
            Ok(kept) => record.kept = kept,
            Err(problem) if record.stage == Stage::Ready => return Err(problem),
            Err(problem) => {
                put_back(all, record)?;
                return Err(problem);
            }
        }
    }
    all.steps.done(Step::WorkKept);
    record.stage = Stage::Kept;
    all.records.save(&record)?;
    all.steps.done(Step::KeptWritten);
    Ok(record)
}

/// The work could not be saved: the sandbox stands again where it was.
fn put_back(all: &Worktrees, mut record: Record) -> Result<(), Problem> {
    let aside = all.trash.place(&record);
    rename(&aside, &record.sandbox.path)?;
    record.stage = Stage::Ready;
    all.records.save(&record)
}

/// Removes every trace but the files, which are left to the background.
fn dismantle(all: &Worktrees, record: &Record) -> Result<(), Problem> {
    let aside = all.trash.place(record);
    let is_proven = load_token(&record.sandbox.admin_dir) == Probe::Found(record.token.clone());
    if is_proven && !aside.exists() {
        rename(&record.sandbox.path, &aside)?;
    }
    if record.sandbox.git_dir.is_dir() {
        let what = format!("removing sandbox `{}`", record.sandbox.id);
        let _lock = all.lock_repository(&record.sandbox.git_dir, &what)?;
        deregister(record)?;
        all.steps.done(Step::Deregistered);
        drop_refs(all, record)?;
        all.steps.done(Step::RefsDropped);
    }
    all.trash
        .mark_dead(&aside)
        .map_err(|error| storage_problem(&aside, &error))?;
    all.steps.done(Step::MarkedDead);
    all.records.delete(&record.sandbox.id)?;
    all.steps.done(Step::Forgotten);
    all.trash.empty_in_background(&aside);
    Ok(())
}

/// Undoes a sandbox nobody has worked in.
pub(super) fn undo(all: &Worktrees, record: &Record) -> Result<(), Problem> {
    if let Some(process) = &record.process {
        all.git.end(process)?;
    }
    let path = &record.sandbox.path;
    if record.sandbox.git_dir.is_dir() {
        let what = format!("undoing sandbox `{}`", record.sandbox.id);
        let _lock = all.lock_repository(&record.sandbox.git_dir, &what)?;
        deregister(record)?;
        drop_refs(all, record)?;
    }
    files::remove_tree(path).map_err(|error| storage_problem(path, &error))?;
    all.records.delete(&record.sandbox.id)
}

/// Removes the worktree's git folder: only ours, so never by a prune, which takes everybody's.
pub(super) fn deregister(record: &Record) -> Result<(), Problem> {
    let trash = record.sandbox.git_dir.join("drive-trash");
    for (number, admin) in own_admin_dirs(record)?.into_iter().enumerate() {
        let aside = trash.join(format!("{}-{number}", record.token));
        let moved = std::fs::create_dir_all(&trash)
            .and_then(|()| files::remove_tree(&aside))
            .and_then(|()| std::fs::rename(&admin, &aside));
        moved.map_err(|error| storage_problem(&admin, &error))?;
    }
    clear(&trash, &record.token).map_err(|error| storage_problem(&trash, &error))
}

/// Git folders with our token, and those of a half-made worktree that point at our folder.
fn own_admin_dirs(record: &Record) -> Result<Vec<PathBuf>, Problem> {
    let dir = record.sandbox.git_dir.join("worktrees");
    let entries = match std::fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(storage_problem(&dir, &error)),
    };
    let target = record.sandbox.path.join(".git");
    let is_ours = |admin: &PathBuf| match load_token(admin) {
        Probe::Found(token) => token == record.token,
        Probe::Absent => {
            record.stage == Stage::Creating
                && std::fs::read(admin.join("gitdir"))
                    .is_ok_and(|bytes| git::path_from(bytes.trim_ascii_end()) == target)
        }
        Probe::Failed(_) => false,
    };
    Ok(entries
        .flatten()
        .map(|entry| entry.path())
        .filter(is_ours)
        .collect())
}

fn clear(trash: &Path, token: &str) -> io::Result<()> {
    let entries = match std::fs::read_dir(trash) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(token) {
            files::remove_tree(&entry.path())?;
        }
    }
    // Another sandbox may be using it.
    let _ = std::fs::remove_dir(trash);
    Ok(())
}

/// The pin goes; so does a branch of ours that nobody committed to.
fn drop_refs(all: &Worktrees, record: &Record) -> Result<(), Problem> {
    let common = Location::bare(&record.sandbox.git_dir);
    refs::delete_any(&all.git, &common, &refs::pin_of(&record.sandbox.id))?;
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
