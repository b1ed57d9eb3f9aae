//! Names of the steps between which a crash can happen, for tests.

use std::fmt;
use std::sync::Arc;

/// A finished step of creating or removing a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The record of what is about to be created is on disk.
    RecordWritten,
    /// The base commit is pinned, and the branch exists.
    RefsMade,
    /// Its folder exists.
    FolderMade,
    /// The record names the folder.
    FolderRecorded,
    /// It has its own repository.
    RepositoryWritten,
    /// Its files are checked out.
    CheckedOut,
    /// Untracked files were copied into it.
    Brought,
    /// The record says that it is ready.
    Ready,
    /// The record says that it is being removed.
    RemovalWritten,
    /// The folder was moved to the trash.
    MovedAside,
    /// The work has a ref.
    WorkKept,
    /// The record contains the saved work.
    KeptWritten,
    /// The pin and an unused branch are deleted.
    RefsDropped,
    /// The remains are marked as deletable.
    MarkedDead,
    /// The record is deleted.
    Forgotten,
}

impl Step {
    /// All steps of creating a sandbox, in order.
    pub const CREATE: [Self; 8] = [
        Self::RecordWritten,
        Self::RefsMade,
        Self::FolderMade,
        Self::FolderRecorded,
        Self::RepositoryWritten,
        Self::CheckedOut,
        Self::Brought,
        Self::Ready,
    ];

    /// All steps of removing a sandbox, in order.
    pub const REMOVE: [Self; 7] = [
        Self::RemovalWritten,
        Self::MovedAside,
        Self::WorkKept,
        Self::KeptWritten,
        Self::RefsDropped,
        Self::MarkedDead,
        Self::Forgotten,
    ];
}

/// Called after each step; a test can end the process there.
#[derive(Clone)]
pub(super) struct Steps(Arc<dyn Fn(Step) + Send + Sync>);

impl Steps {
    pub(super) fn new(watch: impl Fn(Step) + Send + Sync + 'static) -> Self {
        Self(Arc::new(watch))
    }

    pub(super) fn done(&self, step: Step) {
        (self.0)(step);
    }
}

impl Default for Steps {
    fn default() -> Self {
        Self::new(|_| {})
    }
}

impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Steps")
    }
}
