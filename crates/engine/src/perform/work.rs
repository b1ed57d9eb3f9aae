//! Collects the work that an agent left in its sandbox.

use super::World;
use super::publish::branch_exists;
use crate::executor::Task;
use crate::ports::{
    LargeFile, Leftovers, NestedRepository, OwnBranch, Place, UsersBranch, WorkState,
};
use drive_core::ids::{BranchName, CommitSha, RemoteName, SandboxId};
use drive_core::problem::{Kind, Problem};
use drive_core::review::{Change, MOST_PARTS, shown, shown_in_parts};
use drive_core::run::{ChangedLines, EffectResult, Flow, RoundStep, Run, Stage};
use drive_core::sandbox::{Lifetime, Sandbox};
use std::path::Path;

/// How many bytes of a change one reviewer gets; a longer change is divided among several.
const DIFF_BYTES: usize = 128 * 1024;
/// The longest diff since the last review.
const SINCE_BYTES: usize = 64 * 1024;
/// The maximum numbers of files and hunks whose changed lines are reported.
const MEASURED_FILES: usize = 300;
const MEASURED_HUNKS: usize = 1_000;
/// The maximum size of a file that a run reads, in bytes.
const FILE_BYTES: u64 = 4 * 1024 * 1024;
/// The file in which a repository marks files that nobody writes.
const ATTRIBUTES: &str = ".gitattributes";
const SHORT: usize = 8;
/// How many names are tried before a person is asked for one.
const MOST_NAMES: u32 = 50;

