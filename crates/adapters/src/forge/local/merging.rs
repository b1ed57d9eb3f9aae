//! Merges with a merge commit and without a worktree; a clean checkout of the base is updated.

use super::LocalForge;
use super::pulls::PullRow;
use crate::git::{
    Answer, Location, Touches, commit_tree, filters_of, in_progress, merge_tree, signed,
};
use crate::sandbox::lock::FileLock;
use drive_core::Problem;
use drive_core::forge::PrState;
use drive_core::ids::{BranchName, CommitSha, PrNumber, TreeSha};
use drive_engine::ports::{GoAhead, MergeOutcome};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many conflicting files a refusal lists.
const CONFLICTS_NAMED: usize = 5;

/// How often the list of worktrees is requested.
const LIST_RACES: usize = 20;

/// How long one merge waits for another merge in the same repository.
const MERGE_WAIT: Duration = Duration::from_secs(120);

/// How often a merge is tried while people move its base manually.
const MERGE_TRIES: usize = 5;

/// The result of one attempt to merge.
enum Attempt {
    Ended(MergeOutcome),
    /// The base moved since it was read; the next attempt starts from there.
    BaseMoved,
}

impl Attempt {
    fn refused(reason: String) -> Self {
        Self::Ended(refused(reason))
    }
}

/// The result of merging two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trial {
    /// The merged tree.
    Clean(String),
    /// These files conflict.
    Conflicts(Vec<String>),
    /// The commits have no common history.
    Unrelated,
}

/// The conditions of a merge.
#[derive(Clone, Copy, Debug)]
pub struct MergeTerms<'a> {
    /// The expected head.
    pub head: &'a CommitSha,
    /// The expected base; `None` accepts any.
    pub base: Option<&'a CommitSha>,
    /// The expected tree; `None` accepts any.
    pub tree: Option<&'a TreeSha>,
    /// A line for the merge message.
    pub note: Option<&'a str>,
}

impl LocalForge {
    /// Whether the current head can be merged into its current base.
    pub(super) fn mergeable(&self, row: &PullRow) -> Result<bool, Problem> {
        let Some(base) = self.tip(&row.base)? else {
            return Ok(false);
        };
        Ok(match self.try_merge(&base, &row.head_sha)? {
            Trial::Clean(_) => true,
            Trial::Conflicts(_) | Trial::Unrelated => false,
        })
    }

    /// Merges one pull request of the repository at a time: a second merge would find the checkout
    /// half-updated.
    pub fn merge_as(
        &self,
        pr: PrNumber,
        terms: &MergeTerms<'_>,
        go_ahead: &mut GoAhead<'_>,
    ) -> Result<MergeOutcome, Problem> {
        let name = format!("merge-{}.lock", self.repository);
        let path = self.database.path().with_file_name(name);
        let _turn = FileLock::acquire(&path, "merging a pull request", MERGE_WAIT)?;
        let mut outcome = self.merge_now(pr, terms, go_ahead)?;
        for _ in 1..MERGE_TRIES {
            let Attempt::BaseMoved = outcome else { break };
            outcome = self.merge_now(pr, terms, go_ahead)?;
        }
        Ok(match outcome {
            Attempt::Ended(outcome) => outcome,
            Attempt::BaseMoved => refused("its base moved during every attempt".to_owned()),
        })
    }

    /// The commit that merged a pull request into its base; `None` before that.
    pub fn merged_as(&self, pr: PrNumber) -> Result<Option<CommitSha>, Problem> {
        self.refresh()?;
        let row = self.require_pull(pr)?;
        Ok(row.merge_sha)
    }

