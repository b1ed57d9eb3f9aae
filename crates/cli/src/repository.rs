//! Finds the repository that a run belongs to.

use drive_adapters::settings::checkout_root;
use drive_core::run::Run;
use std::path::{Path, PathBuf};

/// The git directory of a run's repository, whose checkout may be gone.
pub(crate) fn git_dir_of(run: &Run) -> Option<PathBuf> {
    let request = run.request.as_ref()?;
    let known = request.git_dir.as_ref();
    let known = known.and_then(|known| known.canonicalize().ok());
    known.or_else(|| shared_git_dir(&request.repo))
}

/// The git directory of the repository that contains a folder.
pub(crate) fn repository_of(folder: &Path) -> Option<PathBuf> {
    let is_bare = || folder.join("HEAD").is_file().then(|| folder.to_path_buf());
    let root = checkout_root(folder).or_else(is_bare);
    let found = root.and_then(|root| shared_git_dir(&root));
    // An empty folder named `.git` is no repository.
    found.filter(|found| found.join("HEAD").exists())
}

/// The git directory that all worktrees of a repository share.
fn shared_git_dir(checkout: &Path) -> Option<PathBuf> {
    let own = checkout.join(".git");
    if own.is_dir() {
        return own.canonicalize().ok();
    }
    let Ok(link) = std::fs::read_to_string(&own) else {
        return checkout.canonicalize().ok();
    };
    let linked = checkout.join(link.strip_prefix("gitdir:")?.trim());
    match std::fs::read_to_string(linked.join("commondir")) {
        Ok(common) => linked.join(common.trim()).canonicalize().ok(),
        Err(_) => linked.canonicalize().ok(),
    }
}
