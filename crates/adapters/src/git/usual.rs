//! The default base branch, for when the user names none.

use super::{Call, Git, Location, Touches};
use drive_core::ids::CommitSha;
use drive_core::problem::Problem;

const REMOTE: &str = "refs/remotes/origin/";
const LOCAL: [&str; 2] = ["main", "master"];

/// The candidates, the likeliest first: the default branch of the remote, `main`, `master`.
pub(crate) fn usual_bases(call: Call<'_>) -> Result<Vec<String>, Problem> {
    let remote = remote_default(call)?;
    let all = remote.into_iter().chain(LOCAL.map(str::to_owned));
    Ok(all.collect())
}

/// The commit of the main branch: the last known one of the remote, else that of the local branch.
pub(super) fn main_tip(git: &Git, location: &Location) -> Result<Option<CommitSha>, Problem> {
    let call = || git.call_at(location.clone(), Touches::Objects);
    let remote = remote_default(call())?;
    let remote = remote.into_iter().chain(LOCAL.map(str::to_owned));
    let remote = remote.map(|name| format!("{REMOTE}{name}"));
    let local = LOCAL.map(|name| format!("refs/heads/{name}"));
    for name in remote.chain(local) {
        let commit = format!("{name}^{{commit}}");
        let tip = call()
            .args(["rev-parse", "--verify", "--quiet", &commit])
            .optional_sha()?;
        if tip.is_some() {
            return Ok(tip);
        }
    }
    Ok(None)
}

fn remote_default(call: Call<'_>) -> Result<Option<String>, Problem> {
    let answer = call
        .args(["symbolic-ref", "--quiet", &format!("{REMOTE}HEAD")])
        .run()?;
    let line = answer.line();
    Ok(line.strip_prefix(REMOTE).map(str::to_owned))
}
