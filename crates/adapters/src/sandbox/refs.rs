//! Refs of a sandbox: its pin and its branch.

use crate::git::{Answer, Git, Location, Touches, ref_problem};
use drive_core::ids::{BranchName, CommitSha};
use drive_core::problem::{Kind, Problem};

/// Points a sandbox's own refs at a commit, whatever they pointed at before, and creates the branch
/// there. If the branch exists, nothing is changed.
pub(super) fn pin_and_create(
    git: &Git,
    at: &Location,
    pins: &[(String, &CommitSha)],
    branch: Option<(&str, &CommitSha)>,
) -> Result<Answer, Problem> {
    let pins = pins
        .iter()
        .map(|(name, sha)| format!("update {name}\0{sha}\0\0"));
    let create = branch.map(|(name, sha)| format!("create {name}\0{sha}\0"));
    git.call_at(at.clone(), Touches::Objects)
        .args(["update-ref", "--no-deref", "--stdin", "-z"])
        .stdin(pins.chain(create).collect::<String>())
        .run()
}

/// Deletes refs, whatever they point at. Missing ones are fine.
pub(super) fn delete_any(git: &Git, at: &Location, names: &[String]) -> Result<(), Problem> {
    let rows = names.iter().map(|name| format!("delete {name}\0\0"));
    let answer = git
        .call_at(at.clone(), Touches::Objects)
        .args(["update-ref", "--no-deref", "--stdin", "-z"])
        .stdin(rows.collect::<String>())
        .run()?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match answer.code {
        0 => Ok(()),
        _ => Err(ref_problem(&answer, at, &names)),
    }
}

/// Creates a ref; `false` if it exists already.
pub(super) fn create(git: &Git, at: &Location, name: &str, sha: &str) -> Result<bool, Problem> {
    let answer = git
        .call_at(at.clone(), Touches::Objects)
        .args(["update-ref", "--stdin", "-z"])
        .stdin(format!("create {name}\0{sha}\0"))
        .run()?;
    if answer.code == 0 {
        return Ok(true);
    }
    if value_of(git, at, name)?.is_some() {
        return Ok(false);
    }
    Err(ref_problem(&answer, at, &[name]))
}

fn done(answer: &Answer, at: &Location, name: &str) -> Result<(), Problem> {
    match answer.code {
        0 => Ok(()),
        _ => Err(ref_problem(answer, at, &[name])),
    }
}

/// Deletes a ref; with `only_at`, only if it points there. A missing ref is fine.
pub(super) fn delete(
    git: &Git,
    at: &Location,
    name: &str,
    only_at: Option<&str>,
) -> Result<(), Problem> {
    let current = match value_of(git, at, name)? {
        None => return Ok(()),
        Some(current) => current,
    };
    if only_at.is_some_and(|wanted| wanted != current) {
        return Ok(());
    }
    git.call_at(at.clone(), Touches::Objects)
        .args(["update-ref", "--no-deref", "-d", name, &current])
        .run()
        .and_then(|answer| done(&answer, at, name))
}

/// The target of a ref.
pub(super) fn value_of(git: &Git, at: &Location, name: &str) -> Result<Option<String>, Problem> {
    git.call_at(at.clone(), Touches::Objects)
        .args(["rev-parse", "--verify", "--quiet", "--end-of-options", name])
        .optional_line()
}

/// Refuses a branch that exists, or whose name conflicts with an existing one.
pub(super) fn require_free(git: &Git, at: &Location, branch: &BranchName) -> Result<(), Problem> {
    let answer = git
        .call_at(at.clone(), Touches::Objects)
        .args(["for-each-ref", "--format=%(refname)%00%(worktreepath)"])
        .arg("refs/heads/")
        .ok()?;
    let wanted = branch.full();
    let text = String::from_utf8_lossy(&answer.stdout);
    for row in text.lines() {
        let (name, worktree) = row.split_once('\0').unwrap_or((row, ""));
        if name == wanted && !worktree.is_empty() {
            return Err(Problem::new(
                Kind::BranchCheckedOut,
                format!("branch `{branch}` is already checked out at `{worktree}`"),
            )
            .hint("pass `--branch` with another name"));
        }
        if name == wanted {
            return Err(Problem::new(
                Kind::BranchExists,
                format!("branch `{branch}` already exists"),
            )
            .hint(format!(
                "pass `--branch` with another name, or delete it: `git branch -d {branch}`"
            )));
        }
        if collide(name, &wanted) {
            let other = name.strip_prefix("refs/heads/").unwrap_or(name);
            return Err(Problem::new(
                Kind::BranchConflict,
                format!("branch `{branch}` cannot exist beside branch `{other}`"),
            )
            .hint("pass `--branch` with another name; git stores branches as files"));
        }
    }
    Ok(())
}

/// Refuses a branch that is missing, or that is checked out somewhere.
pub(super) fn require_unused(git: &Git, at: &Location, branch: &BranchName) -> Result<(), Problem> {
    let answer = git
        .call_at(at.clone(), Touches::Objects)
        .args(["for-each-ref", "--format=%(refname)%00%(worktreepath)"])
        .arg(branch.full())
        .ok()?;
    let text = String::from_utf8_lossy(&answer.stdout);
    let mut rows = text.lines().filter_map(|row| row.split_once('\0'));
    match rows.find(|(name, _)| *name == branch.full()) {
        None => Err(Problem::new(
            Kind::BranchNotFound,
            format!("branch `{branch}` no longer exists"),
        )
        .hint("make it again at the commit it had; `git reflog` may still list it")),
        Some((_, "")) => Ok(()),
        Some((_, worktree)) => Err(Problem::new(
            Kind::BranchCheckedOut,
            format!("branch `{branch}` is checked out at `{worktree}`"),
        )
        .hint(format!(
            "check out another branch there, such as `git -C {worktree} switch -`, and try again"
        ))),
    }
}

fn collide(a: &str, b: &str) -> bool {
    let inside = |outer: &str, inner: &str| {
        inner
            .strip_prefix(outer)
            .is_some_and(|rest| rest.starts_with('/'))
    };
    inside(a, b) || inside(b, a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_collides_with_a_folder_of_that_name_only() {
        assert!(collide("refs/heads/a", "refs/heads/a/b"));
        assert!(collide("refs/heads/a/b", "refs/heads/a"));
        assert!(!collide("refs/heads/a", "refs/heads/ab"));
    }
}
