//! Repairs the repository of a sandbox after an agent damaged it.
//!
//! It restores only what git needs to read the work again. Files and commits are not changed,
//! unless only a new repository helps: then the files are the work. No agent runs in the sandbox
//! meanwhile, so lock files that no process holds are stale.

use super::problems::{require_plain, storage_problem};
use super::record::{Record, folder_id};
use super::refs;
use super::repository::OwnRepository;
use super::sandboxes::GitSandboxes;
use crate::files;
use crate::git::{self, Judged, Location, Touches};
use drive_core::forge::inert::Said;
use drive_core::ids::CommitSha;
use drive_core::phase::STATE_FOLDER;
use drive_core::problem::{Kind, Problem};
use drive_core::sandbox::Stage;
use std::io;
use std::path::Path;

/// The minimum size of an index: its header and its checksum.
const INDEX_BYTES: u64 = 32;
const INDEX_MAGIC: &[u8] = b"DIRC";

/// Repairs a sandbox before an agent works in it. If its folder was removed or emptied, it is
/// restored from its branch; uncommitted work in it is lost.
pub(super) fn make_whole(
    all: &GitSandboxes,
    record: &Record,
    head: Option<&CommitSha>,
) -> Result<Vec<String>, Problem> {
    let path = &record.sandbox.path;
    if record.stage != Stage::Ready {
        return Ok(Vec::new());
    }
    require_plain(path)?;
    let was_empty = is_empty(path);
    let record = &with_folder(all, record)?.0;
    let mut notes = mend_repository(all, record, head)?;
    if !was_empty {
        return Ok(notes);
    }
    let call = |touches| all.git.call_at(all.inside(record), touches);
    let tree = call(Touches::Objects).args(["ls-tree", "--name-only", "HEAD"]);
    if tree.ok()?.stdout.is_empty() {
        return Ok(notes);
    }
    call(Touches::Files)
        .args(["reset", "--hard", "--quiet", "--no-recurse-submodules"])
        .ok()?;
    // The note about the empty folder replaces all others.
    notes.clear();
    notes.push(format!(
        "`{}` was empty; its files were restored from the branch",
        path.display()
    ));
    Ok(notes)
}

/// Repairs a sandbox after an agent worked in it, and returns what was missing.
pub(super) fn mend(
    all: &GitSandboxes,
    record: &Record,
    head: Option<&CommitSha>,
) -> Result<Vec<String>, Problem> {
    if record.stage != Stage::Ready {
        return Ok(Vec::new());
    }
    let path = &record.sandbox.path;
    require_plain(path)?;
    let (record, was_absent) = with_folder(all, record)?;
    files::make_usable(path).map_err(|error| storage_problem(path, &error))?;
    let notes = mend_repository(all, &record, head)?;
    if was_absent {
        // This note covers everything that is missing.
        return Ok(vec!["the agent deleted its whole folder".to_owned()]);
    }
    Ok(notes)
}

/// The record of a sandbox, whose folder is restored if it is missing, and whether it was.
fn with_folder(all: &GitSandboxes, record: &Record) -> Result<(Record, bool), Problem> {
    let mut record = record.clone();
    let path = &record.sandbox.path;
    if !is_absent(path) {
        return Ok((record, false));
    }
    std::fs::create_dir_all(path).map_err(|error| storage_problem(path, &error))?;
    record.folder = folder_id(path).found();
    all.records.save(&record)?;
    Ok((record, true))
}

/// Makes the head, the branch and the index readable again.
pub(super) fn mend_repository(
    all: &GitSandboxes,
    record: &Record,
    known: Option<&CommitSha>,
) -> Result<Vec<String>, Problem> {
    let mut notes = Vec::new();
    if record.stage != Stage::Ready {
        return Ok(notes);
    }
    let sandbox = &record.sandbox;
    let users = Location::bare(&sandbox.git_dir);
    let tip = match &sandbox.branch {
        Some(branch) => refs::value_of(&all.git, &users, &branch.full())?,
        None => None,
    };
    let tip = tip.and_then(|tip| CommitSha::parse(&tip));
    let at = all.inside(record);
    let removed = make_safe(all, record)?;
    if removed > 0 {
        notes.push(format!(
            "the agent put {removed} links, pipes or over-long paths among git's files; they were \
             removed"
        ));
    }
    clear_locks(record, &at)?;
    if let Some(why) = unsound(all, &at, &sandbox.path.join(".git"))? {
        // The last position that is known outside of the sandbox.
        let head = tip.as_ref().or(known).unwrap_or(&sandbox.base_sha);
        repair(all, record, &at, head)?;
        notes.push(why.to_owned());
    }
    if let (Some(branch), None) = (&sandbox.branch, &tip) {
        // Commits on a branch of the user are not checked any more.
        make_inert(all, record, &at)?;
        let own = git::own_tip(&all.git, &at, branch)?;
        let tip = own.as_ref().or(known).unwrap_or(&sandbox.base_sha).clone();
        let _held = git::take(&all.git, sandbox, &at, std::slice::from_ref(&tip))?;
        git::put_branch(&all.git, sandbox, &tip)?;
        notes.push(format!(
            "branch `{branch}` was deleted; it was recreated at {tip}"
        ));
    }
    let index = sandbox.path.join(".git/index");
    if !is_index(&index) {
        discard(&index)?;
        all.git
            .call_at(at, Touches::Files)
            .args(["read-tree", "HEAD"])
            .ok()?;
        notes.push("the agent damaged git's index".to_owned());
    }
    Ok(notes)
}

