//! A temporary index that leaves the real one unchanged.

use drive_core::Problem;
use std::path::{Path, PathBuf};

/// The file goes with the value.
pub(crate) struct ScratchIndex {
    path: PathBuf,
}

impl ScratchIndex {
    /// A new name in a git folder, for one `purpose`. What a killed drive left of earlier ones with the
    /// same purpose is removed: a lock among it would stop git for ever.
    pub(crate) fn fresh(git_dir: &Path, purpose: &str) -> Result<Self, Problem> {
        let prefix = format!("drive-{purpose}");
        let entries = std::fs::read_dir(git_dir).into_iter().flatten().flatten();
        for entry in entries {
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                // What cannot be removed does not stand in the way of another name.
                let _ = std::fs::remove_file(entry.path());
            }
        }
        let number = crate::entropy::random_u32()?;
        Ok(Self {
            path: git_dir.join(format!("{prefix}-{number:08x}.index")),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchIndex {
    fn drop(&mut self) {
        // A stray copy goes with the next one, or with the git folder at the latest.
        let _ = std::fs::remove_file(&self.path);
    }
}
