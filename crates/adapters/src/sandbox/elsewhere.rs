//! Finds commits in a sandbox that are not on its branch: on other branches, tags or a stash of the
//! agent, and in unfinished operations of git.

use crate::files;
use crate::git::{self, Git, Location, Touches};
use drive_core::ids::CommitSha;
use drive_core::problem::Problem;
use drive_core::sandbox::KEPT_PREFIX;
use drive_core::time::Timestamp;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

/// Longer than any commit id.
const NAME_BYTES: u64 = 200;
/// The changes that a merge stashed before it began.
pub(super) const AUTOSTASH: &str = "MERGE_AUTOSTASH";
/// The maximum number of parents of one commit.
const PARENTS: usize = 50;

/// The commits that are on no branch or tag of the user. `written` are the refs that drive itself
/// wrote into the sandbox: if the user moved a branch meanwhile, its old commit is not the agent's.
///
/// A sandbox may have any number of refs, so every query is made for all of them at once.
pub(super) fn tips(
    git: &Git,
    sandbox: &Location,
    users: &Location,
    written: &HashSet<CommitSha>,
) -> Result<Vec<CommitSha>, Problem> {
    let inside = |args: &[&str], input: String| {
        let call = git.call_at(sandbox.clone(), Touches::Objects);
        call.args(args).stdin(input).ok()
    };
    // This reads no objects: a ref may be broken.
    let refs = inside(
        &["for-each-ref", "--format=%(objectname) %(refname)"],
        String::new(),
    )?;
    let refs = String::from_utf8_lossy(&refs.stdout);
    let names: BTreeSet<&str> = refs
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(_, name)| !name.starts_with("refs/remotes/"))
        .map(|(sha, _)| sha)
        .collect();
    let peeled = names.iter().map(|sha| format!("{sha}^{{commit}}\n"));
    let found = inside(
        &["cat-file", "--batch-check=%(objecttype) %(objectname)"],
        peeled.collect(),
    )?;
    let found: BTreeSet<CommitSha> = commits(&found.stdout)
        .filter(|sha| !written.contains(sha))
        .collect();
    lost(git, users, found)
}

/// The commits of unfinished operations, and the changes that these stashed before.
pub(super) fn half_done(git: &Git, sandbox: &Location, own: &Path) -> Vec<CommitSha> {
    let originals = [
        "rebase-merge/orig-head",
        "rebase-apply/orig-head",
        "rebase-merge/autostash",
        "rebase-apply/autostash",
    ];
    let originals = originals
        .into_iter()
        .filter_map(|name| files::load_plain(&own.join(name), NAME_BYTES).ok())
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let heads = [
        "MERGE_HEAD",
        "CHERRY_PICK_HEAD",
        "REVERT_HEAD",
        "REBASE_HEAD",
        AUTOSTASH,
    ];
    originals
        .map(|text| text.trim().to_owned())
        .chain(heads.map(str::to_owned))
        .filter_map(|name| git::resolve(git, sandbox, &name).ok())
        .collect()
}

/// As few commits as possible that contain all of them. After a crash, the same commits are made again.
pub(super) fn joined(
    git: &Git,
    sandbox: &Location,
    tree: &str,
    time: Timestamp,
    tips: &[CommitSha],
) -> Result<Vec<String>, Problem> {
    let mut tips: Vec<String> = tips.iter().map(CommitSha::to_string).collect();
    let join = |some: &[String]| {
        let message = "Branches, tags and stashes of a sandbox\n";
        git::commit_tree_at(git, sandbox, tree, some, message, Some(time))
    };
    while tips.len() > PARENTS {
        let joined: Result<Vec<CommitSha>, Problem> = tips.chunks(PARENTS).map(join).collect();
        tips = joined?.iter().map(CommitSha::to_string).collect();
    }
    Ok(tips)
}

/// The commits that the user's repository lacks, or contains on no branch or tag and not as saved
/// work: git would remove them some day.
fn lost(
    git: &Git,
    users: &Location,
    found: BTreeSet<CommitSha>,
) -> Result<Vec<CommitSha>, Problem> {
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let list: String = found.iter().map(|sha| format!("{sha}\n")).collect();
    let there = git
        .call_at(users.clone(), Touches::Objects)
        .args(["cat-file", "--batch-check=%(objecttype) %(objectname)"])
        .stdin(list)
        .ok()?;
    let there: Vec<CommitSha> = commits(&there.stdout).collect();
    let list: String = there.iter().map(|sha| format!("{sha}\n")).collect();
    let unnamed = git
        .call_at(users.clone(), Touches::Objects)
        .args(["rev-list", "--stdin", "--not", "--branches", "--remotes"])
        .args(["--tags", &format!("--glob={KEPT_PREFIX}")])
        .stdin(list)
        .ok()?;
    let text = String::from_utf8_lossy(&unnamed.stdout);
    let unnamed: HashSet<CommitSha> = text.lines().filter_map(CommitSha::parse).collect();
    let there: HashSet<CommitSha> = there.into_iter().collect();
    let is_lost = |sha: &CommitSha| !there.contains(sha) || unnamed.contains(sha);
    Ok(found.into_iter().filter(is_lost).collect())
}

/// The commits in lines of a type and a name.
fn commits(stdout: &[u8]) -> impl Iterator<Item = CommitSha> {
    let text = String::from_utf8_lossy(stdout).into_owned();
    let lines: Vec<CommitSha> = text
        .lines()
        .filter_map(|line| CommitSha::parse(line.strip_prefix("commit ")?))
        .collect();
    lines.into_iter()
}
