//! Repositories that an agent created inside its sandbox: their files count as work, and their
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

/// The folder in the sandbox's git directory to which the git directories of such repositories are moved.
const ASIDE: &str = "drive-nested";
/// How many levels of nested repositories are handled.
const MOST_ROUNDS: u32 = 8;

/// Turns the repositories in a status into plain folders, so that their files can be committed. A
/// clone of another project is left alone. `look` reads the status again; `has_links` is set if
/// repositories were committed, which no status shows.
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
    // Adding everything at once would also add the clone as a link.
    status.has_others |= !status.nested.is_empty();
    Ok(found)
}

/// Entries of the index that are links to repositories in the folder which are no submodules.
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

/// Whether a repository is a clone, or shares another one's git directory.
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

/// Turns a repository in a sandbox into a plain folder. Its commits that none of its remotes has
/// are saved in refs of the sandbox's own repository; an unreadable repository has none.
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

/// Whether a repository has commits that none of its remotes has: on branches, detached, tagged or
/// stashed. An unreadable repository may have some.
pub(crate) fn has_unpushed(git: &Git, at: &Location, git_dir: &Path) -> Result<bool, Problem> {
    let answer = git
        .call_at(at.nested(git_dir), Touches::Objects)
        .args(["rev-list", "--max-count=1", "--all", "--not", "--remotes"])
        .run()?;
    Ok(answer.code != 0 || !answer.stdout.is_empty())
}

/// Moves the `.git` of a folder into the sandbox's own git directory. An agent may have made up the
/// path, so no link is followed.
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
