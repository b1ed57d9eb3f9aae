//! A sandbox's own repository, seen from the user's: what is committed in it is taken over, and the
//! user's branch follows the sandbox's.

use super::take::Paths;
use super::{Git, Held, Location, Take, Touches, history, ref_problem, signing, state};
use drive_core::ids::{BranchName, CommitSha, SandboxId};
use drive_core::problem::Problem;
use drive_core::sandbox::Sandbox;
use drive_engine::ports::{OwnBranch, UsersBranch, WorkState};

/// The ref that keeps a sandbox's base commit from being collected as garbage.
pub(crate) fn pin_of(id: &SandboxId) -> String {
    format!("refs/drive/pin/{id}")
}

/// The ref that tells where drive last put the branch of a sandbox. A branch that is elsewhere was
/// moved by somebody else.
pub(crate) fn head_of(id: &SandboxId) -> String {
    format!("refs/drive/head/{id}")
}

/// The ref that keeps what was last merged into a sandbox from being collected: it may come from a
/// remote, and no branch of the user's names it.
pub(crate) fn theirs_of(id: &SandboxId) -> String {
    format!("refs/drive/theirs/{id}")
}

/// Keeps a commit that a sandbox is about to merge.
pub(super) fn pin_theirs(git: &Git, sandbox: &Sandbox, theirs: &CommitSha) -> Result<(), Problem> {
    git.call_at(Location::bare(&sandbox.git_dir), Touches::Objects)
        .args(["update-ref", "--no-deref", &theirs_of(&sandbox.id), theirs])
        .ok()
        .map(drop)
}

/// What a sandbox looks like now. Its commit can be looked at in the user's repository then.
pub(super) fn load_state(git: &Git, sandbox: &Sandbox) -> Result<WorkState, Problem> {
    let inside = Location::inside(&sandbox.path, &sandbox.git_dir);
    let mut state = state::load(git, &inside)?;
    let out = bring_out(git, sandbox, &inside, &state.head_sha)?;
    state.own = out.own;
    state.head_sha = out.head;
    Ok(state)
}

/// What was taken over of a sandbox.
pub(crate) struct BroughtOut {
    pub(crate) own: Option<OwnBranch>,
    /// What is checked out there: the signed commit where the user's git signs.
    pub(crate) head: CommitSha,
}

/// Takes what is checked out in a sandbox, and what is on its branch, which the user's follows.
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

/// Signs what was taken, where the user's git signs, and moves the sandbox's head and branch to the
/// signed commits. Returns both as they are then.
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
        // It moves with a `HEAD` that names it.
        && own_tip(git, inside, branch)?.as_ref() == Some(tip)
    {
        update(&branch.full(), tip)?;
    }
    Ok((tip.as_ref().map(now), now(head)))
}

/// Takes commits to be saved. They are safe from collection until a ref names them and the answer is
/// dropped.
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

/// What a branch points at in a sandbox.
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
    // A branch that is gone, or that leads to no commit, is put right where it is looked at.
    Ok(CommitSha::parse(&answer.line()).filter(|_| answer.code == 0))
}

/// Where the user's repository has a sandbox's branch.
struct Branch {
    /// Where it is; `None` when it was deleted.
    current: Option<CommitSha>,
    /// Where drive put it.
    known: CommitSha,
    /// The checkout that shows it.
    checkout: Option<String>,
}

/// Moves the user's branch to where the sandbox's is, if it may: nobody else's commits are dropped,
/// no checkout is made to look changed, and a run that moves it itself is left to do so. The new
/// commits have a ref of drive's in any case.
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

/// Where the user's branch of a sandbox is, if somebody else committed to it.
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
        // Not where drive has put it: another reviewer of the same head may have followed the user there.
        Some(current) if !is_ours(git, &at, &current, &[head])? => Ok(Some(current)),
        Some(_) | None => Ok(None),
    }
}

/// Moves the user's branch of a sandbox to a commit, unless somebody else moved it: that is theirs,
/// and is looked at next.
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

/// Whether a branch has nothing but what is in one of these: one that a checkout kept from following
/// is behind, not somebody else's.
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

/// Moves drive's own ref of a sandbox, and with it the branch.
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