/// Makes the messages of commits inert that were not checked yet, before they reach the user's branch.
pub(super) fn make_inert(
    all: &GitSandboxes,
    record: &Record,
    inside: &Location,
) -> Result<(), Problem> {
    let judged = Judged {
        git: &all.git,
        sandbox: &record.sandbox,
        inside,
        base: &record.sandbox.base_sha,
        said: &Said::default(),
        remote: None,
    };
    judged.make_inert().map(drop)
}

fn is_index(path: &Path) -> bool {
    let long_enough = path
        .symlink_metadata()
        .is_ok_and(|meta| meta.is_file() && meta.len() >= INDEX_BYTES);
    long_enough && files::load_from(path, 0, 4).is_ok_and(|magic| magic == INDEX_MAGIC)
}

/// The maximum number of entries in a git folder.
const MOST_ENTRIES: u32 = 2_000_000;
/// The maximum length of the path of a git file. The kernel's limit is 4,096 bytes.
const PATH_BYTES: usize = 3_500;

/// Removes everything that is neither a file nor a folder: git creates no such entries, a link may
/// lead anywhere, and reading a pipe may block. Returns their number.
fn remove_odd(own: &Path, most: u32) -> io::Result<u32> {
    let (mut open, mut removed, mut seen) = (vec![own.to_path_buf()], 0, 0);
    while let Some(folder) = open.pop() {
        // The top may be anything; the next step checks it.
        if !folder.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            continue;
        }
        files::make_usable(&folder)?;
        for entry in std::fs::read_dir(&folder)?.flatten() {
            seen += 1;
            let kind = entry.file_type()?;
            if seen > most {
                return Err(io::ErrorKind::FileTooLarge.into());
            } else if entry.path().as_os_str().len() > PATH_BYTES {
                files::remove_tree(&entry.path())?;
                removed += 1;
            } else if kind.is_dir() {
                open.push(entry.path());
            } else if !kind.is_file() {
                std::fs::remove_file(entry.path())?;
                removed += 1;
            }
        }
    }
    Ok(removed)
}

/// Makes the repository of a sandbox safe before git works in it: it contains only files and folders, and
/// settings that drive wrote. Anything else in their place is removed. Returns the number of removed entries.
pub(super) fn make_safe(all: &GitSandboxes, record: &Record) -> Result<u32, Problem> {
    let sandbox = drive_core::sandbox::Sandbox {
        path: all.folder_of(record),
        ..record.sandbox.clone()
    };
    let repository = OwnRepository {
        git: &all.git,
        sandbox: &sandbox,
        checkout: &record.checkout,
        head: &sandbox.base_sha,
    };
    let own = sandbox.path.join(".git");
    match own.symlink_metadata() {
        Ok(meta) if meta.is_dir() => {}
        // Changes below a link would happen elsewhere. `.git` may also be missing.
        Ok(_) | Err(_) => return discard(&own).map(|()| 0),
    }
    let removed = remove_odd(&own, MOST_ENTRIES).map_err(|error| {
        if error.kind() != io::ErrorKind::FileTooLarge {
            return storage_problem(&own, &error);
        }
        Problem::new(
            Kind::WorkRefused,
            format!("the sandbox's repository has more than {MOST_ENTRIES} files"),
        )
        .hint("its files are saved when it is removed")
    })?;
    // Without objects there is no repository that needs settings.
    if own.join("objects").is_dir() {
        repository.renew_settings()?;
    }
    Ok(removed)
}

/// The defect because of which git cannot work in a repository, if any.
fn unsound(all: &GitSandboxes, at: &Location, own: &Path) -> Result<Option<&'static str>, Problem> {
    let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    let is_file = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_file());
    if !is_folder(own) || !is_folder(&own.join("objects")) {
        return Ok(Some("the agent deleted the git files of its folder"));
    }
    let is_whole = is_file(&own.join("HEAD"))
        && is_file(&own.join("config"))
        && is_absent(&own.join("commondir"));
    if is_whole && has_head(all, at)? {
        return Ok(None);
    }
    Ok(Some("the agent left no commit checked out"))
}

/// Whether a commit is checked out. If git could not run, that is an error and not an answer.
fn has_head(all: &GitSandboxes, at: &Location) -> Result<bool, Problem> {
    match git::resolve(&all.git, at, "HEAD") {
        Ok(_) => Ok(true),
        Err(problem) if problem.kind == Kind::UnknownRevision => Ok(false),
        Err(problem) => Err(problem),
    }
}

