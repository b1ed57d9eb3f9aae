//! Snapshot of the refs that an agent could move: branches, tags, stash, notes, replacements, saved work.

use super::{Git, Location, Touches};
use drive_core::Problem;
use drive_core::sandbox::Sandbox;
use drive_engine::ports::{Tip, Tips};
use std::path::Path;

/// Ref namespaces in a snapshot. Remote-tracking refs are left out because every fetch moves them.
const LOOKED_AT: [&str; 6] = [
    "refs/heads",
    "refs/tags",
    "refs/stash",
    "refs/notes",
    "refs/replace",
    "refs/drive/kept",
];
const FORMAT: &str = "--format=%(refname)%00%(objectname)%00%(symref)%00%(worktreepath)";

/// The e-mail address of an agent's commits, which also identifies its reflog entries.
pub(crate) fn address_of(agent: &str) -> String {
    format!("{agent}@localhost")
}

pub(super) fn read(git: &Git, sandbox: &Sandbox) -> Result<Tips, Problem> {
    let answer = call(git, sandbox)
        .args(["for-each-ref", FORMAT])
        .args(LOOKED_AT)
        .ok()?;
    let text = String::from_utf8_lossy(&answer.stdout);
    Ok(text.lines().filter_map(|row| parse(row, sandbox)).collect())
}

fn parse(row: &str, sandbox: &Sandbox) -> Option<(String, Tip)> {
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

/// Whether the oldest reflog entry of a ref is the agent's. A ref without a reflog counts as its own.
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

/// Whether every commit of `from..to` carries the agent's address as its committer.
pub(super) fn is_all_by(
    git: &Git,
    agent: &str,
    sandbox: &Sandbox,
    from: &str,
    to: &str,
) -> Result<bool, Problem> {
    let answer = call(git, sandbox)
        .args(["log", "--format=%ce", &format!("{from}..{to}"), "--"])
        .ok()?;
    let address = address_of(agent);
    let text = String::from_utf8_lossy(&answer.stdout);
    Ok(text.lines().all(|committer| committer == address))
}

/// A call in the shared git folder, because the sandbox's own may be gone.
fn call<'a>(git: &'a Git, sandbox: &Sandbox) -> super::Call<'a> {
    git.call_at(Location::bare(&sandbox.git_dir), Touches::Objects)
}
