//! The folders and environment of a git call.

use super::object_folders::object_folders;
use drive_core::sandbox::Brought;
use drive_engine::ports::Place;
use std::path::{Path, PathBuf};

/// The folders of one call.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    /// The folder in which git is started.
    pub(crate) dir: PathBuf,
    /// The git directories, so that git does not look for them.
    pub(crate) pinned: Option<Pinned>,
    /// For a sandbox's repository, which an agent can write: the only other folders that git may see.
    pub(crate) confined: Option<Confined>,
}

/// The only folders that confined git sees in addition to the system's.
#[derive(Clone, Debug)]
pub(crate) struct Confined {
    /// The sandbox, which is the only folder it may write.
    pub(crate) folder: PathBuf,
    /// The git directory of the user's repository, which it does not see.
    pub(crate) users: PathBuf,
    /// The objects of that repository, which the sandbox borrows.
    pub(crate) objects: Vec<PathBuf>,
}

/// Git directories from drive's own record, not from a file in the folder.
#[derive(Clone, Debug)]
pub(crate) struct Pinned {
    pub(crate) git_dir: PathBuf,
    pub(crate) common_dir: PathBuf,
    /// The worktree; `None` if it is gone.
    pub(crate) work_tree: Option<PathBuf>,
}

impl Location {
    /// The location of a place's files.
    pub(super) fn of(place: Place<'_>) -> Self {
        match place {
            Place::Checkout(dir) => Self::checkout(dir),
            Place::Sandbox(sandbox) => Self::inside(&sandbox.path, &sandbox.git_dir),
        }
    }

    /// The location of a place's history. For a sandbox it is the user's repository, which has the
    /// commits taken over from it.
    pub(super) fn history_of(place: Place<'_>) -> Self {
        match place {
            Place::Checkout(dir) => Self::checkout(dir),
            Place::Sandbox(sandbox) => Self::bare(&sandbox.git_dir),
        }
    }

    /// The repository in a sandbox's folder, which borrows objects from the user's git directory.
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

    /// A git directory in a sandbox, confined like the sandbox's own.
    pub(crate) fn nested(&self, git_dir: &Path) -> Self {
        Self {
            dir: self.dir.clone(),
            confined: self.confined.clone(),
            ..Self::bare(git_dir)
        }
    }

    /// A git directory whose own setting of a worktree is ignored.
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

    /// The git directory of a linked worktree, with the shared one.
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

/// The copied files in a place, which are nobody's work.
pub(super) fn brought(place: Place<'_>) -> &[Brought] {
    match place {
        Place::Checkout(_) => &[],
        Place::Sandbox(sandbox) => &sandbox.brought,
    }
}
