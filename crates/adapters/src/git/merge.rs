//! Merges in a checkout. No commits are rewritten, and no conflict marker is committed.

use super::answer::path_from;
use super::call::load_config;
use super::stage::stage;
use super::{Git, IgnoredFiles, Location, ScratchIndex, Status, Touches, commit, history, state};
use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};
use drive_core::sandbox::{Brought, InProgress};
use drive_engine::ports::{Leftovers, Merged};
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// The shortest beginnings of lines that separate the sides of a conflict.
const MARKERS: [&[u8]; 3] = [b"<<<<<<<", b"|||||||", b">>>>>>>"];

/// The files in which two commits conflict.
pub(super) fn conflicts(
    git: &Git,
    location: &Location,
    ours: &CommitSha,
    theirs: &CommitSha,
) -> Result<Vec<PathBuf>, Problem> {
    let answer = git
        .call_at(location.clone(), Touches::Files)
        .args([
            "merge-tree",
            "--write-tree",
            "-z",
            "--name-only",
            "--no-messages",
        ])
        .args([ours.as_str(), theirs.as_str()])
        .run()?;
    match answer.code {
        0 => Ok(Vec::new()),
        // The first field is the tree.
        1 => Ok(unique(
            answer.fields().skip(1).filter(|row| !row.is_empty()),
        )),
        _ => Err(answer.problem()),
    }
}

pub(super) fn merge(
    git: &Git,
    location: &Location,
    theirs: &CommitSha,
    leftovers: &Leftovers,
    brought: &[Brought],
) -> Result<Merged, Problem> {
    let git_dir = state::git_dir(git, location)?;
    match state::load_in_progress(git, location, &git_dir)? {
        Some(InProgress::Merge) => {
            // The other branch may have moved since the merge began: the merge continues with the
            // commit it began with.
            let theirs = &history::resolve(git, location, "MERGE_HEAD")?;
            let files = unmerged(git, location)?;
            if !files.is_empty() {
                return Ok(judged(theirs, files));
            }
            // It was interrupted between the merge and its commit.
            let ours = &history::resolve(git, location, "HEAD")?;
            return conclude(git, location, &Sides { ours, theirs }, leftovers, brought);
        }
        Some(other) => return Err(commit::in_progress(other, location)),
        None => {}
    }
    if history::is_ancestor(git, location, theirs, "HEAD")? {
        return Ok(Merged::Done);
    }
    let entries = load_config(git, location)?;
    let call = git
        .call_at(location.clone(), Touches::Files)
        .knowing(&entries);
    let answer = commit::signed_by(&entries, location, call)
        .config("merge.conflictStyle", "merge")
        .config("rerere.enabled", "false")
        .args(["merge", "--quiet", "--ff", "--commit", "--no-squash"])
        .args(["--no-stat", "--no-autostash", "--no-verify", "--no-edit"])
        .args(["--no-gpg-sign", "--no-verify-signatures"])
        .args(["-m", &commit::signed(leftovers), theirs])
        .run()?;
    let in_progress = state::load_in_progress(git, location, &git_dir)?;
    match (answer.code, in_progress) {
        (0, None) => Ok(Merged::Done),
        (_, Some(InProgress::Merge)) => Ok(Merged::Conflicts {
            theirs: theirs.clone(),
            files: unmerged(git, location)?,
        }),
        (_, Some(_) | None) => Err(answer.problem()),
    }
}

pub(super) fn conclude(
    git: &Git,
    location: &Location,
    sides: &Sides<'_>,
    leftovers: &Leftovers,
    brought: &[Brought],
) -> Result<Merged, Problem> {
    let git_dir = state::git_dir(git, location)?;
    match state::load_in_progress(git, location, &git_dir)? {
        Some(InProgress::Merge) => {}
        Some(other) => return Err(commit::in_progress(other, location)),
        None if history::is_ancestor(git, location, sides.theirs, "HEAD")? => {
            // The conflicts were resolved and committed. Later commits belong to the resolution.
            commit::leftovers(git, location, leftovers, brought)?;
            let tree = tree_of(git, location, "HEAD")?;
            let files = sides.leftover_markers(git, location, &tree)?;
            return Ok(judged(sides.theirs, files));
        }
        None => return merge(git, location, sides.theirs, leftovers, brought),
    }
    let merged = history::resolve(git, location, "MERGE_HEAD")?;
    if merged != *sides.theirs {
        return Err(
            commit::in_progress(InProgress::Merge, location).cause(format!(
                "it is a merge of {merged}, not of {}",
                sides.theirs
            )),
        );
    }
    let mut status = state::status(git, location, None)?;
    let ignored = IgnoredFiles::of(brought);
    status.retain_work(|path| !ignored.covers(&location.dir, path));
    let tree = resolved_tree(git, location, &git_dir, &status)?;
    let files = sides.leftover_markers(git, location, &tree)?;
    if !files.is_empty() {
        return Ok(judged(sides.theirs, files));
    }
    let entries = load_config(git, location)?;
    let call = || {
        git.call_at(location.clone(), Touches::Files)
            .knowing(&entries)
    };
    stage(&status, call)?.require()?;
    commit::signed_by(&entries, location, call())
        .args(commit::COMMIT)
        .stdin(commit::signed(leftovers))
        .ok()?;
    Ok(Merged::Done)
}

