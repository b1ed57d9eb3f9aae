//! The directories and environment of a git call.

use super::object_folders::object_folders;
use drive_core::sandbox::Brought;
use drive_engine::ports::Place;
use std::path::{Path, PathBuf};

/// The folders of one call.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    /// Where git is started.
    pub(crate) dir: PathBuf,
    /// The folders git must not look up by itself.
    pub(crate) pinned: Option<Pinned>,
    /// For the repository of a sandbox, which an agent can write: what git may see besides it.
    pub(crate) confined: Option<Confined>,
}

/// The only folders that confined git sees, besides the system's own.
#[derive(Clone, Debug)]
pub(crate) struct Confined {
    /// The sandbox, the only folder it may write.
    pub(crate) folder: PathBuf,
    /// The git folder of the user's repository, which it does not see.
    pub(crate) users: PathBuf,
    /// The objects of that repository, which the sandbox borrows.
    pub(crate) objects: Vec<PathBuf>,
}

/// Git folders known from our own record rather than from a file in the folder.
#[derive(Clone, Debug)]
pub(crate) struct Pinned {
    pub(crate) git_dir: PathBuf,
    pub(crate) common_dir: PathBuf,
    /// `None` when the folder is gone.
    pub(crate) work_tree: Option<PathBuf>,
}

impl Location {
    /// Where the files of a place are.
    pub(super) fn of(place: Place<'_>) -> Self {
        match place {
            Place::Checkout(dir) => Self::checkout(dir),
            Place::Sandbox(sandbox) => Self::inside(&sandbox.path, &sandbox.git_dir),
        }
    }

    /// Where the history of a place is. That of a sandbox is what was taken out of it.
    pub(super) fn history_of(place: Place<'_>) -> Self {
        match place {
            Place::Checkout(dir) => Self::checkout(dir),
            Place::Sandbox(sandbox) => Self::bare(&sandbox.git_dir),
        }
    }

    /// The repository in a sandbox's folder, which borrows from the user's git folder.
    pub(crate) fn inside(folder: &Path, users: &Path) -> Self {
        let own = folder.join(".git");
        Self {
            dir: folder.to_path_buf(),
            pinned: Some(Pinned {
                git_dir: own.clone(),
                common_dir: own,
                work_tree: Some(folder.to_path_buf()),
            }),
            confined: Some(Confined {
                folder: folder.to_path_buf(),
                users: users.to_path_buf(),
                objects: object_folders(users),
            }),
        }
    }

    /// A git folder in a sandbox, confined like the sandbox's own.
    pub(crate) fn nested(&self, git_dir: &Path) -> Self {
        Self {
            dir: self.dir.clone(),
            confined: self.confined.clone(),
            ..Self::bare(git_dir)
        }
    }

    /// A git folder that is not believed about where its work tree is.
    pub(crate) fn bare(git_dir: &Path) -> Self {
        Self {
            dir: git_dir.to_path_buf(),
            pinned: Some(Pinned {
                git_dir: git_dir.to_path_buf(),
                common_dir: git_dir.to_path_buf(),
                work_tree: None,
            }),
            confined: None,
        }
    }

    /// The git folder of a linked worktree, beside the one that all share.
    pub(crate) fn linked(git_dir: &Path, common_dir: &Path) -> Self {
        let mut linked = Self::bare(git_dir);
        if let Some(pinned) = &mut linked.pinned {
            pinned.common_dir = common_dir.to_path_buf();
        }
        linked
    }

    pub(crate) fn checkout(dir: &Path) -> Self {
        Self {
            dir: dir.to_path_buf(),
            pinned: None,
            confined: None,
        }
    }
}

/// What lies in a place and is nobody's work there.
pub(super) fn brought(place: Place<'_>) -> &[Brought] {
    match place {
        Place::Checkout(_) => &[],
        Place::Sandbox(sandbox) => &sandbox.brought,
    }
}