/// Repairs as little as necessary: first the settings and the head, then the branch, and finally everything.
fn repair(
    all: &GitSandboxes,
    record: &Record,
    at: &Location,
    head: &CommitSha,
) -> Result<(), Problem> {
    let repository = OwnRepository {
        git: &all.git,
        sandbox: &record.sandbox,
        checkout: &record.checkout,
        head,
    };
    let own = record.sandbox.path.join(".git");
    let has_objects = own
        .join("objects")
        .symlink_metadata()
        .is_ok_and(|meta| meta.is_dir());
    if has_objects {
        repository.write_settings()?;
        if has_head(all, at)? {
            return Ok(());
        }
        let logged = logged_head(&own.join("logs/HEAD"));
        let logged = logged.filter(|tip| is_whole(all, at, &record.sandbox.base_sha, tip));
        let branch = OwnRepository {
            head: logged.as_ref().unwrap_or(head),
            ..repository
        };
        branch.write_own_branch()?;
        if has_head(all, at)? {
            return Ok(());
        }
    }
    repository.write()?;
    all.records.note_tips(&record.sandbox)
}

/// Whether a commit builds on the commit at which the sandbox began.
fn is_whole(all: &GitSandboxes, at: &Location, base: &str, tip: &str) -> bool {
    git::is_ancestor(&all.git, at, base, tip).unwrap_or(false)
}

/// How many bytes at the end of a head's log are searched for its last position.
const LOG_BYTES: u64 = 64 * 1024;

/// The last commit in the log of a head.
fn logged_head(log: &Path) -> Option<CommitSha> {
    // A link could lead anywhere.
    let meta = log.symlink_metadata().ok().filter(|meta| meta.is_file())?;
    let start = meta.len().saturating_sub(LOG_BYTES);
    let bytes = files::load_from(log, start, LOG_BYTES).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let is_commit = |sha: &CommitSha| sha.bytes().any(|b| b != b'0');
    text.lines().rev().find_map(|line| {
        let mut words = line.splitn(3, ' ');
        let (old, new) = (words.next()?, words.next()?);
        [new, old]
            .into_iter()
            .filter_map(CommitSha::parse)
            .find(is_commit)
    })
}

/// Removes the locks that would block the next git, unless a process holds them.
fn clear_locks(record: &Record, at: &Location) -> Result<(), Problem> {
    let own = record.sandbox.path.join(".git");
    let branch = record.sandbox.branch.iter();
    let branch = branch.map(|branch| format!("{}.lock", branch.full()));
    let fixed = ["index.lock", "HEAD.lock", "packed-refs.lock"].map(str::to_owned);
    for lock in fixed.into_iter().chain(branch) {
        clear_lock(&own.join(lock), at)?;
    }
    // Git in the user's repository waits ten seconds for this lock before it fails.
    let users = Location::bare(&record.sandbox.git_dir);
    if let Some(branch) = &record.sandbox.branch {
        let lock = record
            .sandbox
            .git_dir
            .join(format!("{}.lock", branch.full()));
        git::remove_if_stale(&lock, &users);
    }
    Ok(())
}

/// Removes a lock, unless a process holds it. Anything that is not a file is not a lock of git.
pub(super) fn clear_lock(lock: &Path, at: &Location) -> Result<(), Problem> {
    match lock.symlink_metadata() {
        Ok(meta) if !meta.is_file() => discard(lock),
        Ok(_) | Err(_) => {
            git::remove_if_stale(lock, at);
            Ok(())
        }
    }
}

fn discard(path: &Path) -> Result<(), Problem> {
    files::remove_tree(path).map_err(|error| storage_problem(path, &error))
}

/// Whether a folder is missing, or contains only what git and drive themselves write there.
fn is_empty(path: &Path) -> bool {
    let is_own = |entry: io::Result<std::fs::DirEntry>| {
        entry.is_ok_and(|entry| entry.file_name() == STATE_FOLDER || entry.file_name() == ".git")
    };
    match std::fs::read_dir(path) {
        Ok(mut entries) => entries.all(is_own),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn is_absent(path: &Path) -> bool {
    let looked = path.symlink_metadata();
    looked.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write their own fixtures")]
mod tests {
    use super::*;

    #[test]
    fn a_git_folder_is_not_looked_through_without_end() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..4 {
            std::fs::write(dir.path().join(number.to_string()), "").unwrap();
        }
        std::os::unix::fs::symlink("/", dir.path().join("4")).unwrap();
        assert_eq!(remove_odd(dir.path(), 5).unwrap(), 1);
        std::fs::write(dir.path().join("5"), "").unwrap();
        std::fs::write(dir.path().join("6"), "").unwrap();
        let refused = remove_odd(dir.path(), 5).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::FileTooLarge);
    }
}