impl World<'_> {
    /// Commits uncommitted changes and reports the commits of the run's branch. A repetition finds
    /// nothing to commit, and reports the same.
    pub(super) fn commit_work(
        &self,
        task: &Task<'_>,
        id: &SandboxId,
        message: &str,
        since: &[CommitSha],
    ) -> Result<EffectResult, Problem> {
        // If the folder is missing right after its only agent, the agent removed it as part of its
        // work. A persistent sandbox is restored instead.
        let mut sandbox = self.known_sandbox(task, id)?;
        if task.claimed.attempt > 1 || sandbox.lifetime == Lifetime::Persistent {
            sandbox = self.require_sandbox(task, id)?;
        }
        let place = Place::Sandbox(&sandbox);
        let head = task.run.work.head_sha.as_ref();
        let mut warnings = self.sandboxes.mend(&sandbox, head)?;
        let leftovers = Leftovers {
            run: task.run.id.clone(),
            message: message.to_owned(),
        };
        let base = task.run.work.base_sha.as_ref();
        let base = base.unwrap_or(&sandbox.base_sha);
        warnings.extend(self.make_messages_inert(task, &sandbox)?);
        let work = self.history.collect_work(place, &leftovers, base)?;
        warnings.extend(work.large.iter().map(describe_large));
        warnings.extend(work.nested.iter().map(describe_nested));
        if let Some(what) = work.state.in_progress {
            warnings.push(format!(
                "the agent left a {} unfinished: its files are saved, not committed",
                what.name()
            ));
        }
        if let Some(own) = &work.state.own
            && let Some(moved) = self.users_branch(task, &sandbox, own, &mut warnings)?
        {
            return Ok(moved);
        }
        let head_sha = self.bring_to_branch(&sandbox, &work.state, &mut warnings)?;
        let is_astray = work.state.in_progress.is_some() || work.state.branch != sandbox.branch;
        let kind = task.run.request.as_ref().map(|request| &request.kind);
        // Other agents work in a phase's sandbox next; a spawn's sandbox is removed.
        if is_astray && kind.is_some_and(|kind| kind.phase_terms().is_some()) {
            let kept = self.sandboxes.roll_back(&sandbox, &head_sha)?;
            warnings.extend(kept.map(|kept| {
                format!(
                    "what the agent left elsewhere is saved as `{}`",
                    kept.reference
                )
            }));
        }
        let (commits, builds_on_base) = if head_sha == work.state.head_sha {
            (work.commits, work.builds_on_base)
        } else {
            (
                self.history.commits(place, base, &head_sha)?,
                self.history.is_ancestor(place, base, &head_sha)?,
            )
        };
        if !builds_on_base {
            // A person may have rewritten the branch earlier: then the run continues from their commits.
            let begun = task.run.work.head_sha.as_ref().unwrap_or(base);
            let is_theirs = begun != base && self.history.is_ancestor(place, begun, &head_sha)?;
            if !is_theirs {
                warnings.push(self.rewritten(&sandbox, base, &head_sha, commits.is_empty())?);
            }
        }
        self.note_steering(task, place, base, &head_sha)?;
        let changed = since.iter();
        let changed = changed.filter_map(|since| self.changed_lines(place, since, &head_sha));
        Ok(EffectResult::WorkCommitted {
            changed: changed.collect(),
            head_sha,
            commits,
            warnings,
        })
    }

    /// The lines changed since a commit; `None` if unknown, for example because the commit is gone.
    /// This is only a measurement, so it never fails.
    fn changed_lines(
        &self,
        place: Place<'_>,
        since: &CommitSha,
        head: &CommitSha,
    ) -> Option<ChangedLines> {
        let change = self.history.diff(place, since, head).ok()?;
        Some(lines_of(since, change))
    }

    /// Makes the messages of the agent's own commits inert. Returns how many were changed.
    pub(super) fn make_messages_inert(
        &self,
        task: &Task<'_>,
        sandbox: &Sandbox,
    ) -> Result<Option<String>, Problem> {
        let base = task.run.work.base_sha.as_ref();
        let base = base.unwrap_or(&sandbox.base_sha);
        let said = task.run.said();
        let request = task.run.request.as_ref();
        let remote = request.and_then(|request| request.publish.remote());
        let count = self
            .history
            .make_messages_inert(sandbox, base, &said, remote)?;
        let plural = if count == 1 { "" } else { "s" };
        Ok((count > 0).then(|| {
            format!(
                "the agent wrote {count} commit message{plural} with mentions or commands to the \
                 forge: drive rewrote them"
            )
        }))
    }

    /// Checks whether the user's branch could follow. If the run's branch is pushed to a remote,
    /// the local branch is the user's. Otherwise it is what the pull request shows: new commits on
    /// it are merged, and if it is checked out, drive waits.
    pub(super) fn users_branch(
        &self,
        task: &Task<'_>,
        sandbox: &Sandbox,
        own: &OwnBranch,
        warnings: &mut Vec<String>,
    ) -> Result<Option<EffectResult>, Problem> {
        let Some(branch) = &sandbox.branch else {
            return Ok(None);
        };
        let tip = &own.tip;
        match (&own.users, is_pushed(task)) {
            (UsersBranch::Follows, _) => Ok(None),
            (UsersBranch::CheckedOut { folder }, true) => {
                warnings.push(format!(
                    "branch `{branch}` is checked out at `{folder}` and was not moved there; to \
                     update it: `git -C '{folder}' merge --ff-only {tip}`"
                ));
                Ok(None)
            }
            (UsersBranch::Moved { to }, true) => {
                warnings.push(format!(
                    "branch `{branch}` has other commits here ({to}) and was not moved; the run's \
                     are at {tip}"
                ));
                Ok(None)
            }
            (UsersBranch::CheckedOut { folder }, false) => Err(Problem::new(
                Kind::BranchInUse,
                format!(
                    "branch `{branch}` is checked out at `{folder}`, so drive does not move it to \
                     {tip}"
                ),
            )
            .hint(format!(
                "check out another branch there: `git -C '{folder}' switch -`"
            ))),
            (UsersBranch::Moved { to }, false) => Ok(Some(EffectResult::BranchMoved {
                remote_head: Some(to.clone()),
            })),
        }
    }

    /// A warning about a branch that no longer contains its base commit. A branch whose existing
    /// commits were replaced is refused, because it would revert other people's work.
    fn rewritten(
        &self,
        sandbox: &Sandbox,
        base: &str,
        head: &str,
        is_empty: bool,
    ) -> Result<String, Problem> {
        let branch = sandbox.branch.as_deref().unwrap_or("HEAD");
        let base_name = base.get(..SHORT).unwrap_or(base);
        let meets = self
            .history
            .merge_base(Place::Sandbox(sandbox), base, head)?;
        let what = match (meets, is_empty) {
            (Some(_), true) => {
                return Ok(format!(
                    "the agent reset `{branch}` to a commit before `{base_name}`"
                ));
            }
            (Some(_), false) => "existing commits",
            (None, _) => "the whole history",
        };
        Err(Problem::new(
            Kind::HistoryUnrelated,
            format!("the agent rewrote {what}: `{branch}` does not contain `{base_name}`"),
        )
        .hint("its work is saved when the sandbox is removed: `drive kept list`"))
    }

    /// Reads one file of a commit.
    pub(super) fn read_file(
        &self,
        task: &Task<'_>,
        id: &SandboxId,
        commit: &str,
        path: &str,
    ) -> Result<EffectResult, Problem> {
        let sandbox = self.require_sandbox(task, id)?;
        let place = Place::Sandbox(&sandbox);
        if is_applying(task.run) {
            let text = self.exact_file(place, commit, path)?;
            return Ok(EffectResult::FileRead { text });
        }
        let text = self.history.read_file(place, commit, path, FILE_BYTES)?;
        Ok(EffectResult::FileRead { text })
    }

    /// A file of a commit that will be written back: unchanged, or not at all. A link, a file that
    /// is not UTF-8, and text that would be redacted cannot be written back.
    fn exact_file(
        &self,
        place: Place<'_>,
        commit: &str,
        path: &str,
    ) -> Result<Option<String>, Problem> {
        let mut found = self
            .history
            .plain_files(place, commit, &[path], FILE_BYTES)?;
        let text = found.pop().map(|(_, text)| text);
        let secrets = self.secrets.secrets();
        let is_exact = |text: &String| !text.contains('\u{fffd}') && secrets.redact(text) == *text;
        Ok(text.filter(is_exact))
    }

    /// The changes of the branch, and the changes since a commit, as far as an agent can be shown
    /// them. That commit may be gone if somebody rewrote the branch.
    pub(super) fn read_diff(
        &self,
        task: &Task<'_>,
        id: &SandboxId,
        (base, head): (&CommitSha, &CommitSha),
        since: Option<&CommitSha>,
    ) -> Result<EffectResult, Problem> {
        let sandbox = self.require_sandbox(task, id)?;
        let place = Place::Sandbox(&sandbox);
        let marked = self.history.read_file(place, base, ATTRIBUTES, FILE_BYTES);
        let marked = marked.ok().flatten().unwrap_or_default();
        let diff = |from: &CommitSha| -> Result<Change, Problem> {
            let mut change = self.history.diff(place, from, head)?;
            change.fold_marked(&marked);
            Ok(change)
        };
        let change = diff(base)?;
        let later = since.and_then(|since| diff(since).ok());
        let mut parts = shown_in_parts(&change, DIFF_BYTES, MOST_PARTS).into_iter();
        Ok(EffectResult::DiffRead {
            diff: parts.next().unwrap_or_default(),
            parts: parts.collect(),
            quotes: change.quotes().to_owned(),
            is_cut: change.has_unknown_lines(),
            lines: change.into_lines(),
            since: later.as_ref().map(|later| shown(later, SINCE_BYTES)),
            changed: since
                .zip(later)
                .map(|(since, later)| lines_of(since, later)),
        })
    }

    /// Chooses the wanted name or, unless a person asked for it, the first numbered name that is free locally
    /// and on the remote. If an earlier attempt of this run created the branch, its sandbox exists already.
    pub(super) fn choose_branch(
        &self,
        task: &Task<'_>,
        wanted: &BranchName,
        exact: bool,
        remote: Option<&RemoteName>,
    ) -> Result<EffectResult, Problem> {
        let repo = task
            .run
            .request
            .as_ref()
            .map_or(Path::new("."), |request| request.repo.as_path());
        let place = Place::Checkout(repo);
        for number in 1..=MOST_NAMES {
            let branch = match number {
                1 => wanted.clone(),
                _ => wanted.numbered(number),
            }
            .for_new()?;
            let is_here = self.history.resolve(place, &branch.full()).is_ok();
            let is_there = match remote {
                Some(remote) if !is_here => {
                    self.history.remote_head(place, remote, &branch)?.is_some()
                }
                Some(_) | None => false,
            };
            if !is_here && !is_there {
                return Ok(EffectResult::BranchChosen { branch });
            }
            if exact {
                return Err(branch_exists(&branch, remote.filter(|_| is_there)));
            }
        }
        Err(Problem::new(
            Kind::BranchTaken,
            format!("branch `{wanted}` and {MOST_NAMES} similar names are taken"),
        )
        .hint("pass `--branch` with another name"))
    }

    /// The tip of the run's branch. If the agent switched to another branch or to none, its commits
    /// are moved to the run's branch, if that is a fast-forward.
    pub(super) fn bring_to_branch(
        &self,
        sandbox: &Sandbox,
        state: &WorkState,
        warnings: &mut Vec<String>,
    ) -> Result<CommitSha, Problem> {
        let place = Place::Sandbox(sandbox);
        let head = &state.head_sha;
        let Some(branch) = &sandbox.branch else {
            return Ok(head.clone());
        };
        if state.branch.as_ref() == Some(branch) {
            return Ok(head.clone());
        }
        let tip = match &state.own {
            Some(own) => own.tip.clone(),
            None => self.history.resolve(place, &branch.full())?,
        };
        let elsewhere = state.branch.as_deref().unwrap_or("no branch");
        if state.in_progress.is_none() && self.history.is_ancestor(place, &tip, head)? {
            self.history.advance_branch(place, branch, &tip, head)?;
            warnings.push(format!(
                "the agent switched to {elsewhere}; its commits are now on `{branch}`"
            ));
            return Ok(head.clone());
        }
        warnings.push(format!(
            "the agent ended on {elsewhere}, which does not contain `{branch}`; its work there \
             is saved separately"
        ));
        Ok(tip)
    }
}

