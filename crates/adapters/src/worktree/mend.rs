//! Repairs git's own files of a sandbox after an agent damaged them.
//!
//! It restores only what git needs to see the work again: the worktree's registration, its head,
//! its index, and its branch. Files and commits are not touched. No agent runs in the sandbox
//! meanwhile, so lock files found there are stale.

use super::record::{Record, TOKEN_FILE, load_token};
use super::{Worktrees, gone, refs, require_plain, storage_problem};
use crate::files;
use crate::git::{self, Location, Touches};
use drive_core::Problem;
use drive_core::ids::CommitSha;
use drive_core::phase::STATE_FOLDER;
use drive_core::sandbox::{Probe, Stage};
use std::io;
use std::path::{Path, PathBuf};

/// The shortest index there is: its head and its checksum.
const INDEX_BYTES: u64 = 32;
const INDEX_MAGIC: &[u8] = b"DIRC";
/// What git writes into the file of a head that is in a table.
const TABLED_HEAD: &[u8] = b"ref: refs/heads/.invalid\n";

/// How much of the log of a head is looked through for where it last was.
const LOG_BYTES: u64 = 64 * 1024;

/// Makes a sandbox whole before somebody works in it. One whose folder was removed or emptied is
/// filled from its branch; what was not committed there is gone with it.
pub(super) fn make_whole(
    all: &Worktrees,
    record: &Record,
    head: Option<&CommitSha>,
) -> Result<Vec<String>, Problem> {
    let path = &record.sandbox.path;
    if record.stage != Stage::Ready {
        return Ok(Vec::new());
    }
    require_plain(path)?;
    if !is_empty(path) {
        if is_absent(&path.join(".git")) {
            link_to_git(record)?;
        }
        return mend_head(all, record, head);
    }
    std::fs::create_dir_all(path).map_err(|error| storage_problem(path, &error))?;
    if load_token(&record.sandbox.admin_dir) == Probe::Absent && is_nobodys(record) {
        register_again(record)?;
    }
    if load_token(&record.sandbox.admin_dir) != Probe::Found(record.token.clone()) {
        return Err(gone(&record.sandbox.id));
    }
    link_to_git(record)?;
    let mut notes = mend_head(all, record, head)?;
    let call = |touches| all.git.call_at(all.location_of(record), touches);
    let tree = call(Touches::Objects).args(["ls-tree", "--name-only", "HEAD"]);
    if tree.ok()?.stdout.is_empty() {
        return Ok(notes);
    }
    call(Touches::Files)
        .args(["reset", "--hard", "--quiet", "--no-recurse-submodules"])
        .ok()?;
    notes.push(format!(
        "`{}` was empty; its files were restored from the branch",
        path.display()
    ));
    Ok(notes)
}

/// Makes a sandbox whole after an agent worked in it, and tells what was missing.
pub(super) fn mend(
    all: &Worktrees,
    record: &Record,
    head: Option<&CommitSha>,
) -> Result<Vec<String>, Problem> {
    let mut notes = Vec::new();
    if record.stage != Stage::Ready {
        return Ok(notes);
    }
    let path = &record.sandbox.path;
    require_plain(path)?;
    if is_absent(path) {
        std::fs::create_dir(path).map_err(|error| storage_problem(path, &error))?;
        notes.push("the agent deleted its whole folder".to_owned());
    }
    files::make_usable(path).map_err(|error| storage_problem(path, &error))?;
    if load_token(&record.sandbox.admin_dir) == Probe::Absent && is_nobodys(record) {
        register_again(record)?;
        notes.push("the agent deleted the git files of its folder".to_owned());
    }
    notes.extend(mend_head(all, record, head)?);
    Ok(notes)
}