    fn merge_now(
        &self,
        pr: PrNumber,
        terms: &MergeTerms<'_>,
        go_ahead: &mut GoAhead<'_>,
    ) -> Result<Attempt, Problem> {
        self.refresh()?;
        let row = self.require_pull(pr)?;
        match row.state {
            PrState::Merged => {
                return Ok(Attempt::Ended(MergeOutcome::Merged { sha: row.merge_sha }));
            }
            PrState::Closed => return Ok(Attempt::refused(format!("pull request {pr} is closed"))),
            PrState::Open => {}
        }
        if row.head_sha != *terms.head {
            return Ok(Attempt::Ended(MergeOutcome::HeadMoved));
        }
        if row.draft {
            return Ok(Attempt::refused(format!("pull request {pr} is a draft")));
        }
        let Some(base) = self.tip(&row.base)? else {
            return Ok(Attempt::refused(format!(
                "its base `{}` no longer exists",
                row.base
            )));
        };
        if base != row.base_sha && self.is_in(&row.head_sha, &base)? {
            // Somebody merged it manually between two reads; the next read finds that.
            return Ok(Attempt::BaseMoved);
        }
        if terms.base.is_some_and(|expected| **expected != *base) {
            return Ok(Attempt::Ended(MergeOutcome::BaseMoved));
        }
        let tree = match self.try_merge(&base, &row.head_sha)? {
            Trial::Clean(tree) => tree,
            Trial::Conflicts(files) => return Ok(Attempt::refused(conflict(&row, &files))),
            Trial::Unrelated => {
                let reason = format!("it shares no commit with `{}`", row.base);
                return Ok(Attempt::refused(reason));
            }
        };
        if terms.tree.is_some_and(|expected| expected.as_str() != tree) {
            let reason = "the merge result differs from the verified tree; verify it again";
            return Ok(Attempt::refused(reason.to_owned()));
        }
        let parents = [base.to_string(), row.head_sha.to_string()];
        let location = Location::checkout(&self.git_dir);
        let commit = commit_tree(
            &self.git,
            &location,
            &tree,
            &parents,
            &message(&row, terms.note),
        )?;
        let commit = signed(&self.git, &location, commit)?;
        if !go_ahead()? {
            return Ok(Attempt::Ended(MergeOutcome::Stopped));
        }
        match self.land(&row, &base, &commit)? {
            Some(_) if self.tip(&row.base)?.as_ref() != Some(&base) => Ok(Attempt::BaseMoved),
            Some(refusal) => Ok(Attempt::refused(refusal)),
            None => {
                self.note_merged(&row, &commit)?;
                Ok(Attempt::Ended(MergeOutcome::Merged { sha: Some(commit) }))
            }
        }
    }

    pub(super) fn try_merge(&self, base: &str, head: &str) -> Result<Trial, Problem> {
        let answer = merge_tree(self.contents(), base, head).run()?;
        let mut fields = answer
            .fields()
            .map(|field| String::from_utf8_lossy(field).into_owned());
        match (answer.code, fields.next()) {
            (0, Some(tree)) => Ok(Trial::Clean(tree)),
            (1, Some(_)) => Ok(Trial::Conflicts(fields.collect())),
            _ if self.meeting(base, head)?.is_none() => Ok(Trial::Unrelated),
            _ => Err(answer.problem()),
        }
    }

    /// The newest common commit of two commits.
    pub(super) fn meeting(&self, base: &str, head: &str) -> Result<Option<String>, Problem> {
        self.objects()
            .args(["merge-base", "--end-of-options", base, head])
            .optional_line()
    }

    /// Moves the base to the merge, if it is still at the expected commit. Returns a reason if it
    /// must not move.
    fn land(&self, row: &PullRow, old: &str, new: &str) -> Result<Option<String>, Problem> {
        match self.checkouts_of(&row.base)?.as_slice() {
            [] => self.move_ref(row, old, new),
            [checkout] => self.move_checkout(row, checkout, new),
            several => Ok(Some(format!(
                "its base `{}` is checked out in {} worktrees",
                row.base,
                several.len()
            ))),
        }
    }

    fn move_ref(&self, row: &PullRow, old: &str, new: &str) -> Result<Option<String>, Problem> {
        let moved = self
            .objects()
            .args(["update-ref", "--create-reflog", "-m"])
            .arg(format!("drive: merge pull request {}", row.number))
            .args([&row.base.full(), new, old])
            .run()?;
        Ok((moved.code != 0).then(|| base_moved(row)))
    }

    /// Updates the checkout as a fast-forward does: branch, index and files together, without
    /// overwriting the user's changes.
    fn move_checkout(
        &self,
        row: &PullRow,
        checkout: &Path,
        new: &str,
    ) -> Result<Option<String>, Problem> {
        let location = Location::checkout(checkout);
        if let Some(refusal) = self.refuse_checkout(row, &location, checkout, new)? {
            return Ok(Some(refusal));
        }
        let moved = self
            .git
            .call_at(location, Touches::Files)
            .args([
                "merge",
                "--ff-only",
                "--no-stat",
                "--no-autostash",
                "--quiet",
                new,
            ])
            .run()?;
        if moved.code == 0 {
            return Ok(None);
        }
        // Either the base moved meanwhile, or an untracked file is in the way. Git changed nothing.
        Ok(Some(format!(
            "cannot update the checkout of `{}` at `{}`: {}",
            row.base,
            checkout.display(),
            moved.complaint()
        )))
    }

