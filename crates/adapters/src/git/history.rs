//! Queries about commits.

use super::answer::path_from;
use super::call::Call;
use super::{Git, Location, Touches};
use drive_core::ids::{BranchName, CommitSha, TreeSha};
use drive_core::problem::{Kind, Problem};
use drive_core::review::{Change, ChangeReader};
use drive_core::run::CommitSummary;
use drive_core::time::Timestamp;
use drive_engine::ports::{CommitObject, DiffStats, FileChange};
use std::path::PathBuf;

/// What [`Row::read`] reads: the commit and its parents, then its subject.
const ROW_FORMAT: &str = "--format=%H%x20%P%x0a%s";
/// How many commits a list contains at most.
const LIST_LIMIT: usize = 1000;

pub(crate) fn resolve(
    git: &Git,
    location: &Location,
    revision: &str,
) -> Result<CommitSha, Problem> {
    if revision.starts_with('-') || revision.contains(['\0', '\n']) {
        return Err(unknown_revision(revision));
    }
    let answer = git
        .call_at(location.clone(), Touches::Objects)
        .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
        .arg(format!("{revision}^{{commit}}"))
        .run()?;
    match answer.code {
        0 => answer.sha(),
        _ => Err(unknown_revision(revision)),
    }
}

pub(super) fn commits(
    git: &Git,
    location: &Location,
    base: &str,
    head: &str,
) -> Result<Vec<CommitSummary>, Problem> {
    list(git, location, &[format!("{base}..{head}")])
}

/// Like `commits`, and whether the head builds on the base; `None` if the base contains all of it.
pub(super) fn commits_since(
    git: &Git,
    location: &Location,
    base: &str,
    head: &str,
) -> Result<(Vec<CommitSummary>, Option<bool>), Problem> {
    let rows = rows(git, location, &[format!("{base}..{head}")])?;
    // If the head builds on the base, the list contains a child of the base.
    let builds_on_base = match rows.len() {
        0 => None,
        LIST_LIMIT => Some(is_ancestor(git, location, base, head)?),
        _ => Some(rows.iter().any(|row| row.has_parent(base))),
    };
    let commits = rows.into_iter().map(|row| row.commit).collect();
    Ok((commits, builds_on_base))
}

/// Commits up to `head` that are stored nowhere else. `own` is the branch made for them, which does
/// not count.
pub(crate) fn unpushed(
    git: &Git,
    location: &Location,
    head: &str,
    own: Option<&BranchName>,
    base: &str,
) -> Result<Vec<CommitSummary>, Problem> {
    let mut args = [head, "--not", base].map(str::to_owned).to_vec();
    // The pattern is relative to `refs/heads/`. Branch names contain no wildcards.
    args.extend(own.map(|branch| format!("--exclude={branch}")));
    args.extend(["--branches", "--remotes", "--tags"].map(str::to_owned));
    list_among_refs(git, location, &args)
}

/// Commits up to `head` that no branch, no remote and no tag contains, so that they would be lost.
pub(crate) fn unbranched(
    git: &Git,
    location: &Location,
    head: &str,
) -> Result<Vec<CommitSummary>, Problem> {
    let args = [head, "--not", "--branches", "--remotes", "--tags"];
    list_among_refs(git, location, &args.map(str::to_owned))
}

/// How often a list that reads all refs is tried.
const REF_RACES: usize = 20;

/// Runs a list that reads all refs. If a branch is deleted between git's reading of its name and
/// its commit, git gives up, so the call is repeated.
fn list_among_refs(
    git: &Git,
    location: &Location,
    args: &[String],
) -> Result<Vec<CommitSummary>, Problem> {
    let mut tried = list(git, location, args);
    for _ in 1..REF_RACES {
        match &tried {
            Err(problem) if problem.kind == Kind::GitFailed => tried = list(git, location, args),
            Ok(_) | Err(_) => break,
        }
    }
    tried
}

pub(super) fn read_file(
    git: &Git,
    location: &Location,
    commit: &str,
    path: &str,
    limit: u64,
) -> Result<Option<String>, Problem> {
    let name = format!("{commit}:{path}");
    let call = || git.call_at(location.clone(), Touches::Objects);
    let answer = call()
        .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
        .arg(name.as_str())
        .run()?;
    if answer.code != 0 {
        return Ok(None);
    }
    let blob = answer.line();
    let kind = call().args(["cat-file", "-t", &blob]).line()?;
    if kind != "blob" {
        return Ok(None);
    }
    let size = call().args(["cat-file", "-s", &blob]).line()?;
    if size.parse::<u64>().is_ok_and(|size| size > limit) {
        return Err(Problem::new(
            Kind::FileTooLarge,
            format!("`{path}` has {size} bytes; the limit is {limit}"),
        )
        .hint("make it shorter"));
    }
    let answer = call().args(["cat-file", "blob", &blob]).ok()?;
    Ok(Some(String::from_utf8_lossy(&answer.stdout).into_owned()))
}

