//! A sandbox's own repository, seen from the user's: its commits are taken over, and the user's
//! branch follows the sandbox's.

use super::take::Paths;
use super::{Git, Held, Location, Take, Touches, history, ref_problem, signing, state};
use drive_core::ids::{BranchName, CommitSha, SandboxId};
use drive_core::problem::Problem;
use drive_core::sandbox::Sandbox;
use drive_engine::ports::{OwnBranch, UsersBranch, WorkState};

/// The ref that protects a sandbox's base commit from garbage collection.
pub(crate) fn pin_of(id: &SandboxId) -> String {
    format!("refs/drive/pin/{id}")
}

/// The ref with the commit to which drive last moved a sandbox's branch. If the branch is
/// elsewhere, somebody else moved it.
pub(crate) fn head_of(id: &SandboxId) -> String {
    format!("refs/drive/head/{id}")
}

/// The ref that protects the commit last merged into a sandbox from garbage collection: it may come
/// from a remote, and no branch of the user's may contain it.
pub(crate) fn theirs_of(id: &SandboxId) -> String {
    format!("refs/drive/theirs/{id}")
}

/// Protects a commit that a sandbox is about to merge.
pub(super) fn pin_theirs(git: &Git, sandbox: &Sandbox, theirs: &CommitSha) -> Result<(), Problem> {
    git.call_at(Location::bare(&sandbox.git_dir), Touches::Objects)
        .args(["update-ref", "--no-deref", &theirs_of(&sandbox.id), theirs])
        .ok()
        .map(drop)
}

/// The current state of a sandbox. Afterwards its commit is in the user's repository.
pub(super) fn load_state(git: &Git, sandbox: &Sandbox) -> Result<WorkState, Problem> {
    let inside = Location::inside(&sandbox.path, &sandbox.git_dir);
    let mut state = state::load(git, &inside)?;
    let out = bring_out(git, sandbox, &inside, &state.head_sha)?;
    state.own = out.own;
    state.head_sha = out.head;
    Ok(state)
}

/// The commits taken over from a sandbox.
pub(crate) struct BroughtOut {
    pub(crate) own: Option<OwnBranch>,
    /// The checked-out commit; the signed one if the user's git signs.
    pub(crate) head: CommitSha,
}

/// Takes over a sandbox's checked-out commit and its branch, which the user's branch follows.
pub(crate) fn bring_out(
    git: &Git,
    sandbox: &Sandbox,
    inside: &Location,
    head: &CommitSha,
) -> Result<BroughtOut, Problem> {
    let tip = match &sandbox.branch {
        Some(branch) => own_tip(git, inside, branch)?,
        None => None,
    };
    let wanted: Vec<CommitSha> = tip.iter().chain([head]).cloned().collect();
    let _held = take_with(git, sandbox, inside, &wanted, Paths::Checked, tip.as_ref())?;
    let (tip, head) = sign(git, sandbox, inside, tip, head)?;
    let own = match (&sandbox.branch, tip) {
        (Some(branch), Some(tip)) => {
            let users = publish(git, sandbox, branch, &tip)?;
            Some(OwnBranch { tip, users })
        }
        (Some(_), None) | (None, _) => None,
    };
    Ok(BroughtOut { own, head })
}

/// Signs the commits taken over, if the user's git signs, and moves the sandbox's head and branch
/// to the signed ones. Returns both.
fn sign(
    git: &Git,
    sandbox: &Sandbox,
    inside: &Location,
    tip: Option<CommitSha>,
    head: &CommitSha,
) -> Result<(Option<CommitSha>, CommitSha), Problem> {
    let at = Location::bare(&sandbox.git_dir);
    let wanted: Vec<&CommitSha> = tip.iter().chain([head]).collect();
    let refs = [head_of(&sandbox.id), theirs_of(&sandbox.id)];
    let signed = signing::sign_new(git, &at, &wanted, &sandbox.base_sha, &refs)?;
    let now = |old: &CommitSha| signed.get(old.as_str()).unwrap_or(old).clone();
    let update = |name: &str, old: &CommitSha| {
        let new = now(old);
        if new == *old {
            return Ok(());
        }
        git.call_at(inside.clone(), Touches::Objects)
            .args(["update-ref", name, &new, old])
            .ok()
            .map(drop)
    };
    update("HEAD", head)?;
    if let (false, Some(branch), Some(tip)) = (signed.is_empty(), &sandbox.branch, &tip)
        // The branch moves with a `HEAD` that names it.
        && own_tip(git, inside, branch)?.as_ref() == Some(tip)
    {
        update(&branch.full(), tip)?;
    }
    Ok((tip.as_ref().map(now), now(head)))
}

