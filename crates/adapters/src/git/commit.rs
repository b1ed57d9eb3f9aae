//! Commits made by drive.

use super::call::load_config;
use super::lock::ref_problem;
use super::stage::stage;
use super::{
    Call, Git, IgnoredFiles, Location, Status, Touches, absorb, config, history, large_files, state,
};
use drive_core::ids::{BranchName, CommitSha};
use drive_core::problem::{Kind, Problem};
use drive_core::sandbox::{Brought, InProgress, RUN_TRAILER};
use drive_core::time::Timestamp;
use drive_engine::ports::{CollectedWork, LargeFile, Leftovers, NestedRepository, Place};
use std::ffi::OsString;
use std::path::Path;

/// The committer if the user has not configured one.
const FALLBACK: [(&str, &str); 2] = [("user.name", "drive"), ("user.email", "drive@localhost")];

/// The command that commits the staged changes, with the message on standard input.
pub(super) const COMMIT: [&str; 7] = [
    "commit",
    "--quiet",
    "--no-verify",
    "--no-gpg-sign",
    "--cleanup=verbatim",
    "-F",
    "-",
];

/// Commits uncommitted changes, unless an operation is unfinished, and returns the contents
/// afterwards. A sandbox's own commits are taken over first.
pub(super) fn collect(
    git: &Git,
    place: Place<'_>,
    leftovers: &Leftovers,
    base: &str,
) -> Result<CollectedWork, Problem> {
    let location = Location::of(place);
    let settle = |has_links| {
        settle(
            git,
            &location,
            leftovers,
            super::location::brought(place),
            has_links,
        )
    };
    let mut settled = settle(false)?;
    let mut head_sha = history::resolve(git, &location, "HEAD")?;
    let out = match place {
        Place::Sandbox(sandbox) => {
            let bring_out = |head: &CommitSha| super::bring_out(git, sandbox, &location, head);
            match bring_out(&head_sha) {
                Err(problem) if problem.kind == Kind::NestedRepository => {
                    // The agent committed it as a link, which is replaced by its files.
                    let again = settle(true)?;
                    settled.nested.extend(again.nested);
                    settled.large.extend(again.large);
                    head_sha = history::resolve(git, &location, "HEAD")?;
                    Some(bring_out(&head_sha)?)
                }
                brought_out => Some(brought_out?),
            }
        }
        Place::Checkout(_) => None,
    };
    let own = match out {
        Some(out) => {
            head_sha = out.head;
            out.own
        }
        None => None,
    };
    let at = Location::history_of(place);
    let (commits, has_base) = history::commits_since(git, &at, base, &head_sha)?;
    let mut large = settled.large;
    if !commits.is_empty() {
        // The status does not contain files that an agent committed itself.
        let known: Vec<LargeFile> = large_files::committed(git, &at, base, &head_sha)?;
        large.retain(|one| !known.iter().any(|other| other.path == one.path));
        large.extend(known);
    }
    let builds_on_base = has_base.unwrap_or(head_sha.as_str() == base);
    let mut state = state::work_state(head_sha, &settled.status, settled.in_progress);
    state.own = own;
    Ok(CollectedWork {
        state,
        commits,
        builds_on_base,
        large,
        nested: settled.nested,
    })
}

/// Commits uncommitted changes, if no operation is unfinished.
pub(super) fn leftovers(
    git: &Git,
    location: &Location,
    leftovers: &Leftovers,
    brought: &[Brought],
) -> Result<(), Problem> {
    settle(git, location, leftovers, brought, false).map(drop)
}

/// The changes that were found, and committed unless an operation is unfinished.
struct Settled {
    status: state::Status,
    in_progress: Option<InProgress>,
    large: Vec<LargeFile>,
    nested: Vec<NestedRepository>,
}

fn settle(
    git: &Git,
    location: &Location,
    leftovers: &Leftovers,
    brought: &[Brought],
    has_links: bool,
) -> Result<Settled, Problem> {
    // No foreign code runs in between, so reading the settings once is enough.
    let entries = load_config(git, location)?;
    let ignored = IgnoredFiles::of(brought);
    let look = || {
        let mut status = state::status_by(files(git, location, &entries))?;
        if status.incomplete && make_readable(location) {
            status = state::status_by(files(git, location, &entries))?;
        }
        status.retain_work(|path| !ignored.covers(&location.dir, path));
        Ok(status)
    };
    let mut status = look()?;
    let git_dir = state::git_dir(git, location)?;
    let in_progress = state::load_in_progress(git, location, &git_dir)?;
    let (mut large, mut nested) = (Vec::new(), Vec::new());
    if in_progress.is_none() {
        if location.confined.is_none() {
            refuse_nested(&status)?;
        } else {
            nested = absorb::commit_files_of(git, location, &mut status, has_links, look)?;
        }
        if !status.is_clean() {
            large = large_files::uncommitted(&location.dir, &status);
            commit(git, location, &entries, leftovers, &status)?;
        }
    }
    Ok(Settled {
        status,
        in_progress,
        large,
        nested,
    })
}

