//! Fetch, push and other remote operations.

use super::{Git, Location, Touches, history};
use drive_core::ids::CommitSha;
use drive_core::ids::{BranchName, RemoteName};
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::{Push, Pushed};

/// The programs on the remote side. The repository's config could name others, and the first value
/// would override our settings.
const UPLOAD_PACK: &str = "--upload-pack=git-upload-pack";
const RECEIVE_PACK: &str = "--receive-pack=git-receive-pack";

pub(super) fn url(
    git: &Git,
    location: &Location,
    remote: &RemoteName,
) -> Result<Option<String>, Problem> {
    let answer = git
        .call_at(location.clone(), Touches::Objects)
        .args(["remote", "get-url", "--", remote])
        .run()?;
    Ok((answer.code == 0).then(|| answer.line()))
}

pub(super) fn fetch(git: &Git, location: &Location, remote: &RemoteName) -> Result<(), Problem> {
    let answer = git
        .call_at(location.clone(), Touches::Network)
        .interruptible()
        .args(["fetch", "--quiet", "--no-auto-gc", "--no-write-fetch-head"])
        .args([
            "--no-recurse-submodules",
            UPLOAD_PACK,
            "--end-of-options",
            remote,
        ])
        .run()?;
    match answer.code {
        0 => Ok(()),
        _ => Err(unreachable_remote("fetch from", remote, &answer)),
    }
}

/// How often a branch that moves during a fetch is fetched again.
const FETCHES: usize = 5;

/// Fetches one branch and returns its tip. The name is looked up before the fetch, so a branch that
/// was rewritten in between is looked up again.
pub(super) fn fetch_branch(
    git: &Git,
    location: &Location,
    remote: &RemoteName,
    branch: &BranchName,
) -> Result<Option<CommitSha>, Problem> {
    for _ in 0..FETCHES {
        let Some(sha) = head(git, location, remote, branch)? else {
            return Ok(None);
        };
        if history::resolve(git, location, &sha).is_ok() {
            return Ok(Some(sha));
        }
        let answer = git
            .call_at(location.clone(), Touches::Network)
            .interruptible()
            .args(["fetch", "--quiet", "--no-auto-gc", "--no-write-fetch-head"])
            .args(["--no-tags", "--no-recurse-submodules", UPLOAD_PACK])
            .args(["--end-of-options", remote, &branch.full()])
            .run()?;
        if answer.code != 0 && head(git, location, remote, branch)?.as_ref() == Some(&sha) {
            return Err(unreachable_remote("fetch from", remote, &answer));
        }
    }
    Err(Problem::new(
        Kind::BranchKeepsMoving,
        format!("branch `{branch}` changed during all {FETCHES} fetches"),
    )
    .hint("find out who rewrites it, then try again"))
}

pub(super) fn head(
    git: &Git,
    location: &Location,
    remote: &RemoteName,
    branch: &BranchName,
) -> Result<Option<CommitSha>, Problem> {
    let full = branch.full();
    let answer = git
        .call_at(location.clone(), Touches::Network)
        .interruptible()
        .args([
            "ls-remote",
            "--quiet",
            UPLOAD_PACK,
            "--end-of-options",
            remote,
            &full,
        ])
        .run()?;
    if answer.code != 0 {
        return Err(unreachable_remote("ask", remote, &answer));
    }
    let text = String::from_utf8_lossy(&answer.stdout);
    // The pattern also matches names that end with this one.
    let sha = text.lines().find_map(|line| {
        let (sha, name) = line.split_once('\t')?;
        (name == full).then_some(sha)
    });
    sha.map(|sha| CommitSha::parse(sha).ok_or_else(|| answer.problem()))
        .transpose()
}

/// Pushes one commit. The lease names the expected commit, and the update must also be a fast-forward from
/// it: so neither a commit that arrived in between nor an unknown one can be overwritten.
pub(super) fn push(git: &Git, location: &Location, push: &Push) -> Result<Pushed, Problem> {
    let current = head(git, location, &push.remote, &push.branch)?;
    if current.as_deref() == Some(push.sha.as_str()) {
        return Ok(Pushed::UpToDate);
    }
    if current != push.expected || !moves_forward(git, location, push)? {
        return Ok(Pushed::Moved {
            remote_head: current,
        });
    }
    let full = push.branch.full();
    let lease = format!(
        "--force-with-lease={full}:{}",
        push.expected.as_deref().unwrap_or_default()
    );
    let answer = git
        .call_at(location.clone(), Touches::Network)
        .interruptible()
        .args([
            "push",
            "--quiet",
            "--porcelain",
            "--no-verify",
            "--no-follow-tags",
            &lease,
        ])
        .args([RECEIVE_PACK, "--end-of-options", &push.remote])
        .arg(format!("{}:{full}", push.sha))
        .run()?;
    if answer.code == 0 {
        return Ok(Pushed::Done);
    }
    refused(git, location, push, &answer)
}

fn moves_forward(git: &Git, location: &Location, push: &Push) -> Result<bool, Problem> {
    match &push.expected {
        None => Ok(true),
        // A head that is missing here cannot be in our history.
        Some(expected) if history::resolve(git, location, expected).is_err() => Ok(false),
        Some(expected) => history::is_ancestor(git, location, expected, &push.sha),
    }
}

/// The result of a failed push: the branch moved meanwhile, the remote refused, or it could not be
/// reached. The remote is read again, because messages are not parsed.
fn refused(
    git: &Git,
    location: &Location,
    push: &Push,
    answer: &super::Answer,
) -> Result<Pushed, Problem> {
    let now = head(git, location, &push.remote, &push.branch)?;
    if now.as_deref() == Some(push.sha.as_str()) {
        return Ok(Pushed::Done);
    }
    if now != push.expected {
        return Ok(Pushed::Moved { remote_head: now });
    }
    let stdout = String::from_utf8_lossy(&answer.stdout);
    match stdout.lines().find(|line| line.starts_with('!')) {
        Some(line) => Ok(Pushed::Refused {
            reason: format!(
                "{} {}",
                line.rsplit('\t').next().unwrap_or(line),
                answer.complaint()
            )
            .trim()
            .to_owned(),
        }),
        None => Err(unreachable_remote("push to", &push.remote, answer)),
    }
}

fn unreachable_remote(what: &str, remote: &RemoteName, answer: &super::Answer) -> Problem {
    let general = answer.problem();
    Problem {
        kind: Kind::RemoteUnreachable,
        message: format!("cannot {what} remote `{remote}`"),
        hint: Some(general.hint.clone().unwrap_or_else(|| {
            "check that `git ls-remote` works there without a prompt".to_owned()
        })),
        ..general
    }
}
