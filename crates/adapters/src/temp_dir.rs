//! Temporary folders that record the process that created them. A later process removes the folder
//! of a killed process, if the folder belongs to this user and its process is proven dead.

use crate::entropy::random_u32;
use crate::files;
use drive_core::problem::{Kind, Problem};
use drive_engine::lease::Whoami;
use drive_engine::ports::{Liveness, Owner};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The file in the folder that records the owner.
const MADE_BY: &str = "made-by.json";
/// The maximum number of bytes of an owner file that are read.
const LONGEST: u64 = 4096;

/// A temporary folder owned by this process.
#[derive(Debug)]
pub struct TempDir {
    path: PathBuf,
}

impl TempDir {
    /// Creates a folder that only this user can read; its name starts with `prefix`.
    pub fn make(parent: &Path, prefix: &str, whoami: &dyn Whoami) -> Result<Self, Problem> {
        let path = parent.join(format!("{prefix}{:08x}", random_u32()?));
        let owner = serde_json::to_vec(&whoami.owner()).unwrap_or_default();
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .and_then(|()| files::replace(&path.join(MADE_BY), &owner))
            .map_err(|error| {
                Problem::new(
                    Kind::NotWritten,
                    format!("cannot write `{}`", path.display()),
                )
                .because(error)
                .hint("point `TMPDIR` at a folder with free space")
            })?;
        Ok(Self { path })
    }

    /// Path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the folder for the user: no later process removes it.
    pub fn leave(&self) -> io::Result<()> {
        std::fs::remove_file(self.path.join(MADE_BY))
    }

    /// Removes the folder with its content.
    pub fn remove(&self) -> io::Result<()> {
        files::remove_tree(&self.path)
    }
}

/// Removes the folders of dead processes and returns their paths. Folders whose owner is not proven
/// dead remain.
pub fn sweep(parent: &Path, prefix: &str, whoami: &dyn Whoami) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let mut gone: Vec<PathBuf> = entries
        .filter(|entry| {
            let name = entry.file_name();
            name.as_encoded_bytes().starts_with(prefix.as_bytes())
        })
        .map(|entry| entry.path())
        .filter(|path| is_dead(path, whoami))
        .filter(|path| files::remove_tree(path).is_ok())
        .collect();
    gone.sort();
    gone
}

fn is_dead(path: &Path, whoami: &dyn Whoami) -> bool {
    let is_mine = |path: &Path, is_kind: fn(&std::fs::Metadata) -> bool| {
        let meta = path.symlink_metadata();
        meta.is_ok_and(|meta| is_kind(&meta) && meta.uid() == rustix::process::geteuid().as_raw())
    };
    let file = path.join(MADE_BY);
    if !is_mine(path, std::fs::Metadata::is_dir) || !is_mine(&file, std::fs::Metadata::is_file) {
        return false;
    }
    let bytes = files::load_from(&file, 0, LONGEST).unwrap_or_default();
    let owner = serde_json::from_slice::<Owner>(&bytes);
    owner.is_ok_and(|owner| whoami.liveness(&owner) == Liveness::Dead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::ThisProcess;

    const PREFIX: &str = "drive-demo-";

    /// Creates a folder that seems to belong to the changed owner.
    fn made(parent: &Path, change: impl Fn(&mut Owner)) -> PathBuf {
        let folder = TempDir::make(parent, PREFIX, &ThisProcess::load()).unwrap();
        let mut owner = ThisProcess::load().owner();
        change(&mut owner);
        let text = serde_json::to_vec(&owner).unwrap();
        files::replace(&folder.path().join(MADE_BY), &text).unwrap();
        folder.path().to_path_buf()
    }

    #[test]
    fn only_what_a_dead_process_made_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let living = made(parent.path(), |_| {});
        let elsewhere = made(parent.path(), |owner| owner.machine = "elsewhere".into());
        let mut dead = vec![
            made(parent.path(), |owner| owner.process.start_ticks += 1),
            made(parent.path(), |owner| owner.boot = "an earlier one".into()),
        ];
        dead.sort();
        let kept = TempDir::make(parent.path(), PREFIX, &ThisProcess::load()).unwrap();
        kept.leave().unwrap();
        let other = parent.path().join("other");
        std::fs::rename(made(parent.path(), |owner| owner.boot = "x".into()), &other).unwrap();
        let link = parent.path().join("drive-demo-link");
        std::os::unix::fs::symlink(&other, &link).unwrap();
        assert_eq!(sweep(parent.path(), PREFIX, &ThisProcess::load()), dead);
        for path in [&living, &elsewhere, kept.path(), &other, &link] {
            assert!(path.exists(), "{}", path.display());
        }
        assert_eq!(
            sweep(parent.path(), PREFIX, &ThisProcess::load()),
            Vec::<PathBuf>::new()
        );
    }
}
