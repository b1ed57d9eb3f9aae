//! Commits drive makes itself.

use super::call::load_config;
use super::{Git, Location, Touches, config, history, state};
use drive_core::Problem;
use drive_core::phase::{STATE_FILE, STATE_FOLDER};
use drive_core::run::CommitSummary;
use drive_core::sandbox::{Brought, InProgress, RUN_TRAILER};
use drive_engine::ports::Leftovers;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Who commits when the user has not said who they are.
const FALLBACK: [(&str, &str); 2] = [("user.name", "drive"), ("user.email", "drive@localhost")];

/// Commits what is staged, with the message on standard input.
pub(super) const COMMIT: [&str; 7] = [
    "commit",
    "--quiet",
    "--no-verify",
    "--no-gpg-sign",
    "--cleanup=verbatim",
    "-F",
    "-",
];

pub(super) fn leftovers(
    git: &Git,
    location: &Location,
    leftovers: &Leftovers,
    brought: &[Brought],
) -> Result<Option<CommitSummary>, Problem> {
    if let Some(what) = state::in_progress(&state::git_dir(git, location)?) {
        return Err(in_progress(what, location));
    }
    // No foreign code runs in between, so one look at the settings serves all of it.
    let entries = load_config(git, location)?;
    let call = || {
        git.call_at(location.clone(), Touches::Files)
            .knowing(&entries)
    };
    let mut status = state::status_by(call())?;
    let state_file = Path::new(STATE_FOLDER).join(STATE_FILE);
    let is_work = |path: &PathBuf| {
        *path != state_file && !brought.iter().any(|one| path.starts_with(&one.path))
    };
    status.dirty.retain(is_work);
    status.nested.retain(is_work);
    if let Some(nested) = status.nested.first() {
        return Err(Problem::work(
            "nestedRepository",
            format!(
                "`{}` is a repository of its own and cannot be committed",
                nested.display()
            ),
        )
        .hint("remove it, ignore it, or make it a submodule"));
    }
    if status.dirty.is_empty() {
        return Ok(None);
    }
    call().args(everything(brought)).ok()?;
    let answer = identity(&entries)
        .iter()
        .fold(call(), |call, (key, value)| call.config(key, value))
        .args(COMMIT)
        .stdin(signed(leftovers))
        .run()?;
    match answer.code {
        0 => last_commit(git, location).map(Some),
        // Nothing but what is clean after all, such as a touched file.
        1 => Ok(None),
        _ => Err(answer.problem()),
    }
}

/// Something was left half done where a commit is to be made.
pub(super) fn in_progress(what: InProgress, location: &Location) -> Problem {
    Problem::work(
        "operationInProgress",
        format!(
            "a {} was left half done in `{}`",
            what.name(),
            location.dir.display()
        ),
    )
    .hint("finish or abort it there, then try again")
}

/// What stages everything but what was brought along and what drive itself wrote.
pub(super) fn everything(brought: &[Brought]) -> Vec<OsString> {
    let mut all: Vec<OsString> = ["add", "--all", "--", ":/"].map(Into::into).into();
    // An ignore file of the work may say otherwise than git's own exclude file.
    all.push(excluded(&Path::new(STATE_FOLDER).join(STATE_FILE)));
    all.extend(brought.iter().map(|one| excluded(&one.path)));
    all
}

/// The message with the run's trailer.
pub(super) fn signed(leftovers: &Leftovers) -> String {
    format!(
        "{}\n\n{RUN_TRAILER}: {}\n",
        leftovers.message.trim_end(),
        leftovers.run
    )
}

/// A pathspec that leaves one path out.
pub(crate) fn excluded(path: &Path) -> OsString {
    let mut spec = OsString::from(":(exclude,top,literal)");
    spec.push(path);
    spec
}

/// Makes a commit object; no ref moves.
pub(crate) fn commit_tree(
    git: &Git,
    location: &Location,
    tree: &str,
    parents: &[String],
    message: &str,
) -> Result<String, Problem> {
    let entries = load_config(git, location)?;
    let call = identity(&entries).iter().fold(
        git.call_at(location.clone(), Touches::Objects),
        |call, (key, value)| call.config(key, value),
    );
    let parents = parents
        .iter()
        .flat_map(|parent| [OsString::from("-p"), OsString::from(parent)]);
    call.args(["commit-tree", "--no-gpg-sign", tree])
        .args(parents)
        .args(["-F", "-"])
        .stdin(message)
        .line()
}

/// Settings that name a committer where the user's own do not.
pub(super) fn identity(entries: &[config::Entry]) -> &'static [(&'static str, &'static str)] {
    let has = |key: &str| config::last(entries, key).is_some_and(|value| !value.is_empty());
    match has("user.name") && has("user.email") {
        true => &[],
        false => &FALLBACK,
    }
}

fn last_commit(git: &Git, location: &Location) -> Result<CommitSummary, Problem> {
    let answer = git
        .call_at(location.clone(), Touches::Objects)
        .args(["log", "-z", "--max-count=1", "--no-show-signature"])
        .arg(history::SUMMARY_FORMAT)
        .arg("HEAD")
        .ok()?;
    answer
        .fields()
        .next()
        .and_then(history::summary)
        .ok_or_else(|| answer.problem())
}
