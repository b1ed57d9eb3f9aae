//! Implements the port of sandboxes: each method calls the function of its step.

use super::problems::gone;
use super::sandboxes::GitSandboxes;
use super::{create, inside, keep, kept, mend, phase_files, remove, roll_back, sweep};
use drive_core::ids::{BranchName, CommitSha, RunId, SandboxId};
use drive_core::phase::PhaseState;
use drive_core::problem::{Kind, Problem};
use drive_core::sandbox::{KeptWork, OwnerState, Sandbox, SandboxSpec, Stage};
use drive_engine::ports::{FoundState, PhaseFiles, Sandboxes, SweepReport};
use std::path::Path;

impl GitSandboxes {
    /// Changes the sandboxes of a repository that was moved so that they borrow from its new path.
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