/// Takes over commits that will be saved. They are protected from garbage collection until the
/// returned value is dropped; by then a ref must name them.
pub(crate) fn take(
    git: &Git,
    sandbox: &Sandbox,
    inside: &Location,
    wanted: &[CommitSha],
) -> Result<Held, Problem> {
    take_with(git, sandbox, inside, wanted, Paths::Any, None)
}

fn take_with(
    git: &Git,
    sandbox: &Sandbox,
    inside: &Location,
    wanted: &[CommitSha],
    paths: Paths,
    tip: Option<&CommitSha>,
) -> Result<Held, Problem> {
    let missing = Take::missing(git, &sandbox.git_dir, wanted)?;
    if missing.is_empty() && paths == Paths::Any {
        return Ok(Held::default());
    }
    let known = git
        .call_at(Location::bare(&sandbox.git_dir), Touches::Objects)
        .args(["for-each-ref", "--format=%(objectname)"])
        .args([head_of(&sandbox.id), theirs_of(&sandbox.id)])
        .ok()?;
    let known = String::from_utf8_lossy(&known.stdout).into_owned();
    let known = known.lines().filter_map(CommitSha::parse);
    let since: Vec<CommitSha> = [sandbox.base_sha.clone()]
        .into_iter()
        .chain(known)
        .collect();
    let take = Take {
        git,
        from: inside,
        to: &sandbox.git_dir,
        since: &since,
        paths,
        tip,
    };
    take.commits(wanted, &missing)
}

/// The tip of a branch in a sandbox.
pub(crate) fn own_tip(
    git: &Git,
    inside: &Location,
    branch: &BranchName,
) -> Result<Option<CommitSha>, Problem> {
    let answer = git
        .call_at(inside.clone(), Touches::Objects)
        .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
        .arg(format!("{}^{{commit}}", branch.full()))
        .run()?;
    // A missing or broken branch is repaired where its state is read.
    Ok(CommitSha::parse(&answer.line()).filter(|_| answer.code == 0))
}

/// A sandbox's branch in the user's repository.
struct Branch {
    /// Its commit; `None` if it was deleted.
    current: Option<CommitSha>,
    /// The commit to which drive moved it.
    known: CommitSha,
    /// The checkout that shows it.
    checkout: Option<String>,
}

/// Moves the user's branch to the sandbox's tip, if allowed: it has no other people's commits, no checkout
/// shows it, and the run does not move it itself. In any case a ref of drive's keeps the new commits.
fn publish(
    git: &Git,
    sandbox: &Sandbox,
    branch: &BranchName,
    tip: &CommitSha,
) -> Result<UsersBranch, Problem> {
    let at = Location::bare(&sandbox.git_dir);
    let there = load_branch(git, sandbox, branch, &at)?;
    let users = match (&there.current, &there.checkout) {
        (Some(current), _) if current == tip => UsersBranch::Follows,
        (Some(current), checkout) => {
            if !is_ours(git, &at, current, &[&there.known, tip])? {
                let to = current.clone();
                UsersBranch::Moved { to }
            } else if let Some(folder) = checkout.clone() {
                UsersBranch::CheckedOut { folder }
            } else {
                UsersBranch::Follows
            }
        }
        (None, _) => UsersBranch::Follows,
    };
    let moves = users == UsersBranch::Follows && !sandbox.held;
    set_branch(git, sandbox, moves.then_some(branch), tip, &there, &at)?;
    Ok(users)
}

