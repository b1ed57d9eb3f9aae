//! Tracked folders and submodules of an index.

use super::Call;
use super::answer::path_from;
use drive_core::Problem;
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// The mode of an entry that is a commit of another repository.
const LINK: &[u8] = b"160000";

/// Folders and links, relative to the top.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tracked {
    /// Folders below the top that hold a file.
    pub(crate) folders: BTreeSet<PathBuf>,
    /// Places of other repositories.
    pub(crate) links: BTreeSet<PathBuf>,
}

impl Tracked {
    /// What the index of a call tracks.
    pub(crate) fn by_index(call: Call<'_>) -> Result<Self, Problem> {
        call.args(["ls-files", "--stage", "-z"])
            .ok()
            .map(|answer| Self::read(answer.fields()))
    }

    /// Rows that begin with the mode and end with a tab and the path.
    pub(crate) fn read<'a>(rows: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut folders: HashSet<&[u8]> = HashSet::new();
        let mut links = BTreeSet::new();
        for row in rows {
            let Some(tab) = row.iter().position(|byte| *byte == b'\t') else {
                continue;
            };
            let mut path = &row[tab + 1..];
            if row.starts_with(LINK) {
                links.insert(path_from(path));
            }
            while let Some(slash) = path.iter().rposition(|byte| *byte == b'/') {
                path = &path[..slash];
                if !folders.insert(path) {
                    break;
                }
            }
        }
        Self {
            folders: folders.into_iter().map(path_from).collect(),
            links,
        }
    }
}

/// The paths that a commit declares as submodules, asked by a call that can read it.
pub(crate) fn declared(call: Call<'_>, commit: &str) -> Result<BTreeSet<PathBuf>, Problem> {
    let answer = call
        .args(["config", "-z", "--no-includes"])
        .arg(format!("--blob={commit}:.gitmodules"))
        .args(["--get-regexp", r"^submodule\..*\.path$"])
        .run()?;
    // With another code there is none. A file that git cannot read declares nothing either.
    let value = |field: &[u8]| {
        let at = field.iter().position(|byte| *byte == b'\n')?;
        Some(path_from(&field[at + 1..]))
    };
    Ok(answer.fields().filter_map(value).collect())
}

/// Whether something of this name lies in a folder, be it a link that leads nowhere.
pub(crate) fn has_entry(folder: &Path, name: &str) -> bool {
    folder.join(name).symlink_metadata().is_ok()
}
