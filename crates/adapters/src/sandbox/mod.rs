//! Sandboxes: folders with a repository of their own that borrows the objects of the user's.
//!
//! Each step is recorded outside the sandbox before it is performed, so that after a crash the next
//! sweep can finish or undo it.

mod bring;
mod create;
mod elsewhere;
mod evidence;
mod inside;
mod keep;
pub mod kept;
pub(crate) mod lock;
mod mend;
mod nested;
mod phase_files;
mod record;
mod refs;
mod remove;
mod repository;
mod roll_back;
mod saver;
mod steps;
mod sweep;
mod trash;

pub use steps::Step;

use crate::files;
use crate::git::{Git, Location};
use drive_core::ids::{BranchName, CommitSha, RunId, SandboxId};
use drive_core::phase::PhaseState;
use drive_core::problem::{Kind, Problem};
use drive_core::sandbox::{KeptWork, OwnerState, Probe, Sandbox, SandboxSpec, Stage};
use drive_engine::ports::{Clock, FoundState, PhaseFiles, Sandboxes, SweepReport};
use lock::FileLock;
use record::{Record, Records};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use steps::Steps;
use trash::Trash;

/// Drive's own files on sandboxes, below the state directory.
const OWN: &str = "sandbox-files";
const RECORDS: &str = "records";
/// How long one process waits for another at a repository or a sandbox.
const LOCK_WAIT: Duration = Duration::from_secs(120);

/// Sandboxes below one root.
pub struct GitSandboxes {
    git: Git,
    clock: Arc<dyn Clock>,
    root: PathBuf,
    locks: PathBuf,
    records: Records,
    trash: Trash,
    steps: Steps,
    lock_wait: Duration,
}