/// The user's branch of a sandbox, if somebody else committed to it.
pub(super) fn users_tip(
    git: &Git,
    sandbox: &Sandbox,
    head: &CommitSha,
) -> Result<Option<CommitSha>, Problem> {
    let Some(branch) = &sandbox.branch else {
        return Ok(None);
    };
    let at = Location::bare(&sandbox.git_dir);
    let there = load_branch(git, sandbox, branch, &at)?;
    match there.current {
        // This does not use the commit to which drive moved the branch: another reviewer of the
        // same head may have followed the user there.
        Some(current) if !is_ours(git, &at, &current, &[head])? => Ok(Some(current)),
        Some(_) | None => Ok(None),
    }
}

/// Moves the user's branch of a sandbox to a commit, unless somebody else moved it: their commits
/// are handled next.
pub(crate) fn put_branch(git: &Git, sandbox: &Sandbox, tip: &CommitSha) -> Result<(), Problem> {
    let Some(branch) = &sandbox.branch else {
        return Ok(());
    };
    let at = Location::bare(&sandbox.git_dir);
    let there = load_branch(git, sandbox, branch, &at)?;
    if let Some(current) = &there.current
        && current != tip
    {
        if !is_ours(git, &at, current, &[&there.known])? {
            return Ok(());
        }
        if there.checkout.is_some() || sandbox.held {
            return set_branch(git, sandbox, None, tip, &there, &at);
        }
    }
    set_branch(git, sandbox, Some(branch), tip, &there, &at)
}

/// Whether a branch contains only commits of these: a branch that a checkout kept from following is
/// just behind.
fn is_ours(
    git: &Git,
    at: &Location,
    current: &CommitSha,
    known: &[&CommitSha],
) -> Result<bool, Problem> {
    for known in known {
        if current == *known || history::is_ancestor(git, at, current, known)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Moves drive's own ref of a sandbox together with the branch.
fn set_branch(
    git: &Git,
    sandbox: &Sandbox,
    branch: Option<&BranchName>,
    tip: &CommitSha,
    there: &Branch,
    at: &Location,
) -> Result<(), Problem> {
    let full = branch.map(BranchName::full);
    let head = head_of(&sandbox.id);
    let moved = match (&full, &there.current) {
        (Some(_), Some(current)) if current == tip => None,
        (Some(full), Some(current)) => Some(format!("update {full}\0{tip}\0{current}\0")),
        (Some(full), None) => Some(format!("create {full}\0{tip}\0")),
        (None, _) => None,
    };
    if moved.is_none() && there.known == *tip {
        return Ok(());
    }
    let answer = git
        .call_at(at.clone(), Touches::Objects)
        .args(["update-ref", "--no-deref", "--stdin", "-z"])
        .stdin(format!(
            "{}update {head}\0{tip}\0\0",
            moved.unwrap_or_default()
        ))
        .run()?;
    let refs: Vec<&str> = full.as_deref().into_iter().chain([head.as_str()]).collect();
    match answer.code {
        0 => Ok(()),
        _ => Err(ref_problem(&answer, at, &refs)),
    }
}

fn load_branch(
    git: &Git,
    sandbox: &Sandbox,
    branch: &BranchName,
    at: &Location,
) -> Result<Branch, Problem> {
    let (full, head) = (branch.full(), head_of(&sandbox.id));
    let answer = git
        .call_at(at.clone(), Touches::Objects)
        .args(["for-each-ref"])
        .arg("--format=%(refname)%00%(objectname)%00%(worktreepath)")
        .args([&full, &head])
        .ok()?;
    let text = String::from_utf8_lossy(&answer.stdout);
    let mut there = Branch {
        current: None,
        known: sandbox.base_sha.clone(),
        checkout: None,
    };
    for row in text.lines() {
        let mut fields = row.split('\0');
        let (name, sha) = (fields.next(), fields.next().and_then(CommitSha::parse));
        if name == Some(&full) {
            there.current = sha;
            let checkout = fields.next().filter(|path| !path.is_empty());
            there.checkout = checkout.map(str::to_owned);
        } else if let (true, Some(sha)) = (name == Some(&head), sha) {
            there.known = sha;
        }
    }
    Ok(there)
}
