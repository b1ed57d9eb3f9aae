//! Commits drive makes itself.

use super::call::load_config;
use super::{Call, Git, Location, Touches, config, history, state};
use drive_core::Problem;
use drive_core::phase::{STATE_FILE, STATE_FOLDER};
use drive_core::sandbox::{Brought, InProgress, RUN_TRAILER};
use drive_engine::ports::{CollectedWork, LargeFile, Leftovers};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
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

/// What many forges refuse: the size of one file in bytes.
const LARGE_FILE: u64 = 100 << 20;

/// Commits what is left over, unless something is half done, and tells what is there then.
pub(super) fn collect(
    git: &Git,
    location: &Location,
    leftovers: &Leftovers,
    brought: &[Brought],
    base: &str,
) -> Result<CollectedWork, Problem> {
    let mut settled = settle(git, location, leftovers, brought)?;
    let (commits, has_base) = history::commits_on(git, location, base)?;
    let head_sha = match (commits.last(), settled.status.head.take()) {
        (Some(newest), _) => newest.sha.clone(),
        (None, Some(head)) => head,
        (None, None) => history::resolve(git, location, "HEAD")?,
    };
    let builds_on_base = has_base.unwrap_or(head_sha == base);
    let state = state::work_state(head_sha, &settled.status, settled.in_progress);
    Ok(CollectedWork {
        state,
        commits,
        builds_on_base,
        large: settled.large,
    })
}

/// Commits what is left over where nothing is half done.
pub(super) fn leftovers(
    git: &Git,
    location: &Location,
    leftovers: &Leftovers,
    brought: &[Brought],
) -> Result<(), Problem> {
    settle(git, location, leftovers, brought).map(drop)
}

/// What was found, and committed unless something is half done.
struct Settled {
    status: state::Status,
    in_progress: Option<InProgress>,
    large: Vec<LargeFile>,
}

fn settle(
    git: &Git,
    location: &Location,
    leftovers: &Leftovers,
    brought: &[Brought],
) -> Result<Settled, Problem> {
    // No foreign code runs in between, so one look at the settings serves all of it.
    let entries = load_config(git, location)?;
    let mut status = state::status_by(files(git, location, &entries))?;
    if status.incomplete && make_readable(location) {
        status = state::status_by(files(git, location, &entries))?;
    }
    let state_file = Path::new(STATE_FOLDER).join(STATE_FILE);
    let is_work = |path: &PathBuf| {
        *path != state_file && !brought.iter().any(|one| path.starts_with(&one.path))
    };
    status.dirty.retain(is_work);
    status.nested.retain(is_work);
    let in_progress = state::in_progress(&state::git_dir(git, location)?);
    let mut large = Vec::new();
    if in_progress.is_none() {
        refuse_nested(&status)?;
        if !status.dirty.is_empty() {
            large = large_files(&location.dir, &status.dirty);
            commit(git, location, &entries, leftovers, brought)?;
        }
    }
    Ok(Settled {
        status,
        in_progress,
        large,
    })
}

/// Gives back the right to read what lies in a worktree of ours; whether there was one to ask.
/// What still cannot be read is git's to name.
fn make_readable(location: &Location) -> bool {
    let folder = location.pinned.as_ref();
    let folder = folder.and_then(|pinned| pinned.work_tree.as_ref());
    folder.is_some_and(|folder| crate::files::make_readable(folder).is_ok())
}

fn refuse_nested(status: &state::Status) -> Result<(), Problem> {
    let Some(nested) = status.nested.first() else {
        return Ok(());
    };
    Err(Problem::work(
        "nestedRepository",
        format!(
            "`{}` is a repository of its own and cannot be committed",
            nested.display()
        ),
    )
    .hint("remove it, ignore it, or make it a submodule"))
}

fn commit(
    git: &Git,
    location: &Location,
    entries: &[config::Entry],
    leftovers: &Leftovers,
    brought: &[Brought],
) -> Result<(), Problem> {
    let add = || files(git, location, entries).args(everything(brought));
    // One that fails has most likely met a file that nobody may read.
    if add().run()?.code != 0 {
        make_readable(location);
        add().ok()?;
    }
    let answer = identity(entries)
        .iter()
        .fold(files(git, location, entries), |call, (key, value)| {
            call.config(key, value)
        })
        .args(COMMIT)
        .stdin(signed(leftovers))
        .run()?;
    match answer.code {
        // With 1: nothing but what is clean after all, such as a touched file.
        0 | 1 => Ok(()),
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
    all.extend(excluded(&Path::new(STATE_FOLDER).join(STATE_FILE)));
    all.extend(brought.iter().flat_map(|one| excluded(&one.path)));
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

fn files<'a>(git: &'a Git, location: &Location, entries: &[config::Entry]) -> Call<'a> {
    git.call_at(location.clone(), Touches::Files)
        .knowing(entries)
}

fn large_files(folder: &Path, paths: &[PathBuf]) -> Vec<LargeFile> {
    let size = |path: &PathBuf| folder.join(path).symlink_metadata().ok().map(|m| m.len());
    paths
        .iter()
        .filter_map(|path| {
            Some(LargeFile {
                path: path.clone(),
                bytes: size(path).filter(|bytes| *bytes > LARGE_FILE)?,
            })
        })
        .collect()
}

/// Pathspecs that leave one path out, with all that lies below it.
///
/// `git add` refuses a pathspec that names an ignored path literally, even to leave it out, so the
/// name is given as a pattern that matches only itself.
pub(crate) fn excluded(path: &Path) -> [OsString; 2] {
    let mut pattern = b":(exclude,top,glob)".to_vec();
    let mut is_pattern = false;
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'*' | b'?' | b'[' | b'\\' => pattern.extend([b'\\', byte]),
            byte if !is_pattern && (byte.is_ascii_alphanumeric() || b"._-".contains(&byte)) => {
                pattern.extend([b'[', byte, b']']);
                is_pattern = true;
            }
            byte => pattern.push(byte),
        }
    }
    let below = [pattern.as_slice(), b"/**"].concat();
    [pattern, below].map(OsString::from_vec)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_left_out_by_a_pattern_that_matches_only_itself() {
        let specs = |path: &str| excluded(Path::new(path)).map(|one| one.into_string().unwrap());
        assert_eq!(
            specs("target"),
            [
                ":(exclude,top,glob)[t]arget",
                ":(exclude,top,glob)[t]arget/**"
            ]
        );
        assert_eq!(
            specs("*we?rd [x]/f"),
            [
                r":(exclude,top,glob)\*[w]e\?rd \[x]/f",
                r":(exclude,top,glob)\*[w]e\?rd \[x]/f/**"
            ]
        );
    }
}
