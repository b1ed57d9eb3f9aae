//! Tracked folders and submodules of an index.

use super::Call;
use super::answer::path_from;
use drive_core::Problem;
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// The mode of an entry that is a submodule's commit.
const LINK: &[u8] = b"160000";

/// Folders and submodules, relative to the top.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tracked {
    /// Folders below the top that contain a file.
    pub(crate) folders: BTreeSet<PathBuf>,
    /// Paths of submodules.
    pub(crate) links: BTreeSet<PathBuf>,
}

impl Tracked {
    /// The folders and submodules in the index that the call reads.
    pub(crate) fn by_index(call: Call<'_>) -> Result<Self, Problem> {
        call.args(["ls-files", "--stage", "-z"])
            .ok()
            .map(|answer| Self::read(answer.fields()))
    }

    /// Parses rows that begin with the mode and end with a tab and the path.
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

/// The paths that a commit declares as submodules; the call must be able to read the commit.
pub(crate) fn declared(call: Call<'_>, commit: &str) -> Result<BTreeSet<PathBuf>, Problem> {
    let answer = call
        .args(["config", "-z", "--no-includes"])
        .arg(format!("--blob={commit}:.gitmodules"))
        .args(["--get-regexp", r"^submodule\..*\.path$"])
        .run()?;
    // Any other exit code means that the file is missing, or that git cannot parse it; both declare nothing.
    let value = |field: &[u8]| {
        let at = field.iter().position(|byte| *byte == b'\n')?;
        Some(path_from(&field[at + 1..]))
    };
    Ok(answer.fields().filter_map(value).collect())
}

/// Whether a folder contains an entry of this name, which may be a broken link.
pub(crate) fn has_entry(folder: &Path, name: &str) -> bool {
    folder.join(name).symlink_metadata().is_ok()
}