pub(super) fn plain_files(
    git: &Git,
    location: &Location,
    commit: &str,
    names: &[&str],
    limit: u64,
) -> Result<Vec<(String, String)>, Problem> {
    let call = || git.call_at(location.clone(), Touches::Objects);
    let listed = call()
        .args(["ls-tree", "-z", "-l", "--full-tree", commit, "--"])
        .args(names.iter().copied())
        .ok()?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mut found = Vec::new();
    for entry in listed.split_terminator('\0') {
        let Some((facts, name)) = entry.split_once('\t') else {
            continue;
        };
        let facts: Vec<&str> = facts.split_whitespace().collect();
        let [mode, "blob", blob, size] = facts[..] else {
            continue;
        };
        let is_plain = matches!(mode, "100644" | "100755");
        if is_plain && size.parse::<u64>().is_ok_and(|size| size <= limit) {
            let answer = call().args(["cat-file", "blob", blob]).ok()?;
            let text = String::from_utf8_lossy(&answer.stdout).into_owned();
            found.push((name.to_owned(), text));
        }
    }
    Ok(found)
}

pub(super) fn diff_stats(
    git: &Git,
    location: &Location,
    base: &str,
    head: &str,
) -> Result<DiffStats, Problem> {
    let answer = git
        // This runs no driver or conversion of the repository, so its settings need not be checked.
        .call_at(location.clone(), Touches::Objects)
        .args([
            "diff-tree",
            "-r",
            "-z",
            "--numstat",
            "--no-renames",
            "--no-ext-diff",
        ])
        .args(["--no-textconv", "--end-of-options", base, head])
        .ok()?;
    let mut stats = DiffStats::default();
    for row in answer.fields() {
        let mut columns = row.splitn(3, |byte| *byte == b'\t');
        let mut number = || std::str::from_utf8(columns.next()?).ok()?.parse().ok();
        // For a binary file, both columns contain `-`.
        let (insertions, deletions): (Option<u64>, Option<u64>) = (number(), number());
        stats.files += 1;
        stats.insertions += insertions.unwrap_or(0);
        stats.deletions += deletions.unwrap_or(0);
        if stats.listed.len() < LIST_LIMIT {
            stats.listed.push(FileChange {
                path: path_from(columns.next().unwrap_or_default()),
                insertions,
                deletions,
            });
        }
    }
    Ok(stats)
}

/// The id of the empty tree, by the length of the repository's ids.
fn empty_tree(id: &str) -> &'static str {
    match id.len() {
        64 => "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
        _ => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    }
}

/// A diff in the form that the parsers know, whatever the user's settings. The change's own
/// attributes are ignored (from git 2.41 on), because they could hide lines.
pub(super) fn diff(
    git: &Git,
    location: &Location,
    base: &str,
    head: &str,
) -> Result<Change, Problem> {
    let mut reader = ChangeReader::default();
    diff_tree(git, location, base, head).each_chunk(&mut |bytes| reader.read(bytes))?;
    Ok(reader.finish())
}

/// The same diff as git prints it, up to a size; and whether it is longer.
pub(super) fn patch(
    git: &Git,
    location: &Location,
    base: &str,
    head: &str,
    most_bytes: usize,
) -> Result<(Vec<u8>, bool), Problem> {
    let (mut patch, mut is_cut) = (Vec::new(), false);
    diff_tree(git, location, base, head).each_chunk(&mut |bytes| {
        let room = most_bytes - patch.len();
        is_cut |= bytes.len() > room;
        patch.extend_from_slice(&bytes[..bytes.len().min(room)]);
    })?;
    Ok((patch, is_cut))
}

fn diff_tree<'a>(git: &'a Git, location: &Location, base: &str, head: &str) -> Call<'a> {
    git.call_at(location.clone(), Touches::Files)
        .env("GIT_ATTR_SOURCE", empty_tree(head))
        .args(["diff-tree", "-r", "-p", "-U3", "--no-color"])
        .args(["--no-ext-diff", "--no-textconv", "--no-renames"])
        .args(["--submodule=short", "--src-prefix=a/", "--dst-prefix=b/"])
        .args(["--end-of-options", base, head])
}