/// Makes head, branch and index readable again, where the sandbox is proven to be ours.
pub(super) fn mend_head(
    all: &Worktrees,
    record: &Record,
    known: Option<&CommitSha>,
) -> Result<Vec<String>, Problem> {
    let mut notes = Vec::new();
    let admin = &record.sandbox.admin_dir;
    if record.stage != Stage::Ready || load_token(admin) != Probe::Found(record.token.clone()) {
        return Ok(notes);
    }
    let at = all.location_of(record);
    for lock in ["index.lock", "HEAD.lock", "reftable/tables.list.lock"] {
        clear_lock(&admin.join(lock), &at)?;
    }
    // Git waits ten seconds for each of these before it complains.
    let own = record.sandbox.branch.iter();
    let shared = own.map(|branch| format!("refs/heads/{branch}.lock"));
    for lock in shared.chain(["packed-refs.lock".to_owned()]) {
        git::remove_if_stale(&record.sandbox.git_dir.join(lock), &at);
    }
    let common = Location::bare(&record.sandbox.git_dir);
    let own = record.sandbox.branch.as_ref();
    let own = own.map(|branch| (branch, branch.full()));
    if let Some((branch, full)) = &own
        && !has_ref(all, record, full)?
    {
        let tip = last_tip(all, record, known);
        refs::create(&all.git, &common, full, &tip)?;
        notes.push(format!(
            "branch `{branch}` was deleted; it was recreated at {tip}"
        ));
    }
    let own = own.map(|(_, full)| full);
    let mended = if git::has_reftable(&record.sandbox.git_dir) {
        mend_tabled_head(all, record, own.as_deref())?
    } else {
        mend_head_file(all, record, own.as_deref())?
    };
    if mended {
        notes.push("the agent left no commit checked out".to_owned());
    }
    if !is_index(&admin.join("index")) {
        discard(&admin.join("index"))?;
        all.git
            .call_at(all.location_of(record), Touches::Files)
            .args(["read-tree", "HEAD"])
            .ok()?;
        notes.push("the agent damaged git's index".to_owned());
    }
    Ok(notes)
}

/// Writes the file of the head where it leads to no commit; whether it had to.
fn mend_head_file(all: &Worktrees, record: &Record, own: Option<&str>) -> Result<bool, Problem> {
    let admin = &record.sandbox.admin_dir;
    let is_sound = match load_head(admin) {
        Head::At => true,
        Head::On(name) => has_ref(all, record, &name)?,
        Head::Damaged => false,
    };
    if !is_sound {
        let head = match own {
            Some(full) => format!("ref: {full}\n"),
            None => format!("{}\n", record.sandbox.base_sha),
        };
        put(&admin.join("HEAD"), head.as_bytes())?;
    }
    Ok(!is_sound)
}

/// The same where the head is in a table: its file says only that it is not the place to look.
fn mend_tabled_head(all: &Worktrees, record: &Record, own: Option<&str>) -> Result<bool, Problem> {
    let path = record.sandbox.admin_dir.join("HEAD");
    let is_file = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
    if !is_file || files::load_from(&path, 0, 4096).is_ok_and(|bytes| bytes != TABLED_HEAD) {
        put(&path, TABLED_HEAD)?;
    }
    let at = all.location_of(record);
    if git::resolve(&all.git, &at, "HEAD").is_ok() {
        return Ok(false);
    }
    let call = all.git.call_at(at, Touches::Objects);
    match own {
        Some(full) => call.args(["symbolic-ref", "HEAD", full]),
        None => call.args(["update-ref", "--no-deref", "HEAD", &record.sandbox.base_sha]),
    }
    .ok()
    .map(|_| true)
}

/// Where a branch that is gone was last: by the log of the head that was on it, as the caller knows
/// it, or where it began. It must build on where it began.
fn last_tip(all: &Worktrees, record: &Record, known: Option<&CommitSha>) -> CommitSha {
    let base = &record.sandbox.base_sha;
    let common = Location::bare(&record.sandbox.git_dir);
    let logged = logged_head(&record.sandbox.admin_dir.join("logs/HEAD"));
    let known = known.cloned();
    [logged, known]
        .into_iter()
        .flatten()
        .find(|tip| git::is_ancestor(&all.git, &common, base, tip).unwrap_or(false))
        .unwrap_or_else(|| base.clone())
}

