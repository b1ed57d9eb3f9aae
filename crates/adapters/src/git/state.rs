//! Reads the current state of a working tree.

use super::answer::path_from;
use super::{Call, Git, Location, Touches};
use drive_core::Problem;
use drive_core::ids::{BranchName, CommitSha};
use drive_core::sandbox::InProgress;
use drive_engine::ports::WorkState;
use std::path::{Path, PathBuf};

/// The status of a working tree, from one git call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Status {
    /// The checked-out commit; `None` before the first one.
    pub(crate) head: Option<CommitSha>,
    /// The checked-out branch; `None` on a detached head.
    pub(crate) branch: Option<BranchName>,
    /// Tracked files that changed.
    pub(crate) changed: Vec<PathBuf>,
    /// Untracked files that are not ignored.
    pub(crate) untracked: Vec<PathBuf>,
    /// Whether there are further untracked files that are nobody's work.
    pub(crate) has_others: bool,
    /// Repositories inside it that are not submodules.
    pub(crate) nested: Vec<PathBuf>,
    /// Submodules with changes or commits of their own.
    pub(crate) submodules: Vec<PathBuf>,
    /// Whether some part could not be read.
    pub(crate) incomplete: bool,
}

pub(super) fn load(git: &Git, location: &Location) -> Result<WorkState, Problem> {
    let mut status = status(git, location, None)?;
    let head_sha = match status.head.take() {
        Some(sha) => sha,
        None => super::resolve(git, location, "HEAD")?,
    };
    let in_progress = load_in_progress(git, location, &git_dir(git, location)?)?;
    Ok(work_state(head_sha, &status, in_progress))
}

/// The part of the status that the services need.
pub(super) fn work_state(
    head_sha: CommitSha,
    status: &Status,
    in_progress: Option<InProgress>,
) -> WorkState {
    WorkState {
        head_sha,
        branch: status.branch.clone(),
        in_progress,
        dirty_files: status.dirty_files(),
        own: None,
    }
}

/// Reads the status, with another index if one is given.
pub(crate) fn status(
    git: &Git,
    location: &Location,
    index: Option<&Path>,
) -> Result<Status, Problem> {
    let mut call = git.call_at(location.clone(), Touches::Files);
    if let Some(index) = index {
        call = call.env("GIT_INDEX_FILE", index);
    }
    status_by(call)
}

/// Reads the status with a call that the caller prepared.
pub(super) fn status_by(call: Call<'_>) -> Result<Status, Problem> {
    let answer = call
        .args(["status", "--porcelain=v2", "--branch", "-z"])
        .args(["--untracked-files=all", "--no-ahead-behind"])
        .args(["--no-renames", "--ignore-submodules=none"])
        .env("GIT_OPTIONAL_LOCKS", "0")
        .ok()?;
    let mut status = Status {
        // For git, a folder that cannot be opened is only worth a warning. The text is not parsed;
        // any warning counts.
        incomplete: !answer.stderr.is_empty(),
        ..Status::default()
    };
    for row in answer.fields() {
        status.add(row);
    }
    Ok(status)
}

/// The checked-out branch; `None` on a detached head.
pub(crate) fn head_branch(git: &Git, location: &Location) -> Result<Option<BranchName>, Problem> {
    let full = git
        .call_at(location.clone(), Touches::Objects)
        .args(["symbolic-ref", "--quiet", "HEAD"])
        .optional_line()?;
    Ok(full.and_then(|full| BranchName::of_ref(&full)))
}

/// The unfinished operation, according to the files that git leaves for it.
pub(crate) fn in_progress(git_dir: &Path) -> Option<InProgress> {
    let has = |name: &str| git_dir.join(name).exists();
    if has("rebase-merge") || has("rebase-apply/rebasing") {
        Some(InProgress::Rebase)
    } else if has("rebase-apply") {
        Some(InProgress::ApplyPatches)
    } else if has("MERGE_HEAD") {
        Some(InProgress::Merge)
    } else if has("CHERRY_PICK_HEAD") {
        Some(InProgress::CherryPick)
    } else if has("REVERT_HEAD") {
        Some(InProgress::Revert)
    } else {
        None
    }
}

/// Like `in_progress`, for any storage of refs: git is asked if they are not in files.
pub(crate) fn load_in_progress(
    git: &Git,
    location: &Location,
    git_dir: &Path,
) -> Result<Option<InProgress>, Problem> {
    let found = in_progress(git_dir);
    if found.is_some() || !has_reftable(git_dir) {
        return Ok(found);
    }
    let picked = load_head(git, location, git_dir, "CHERRY_PICK_HEAD")?;
    let reverted = || load_head(git, location, git_dir, "REVERT_HEAD");
    Ok(if picked {
        Some(InProgress::CherryPick)
    } else {
        reverted()?.then_some(InProgress::Revert)
    })
}

