//! Updates pull requests from the branches in git.
//!
//! Git does not notify the forge of commits, pushes and manual merges, so every operation refreshes
//! first.

use super::LocalForge;
use super::merging::Trial;
use super::pulls::PullRow;
use super::sql_text::SqlText;
use drive_core::Problem;
use drive_core::forge::PrState;
use drive_core::ids::{BranchName, CommitSha};
use std::collections::{BTreeMap, BTreeSet};

/// How many merge commits are searched for the one that merged a branch.
const MERGES_READ: &str = "--max-count=10000";

/// How many new commits of a base are searched for a manual squash merge. If the squash is older,
/// its pull request stays open.
const SQUASHES_TRIED: &str = "--max-count=20";

/// How many branch names are passed to one git call.
const MOST_NAMES: usize = 50;

/// How the branches of an open pull request changed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum BranchChange {
    /// Its head or base moved.
    Moved { head: CommitSha, base: CommitSha },
    /// The base now contains its head.
    Merged {
        head: CommitSha,
        commit: Option<CommitSha>,
    },
}

impl LocalForge {
    /// Updates every open pull request from its branches.
    pub(super) fn refresh(&self) -> Result<(), Problem> {
        let open = self.read(|tx| self.load_rows(tx, "state = 'open'", &[]))?;
        if open.is_empty() {
            return Ok(());
        }
        let names = open.iter().flat_map(|row| [&row.branch, &row.base]);
        let tips = self.tips(names.collect())?;
        for row in &open {
            if let Some(change) = self.branch_change(row, &tips)? {
                self.store_change(row, &change)?;
            }
        }
        Ok(())
    }

    /// The commit a branch points at.
    pub(super) fn tip(&self, branch: &BranchName) -> Result<Option<CommitSha>, Problem> {
        self.tips(BTreeSet::from([branch]))
            .map(|mut tips| tips.remove(branch))
    }

    /// The commits of these branches; missing branches are left out.
    fn tips(
        &self,
        branches: BTreeSet<&BranchName>,
    ) -> Result<BTreeMap<BranchName, CommitSha>, Problem> {
        // Git compares every branch with every name, so for many names all branches are read.
        let names: Vec<String> = if branches.len() > MOST_NAMES {
            vec!["refs/heads/".to_owned()]
        } else {
            branches.iter().map(|branch| branch.full()).collect()
        };
        let answer = self
            .objects()
            .args(["for-each-ref", "--format=%(objectname) %(refname)"])
            .args(names)
            .ok()?;
        let text = String::from_utf8_lossy(&answer.stdout);
        Ok(text
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter_map(|(sha, full)| Some((BranchName::of_ref(full)?, CommitSha::parse(sha)?)))
            .filter(|(branch, _)| branches.contains(branch))
            .collect())
    }

    fn branch_change(
        &self,
        row: &PullRow,
        tips: &BTreeMap<BranchName, CommitSha>,
    ) -> Result<Option<BranchChange>, Problem> {
        let (last_head, last_base) = (&row.head_sha, &row.base_sha);
        let head = tips.get(&row.branch).unwrap_or(last_head);
        let base = tips.get(&row.base).unwrap_or(last_base);
        if (head, base) == (last_head, last_base) {
            return Ok(None);
        }
        // A branch that was reset to its base is also contained in it; but then the base lacks its
        // earlier head, and nothing was merged.
        let merged = base != last_base
            && self.is_in(head, base)?
            && (head == last_head || self.is_in(last_head, base)?);
        if merged {
            let commit = self.merge_of(head, base)?;
            return Ok(Some(BranchChange::Merged {
                head: head.clone(),
                commit,
            }));
        }
        let squash = if base != last_base {
            self.squash_of(head, last_base, base)?
        } else {
            None
        };
        Ok(Some(match squash {
            Some(commit) => BranchChange::Merged {
                head: head.clone(),
                commit: Some(commit),
            },
            None => BranchChange::Moved {
                head: head.clone(),
                base: base.clone(),
            },
        }))
    }