impl GitSandboxes {
    /// Sandboxes in `root`, with their records in `state`. Both are made when absent.
    pub fn open(
        git: Git,
        clock: Arc<dyn Clock>,
        root: &Path,
        state: &Path,
    ) -> Result<Self, Problem> {
        let root = made(root).map_err(|error| root_problem(root, &error))?;
        let trash = made(&root.join(record::TRASH)).map_err(|error| root_problem(&root, &error))?;
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

    /// The same sandboxes, whose steps `watch` is told of.
    #[must_use]
    pub fn watched(mut self, watch: impl Fn(Step) + Send + Sync + 'static) -> Self {
        self.steps = Steps::new(watch);
        self
    }

    /// Waits until the files of removed sandboxes are deleted. Not needed: the next sweep would
    /// finish it.
    pub fn finish_deletions(&self) {
        self.trash.finish();
    }

    /// Every sandbox with a record, oldest first; one whose record cannot be read is passed over.
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

    /// Lets the sandboxes of a repository that was moved borrow from its new place.
    pub fn relocate(&self, from: &Path, to: &Path) -> Result<(), Problem> {
        for id in self.records.ids()? {
            let _lock = self.lock_sandbox(&id, "move a sandbox to its repository")?;
            let found = self.records.find(&id)?;
            let Some(mut record) = found.filter(|one| one.sandbox.git_dir == from) else {
                continue;
            };
            record.sandbox.git_dir = to.to_owned();
            if let Ok(rest) = record.checkout.strip_prefix(from) {
                record.checkout = to.join(rest);
            }
            self.records.save(&record)?;
            mend::make_safe(self, &record)?;
        }
        Ok(())
    }

    fn lock_sandbox(&self, id: &SandboxId, what: &str) -> Result<FileLock, Problem> {
        FileLock::acquire(&self.sandbox_lock(id), what, self.lock_wait)
    }

    fn sandbox_lock(&self, id: &SandboxId) -> PathBuf {
        self.locks.join(format!("sandbox-{id}.lock"))
    }

    /// Where a sandbox's files are now: in place, or moved aside.
    fn folder_of(&self, record: &Record) -> PathBuf {
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

    /// The repository in a sandbox's folder, wherever that is now.
    fn inside(&self, record: &Record) -> Location {
        Location::inside(&self.folder_of(record), &record.sandbox.git_dir)
    }
}

impl Sandboxes for GitSandboxes {
    fn create(&self, spec: &SandboxSpec) -> Result<Sandbox, Problem> {
        create::create(self, spec)
    }

    fn find(&self, id: &SandboxId) -> Result<Option<Sandbox>, Problem> {
        drive_core::sandbox::check_folder_name(id)?;
        Ok(self
            .records
            .find(id)?
            .filter(|record| record.stage == Stage::Ready)
            .map(|record| record.sandbox))
    }

    fn write_file(&self, sandbox: &Sandbox, name: &str, text: &str) -> Result<(), Problem> {
        inside::write(&sandbox.path, Path::new(name), text.as_bytes()).map_err(|error| {
            let path = sandbox.path.join(name);
            Problem::new(
                Kind::NotWritten,
                format!("cannot write `{}`", path.display()),
            )
            .because(error)
            .hint(
                "check free space, that the sandbox exists, and that no folder of the path \
                       is a link",
            )
        })
    }

    fn remove_file(&self, sandbox: &Sandbox, name: &str) -> Result<(), Problem> {
        inside::remove(&sandbox.path, Path::new(name)).map_err(|error| {
            let path = sandbox.path.join(name);
            Problem::new(
                Kind::NotWritten,
                format!("cannot remove `{}`", path.display()),
            )
            .because(error)
            .hint("check that the sandbox exists and that its folder can be written")
        })
    }

    fn keep(&self, sandbox: &Sandbox) -> Result<Option<KeptWork>, Problem> {
        let _lock = self.lock_sandbox(&sandbox.id, "saving its work")?;
        match self.records.find(&sandbox.id)? {
            Some(record) => keep::keep(self, &record),
            None => Ok(None),
        }
    }

    fn mend(&self, sandbox: &Sandbox, head: Option<&CommitSha>) -> Result<Vec<String>, Problem> {
        drive_core::sandbox::check_folder_name(&sandbox.id)?;
        let _lock = self.lock_sandbox(&sandbox.id, "inspecting it")?;
        match self.records.find(&sandbox.id)? {
            Some(record) => mend::mend(self, &record, head),
            None => Ok(Vec::new()),
        }
    }

    fn make_whole(
        &self,
        sandbox: &Sandbox,
        head: Option<&CommitSha>,
    ) -> Result<Vec<String>, Problem> {
        drive_core::sandbox::check_folder_name(&sandbox.id)?;
        let _lock = self.lock_sandbox(&sandbox.id, "inspecting it")?;
        match self.records.find(&sandbox.id)? {
            Some(record) => mend::make_whole(self, &record, head),
            None => Err(gone(&sandbox.id)),
        }
    }

    fn roll_back(&self, sandbox: &Sandbox, to: &CommitSha) -> Result<Option<KeptWork>, Problem> {
        let _lock = self.lock_sandbox(&sandbox.id, "restoring it")?;
        match self.records.find(&sandbox.id)? {
            Some(record) => roll_back::roll_back(self, &record, to),
            None => Err(gone(&sandbox.id)),
        }
    }

    fn retire(&self, sandbox: &Sandbox) -> Result<bool, Problem> {
        remove::retire(self, &sandbox.id)
    }

    fn settle(&self, id: &SandboxId) -> Result<Option<KeptWork>, Problem> {
        remove::settle(self, id)
    }

    fn sweep(&self, owner: &dyn Fn(&RunId) -> OwnerState) -> Result<SweepReport, Problem> {
        sweep::sweep(self, owner)
    }

    fn kept(&self, repo: &Path) -> Result<Vec<KeptWork>, Problem> {
        kept::list(&self.git, repo)
    }

    fn restore(
        &self,
        repo: &Path,
        reference: &str,
        branch: &BranchName,
    ) -> Result<KeptWork, Problem> {
        kept::restore(&self.git, repo, reference, branch)
    }

    fn drop_kept(&self, repo: &Path, reference: &str) -> Result<KeptWork, Problem> {
        kept::drop(&self.git, repo, reference)
    }
}

/// Whether there is a sandbox in use or left over, or rubble in the root's trash. A glance, so that
/// a sweep with nothing to do costs nothing.
#[must_use]
pub fn is_anything_left(root: &Path, state: &Path) -> bool {
    let has_entries = |folder: &Path| {
        std::fs::read_dir(folder).is_ok_and(|mut entries| entries.any(|entry| entry.is_ok()))
    };
    has_entries(&state.join(OWN).join(RECORDS)) || trash::has_dead(&root.join(record::TRASH))
}

impl PhaseFiles for GitSandboxes {
    fn write(&self, sandbox: &Sandbox, state: &PhaseState) -> Result<(), Problem> {
        phase_files::write(&sandbox.path, state)
    }

    fn read(&self, sandbox_path: &Path) -> Result<Option<PhaseState>, Problem> {
        phase_files::read(sandbox_path)
    }

    fn list(&self) -> Result<Vec<FoundState>, Problem> {
        phase_files::list(&self.root)
    }

    fn root(&self) -> &Path {
        &self.root
    }
}

/// Refuses to work through a link that was put in a sandbox's place.
fn require_plain(path: &Path) -> Result<(), Problem> {
    match path.symlink_metadata() {
        Ok(meta) if !meta.is_dir() => Err(Problem::new(
            Kind::SandboxReplaced,
            format!("`{}` is no longer a plain folder", path.display()),
        )
        .hint("something replaced it; remove what is there")),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn gone(id: &SandboxId) -> Problem {
    Problem::new(
        Kind::SandboxGone,
        format!("sandbox `{id}` no longer exists"),
    )
    .hint("it was removed by hand; its commits are on its branch")
}

fn made(path: &Path) -> io::Result<PathBuf> {
    std::fs::create_dir_all(path)?;
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK)?;
    std::fs::canonicalize(path)
}

fn root_problem(root: &Path, error: &io::Error) -> Problem {
    if files::is_full(root) {
        return disk_full(root);
    }
    Problem::new(
        Kind::SandboxRootUnusable,
        format!("cannot write to the sandbox folder `{}`", root.display()),
    )
    .because(error)
    .hint("make it writable, or set `sandbox.root` to another folder")
}

/// A problem with a file of our own.
fn storage_problem(path: &Path, error: &io::Error) -> Problem {
    if files::is_full(path) {
        return disk_full(path);
    }
    Problem::new(
        Kind::StorageFailed,
        format!("cannot use `{}`", path.display()),
    )
    .because(error)
    .hint("check whether the disk is mounted read-only and who owns the folder")
}

fn disk_full(path: &Path) -> Problem {
    Problem::new(
        Kind::DiskFull,
        format!("the disk of `{}` is full", path.display()),
    )
    .hint("free some space, or set `sandbox.root` to another disk")
}