pub(super) fn changed_paths(
    git: &Git,
    location: &Location,
    base: &str,
    head: &str,
) -> Result<Vec<PathBuf>, Problem> {
    let answer = git
        .call_at(location.clone(), Touches::Objects)
        .args(["diff-tree", "-r", "-z", "--name-only", "--no-renames"])
        .args(["--end-of-options", base, head])
        .ok()?;
    Ok(answer.fields().map(path_from).collect())
}

pub(super) fn merge_base(
    git: &Git,
    location: &Location,
    a: &str,
    b: &str,
) -> Result<Option<CommitSha>, Problem> {
    git.call_at(location.clone(), Touches::Objects)
        .args(["merge-base", "--end-of-options", a, b])
        .optional_sha()
}

/// The headers of a stored commit.
pub(crate) fn commit_object(
    git: &Git,
    location: &Location,
    commit: &CommitSha,
) -> Result<CommitObject, Problem> {
    let answer = git
        .call_at(location.clone(), Touches::Objects)
        .args(["cat-file", "commit", commit.as_str()])
        .ok()?;
    let text = String::from_utf8_lossy(&answer.stdout);
    let mut headers = text.lines().take_while(|line| !line.is_empty()).peekable();
    let tree = headers
        .next()
        .and_then(|line| TreeSha::parse(line.strip_prefix("tree ")?))
        .ok_or_else(|| answer.problem())?;
    let parents = headers.map_while(|line| CommitSha::parse(line.strip_prefix("parent ")?));
    Ok(CommitObject {
        tree,
        parents: parents.collect(),
    })
}

/// The commit time of a commit.
pub(crate) fn committed_at(
    git: &Git,
    location: &Location,
    commit: &CommitSha,
) -> Result<Timestamp, Problem> {
    let answer = git
        .call_at(location.clone(), Touches::Objects)
        .args(["log", "-1", "--no-show-signature", "--format=%ct"])
        .args(["--end-of-options", commit.as_str()])
        .ok()?;
    let seconds = answer.line().parse().ok();
    let time = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
    Ok(time.unwrap_or(Timestamp::UNIX_EPOCH))
}

pub(crate) fn is_ancestor(
    git: &Git,
    location: &Location,
    ancestor: &str,
    descendant: &str,
) -> Result<bool, Problem> {
    git.call_at(location.clone(), Touches::Objects)
        .args(["merge-base", "--is-ancestor", ancestor, descendant])
        .yes()
}

fn list(
    git: &Git,
    location: &Location,
    revisions: &[String],
) -> Result<Vec<CommitSummary>, Problem> {
    let rows = rows(git, location, revisions)?;
    Ok(rows.into_iter().map(|row| row.commit).collect())
}

fn rows(git: &Git, location: &Location, revisions: &[String]) -> Result<Vec<Row>, Problem> {
    let answer = git
        .call_at(location.clone(), Touches::Objects)
        .args([
            "log",
            "-z",
            "--reverse",
            "--no-show-signature",
            "--no-notes",
        ])
        .arg(format!("--max-count={LIST_LIMIT}"))
        .arg(ROW_FORMAT)
        .args(revisions)
        .arg("--")
        .ok()?;
    Ok(answer.fields().filter_map(Row::read).collect())
}

struct Row {
    commit: CommitSummary,
    parents: Vec<String>,
}

impl Row {
    fn read(row: &[u8]) -> Option<Self> {
        let row = String::from_utf8_lossy(row);
        let (ids, subject) = row.split_once('\n')?;
        let mut ids = ids.split_ascii_whitespace();
        Some(Self {
            commit: CommitSummary {
                sha: CommitSha::parse(ids.next()?)?,
                subject: subject.to_owned(),
            },
            parents: ids.map(str::to_owned).collect(),
        })
    }

    fn has_parent(&self, sha: &str) -> bool {
        self.parents.iter().any(|parent| parent == sha)
    }
}

pub(super) fn unknown_revision(revision: &str) -> Problem {
    Problem::new(
        Kind::UnknownRevision,
        format!("unknown revision `{}`", revision.escape_debug()),
    )
    .hint("check the name; a shallow clone may need `git fetch --unshallow`")
}