    fn refuse_checkout(
        &self,
        row: &PullRow,
        location: &Location,
        checkout: &Path,
        new: &str,
    ) -> Result<Option<String>, Problem> {
        let at = format!(
            "its base `{}` is checked out at `{}`",
            row.base,
            checkout.display()
        );
        let git_dir = self
            .git
            .call_at(location.clone(), Touches::Objects)
            .args(["rev-parse", "--absolute-git-dir"])
            .ok()?
            .path();
        if let Some(what) = in_progress(&git_dir) {
            return Ok(Some(format!("{at} with a {} in progress", what.name())));
        }
        if self.has_changes(location)? {
            return Ok(Some(format!("{at} with uncommitted changes")));
        }
        let filters = filters_of(&self.git, location, new)?;
        Ok((!filters.is_empty()).then(|| {
            format!(
                "{at}, and its files use the filter `{}`, which drive does not run",
                filters.join("`, `")
            )
        }))
    }

    /// Whether a checkout has changes to tracked files. Untracked files matter only if the merge
    /// adds a file of the same name, which git refuses by itself.
    fn has_changes(&self, location: &Location) -> Result<bool, Problem> {
        let status = self
            .git
            .call_at(location.clone(), Touches::Files)
            .args(["status", "--porcelain=v2", "-z", "--untracked-files=no"])
            .arg("--ignore-submodules=none")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .ok()?;
        Ok(!status.stdout.is_empty())
    }

    /// The worktrees in which a branch is checked out.
    fn checkouts_of(&self, branch: &BranchName) -> Result<Vec<PathBuf>, Problem> {
        let answer = self.list_checkouts()?;
        let wanted = format!("branch {}", branch.full());
        let mut checkouts = Vec::new();
        let mut current = None;
        for field in answer.fields() {
            if let Some(path) = field.strip_prefix(b"worktree ") {
                current = Some(crate::git::path_from(path));
            } else if field == wanted.as_bytes() {
                checkouts.extend(current.take());
            }
        }
        Ok(checkouts)
    }

    /// Lists the worktrees. Git gives up if a worktree is being added at that moment, so the call
    /// is repeated.
    fn list_checkouts(&self) -> Result<Answer, Problem> {
        let list = || {
            let list = ["worktree", "list", "--porcelain", "-z"];
            self.objects().args(list).run()
        };
        let mut answer = list()?;
        for _ in 1..LIST_RACES {
            if answer.code == 0 {
                return Ok(answer);
            }
            answer = list()?;
        }
        Err(answer.problem())
    }

    fn note_merged(&self, row: &PullRow, commit: &str) -> Result<(), Problem> {
        self.write(|tx| {
            let at = self.tick(tx)?;
            tx.execute(
                "UPDATE local_pull_requests SET state = 'merged', merge_sha = ?3, updated_at = ?4
                 WHERE repository = ?1 AND number = ?2 AND state = 'open'",
                (self.repository, row.number.get(), commit, at),
            )
        })?;
        Ok(())
    }
}

fn refused(reason: String) -> MergeOutcome {
    MergeOutcome::Refused { reason }
}

fn base_moved(row: &PullRow) -> String {
    format!("its base `{}` moved at the same time; try again", row.base)
}

fn conflict(row: &PullRow, files: &[String]) -> String {
    let mut named: Vec<String> = files
        .iter()
        .filter(|file| !file.is_empty())
        .map(|file| format!("`{file}`"))
        .collect();
    named.dedup();
    let more = named.len().saturating_sub(CONFLICTS_NAMED);
    named.truncate(CONFLICTS_NAMED);
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!(
        "it conflicts with `{}` in {}{rest}",
        row.base,
        named.join(", ")
    )
}

fn message(row: &PullRow, note: Option<&str>) -> String {
    let note = note.map_or_else(String::new, |note| format!("\n{note}\n"));
    format!(
        "Merge pull request {} from {}\n\n{}\n{note}",
        row.number, row.branch, row.title
    )
}