/// The last commit that the log of a head names.
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

/// What a worktree's head says.
enum Head {
    /// A commit.
    At,
    /// A ref, which may not exist.
    On(String),
    /// Nothing git understands.
    Damaged,
}

fn load_head(admin: &Path) -> Head {
    let path = admin.join("HEAD");
    // A link could lead anywhere.
    if !path.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
        return Head::Damaged;
    }
    let bytes = files::load_from(&path, 0, 4096).unwrap_or_default();
    let Ok(text) = String::from_utf8(bytes) else {
        return Head::Damaged;
    };
    let text = text.trim_end();
    match text.strip_prefix("ref: ") {
        Some(name) if name.starts_with("refs/") => Head::On(name.to_owned()),
        None if matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit()) => {
            Head::At
        }
        Some(_) | None => Head::Damaged,
    }
}

/// Whether a ref exists: a file of its own in most cases, and git's answer otherwise.
fn has_ref(all: &Worktrees, record: &Record, name: &str) -> Result<bool, Problem> {
    let file = record.sandbox.git_dir.join(name);
    if file
        .metadata()
        .is_ok_and(|meta| meta.is_file() && meta.len() >= 40)
    {
        return Ok(true);
    }
    let common = Location::bare(&record.sandbox.git_dir);
    Ok(refs::value_of(&all.git, &common, name)?.is_some())
}

fn is_index(path: &Path) -> bool {
    let long_enough = path
        .symlink_metadata()
        .is_ok_and(|meta| meta.is_file() && meta.len() >= INDEX_BYTES);
    long_enough && files::load_from(path, 0, 4).is_ok_and(|magic| magic == INDEX_MAGIC)
}

/// Whether the git folder is gone, empty, or still says that it belongs to this sandbox.
fn is_nobodys(record: &Record) -> bool {
    let says = std::fs::read(record.sandbox.admin_dir.join("gitdir"));
    match says {
        Ok(bytes) => git::path_from(bytes.trim_ascii_end()) == record.sandbox.path.join(".git"),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// The file by which git finds its own folder from the work tree.
fn link_to_git(record: &Record) -> Result<(), Problem> {
    let mut link = b"gitdir: ".to_vec();
    link.extend_from_slice(record.sandbox.admin_dir.as_os_str().as_encoded_bytes());
    link.push(b'\n');
    put(&record.sandbox.path.join(".git"), &link)
}

/// Writes what `git worktree add` wrote.
fn register_again(record: &Record) -> Result<(), Problem> {
    let admin = &record.sandbox.admin_dir;
    std::fs::create_dir_all(admin).map_err(|error| storage_problem(admin, &error))?;
    let line = |path: PathBuf| {
        let mut bytes = path.into_os_string().into_encoded_bytes();
        bytes.push(b'\n');
        bytes
    };
    put(
        &admin.join("commondir"),
        &line(record.sandbox.git_dir.clone()),
    )?;
    put(
        &admin.join("gitdir"),
        &line(record.sandbox.path.join(".git")),
    )?;
    put(&admin.join("locked"), b"a sandbox of drive\n")?;
    put(&admin.join(TOKEN_FILE), record.token.as_bytes())
}

/// Writes a file anew. A link in its place is removed, not followed.
fn put(path: &Path, content: &[u8]) -> Result<(), Problem> {
    discard(path)?;
    files::replace(path, content).map_err(|error| storage_problem(path, &error))
}

/// Removes what stands in the place of a lock, unless somebody holds it. What is no file is no lock
/// of git's.
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

/// Whether a folder holds nothing but what git and drive themselves write there, or is not there at
/// all.
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
