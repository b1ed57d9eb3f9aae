//! The sandboxes below one root, with their files, locks and records.

use super::lock::FileLock;
use super::problems::{root_problem, storage_problem};
use super::record::{Record, Records, TRASH};
use super::steps::{Step, Steps};
use super::trash::{Trash, has_dead};
use crate::git::{Git, Location};
use drive_core::Problem;
use drive_core::ids::SandboxId;
use drive_core::sandbox::{Probe, Sandbox, Stage};
use drive_engine::ports::Clock;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The folder of drive's own files about sandboxes, below the state directory.
const OWN: &str = "sandbox-files";
const RECORDS: &str = "records";
/// How long a process waits for another one at the lock of a repository or a sandbox.
const LOCK_WAIT: Duration = Duration::from_secs(120);

/// Sandboxes below one root.
pub struct GitSandboxes {
    pub(super) git: Git,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) root: PathBuf,
    pub(super) locks: PathBuf,
    pub(super) records: Records,
    pub(super) trash: Trash,
    pub(super) steps: Steps,
    pub(super) lock_wait: Duration,
}

impl GitSandboxes {
    /// Opens the sandboxes in `root`, with their records in `state`. Missing folders are created.
    pub fn open(
        git: Git,
        clock: Arc<dyn Clock>,
        root: &Path,
        state: &Path,
    ) -> Result<Self, Problem> {
        let root = made(root).map_err(|error| root_problem(root, &error))?;
        let trash = made(&root.join(TRASH)).map_err(|error| root_problem(&root, &error))?;
        let own = state.join(OWN);
        let folder = |name: &str| {
            let path = own.join(name);
            made(&path).map_err(|error| storage_problem(&path, &error))
        };
        Ok(Self {
            git,
            clock,
            locks: folder("locks")?,
            records: Records::new(folder(RECORDS)?),
            trash: Trash::new(trash),
            root,
            steps: Steps::default(),
            lock_wait: LOCK_WAIT,
        })
    }

    /// The same sandboxes; `watch` is called after each step.
    #[must_use]
    pub fn watched(mut self, watch: impl Fn(Step) + Send + Sync + 'static) -> Self {
        self.steps = Steps::new(watch);
        self
    }

    /// Waits until the files of removed sandboxes are deleted. This is optional: the next sweep
    /// would finish the deletion.
    pub fn finish_deletions(&self) {
        self.trash.finish();
    }

    /// Every sandbox with a readable record, oldest first.
    pub fn load_all(&self) -> Result<Vec<Sandbox>, Problem> {
        let found = self.records.ids()?.into_iter();
        let found = found.filter_map(|id| match self.records.load(&id) {
            Probe::Found(record) => Some(record.sandbox),
            Probe::Absent | Probe::Failed(_) => None,
        });
        let mut found: Vec<Sandbox> = found.collect();
        found.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        Ok(found)
    }

    pub(super) fn lock_sandbox(&self, id: &SandboxId, what: &str) -> Result<FileLock, Problem> {
        FileLock::acquire(&self.sandbox_lock(id), what, self.lock_wait)
    }

    pub(super) fn sandbox_lock(&self, id: &SandboxId) -> PathBuf {
        self.locks.join(format!("sandbox-{id}.lock"))
    }

    /// The current folder of a sandbox: in its place, or moved aside.
    pub(super) fn folder_of(&self, record: &Record) -> PathBuf {
        match record.stage {
            Stage::Creating | Stage::Ready => record.sandbox.path.clone(),
            Stage::Removing | Stage::Kept => {
                let aside = self.trash.place(record);
                // The record is written before the move.
                if aside.exists() {
                    aside
                } else {
                    record.sandbox.path.clone()
                }
            }
        }
    }

    /// The repository in a sandbox's current folder.
    pub(super) fn inside(&self, record: &Record) -> Location {
        Location::inside(&self.folder_of(record), &record.sandbox.git_dir)
    }
}

/// Whether there are sandboxes, or remains in the root's trash. This check is fast, so that a sweep
/// without work costs nothing.
#[must_use]
pub fn is_anything_left(root: &Path, state: &Path) -> bool {
    let has_entries = |folder: &Path| {
        std::fs::read_dir(folder).is_ok_and(|mut entries| entries.any(|entry| entry.is_ok()))
    };
    has_entries(&state.join(OWN).join(RECORDS)) || has_dead(&root.join(TRASH))
}

fn made(path: &Path) -> io::Result<PathBuf> {
    std::fs::create_dir_all(path)?;
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK)?;
    std::fs::canonicalize(path)
}
