//! Merges of two commits in the object store: no branch, index or file is touched.
//!
//! The same two commits give the same tree for everybody, because verdicts belong to trees. So neither the
//! user's settings nor their attributes affect how files are merged, only the attributes committed in `ours`.

use super::answer::path_from;
use super::commit::{commit_tree_at, signed as with_trailer};
use super::signing::signed;
use super::{Answer, Call, Git, Location, Touches, discover, history};
use drive_core::ids::{CommitSha, TreeSha};
use drive_core::problem::Problem;
use drive_engine::ports::{Leftovers, MergeCommit, Place};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Settings that affect the result of a merge, with git's defaults.
const SETTINGS: [(&str, &str); 9] = [
    ("merge.renames", "true"),
    ("diff.renames", "true"),
    ("merge.renameLimit", "7000"),
    ("merge.directoryRenames", "conflict"),
    ("merge.renormalize", "false"),
    ("merge.default", "text"),
    ("merge.conflictStyle", "merge"),
    ("diff.algorithm", "histogram"),
    ("core.attributesFile", "/dev/null"),
];

/// The result of merging two commits.
pub(crate) enum Trial {
    /// The merged tree.
    Clean(TreeSha),
    /// These files conflict.
    Conflicts(Vec<PathBuf>),
}

/// The call that merges `theirs` into `ours`. It must run in the git directory: git before 2.41
/// reads the attributes of the checkout in which it runs.
pub(crate) fn merge_tree<'a>(call: Call<'a>, ours: &str, theirs: &str) -> Call<'a> {
    SETTINGS
        .iter()
        .fold(call, |call, (key, value)| call.config(key, value))
        .env("GIT_ATTR_NOSYSTEM", "1")
        .env("GIT_ATTR_SOURCE", ours)
        .args(["merge-tree", "--write-tree", "-z", "--name-only"])
        .args(["--no-messages", ours, theirs])
}

impl Trial {
    /// Parses the answer of [`merge_tree`].
    pub(crate) fn read(answer: &Answer) -> Result<Self, Problem> {
        let mut fields = answer.fields();
        // The first field is the tree, even for a merge with conflicts.
        let tree = fields.next().map(String::from_utf8_lossy);
        let tree = tree.and_then(|text| TreeSha::parse(&text));
        match (answer.code, tree) {
            (0, Some(tree)) => Ok(Self::Clean(tree)),
            (1, Some(_)) => {
                let files: BTreeSet<PathBuf> = fields
                    .filter(|row| !row.is_empty())
                    .map(path_from)
                    .collect();
                Ok(Self::Conflicts(files.into_iter().collect()))
            }
            (_, _) => Err(answer.problem()),
        }
    }
}

/// Creates the commit that merges `theirs` into `ours`. It gets the date of the later one, so that
/// a repetition gives the same commit, unless it is signed.
pub(super) fn merge_commits(
    git: &Git,
    place: Place<'_>,
    (ours, theirs): (&CommitSha, &CommitSha),
    leftovers: &Leftovers,
) -> Result<MergeCommit, Problem> {
    let at = &Location::history_of(place);
    if history::is_ancestor(git, at, theirs, ours)? {
        return Ok(MergeCommit::Made {
            commit: ours.clone(),
            tree: history::commit_object(git, at, ours)?.tree,
        });
    }
    let common_dir = discover::discover(git, &at.dir)?.common_dir;
    let call = git.call_at(Location::checkout(&common_dir), Touches::Files);
    let tree = match Trial::read(&merge_tree(call, ours, theirs).run()?)? {
        Trial::Clean(tree) => tree,
        Trial::Conflicts(files) => return Ok(MergeCommit::Conflicts { files }),
    };
    let dates = [
        history::committed_at(git, at, ours)?,
        history::committed_at(git, at, theirs)?,
    ];
    let parents = [ours.to_string(), theirs.to_string()];
    let message = with_trailer(leftovers);
    let date = dates.into_iter().max();
    let commit = commit_tree_at(git, at, tree.as_str(), &parents, &message, date)?;
    let commit = signed(git, at, commit)?;
    Ok(MergeCommit::Made { commit, tree })
}