/// Whether a special head of this name is set, such as that of a merge.
pub(crate) fn load_head(
    git: &Git,
    location: &Location,
    git_dir: &Path,
    name: &str,
) -> Result<bool, Problem> {
    if !has_reftable(git_dir) {
        return Ok(git_dir.join(name).exists());
    }
    git.call_at(location.clone(), Touches::Objects)
        .args(["rev-parse", "--verify", "--quiet", name])
        .yes()
}

/// Whether the refs of a git directory are stored in tables and not in files.
pub(crate) fn has_reftable(git_dir: &Path) -> bool {
    git_dir.join("reftable").is_dir()
}

/// The git directory of a place.
pub(super) fn git_dir(git: &Git, location: &Location) -> Result<PathBuf, Problem> {
    if let Some(pinned) = &location.pinned {
        return Ok(pinned.git_dir.clone());
    }
    let answer = git
        .call_at(location.clone(), Touches::Objects)
        .args(["rev-parse", "--absolute-git-dir"])
        .ok()?;
    Ok(answer.path())
}

impl Status {
    /// Removes untracked files that are nobody's work.
    pub(crate) fn retain_work(&mut self, is_work: impl Fn(&Path) -> bool) {
        let before = self.untracked.len();
        self.untracked.retain(|path| is_work(path));
        self.nested.retain(|path| is_work(path));
        self.has_others |= self.untracked.len() < before;
    }

    /// Whether nothing differs from the checked-out commit.
    pub(crate) fn is_clean(&self) -> bool {
        self.changed.is_empty() && self.untracked.is_empty()
    }

    /// How many files differ from the checked-out commit.
    pub(crate) fn dirty_files(&self) -> u32 {
        u32::try_from(self.changed.len() + self.untracked.len()).unwrap_or(u32::MAX)
    }

    fn add(&mut self, row: &[u8]) {
        if let Some(header) = row.strip_prefix(b"# branch.") {
            return self.add_header(&String::from_utf8_lossy(header));
        }
        // `1 XY sub mH mI mW hH hI path`, `u XY sub m1 m2 m3 mW h1 h2 h3 path`, `? path`.
        let columns_before_path = match row.first() {
            Some(b'1') => 8,
            Some(b'u') => 10,
            Some(b'?') => 1,
            Some(_) | None => return,
        };
        let columns: Vec<&[u8]> = row
            .splitn(columns_before_path + 1, |byte| *byte == b' ')
            .collect();
        let Some(path) = columns.get(columns_before_path) else {
            return;
        };
        if row[0] == b'?' {
            // Because all untracked files are requested, a folder is only listed if it is a repository.
            match path.strip_suffix(b"/") {
                Some(folder) => self.nested.push(path_from(folder)),
                None => self.untracked.push(path_from(path)),
            }
            return;
        }
        if columns[2].starts_with(b"S") {
            self.submodules.push(path_from(path));
        }
        self.changed.push(path_from(path));
    }

    fn add_header(&mut self, header: &str) {
        // Instead of a name, git prints `(initial)` before the first commit and `(detached)`
        // without a branch.
        match header.split_once(' ') {
            // Before the first commit it is `(initial)`.
            Some(("oid", sha)) => self.head = CommitSha::parse(sha),
            Some(("head", name)) if !name.starts_with('(') => {
                self.branch = BranchName::parse(name).ok()
            }
            Some(_) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(rows: &[&[u8]]) -> Status {
        let mut status = Status::default();
        for row in rows {
            status.add(row);
        }
        status
    }

    #[test]
    fn rows_of_the_status_are_read_with_spaces_and_odd_bytes_in_paths() {
        let status = parsed(&[
            b"# branch.oid 17c03e78b2afefa6858593639477c83879db33ad",
            b"# branch.head drive/fix",
            b"1 .M N... 100644 100644 100644 aa bb a b.txt",
            b"u UU N... 100644 100644 100644 100644 aa bb cc x y",
            b"1 .M S.M. 160000 160000 160000 aa bb sub",
            b"? new\xff.txt",
            b"? nested/",
            b"! target/",
        ]);
        assert_eq!(
            status,
            Status {
                head: CommitSha::parse("17c03e78b2afefa6858593639477c83879db33ad"),
                branch: Some(BranchName::parse("drive/fix").unwrap()),
                changed: vec!["a b.txt".into(), "x y".into(), "sub".into()],
                untracked: vec![path_from(b"new\xff.txt")],
                has_others: false,
                nested: vec!["nested".into()],
                submodules: vec!["sub".into()],
                incomplete: false,
            }
        );
    }

    #[test]
    fn a_detached_head_has_no_branch_and_an_empty_repository_no_head() {
        let status = parsed(&[b"# branch.oid (initial)", b"# branch.head (detached)"]);
        assert_eq!(status, Status::default());
    }
}
