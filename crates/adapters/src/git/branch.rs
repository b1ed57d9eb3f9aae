//! Branches of the user's repository that drive creates and moves.

use super::lock::ref_problem;
use super::{Git, Location, Touches, history};
use drive_core::ids::{BranchName, CommitSha};
use drive_core::problem::{Kind, Problem};

/// Creates a branch. Git refuses an existing one.
pub(super) fn create(
    git: &Git,
    at: &Location,
    branch: &BranchName,
    tip: &CommitSha,
) -> Result<(), Problem> {
    let full = branch.full();
    let nothing = "0".repeat(tip.as_str().len());
    let answer = git
        .call_at(at.clone(), Touches::Objects)
        .args(["update-ref", "--no-deref", &full, tip, &nothing])
        .run()?;
    if answer.code == 0 {
        return Ok(());
    }
    match history::resolve(git, at, &full) {
        Ok(_) => Err(Problem::new(
            Kind::BranchExists,
            format!("branch `{branch}` already exists"),
        )),
        Err(_) => Err(ref_problem(&answer, at, &[&full])),
    }
}

/// Moves a branch that is at the expected commit and not checked out, because its files would look
/// changed in a checkout.
pub(super) fn advance(
    git: &Git,
    at: &Location,
    branch: &BranchName,
    from: &CommitSha,
    to: &CommitSha,
) -> Result<(), Problem> {
    if let Some(folder) = checkout_of(git, at, branch)? {
        return Err(Problem::new(
            Kind::BranchInUse,
            format!(
                "branch `{branch}` is checked out at `{folder}`, so drive does not move it to {to}"
            ),
        )
        .hint(format!(
            "check out another branch there: `git -C '{folder}' switch -`"
        )));
    }
    let full = branch.full();
    let answer = git
        .call_at(at.clone(), Touches::Objects)
        .args(["update-ref", "--no-deref", &full, to, from])
        .run()?;
    if answer.code == 0 {
        return Ok(());
    }
    match history::resolve(git, at, &full) {
        Ok(now) if now == *from => Err(ref_problem(&answer, at, &[&full])),
        Ok(_) | Err(_) => Err(Problem::new(
            Kind::BranchMoved,
            format!("branch `{branch}` is no longer at {from}"),
        )),
    }
}

/// The folder in which a branch is checked out.
fn checkout_of(git: &Git, at: &Location, branch: &BranchName) -> Result<Option<String>, Problem> {
    let full = branch.full();
    let answer = git
        .call_at(at.clone(), Touches::Objects)
        .args(["for-each-ref", "--format=%(refname)%00%(worktreepath)"])
        .arg(&full)
        .ok()?;
    let text = String::from_utf8_lossy(&answer.stdout);
    let mut rows = text.lines().filter_map(|row| row.split_once('\0'));
    let found = rows.find(|(name, _)| *name == full);
    let folder = found.map(|(_, folder)| folder.to_owned());
    Ok(folder.filter(|folder| !folder.is_empty()))
}
