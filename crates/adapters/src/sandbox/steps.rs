//! Names of the steps between which a crash can happen, for tests.

use std::fmt;
use std::sync::Arc;

/// One finished step of making or removing a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The record of what is about to be made is on disk.
    RecordWritten,
    /// The base commit is pinned, and the branch exists.
    RefsMade,
    /// Its folder exists.
    FolderMade,
    /// The record names the folder.
    FolderRecorded,
    /// It has a repository of its own.
    RepositoryWritten,
    /// Its files are there.
    CheckedOut,
    /// Untracked files were brought along.
    Brought,
    /// The record says that it is ready.
    Ready,
    /// The record says that it is being removed.
    RemovalWritten,
    /// The folder was moved to the trash.
    MovedAside,
    /// The work has its ref.
    WorkKept,
    /// The record says so.
    KeptWritten,
    /// Pin and unused branch are gone.
    RefsDropped,
    /// The remains are marked as rubble.
    MarkedDead,
    /// The record is gone.
    Forgotten,
}

impl Step {
    /// All steps of making one, in order.
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

    /// All steps of removing one, in order.
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

/// Is told of each step; a test can end the process there.
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
