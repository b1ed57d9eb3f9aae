//! Merges other people's commits into a sandbox's branch.

use super::World;
use super::publish::branch_deleted;
use crate::executor::Task;
use crate::ports::{Leftovers, Merged, Place};
use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{BranchAt, EffectResult, MergeWhen};
use drive_core::sandbox::Sandbox;
use std::path::PathBuf;

/// How many files an answer lists.
pub(super) const MOST_FILES: usize = 100;

/// One merge: its task, its sandbox and the merged branch.
pub(super) struct Merging<'a> {
    pub(super) task: &'a Task<'a>,
    pub(super) sandbox: &'a Sandbox,
    pub(super) from: &'a BranchAt,
    pub(super) base: Option<&'a BranchAt>,
}

impl Merging<'_> {
    fn place(&self) -> Place<'_> {
        Place::Sandbox(self.sandbox)
    }

    fn leftovers(&self) -> Leftovers {
        Leftovers {
            run: self.task.run.id.clone(),
            message: format!("Merge {}", self.from),
        }
    }
}

impl World<'_> {
    /// Merges. A repetition finds the merge done or in progress; if a killed attempt left anything
    /// between the two, it is saved and the merge starts again.
    pub(super) fn integrate(
        &self,
        merging: &Merging<'_>,
        when: MergeWhen,
        published: Option<&CommitSha>,
    ) -> Result<EffectResult, Problem> {
        let (place, from) = (merging.place(), merging.from);
        let mut state = self.history.state(place)?;
        if merging.task.claimed.attempt > 1 && state.in_progress.is_none() {
            self.sandboxes.roll_back(merging.sandbox, &state.head_sha)?;
            state = self.history.state(place)?;
        }
        let theirs = match (self.tip(place, from)?, &from.remote, published) {
            (Some(theirs), _, _) => theirs,
            (None, Some(remote), Some(_)) => return Err(branch_deleted(remote, &from.branch)),
            // The branch no longer exists anywhere, so there is nothing to merge.
            (None, _, _) => return self.integrated(merging),
        };
        if let Some(published) = published
            && state.in_progress.is_none()
            && !self.history.is_ancestor(place, published, &theirs)?
        {
            return self.replaced(merging, &theirs);
        }
        let ours = state.head_sha;
        if when == MergeWhen::Conflicting
            && state.in_progress.is_none()
            && self.history.conflicts(place, &ours, &theirs)?.is_empty()
        {
            return self.integrated(merging);
        }
        match self.history.merge(place, &theirs, &merging.leftovers())? {
            Merged::Done => self.integrated(merging),
            Merged::Conflicts { theirs, files } => Ok(conflicted(ours, theirs, &files)),
        }
    }

    /// Moves the sandbox to the other branch, after saving the work that this drops.
    fn replaced(&self, merging: &Merging<'_>, theirs: &CommitSha) -> Result<EffectResult, Problem> {
        let kept = self.sandboxes.roll_back(merging.sandbox, theirs)?;
        let base_sha = self.base_of(merging, theirs);
        let since = base_sha.as_ref().unwrap_or(&merging.sandbox.base_sha);
        let commits = self.history.commits(merging.place(), since, theirs)?;
        self.note_steering(merging.task, merging.place(), since, theirs)?;
        Ok(EffectResult::Replaced {
            head_sha: theirs.clone(),
            base_sha,
            commits,
            kept,
        })
    }

    pub(super) fn conclude_merge(
        &self,
        merging: &Merging<'_>,
        ours: &CommitSha,
        theirs: &CommitSha,
    ) -> Result<EffectResult, Problem> {
        let place = merging.place();
        let merged = self
            .history
            .conclude_merge(place, ours, theirs, &merging.leftovers())?;
        match merged {
            Merged::Done => {
                let rewritten = self.make_messages_inert(merging.task, merging.sandbox)?;
                let mut result = self.integrated(merging)?;
                let EffectResult::Integrated {
                    head_sha, warnings, ..
                } = &mut result
                else {
                    return Ok(result);
                };
                warnings.extend(rewritten);
                // An agent that switched branches merged something else.
                if !self.history.is_ancestor(place, theirs, head_sha)? {
                    return Err(not_merged(merging));
                }
                Ok(result)
            }
            Merged::Conflicts { theirs, files } => Ok(conflicted(ours.clone(), theirs, &files)),
        }
    }

    fn integrated(&self, merging: &Merging<'_>) -> Result<EffectResult, Problem> {
        let place = merging.place();
        let mut warnings = Vec::new();
        let state = self.history.state(place)?;
        if let Some(own) = &state.own {
            // Commits that others made meanwhile are found at the next commit.
            self.users_branch(merging.task, merging.sandbox, own, &mut warnings)?;
        }
        let head_sha = self.bring_to_branch(merging.sandbox, &state, &mut warnings)?;
        let started_at = &merging.sandbox.base_sha;
        let base_sha = self.base_of(merging, &head_sha);
        let base_sha = base_sha.or_else(|| merging.task.run.work.base_sha.clone());
        let since = base_sha.as_ref().unwrap_or(started_at);
        let commits = self.history.commits(place, since, &head_sha)?;
        self.note_steering(merging.task, place, since, &head_sha)?;
        Ok(EffectResult::Integrated {
            head_sha,
            base_sha,
            commits,
            warnings,
        })
    }

    /// The newest common commit of the work and the branch it goes to. If it cannot be determined,
    /// the earlier one stays.
    fn base_of(&self, merging: &Merging<'_>, head: &CommitSha) -> Option<CommitSha> {
        let place = merging.place();
        let tip = self.tip(place, merging.base?).ok()??;
        self.history.merge_base(place, head, &tip).ok()?
    }

    pub(super) fn tip(
        &self,
        place: Place<'_>,
        at: &BranchAt,
    ) -> Result<Option<CommitSha>, Problem> {
        match &at.remote {
            Some(remote) => self.history.fetch_branch(place, remote, &at.branch),
            None => Ok(self.history.resolve(place, &at.branch.full()).ok()),
        }
    }
}

fn conflicted(ours: CommitSha, theirs: CommitSha, files: &[PathBuf]) -> EffectResult {
    let shown = files.iter().take(MOST_FILES);
    EffectResult::Conflicted {
        ours,
        theirs,
        files: shown
            .map(|path| path.to_string_lossy().into_owned())
            .collect(),
    }
}

fn not_merged(merging: &Merging<'_>) -> Problem {
    Problem::new(
        Kind::NotMerged,
        format!("`{}` is not in the branch after the merge", merging.from),
    )
    .hint("merge it by hand; `drive kept list` shows what was tried")
}