/// The two sides of a merge.
pub(super) struct Sides<'a> {
    pub(super) ours: &'a CommitSha,
    pub(super) theirs: &'a CommitSha,
}

impl Sides<'_> {
    /// Files of a tree with a conflict marker that neither side contains. Only a file that differs
    /// from both sides can have one.
    fn leftover_markers(
        &self,
        git: &Git,
        location: &Location,
        tree: &str,
    ) -> Result<Vec<PathBuf>, Problem> {
        let from = |side: &str| history::changed_paths(git, location, side, tree);
        let theirs: HashSet<PathBuf> = from(self.theirs)?.into_iter().collect();
        let mut files = Vec::new();
        for path in from(self.ours)? {
            if theirs.contains(&path) && self.has_leftover(git, location, tree, &path)? {
                files.push(path);
            }
        }
        Ok(files)
    }

    fn has_leftover(
        &self,
        git: &Git,
        location: &Location,
        tree: &str,
        path: &Path,
    ) -> Result<bool, Problem> {
        let mut lines = marker_lines(&content(git, location, tree, path)?);
        for side in [self.ours, self.theirs] {
            if !lines.is_empty() {
                let known = marker_lines(&content(git, location, side, path)?);
                lines.retain(|line| !known.contains(line));
            }
        }
        Ok(!lines.is_empty())
    }
}

fn judged(theirs: &CommitSha, files: Vec<PathBuf>) -> Merged {
    if files.is_empty() {
        Merged::Done
    } else {
        Merged::Conflicts {
            theirs: theirs.clone(),
            files,
        }
    }
}

/// The tree of the current files, made with a separate index so that the real one stays unchanged.
fn resolved_tree(
    git: &Git,
    location: &Location,
    git_dir: &Path,
    status: &Status,
) -> Result<String, Problem> {
    let index = ScratchIndex::fresh(git_dir, "merge")?;
    index.copy_own().map_err(|error| {
        Problem::new(
            Kind::IndexUnreadable,
            format!("cannot copy the index in `{}`", git_dir.display()),
        )
        .because(error)
    })?;
    let call = || {
        git.call_at(location.clone(), Touches::Files)
            .env("GIT_INDEX_FILE", index.path())
    };
    stage(status, call)?.require()?;
    call().arg("write-tree").line()
}

/// Files of which the index has several versions.
fn unmerged(git: &Git, location: &Location) -> Result<Vec<PathBuf>, Problem> {
    let answer = git
        .call_at(location.clone(), Touches::Objects)
        .args(["ls-files", "--unmerged", "-z"])
        .ok()?;
    // Each row is `mode hash stage<TAB>path`.
    let paths = answer.fields().filter_map(|row| {
        row.iter()
            .position(|byte| *byte == b'\t')
            .map(|at| &row[at + 1..])
    });
    Ok(unique(paths))
}

fn unique<'a>(paths: impl Iterator<Item = &'a [u8]>) -> Vec<PathBuf> {
    let sorted: BTreeSet<PathBuf> = paths.map(path_from).collect();
    sorted.into_iter().collect()
}

fn tree_of(git: &Git, location: &Location, commit: &str) -> Result<String, Problem> {
    git.call_at(location.clone(), Touches::Objects)
        .args(["rev-parse", "--verify", "--quiet"])
        .arg(format!("{commit}^{{tree}}"))
        .line()
}

/// A file of a commit or tree; empty if it does not exist.
fn content(git: &Git, location: &Location, at: &str, path: &Path) -> Result<Vec<u8>, Problem> {
    let mut name = std::ffi::OsString::from(format!("{at}:"));
    name.push(path);
    let answer = git
        .call_at(location.clone(), Touches::Objects)
        .args(["cat-file", "blob"])
        .arg(name)
        .run()?;
    Ok(if answer.code == 0 {
        answer.stdout
    } else {
        Vec::new()
    })
}

fn marker_lines(content: &[u8]) -> HashSet<Vec<u8>> {
    content
        .split(|byte| *byte == b'\n')
        .filter(|line| is_marker(line))
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line).to_vec())
        .collect()
}

/// Whether a line is a conflict marker: its sign at least seven times, then a blank or nothing.
fn is_marker(line: &[u8]) -> bool {
    let Some(marker) = MARKERS.iter().find(|marker| line.starts_with(marker)) else {
        return false;
    };
    let after = line.iter().find(|byte| **byte != marker[0]);
    matches!(after, None | Some(b' ' | b'\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_line_that_parts_the_sides_of_a_conflict_is_a_marker() {
        for line in [
            "<<<<<<< HEAD",
            ">>>>>>> abc",
            "<<<<<<<<<<< x",
            "|||||||",
            ">>>>>>>\r",
        ] {
            assert!(is_marker(line.as_bytes()), "{line}");
        }
        for line in ["<<<<<< x", " <<<<<<< x", "<<<<<<<x", "=======", "", "a"] {
            assert!(!is_marker(line.as_bytes()), "{line}");
        }
    }
}
