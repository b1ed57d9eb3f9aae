//! Reads the commits that a push would publish, for the secret check.

use super::call::Touches;
use super::raw_commits::raw_commits;
use super::{Git, Location};
use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::Push;

/// The maximum number of commits that are read.
pub(super) const MOST_COMMITS: usize = 20_000;
/// The format in which the patch reader expects a commit. No message can contain the zero byte around it.
const FORMAT: &str = "--format=%x00commit %H%n%an <%ae> %cn <%ce>%n%B%n%x00";

pub(super) fn unpublished(
    git: &Git,
    location: &Location,
    push: &Push,
    base: &CommitSha,
    merged: Option<&CommitSha>,
) -> Result<Vec<u8>, Problem> {
    let mut known = Vec::new();
    for sha in push.expected.iter().chain(merged) {
        // The remote may have a commit that is missing here.
        let found = call(git, location)
            .args(["cat-file", "-e", sha.as_str()])
            .run()?;
        if found.code == 0 {
            known.push(sha.as_str());
        }
    }
    // An agent may be able to write remote-tracking branches, so they do not exclude its commits.
    let mut commits = list(git, location, &push.sha, &[&known[..], &[base]].concat())?;
    let on_remote = format!("--remotes={}", push.remote);
    let before = [&known[..], &[on_remote.as_str()]].concat();
    commits.extend_from_slice(&list(git, location, base, &before)?);
    if commits.is_empty() {
        return Ok(commits);
    }
    let count = commits.iter().filter(|byte| **byte == b'\n').count();
    if count > MOST_COMMITS {
        return Err(too_much(push).cause(format!("{count} commits; the limit is {MOST_COMMITS}")));
    }
    let stored = raw_commits(call(git, location), commits.clone());
    let mut all = as_messages(stored.map_err(|problem| unread(push, problem))?);
    // Without a line of context git computes wrong ranges where a merge drops the end of a file
    // (2.47 prints a range of 2^64 - 1 lines).
    let answer = call(git, location)
        .args(["diff-tree", "--stdin", "-r", "-p", "-c", "--root"])
        .args([
            "--always",
            "--encoding=UTF-8",
            FORMAT,
            "--text",
            "--unified=1",
            "--no-color",
        ])
        .args(["--no-renames", "--no-ext-diff", "--no-textconv"])
        .args(["--src-prefix=a/", "--dst-prefix=b/"])
        .stdin(commits)
        .ok();
    let answer = answer.map_err(|problem| unread(push, problem))?;
    all.extend_from_slice(&answer.stdout);
    Ok(all)
}

/// The raw commits, each as a message. A push publishes every byte of them, but git does not show a
/// message that it cannot decode, or an unknown header.
fn as_messages(commits: Vec<(String, Vec<u8>)>) -> Vec<u8> {
    let mut all = Vec::new();
    for (sha, mut commit) in commits {
        // A zero byte would end the message in the patch.
        for byte in commit.iter_mut().filter(|byte| **byte == 0) {
            *byte = b' ';
        }
        all.extend_from_slice(format!("\0commit {sha}\n").as_bytes());
        all.extend_from_slice(&commit);
        all.extend_from_slice(b"\n\0\n");
    }
    all
}

fn unread(push: &Push, problem: Problem) -> Problem {
    if problem.kind == Kind::Interrupted {
        problem
    } else {
        too_much(push).cause(problem.to_string())
    }
}

/// A call of git in which nothing hides a commit or its content, so that it reads exactly what is pushed.
fn call<'a>(git: &'a Git, location: &Location) -> super::call::Call<'a> {
    git.call_at(location.clone(), Touches::Objects)
        .config("core.commitGraph", "false")
        .interruptible()
}

/// The commits of `head` that none of the others contains, one per line.
fn list(git: &Git, location: &Location, head: &str, not: &[&str]) -> Result<Vec<u8>, Problem> {
    let answer = call(git, location)
        .args(["rev-list", head, "--not"])
        .args(not.iter().copied())
        .arg("--")
        .ok()?;
    Ok(answer.stdout)
}

fn too_much(push: &Push) -> Problem {
    let remote = &push.remote;
    Problem::new(
        Kind::SecretCheckFailed,
        "not pushed: the commits could not be checked for secrets",
    )
    .hint(format!(
        "if most of them are yours, push the branch that the run started from to `{remote}` first"
    ))
}