/// Restores read permissions in a sandbox. Returns whether there is a folder. Git reports what is
/// still unreadable.
fn make_readable(location: &Location) -> bool {
    let folder = location.pinned.as_ref();
    let folder = folder.and_then(|pinned| pinned.work_tree.as_ref());
    folder.is_some_and(|folder| crate::files::make_readable(folder).is_ok())
}

/// Refuses repositories inside the folder that are no submodules: a commit would only contain a link to them.
fn refuse_nested(status: &Status) -> Result<(), Problem> {
    match status.nested.first() {
        None => Ok(()),
        Some(nested) => Err(nested_repository(nested)),
    }
}

/// The problem of a repository that a commit would only contain as a link.
pub(super) fn nested_repository(nested: &Path) -> Problem {
    Problem::new(
        Kind::NestedRepository,
        format!(
            "`{}` is a nested repository and cannot be committed",
            nested.display()
        ),
    )
    .hint("remove it, ignore it, or make it a submodule")
}

fn commit(
    git: &Git,
    location: &Location,
    entries: &[config::Entry],
    leftovers: &Leftovers,
    status: &Status,
) -> Result<(), Problem> {
    let add = || stage(status, || files(git, location, entries));
    // The most likely reason for a failure is an unreadable file.
    if add()?.code != 0 {
        make_readable(location);
        add()?.require()?;
    }
    let answer = signed_by(entries, location, files(git, location, entries))
        .args(COMMIT)
        .stdin(signed(leftovers))
        .run()?;
    match answer.code {
        // Exit code 1 means that nothing changed after all, for example because a file was only touched.
        0 | 1 => Ok(()),
        _ => {
            let full = status.branch.as_ref().map(BranchName::full);
            let refs: Vec<&str> = full.iter().map(String::as_str).collect();
            Err(ref_problem(&answer, location, &refs))
        }
    }
}

/// The problem of an unfinished operation where a commit must be made.
pub(super) fn in_progress(what: InProgress, location: &Location) -> Problem {
    Problem::new(
        Kind::OperationInProgress,
        format!("unfinished {} in `{}`", what.name(), location.dir.display()),
    )
    .hint("finish or abort it there, then try again")
}

/// The message with the run's trailer.
pub(super) fn signed(leftovers: &Leftovers) -> String {
    format!(
        "{}\n\n{RUN_TRAILER}: {}\n",
        leftovers.message.trim_end(),
        leftovers.run
    )
}

fn files<'a>(git: &'a Git, location: &Location, entries: &[config::Entry]) -> Call<'a> {
    git.call_at(location.clone(), Touches::Files)
        .knowing(entries)
}

/// Creates a commit object without moving a ref.
pub(crate) fn commit_tree(
    git: &Git,
    location: &Location,
    tree: &str,
    parents: &[String],
    message: &str,
) -> Result<CommitSha, Problem> {
    commit_tree_at(git, location, tree, parents, message, None)
}

/// Like `commit_tree`, with a fixed time, so that the commit's id is reproducible.
pub(crate) fn commit_tree_at(
    git: &Git,
    location: &Location,
    tree: &str,
    parents: &[String],
    message: &str,
    time: Option<Timestamp>,
) -> Result<CommitSha, Problem> {
    let entries = load_config(git, location)?;
    let call = git.call_at(location.clone(), Touches::Objects);
    let call = signed_by(&entries, location, call);
    let time = time.map(|time| format!("@{} +0000", time.as_second()));
    let dates = ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"].into_iter();
    let call = dates
        .filter_map(|name| Some((name, time.as_ref()?)))
        .fold(call, |call, (name, time)| call.env(name, time));
    let parents = parents
        .iter()
        .flat_map(|parent| [OsString::from("-p"), OsString::from(parent)]);
    call.args(["commit-tree", "--no-gpg-sign", tree])
        .args(parents)
        .args(["-F", "-"])
        .stdin(message)
        .ok()?
        .sha()
}

/// Adds a committer to a call: the user, or drive if the user has not configured one. In a sandbox,
/// the user's settings are not visible, so they are passed in variables, which the sandbox's own
/// settings cannot override.
pub(super) fn signed_by<'a>(entries: &[config::Entry], at: &Location, call: Call<'a>) -> Call<'a> {
    let own = |key: &str| config::last(entries, key).filter(|value| !value.is_empty());
    let user = match (own("user.name"), own("user.email")) {
        (Some(name), Some(email)) => Some([name, email]),
        (_, _) => None,
    };
    if at.confined.is_none() {
        return match user {
            Some(_) => call,
            None => FALLBACK
                .iter()
                .fold(call, |call, (key, value)| call.config(key, value)),
        };
    }
    let [name, email] = user.unwrap_or(FALLBACK.map(|(_, value)| value));
    [
        ("GIT_AUTHOR_NAME", "author.name", name),
        ("GIT_AUTHOR_EMAIL", "author.email", email),
        ("GIT_COMMITTER_NAME", "committer.name", name),
        ("GIT_COMMITTER_EMAIL", "committer.email", email),
    ]
    .into_iter()
    .fold(call, |call, (variable, key, user)| {
        call.env(variable, own(key).unwrap_or(user))
    })
}
