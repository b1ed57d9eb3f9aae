//! What the names of a repository point at.

use super::{Git, Location, Touches};
use drive_core::Problem;
use drive_core::sandbox::Sandbox;
use drive_engine::ports::{Tip, Tips};
use std::path::Path;

/// What is looked at. Not what stands for a remote: every fetch of anybody moves that.
const LOOKED_AT: [&str; 6] = [
    "refs/heads",
    "refs/tags",
    "refs/stash",
    "refs/notes",
    "refs/replace",
    "refs/drive/kept",
];
const FORMAT: &str = "--format=%(refname)%00%(objectname)%00%(symref)%00%(worktreepath)";

/// The address under which an agent commits, and by which its entries in a log are told.
pub(crate) fn address_of(agent: &str) -> String {
    format!("{agent}@localhost")
}

pub(super) fn tips(git: &Git, sandbox: &Sandbox) -> Result<Tips, Problem> {
    let answer = call(git, sandbox)
        .args(["for-each-ref", FORMAT])
        .args(LOOKED_AT)
        .ok()?;
    let text = String::from_utf8_lossy(&answer.stdout);
    Ok(text.lines().filter_map(|row| read(row, sandbox)).collect())
}

fn read(row: &str, sandbox: &Sandbox) -> Option<(String, Tip)> {
    let mut fields = row.split('\0');
    let (name, sha) = (fields.next()?, fields.next()?);
    let (symref, worktree) = (fields.next()?, Path::new(fields.next()?));
    let beside = worktree.parent() == sandbox.path.parent() && worktree != sandbox.path;
    let tip = Tip {
        sha: sha.to_owned(),
        follows: (!symref.is_empty()).then(|| symref.to_owned()),
        in_other_sandbox: beside,
    };
    Some((name.to_owned(), tip))
}

/// The oldest entry in its log tells who made it; without a log nobody else is known to have.
pub(super) fn may_be_made_by(git: &Git, agent: &str, sandbox: &Sandbox, name: &str) -> bool {
    let answer = call(git, sandbox)
        .args(["reflog", "show", "--format=%ge", name, "--"])
        .ok();
    let log = answer.map_or(String::new(), |answer| {
        String::from_utf8_lossy(&answer.stdout).into_owned()
    });
    log.lines()
        .next_back()
        .is_none_or(|maker| maker == address_of(agent))
}

/// In the folder that all worktrees share: the sandbox's own may be gone.
fn call<'a>(git: &'a Git, sandbox: &Sandbox) -> super::Call<'a> {
    git.call_at(Location::bare(&sandbox.git_dir), Touches::Objects)
}
