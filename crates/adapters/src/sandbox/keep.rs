//! Saves the work of a sandbox that exists nowhere else.

use super::record::Record;
use super::repository::OwnRepository;
use super::sandboxes::GitSandboxes;
use super::saver::Saver;
use super::{elsewhere, kept, mend};
use crate::files;
use crate::git::{self, Location};
use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};
use drive_core::sandbox::{KeptAbout, KeptWork, Lifetime, Stage};
use std::io;

/// Saves what would be lost with the sandbox. Its branch, and the commits on it, remain.
pub(super) fn keep(all: &GitSandboxes, record: &Record) -> Result<Option<KeptWork>, Problem> {
    if record.sandbox.lifetime != Lifetime::Disposable && record.stage != Stage::Creating {
        let inside = all.inside(record);
        let head =
            mend::make_safe(all, record).and_then(|_| git::resolve(&all.git, &inside, "HEAD"));
        // Commits that cannot be moved to its branch are saved below.
        if let Ok(head) = head.and_then(|_| inert_head(all, record, &inside)) {
            let _ = git::bring_out(&all.git, &record.sandbox, &inside, &head);
        }
    }
    keep_unless(all, record, |saver| {
        let safe = git::unbranched(&all.git, &saver.users, saver.head()?);
        // A commit that the user's repository lacks is not safe there.
        Ok(safe.is_ok_and(|unsafe_ones| unsafe_ones.is_empty()))
    })
}

/// The checked out commit, after messages that trigger actions were made inert. A stopped run never
/// reaches this step, and one that continues trusts the commits on its branch. The task's own rules
/// are not known here.
fn inert_head(
    all: &GitSandboxes,
    record: &Record,
    inside: &Location,
) -> Result<CommitSha, Problem> {
    mend::make_inert(all, record, inside)?;
    git::resolve(&all.git, inside, "HEAD")
}

/// Saves what would be lost when the sandbox's branch is moved back to a commit.
pub(super) fn keep_after(
    all: &GitSandboxes,
    record: &Record,
    to: &str,
) -> Result<Option<KeptWork>, Problem> {
    keep_unless(all, record, |saver| {
        git::is_ancestor(&all.git, &saver.at, saver.head()?, to)
    })
}

/// Whether a sandbox has this commit checked out on its own branch, without changes.
pub(super) fn shows(all: &GitSandboxes, record: &Record, commit: &str) -> Result<bool, Problem> {
    let mut saver = Saver::new(all, record)?;
    let status = saver.survey()?;
    let is_finished = saver.in_progress()?.is_none() && !saver.has_autostash()?;
    let is_there = status.head.as_deref() == Some(commit) && status.branch == record.sandbox.branch;
    Ok(is_there && is_finished && status.is_clean())
}

/// Saves the work. If the commits of the sandbox cannot be transferred, its files are the work:
/// they are saved in a new repository.
fn keep_unless(
    all: &GitSandboxes,
    record: &Record,
    is_safe: impl Fn(&Saver<'_>) -> Result<bool, Problem>,
) -> Result<Option<KeptWork>, Problem> {
    let nobodys = record.sandbox.lifetime == Lifetime::Disposable;
    let folder = all.folder_of(record);
    // A link in its place leads to files outside of the sandbox.
    let is_there = folder.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    if nobodys || record.stage == Stage::Creating || !is_there {
        return Ok(None);
    }
    match keep_but(all, record, &is_safe) {
        Err(problem) if is_of_the_repository(&problem) => {
            let sandbox = drive_core::sandbox::Sandbox {
                path: folder,
                ..record.sandbox.clone()
            };
            let own = sandbox.path.join(".git");
            let aside = all.trash.repository_of(record);
            files::remove_tree(&aside)
                .and_then(|()| match std::fs::rename(&own, &aside) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                    moved => moved,
                })
                .map_err(|error| super::problems::storage_problem(&own, &error))?;
            let new = OwnRepository {
                git: &all.git,
                sandbox: &sandbox,
                checkout: &record.checkout,
                head: &sandbox.base_sha,
            };
            let kept = new
                .write()
                .and_then(|()| all.records.note_tips(&sandbox))
                .and_then(|()| keep_but(all, record, &is_safe));
            if kept.is_err() {
                // Restores the old state for the next attempt.
                let _ = files::remove_tree(&own).and_then(|()| std::fs::rename(&aside, &own));
            }
            kept
        }
        other => other,
    }
}

/// Whether git cannot work with the repository of a sandbox, so that only its files can be saved. If git was
/// killed or timed out, that shows nothing about the repository, and the sandbox remains.
fn is_of_the_repository(problem: &Problem) -> bool {
    [
        Kind::WorkRefused,
        Kind::IndexUnreadable,
        // Not even the base was found, which the user's repository contains.
        Kind::UnknownRevision,
    ]
    .contains(&problem.kind)
}

fn keep_but(
    all: &GitSandboxes,
    record: &Record,
    is_safe: &impl Fn(&Saver<'_>) -> Result<bool, Problem>,
) -> Result<Option<KeptWork>, Problem> {
    mend::make_safe(all, record)?;
    let mut saver = Saver::new(all, record)?;
    let status = saver.survey()?;
    let in_progress = saver.in_progress()?;
    let is_finished = in_progress.is_none() && !saver.has_autostash()?;
    let elsewhere = saver.elsewhere(&all.records.tips(&record.sandbox.id))?;
    if status.is_clean() && is_finished && elsewhere.is_empty() && is_safe(&saver)? {
        return Ok(None);
    }
    let sandbox = &record.sandbox;
    let head = saver.head()?;
    let _held = git::take(saver.git, sandbox, &saver.at, std::slice::from_ref(head))?;
    let own = sandbox.branch.as_ref();
    let unpushed = git::unpushed(
        &all.git,
        &saver.users,
        saver.head()?,
        own,
        &sandbox.base_sha,
    )?;
    let tree = saver.tree(&status)?;
    let mut parents = saver.parents(&tree, is_finished)?;
    let own_tree = saver.tree_of(saver.head()?)?;
    let time = sandbox.created_at;
    let more = elsewhere::joined(saver.git, &saver.at, &own_tree, time, &elsewhere)?;
    parents.extend(more);
    if let Some(same) = saver.already_kept(&tree, &parents)? {
        return Ok(Some(same));
    }
    let about = KeptAbout {
        run: sandbox.run.clone(),
        kept_at: all.clock.now(),
        branch: git::head_branch(&all.git, &saver.at)?,
        dirty_files: status.dirty_files(),
        unpushed_commits: count(unpushed.len()),
        in_progress,
    };
    let sha = git::commit_tree(&all.git, &saver.at, &tree, &parents, &about.message())?;
    let _held = git::take(saver.git, sandbox, &saver.at, std::slice::from_ref(&sha))?;
    let reference = kept::publish(saver.git, &saver.users, &sandbox.run, &sha)?;
    Ok(Some(KeptWork {
        reference,
        sha,
        about,
    }))
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
