//! Lists, restores and drops saved work.

use super::refs;
use crate::git::{Git, Location, Touches};
use drive_core::ids::{BranchName, CommitSha, RunId};
use drive_core::problem::{Kind, Problem};
use drive_core::sandbox::{KEPT_PREFIX, KeptAbout, KeptWork};
use drive_engine::ports::VersionControl;
use std::path::Path;

/// The maximum number of refs that one run may need.
const REFS_LIMIT: u32 = 10_000;

/// Saved work in the repository.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) work: KeptWork,
    pub(super) tree: String,
    pub(super) parents: Vec<String>,
}

/// All saved work of a repository, oldest first.
pub fn list(git: &Git, repo: &Path) -> Result<Vec<KeptWork>, Problem> {
    git.discover(repo)?;
    let found = load(git, &Location::checkout(repo), KEPT_PREFIX)?;
    Ok(found.into_iter().map(|one| one.work).collect())
}

/// Finds saved work by its full ref, by `RUN/N`, or by `RUN` if that run has only one.
pub fn find(git: &Git, repo: &Path, reference: &str) -> Result<KeptWork, Problem> {
    require(git, repo, reference).map(|found| found.work)
}

/// Creates a branch at saved work.
pub fn restore(
    git: &Git,
    repo: &Path,
    reference: &str,
    branch: &BranchName,
) -> Result<KeptWork, Problem> {
    let at = Location::checkout(repo);
    let found = require(git, repo, reference)?;
    refs::require_free(git, &at, branch)?;
    if !refs::create(git, &at, &branch.full(), found.start())? {
        refs::require_free(git, &at, branch)?;
    }
    Ok(found.work)
}

/// Deletes saved work.
pub fn drop(git: &Git, repo: &Path, reference: &str) -> Result<KeptWork, Problem> {
    let found = require(git, repo, reference)?;
    let at = Location::checkout(repo);
    refs::delete(git, &at, &found.work.reference, Some(&found.work.sha))?;
    Ok(found.work)
}

/// The ref prefix of a run's saved work.
pub(super) fn prefix(run: &RunId) -> String {
    format!("{KEPT_PREFIX}{run}/")
}

/// Stores a commit as the next saved work of a run.
pub(super) fn publish(
    git: &Git,
    users: &Location,
    run: &RunId,
    sha: &str,
) -> Result<String, Problem> {
    let prefix = prefix(run);
    let taken = load(git, users, &prefix)?.len();
    let taken = u32::try_from(taken).unwrap_or(u32::MAX);
    for number in taken.saturating_add(1)..REFS_LIMIT {
        let name = format!("{prefix}{number}");
        if refs::create(git, users, &name, sha)? {
            return Ok(name);
        }
    }
    Err(Problem::new(
        Kind::TooMuchKept,
        format!("run `{run}` has too many saved states"),
    )
    .hint("drop some with `drive kept drop REF`; `drive kept list` shows them"))
}

/// All saved work below a prefix, oldest first.
pub(super) fn load(git: &Git, at: &Location, prefix: &str) -> Result<Vec<Found>, Problem> {
    let answer = git
        .call_at(at.clone(), Touches::Objects)
        .args(["for-each-ref", "--sort=creatordate"])
        .arg("--format=%(refname)%00%(objectname)%00%(tree)%00%(parent)%00%(contents)%00")
        .arg(prefix)
        .ok()?;
    let fields: Vec<&[u8]> = answer.fields().collect();
    let mut found: Vec<Found> = fields.chunks_exact(5).filter_map(parse).collect();
    found.sort_by_key(|one| one.work.about.kept_at);
    Ok(found)
}

fn parse(fields: &[&[u8]]) -> Option<Found> {
    let text = |index: usize| String::from_utf8_lossy(fields[index]).trim().to_owned();
    Some(Found {
        work: KeptWork {
            reference: text(0),
            sha: CommitSha::parse(&text(1))?,
            about: KeptAbout::parse(&text(4))?,
        },
        tree: text(2),
        parents: text(3).split(' ').map(str::to_owned).collect(),
    })
}

impl Found {
    /// The commit at which a restored branch begins: the saved state, or the run's own last commit
    /// if nothing else was saved.
    fn start(&self) -> &str {
        let about = &self.work.about;
        let is_clean = about.dirty_files == 0 && about.in_progress.is_none();
        match self.parents.first() {
            Some(head) if is_clean && self.parents.len() == 1 => head,
            _ => &self.work.sha,
        }
    }
}

/// Finds saved work by its full ref, by `RUN/N`, or by `RUN` if that run has only one.
fn require(git: &Git, repo: &Path, reference: &str) -> Result<Found, Problem> {
    git.discover(repo)?;
    let all = load(git, &Location::checkout(repo), KEPT_PREFIX)?;
    let short = reference.strip_prefix(KEPT_PREFIX).unwrap_or(reference);
    let is_meant = |one: &&Found| {
        let name = one
            .work
            .reference
            .strip_prefix(KEPT_PREFIX)
            .unwrap_or_default();
        name == short || name.rsplit_once('/').is_some_and(|(run, _)| run == short)
    };
    let meant: Vec<&Found> = all.iter().filter(is_meant).collect();
    match the_one(&meant, short) {
        Ok(found) => Ok(found.clone()),
        Err(hint) => Err(Problem::new(
            Kind::UnknownKeptWork,
            format!("no saved work `{}`", reference.escape_debug()),
        )
        .hint(hint)),
    }
}

fn the_one<'a>(meant: &[&'a Found], short: &str) -> Result<&'a Found, String> {
    match meant {
        [one] => Ok(one),
        [] => Err("list saved work with `drive kept list`".to_owned()),
        several => {
            let exact = several
                .iter()
                .find(|one| one.work.reference == format!("{KEPT_PREFIX}{short}"));
            exact.copied().ok_or_else(|| {
                let names: Vec<&str> = several
                    .iter()
                    .map(|one| one.work.reference.as_str())
                    .collect();
                format!("pass one of: {}", names.join(", "))
            })
        }
    }
}
