//! Pull requests in step with the branches in git.
//!
//! Nobody tells the forge about a commit, a push or a merge made by hand, so it looks whenever it is
//! asked something.

use super::LocalForge;
use super::merging::Trial;
use super::pulls::PullRow;
use super::words::Word;
use drive_core::Problem;
use drive_core::forge::PrState;
use std::collections::{BTreeMap, BTreeSet};

/// Merges looked through for the one that brought a branch in.
const MERGES_READ: &str = "--max-count=10000";

/// New commits of a base that are looked at for a head squashed by hand. One that was brought in
/// with many others is not found, and its pull request stays open.
const SQUASHES_TRIED: &str = "--max-count=20";

/// Names of branches that one call is asked for.
const MOST_NAMES: usize = 50;

/// What the branches say about an open pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    /// Its head or base moved.
    Moved { head: String, base: String },
    /// Its head is in the base now.
    Merged {
        head: String,
        commit: Option<String>,
    },
}

impl LocalForge {
    /// Brings every open pull request in step with its branches.
    pub(super) fn refresh(&self) -> Result<(), Problem> {
        let open = self.read(|tx| self.load_rows(tx, "state = 'open'", &[]))?;
        if open.is_empty() {
            return Ok(());
        }
        let names = open
            .iter()
            .flat_map(|row| [row.branch.as_str(), row.base.as_str()]);
        let tips = self.tips(names.collect())?;
        for row in &open {
            if let Some(seen) = self.look(row, &tips)? {
                self.note(row, &seen)?;
            }
        }
        Ok(())
    }

    /// The commit a branch points at.
    pub(super) fn tip(&self, branch: &str) -> Result<Option<String>, Problem> {
        self.tips(BTreeSet::from([branch]))
            .map(|mut tips| tips.remove(branch))
    }

    /// The commits branches point at; those that do not exist are left out.
    fn tips(&self, branches: BTreeSet<&str>) -> Result<BTreeMap<String, String>, Problem> {
        // Git holds every branch against every name: of many names it is asked for all branches.
        let names: Vec<String> = match branches.len() > MOST_NAMES {
            true => vec!["refs/heads/".to_owned()],
            false => branches
                .iter()
                .map(|branch| format!("refs/heads/{branch}"))
                .collect(),
        };
        let answer = self
            .objects()
            .args(["for-each-ref", "--format=%(objectname) %(refname)"])
            .args(names)
            .ok()?;
        let text = String::from_utf8_lossy(&answer.stdout);
        Ok(text
            .lines()
            .filter_map(|line| line.split_once(" refs/heads/"))
            .filter(|(_, branch)| branches.contains(branch))
            .map(|(sha, branch)| (branch.to_owned(), sha.to_owned()))
            .collect())
    }

    fn look(
        &self,
        row: &PullRow,
        tips: &BTreeMap<String, String>,
    ) -> Result<Option<Seen>, Problem> {
        let head = tips.get(&row.branch).unwrap_or(&row.head_sha);
        let base = tips.get(&row.base).unwrap_or(&row.base_sha);
        if (head, base) == (&row.head_sha, &row.base_sha) {
            return Ok(None);
        }
        // A branch that was reset to the base is in the base too; but then what it held before is
        // not, and nothing was merged.
        let merged = base != &row.base_sha
            && self.is_in(head, base)?
            && (head == &row.head_sha || self.is_in(&row.head_sha, base)?);
        if merged {
            let commit = self.merge_of(head, base)?;
            return Ok(Some(Seen::Merged {
                head: head.clone(),
                commit,
            }));
        }
        let squash = match base != &row.base_sha {
            true => self.squash_of(head, &row.base_sha, base)?,
            false => None,
        };
        Ok(Some(match squash {
            Some(commit) => Seen::Merged {
                head: head.clone(),
                commit: Some(commit),
            },
            None => Seen::Moved {
                head: head.clone(),
                base: base.clone(),
            },
        }))
    }

    /// Writes down what was seen, unless somebody else already wrote something newer.
    fn note(&self, row: &PullRow, seen: &Seen) -> Result<(), Problem> {
        let (state, head, base, commit) = match seen {
            Seen::Moved { head, base } => (PrState::Open, head, base, None),
            Seen::Merged { head, commit } => {
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
                    row.number,
                    row.head_sha,
                    state.word(),
                    head,
                    base,
                    commit,
                    at
                ],
            )
        })?;
        Ok(())
    }

    /// Whether a commit is part of another's history. One that is gone is part of nothing.
    pub(super) fn is_in(&self, commit: &str, of: &str) -> Result<bool, Problem> {
        let answer = self
            .objects()
            .args(["merge-base", "--is-ancestor", commit, of])
            .run()?;
        Ok(answer.code == 0)
    }

    /// The commit on the base that brought a head in: its merge, or itself after a fast-forward.
    fn merge_of(&self, head: &str, base: &str) -> Result<Option<String>, Problem> {
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
                .any(|parent| parent == head)
                .then(|| commit.to_owned())
        });
        Ok(merge.or_else(|| (head == base).then(|| head.to_owned())))
    }

    /// The new commit on the base that holds exactly what merging the head into its parent gives:
    /// the head squashed by hand, or the last of its commits picked one by one. Whatever was changed
    /// on the way, such as a conflict resolved, proves nothing.
    fn squash_of(&self, head: &str, old: &str, base: &str) -> Result<Option<String>, Problem> {
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
                return Ok(Some(commit.to_owned()));
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
