//! Finds nested repositories in a sandbox. Git does not track their contents, so work that exists
//! nowhere else blocks the removal of the sandbox.

use crate::files;
use crate::git::{self, Git, Location, Tracked};
use drive_core::Problem;
use std::path::{Path, PathBuf};

/// The maximum number of submodule folders that are searched.
const MOST_FOLDERS: u32 = 10_000;
/// The maximum size of a file that points to a git folder.
const LEAD_BYTES: u64 = 8 << 10;

/// Finds work that cannot be saved in the repositories below a sandbox's folder.
pub(super) fn find_unsavable(
    git: &Git,
    at: &Location,
    tracked: &Tracked,
    folder: &Path,
    modules: &Path,
) -> Result<Option<String>, Problem> {
    for link in &tracked.links {
        if let Some(what) = unsavable_at(git, at, link, &folder.join(link), modules)? {
            return Ok(Some(what));
        }
    }
    Ok(None)
}

/// Finds a fetched submodule with commits or changes that no remote has.
pub(super) fn find_unpushed(
    git: &Git,
    at: &Location,
    modules: &Path,
) -> Result<Option<String>, Problem> {
    let mut folders = vec![modules.to_path_buf()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        // A link may lead anywhere.
        if !folder.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            continue;
        }
        seen += 1;
        if seen > MOST_FOLDERS {
            return Ok(Some(format!(
                "more than {MOST_FOLDERS} folders of submodules"
            )));
        }
        let head = folder.join("HEAD").symlink_metadata();
        if head.is_ok_and(|meta| meta.is_file()) {
            if git::has_unpushed(git, at, &folder)? {
                let module = folder.strip_prefix(modules).unwrap_or(&folder);
                return Ok(Some(format!(
                    "commits of submodule `{}` that are not on its remote",
                    module.display()
                )));
            }
            folders.push(folder.join("modules"));
            continue;
        }
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        folders.extend(
            entries
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path()),
        );
    }
    Ok(None)
}

/// Work that cannot be saved at the path of another repository.
fn unsavable_at(
    git: &Git,
    at: &Location,
    link: &Path,
    place: &Path,
    modules: &Path,
) -> Result<Option<String>, Problem> {
    if !place.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        // Something else is in its place, which git shows.
        return Ok(None);
    }
    let own = place.join(".git");
    let Ok(meta) = own.symlink_metadata() else {
        let is_empty = std::fs::read_dir(place).is_ok_and(|mut all| all.next().is_none());
        return Ok((!is_empty).then(|| {
            format!(
                "files in `{}`, a submodule that was not fetched,",
                link.display()
            )
        }));
    };
    let is_safe = if meta.is_dir() {
        !git::has_unpushed(git, at, &own)?
            && find_unpushed(git, at, &own.join("modules"))?.is_none()
    } else {
        // A fetched submodule is stored with the sandbox's own git files, and checked there.
        leads_into(&own, place, modules)
    };
    Ok((!is_safe).then(|| own_repository(link)))
}

fn leads_into(file: &Path, place: &Path, modules: &Path) -> bool {
    let target = || -> Option<PathBuf> {
        let bytes = files::load_plain(file, LEAD_BYTES).ok()?;
        let path = git::path_from(bytes.strip_prefix(b"gitdir: ")?.trim_ascii_end());
        place.join(path).canonicalize().ok()
    };
    let modules = modules.canonicalize();
    target().is_some_and(|target| modules.is_ok_and(|modules| target.starts_with(modules)))
}

fn own_repository(path: &Path) -> String {
    format!("nested repository `{}`", path.display())
}