    /// Stores a change, unless another process already stored a newer one.
    fn store_change(&self, row: &PullRow, change: &BranchChange) -> Result<(), Problem> {
        let (state, head, base, commit) = match change {
            BranchChange::Moved { head, base } => (PrState::Open, head, base, None),
            BranchChange::Merged { head, commit } => {
                (PrState::Merged, head, &row.base_sha, commit.as_ref())
            }
        };
        let is_news = state != row.state || *head != row.head_sha;
        self.write(|tx| {
            let at = if is_news {
                self.tick(tx)?
            } else {
                row.updated_at
            };
            tx.execute(
                "UPDATE local_pull_requests
                 SET state = ?4, head_sha = ?5, base_sha = ?6, merge_sha = ?7,
                     updated_at = max(updated_at, ?8)
                 WHERE repository = ?1 AND number = ?2 AND state = 'open' AND head_sha = ?3",
                rusqlite::params![
                    self.repository,
                    row.number.get(),
                    row.head_sha.as_str(),
                    state.sql_text(),
                    head.as_str(),
                    base.as_str(),
                    commit.map(CommitSha::as_str),
                    at
                ],
            )
        })?;
        Ok(())
    }

    /// Whether a commit is part of another's history. A missing commit is not.
    pub(super) fn is_in(&self, commit: &str, of: &str) -> Result<bool, Problem> {
        let answer = self
            .objects()
            .args(["merge-base", "--is-ancestor", commit, of])
            .run()?;
        Ok(answer.code == 0)
    }

    /// The commit on the base that contains a head: its merge, or the head itself after a fast-forward.
    fn merge_of(&self, head: &CommitSha, base: &CommitSha) -> Result<Option<CommitSha>, Problem> {
        let answer = self
            .objects()
            .args([
                "rev-list",
                "--first-parent",
                "--merges",
                "--parents",
                MERGES_READ,
            ])
            .arg(format!("{head}..{base}"))
            .ok()?;
        let text = String::from_utf8_lossy(&answer.stdout);
        let merge = text.lines().find_map(|line| {
            let mut shas = line.split(' ');
            let commit = shas.next()?;
            shas.skip(1)
                .any(|parent| parent == head.as_str())
                .then_some(commit)
        });
        Ok(match merge {
            Some(commit) => CommitSha::parse(commit),
            None => (head == base).then(|| head.clone()),
        })
    }

    /// The new commit on the base with exactly the result of merging the head into its parent: the
    /// head was squashed manually, or its last commit was cherry-picked. A commit with further
    /// changes, such as a resolved conflict, proves nothing.
    fn squash_of(&self, head: &str, old: &str, base: &str) -> Result<Option<CommitSha>, Problem> {
        if self.is_in(head, base)? || !self.exists(head)? {
            return Ok(None);
        }
        let answer = self
            .objects()
            .args(["rev-list", "--first-parent", "--no-merges", "--parents"])
            .arg(SQUASHES_TRIED)
            .arg(format!("{old}..{base}"))
            .run()?;
        let text = String::from_utf8_lossy(&answer.stdout);
        for (commit, parent) in text.lines().filter_map(|line| line.split_once(' ')) {
            let Trial::Clean(tree) = self.try_merge(parent, head)? else {
                continue;
            };
            if tree == self.tree_of(commit)? && tree != self.tree_of(parent)? {
                return Ok(CommitSha::parse(commit));
            }
        }
        Ok(None)
    }

    fn exists(&self, commit: &str) -> Result<bool, Problem> {
        let object = format!("{commit}^{{commit}}");
        let answer = self.objects().args(["cat-file", "-e", &object]).run()?;
        Ok(answer.code == 0)
    }

    fn tree_of(&self, commit: &str) -> Result<String, Problem> {
        let tree = format!("{commit}^{{tree}}");
        self.objects()
            .args(["rev-parse", "--verify", "--quiet", &tree])
            .line()
    }
}