/// Whether the run's branch is pushed to a remote.
pub(super) fn is_pushed(task: &Task<'_>) -> bool {
    let request = task.run.request.as_ref();
    request.is_some_and(|request| request.publish.remote().is_some())
}

fn describe_nested(nested: &NestedRepository) -> String {
    let path = nested.path.display();
    if nested.is_committed {
        format!("`{path}` was a nested repository: its files are committed, its history is not")
    } else {
        format!("`{path}` is a clone: it is not committed")
    }
}

fn describe_large(file: &LargeFile) -> String {
    format!(
        "`{}` has {} MB; GitHub warns over 50 MB and refuses files over 100 MB",
        file.path.display(),
        file.bytes / 1_000_000
    )
}

/// The lines that the changes since a commit touch.
fn lines_of(since: &CommitSha, change: Change) -> ChangedLines {
    let (files, is_cut) = change.into_edits(MEASURED_FILES, MEASURED_HUNKS);
    ChangedLines {
        since: since.clone(),
        files,
        is_cut,
    }
}

/// Whether the run is applying a suggestion to a file.
fn is_applying(run: &Run) -> bool {
    let Flow::Phase { phase } = &run.flow else {
        return false;
    };
    matches!(&phase.stage, Stage::Working { round } if matches!(round.step, RoundStep::Apply { .. }))
}
