//! Repositories that an agent made inside its sandbox: their files are work like any other, and their
//! commits are saved with the sandbox's own.

use super::tracked::{declared, has_entry};
use super::{Git, Location, Status, Touches, Tracked};
use crate::files::FOLDER;
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::NestedRepository;
use rustix::fs::{Mode, mkdirat, openat, renameat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

/// Where the git folders of such repositories are moved to, in the sandbox's own.
const ASIDE: &str = "drive-nested";
/// How deep repositories may lie in each other.
const MOST_ROUNDS: u32 = 8;

/// Makes plain folders of the repositories that a status shows, so that their files can be committed.
/// A clone of something else is left as it is: its files belong to another project. `look` looks once
/// more; `has_links` tells of repositories that were committed, which no status shows.
pub(super) fn commit_files_of(
    git: &Git,
    at: &Location,
    status: &mut Status,
    has_links: bool,
    look: impl Fn() -> Result<Status, Problem>,
) -> Result<Vec<NestedRepository>, Problem> {
    let mut found = Vec::new();
    for round in 0..MOST_ROUNDS {
        let has_links = round == 0 && (has_links || !status.submodules.is_empty());
        let links = if has_links {
            undeclared_links(git, at)?
        } else {
            Vec::new()
        };
        unstage(git, at, &links)?;
        let mut is_changed = !links.is_empty();
        for path in status.nested.iter().chain(&links) {
            if is_clone(git, at, path)? {
                continue;
            }
            absorb(git, at, path)?;
            is_changed = true;
            found.push(NestedRepository {
                path: path.clone(),
                is_committed: true,
            });
        }
        if !is_changed {
            break;
        }
        *status = look()?;
    }
    found.extend(status.nested.iter().map(|path| NestedRepository {
        path: path.clone(),
        is_committed: false,
    }));
    // Everything at once would add the name of the clone.
    status.has_others |= !status.nested.is_empty();
    Ok(found)
}

/// Entries of the index that are commits of a repository which lies there and is no submodule.
fn undeclared_links(git: &Git, at: &Location) -> Result<Vec<PathBuf>, Problem> {
    let call = || git.call_at(at.clone(), Touches::Objects);
    let mut links = Tracked::by_index(call())?.links;
    links.retain(|link| has_entry(&at.dir.join(link), ".git"));
    if links.is_empty() {
        return Ok(Vec::new());
    }
    let declared = declared(call(), "")?;
    Ok(links.difference(&declared).cloned().collect())
}

fn unstage(git: &Git, at: &Location, links: &[PathBuf]) -> Result<(), Problem> {
    if links.is_empty() {
        return Ok(());
    }
    let literal = links.iter().map(|link| {
        let mut spec = OsString::from(":(top,literal)");
        spec.push(link);
        spec
    });
    git.call_at(at.clone(), Touches::Files)
        .args(["rm", "--cached", "--quiet", "--force", "--"])
        .args(literal)
        .ok()
        .map(drop)
}

/// Whether a repository comes from somewhere else, or shares another one's git folder.
fn is_clone(git: &Git, at: &Location, path: &Path) -> Result<bool, Problem> {
    let own = at.dir.join(path).join(".git");
    if !own.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        return Ok(true);
    }
    let answer = git
        .call_at(at.nested(&own), Touches::Objects)
        .arg("remote")
        .run()?;
    Ok(answer.code == 0 && !answer.stdout.is_empty())
}

/// Makes a plain folder of a repository in a sandbox. Commits that no remote of it has come to refs of
/// the sandbox's own repository; one that git cannot read has none.
pub(crate) fn absorb(git: &Git, at: &Location, path: &Path) -> Result<(), Problem> {
    let number = crate::entropy::random_u32()?;
    if has_unpushed(git, at, &at.dir.join(path).join(".git"))? {
        let to = format!("refs/{ASIDE}/{number:08x}");
        let all = [format!("+refs/*:{to}/*"), format!("+HEAD:{to}/HEAD")];
        // Before its first commit it has no head.
        for specs in [&all[..], &all[..1]] {
            let answer = git
                .call_at(at.clone(), Touches::Files)
                .config("protocol.file.allow", "always")
                .args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"])
                .arg(at.dir.join(path))
                .args(specs)
                .run()?;
            if answer.code == 0 {
                break;
            }
        }
    }
    move_aside(&at.dir, path, &format!("{number:08x}")).map_err(|error| {
        Problem::new(
            Kind::StorageFailed,
            format!("cannot move `{}`", path.join(".git").display()),
        )
        .because(error)
    })
}

/// Whether a repository has commits that no remote of it has: on branches, on none, tagged or stashed.
/// One that git cannot read may have.
pub(crate) fn has_unpushed(git: &Git, at: &Location, git_dir: &Path) -> Result<bool, Problem> {
    let answer = git
        .call_at(at.nested(git_dir), Touches::Objects)
        .args(["rev-list", "--max-count=1", "--all", "--not", "--remotes"])
        .run()?;
    Ok(answer.code != 0 || !answer.stdout.is_empty())
}

/// Moves the `.git` of a folder into the sandbox's own git folder. Git told the path, which an agent
/// may have made up: no link is followed.
fn move_aside(top: &Path, path: &Path, name: &str) -> io::Result<()> {
    let open =
        |folder: &OwnedFd, name: &std::ffi::OsStr| openat(folder, name, FOLDER, Mode::empty());
    let top = rustix::fs::open(top, FOLDER, Mode::empty())?;
    let own = open(&top, ".git".as_ref())?;
    match mkdirat(&own, ASIDE, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let aside = open(&own, ASIDE.as_ref())?;
    let mut folder = top;
    for part in path.components() {
        let Component::Normal(name) = part else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        if name == ".git" {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        folder = open(&folder, name)?;
    }
    if path.as_os_str().is_empty() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(renameat(&folder, ".git", &aside, name)?)
}
