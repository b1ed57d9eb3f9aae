use super::repository::{FakeHead, FakeRepository, FakeSandbox, RepositoryState, full, gone};
use crate::ports::{Clock, Place, Sandboxes, SweepReport, Swept};
use drive_core::ids::{BranchName, CommitSha, RunId, SandboxId};
use drive_core::problem::{Kind, Problem};
use drive_core::sandbox::{
    InProgress, KeptAbout, KeptWork, Lifetime, OwnerState, Sandbox, SandboxSpec,
};
use drive_core::time::Timestamp;
use std::path::{Path, PathBuf};

/// The folder of all sandboxes.
pub(super) const SANDBOX_ROOT: &str = "/sandboxes";

impl Sandboxes for FakeRepository {
    fn create(&self, spec: &SandboxSpec) -> Result<Sandbox, Problem> {
        let mut state = self.alive()?;
        if let Some(known) = state.sandboxes.get(&spec.id) {
            let known = &known.sandbox;
            return if known.run == spec.run && known.branch == spec.branch {
                Ok(known.clone())
            } else {
                Err(Problem::new(
                    Kind::SandboxExists,
                    format!("sandbox `{}` exists for another purpose", spec.id),
                ))
            };
        }
        let place = Place::Checkout(&spec.repo);
        let base = state.resolve(place, &spec.base).ok_or_else(|| {
            Problem::new(
                Kind::UnknownRevision,
                format!("unknown revision `{}`", spec.base),
            )
        })?;
        let head = match &spec.branch {
            Some(branch) if spec.on_existing_branch => {
                if !state.refs.contains_key(&full(branch)) {
                    return Err(Problem::new(
                        Kind::BranchNotFound,
                        format!("branch `{branch}` no longer exists"),
                    ));
                }
                FakeHead::Branch(branch.clone())
            }
            Some(branch) if state.refs.contains_key(&full(branch)) => {
                return Err(Problem::new(
                    Kind::BranchExists,
                    format!("branch `{branch}` already exists"),
                ));
            }
            Some(branch) => {
                state.refs.insert(full(branch), base.clone());
                FakeHead::Branch(branch.clone())
            }
            None => FakeHead::Detached(base.clone()),
        };
        let sandbox = Sandbox {
            id: spec.id.clone(),
            run: spec.run.clone(),
            lifetime: spec.lifetime,
            path: PathBuf::from(SANDBOX_ROOT).join(spec.id.as_str()),
            git_dir: spec.repo.join(".git"),
            base_sha: CommitSha::new(base.clone()),
            branch: spec.branch.clone(),
            created_at: self.clock.now(),
            notes: Vec::new(),
            held: spec.held,
            brought: Vec::new(),
        };
        let tip = match &head {
            FakeHead::Branch(branch) => state.refs.get(&full(branch)).cloned(),
            FakeHead::Detached(_) => None,
        };
        let checkout = FakeSandbox {
            sandbox: sandbox.clone(),
            head,
            files: state.files(tip.as_ref().unwrap_or(&base)),
            merging: None,
            retired: false,
        };
        state.sandboxes.insert(spec.id.clone(), checkout);
        Ok(sandbox)
    }

    fn find(&self, id: &SandboxId) -> Result<Option<Sandbox>, Problem> {
        let state = self.alive()?;
        let found = state.sandboxes.get(id).filter(|one| !one.retired);
        Ok(found.map(|one| one.sandbox.clone()))
    }

    fn mend(&self, sandbox: &Sandbox, _: Option<&CommitSha>) -> Result<Vec<String>, Problem> {
        self.alive()?.sandbox_at(sandbox).map(|_| Vec::new())
    }

    fn make_whole(
        &self,
        sandbox: &Sandbox,
        head: Option<&CommitSha>,
    ) -> Result<Vec<String>, Problem> {
        self.mend(sandbox, head)
    }

    fn write_file(&self, sandbox: &Sandbox, name: &str, text: &str) -> Result<(), Problem> {
        let mut state = self.alive()?;
        let found = state.sandboxes.get_mut(&sandbox.id);
        let checkout = found.ok_or_else(|| gone(sandbox))?;
        checkout.files.insert(name.to_owned(), text.to_owned());
        Ok(())
    }

    fn remove_file(&self, sandbox: &Sandbox, name: &str) -> Result<(), Problem> {
        let mut state = self.alive()?;
        let found = state.sandboxes.get_mut(&sandbox.id);
        let checkout = found.ok_or_else(|| gone(sandbox))?;
        checkout.files.remove(name);
        Ok(())
    }

    fn keep(&self, sandbox: &Sandbox) -> Result<Option<KeptWork>, Problem> {
        let mut state = self.alive()?;
        state.sandbox_at(sandbox)?;
        Ok(state.keep(&sandbox.id, None, self.clock.now()))
    }

    fn roll_back(&self, sandbox: &Sandbox, to: &CommitSha) -> Result<Option<KeptWork>, Problem> {
        let mut state = self.alive()?;
        state.sandbox_at(sandbox)?;
        let kept = state.keep(&sandbox.id, Some(to), self.clock.now());
        let files = state.files(to);
        if let Some(checkout) = state.sandboxes.get_mut(&sandbox.id) {
            checkout.files = files;
            checkout.merging = None;
            checkout.head = match &sandbox.branch {
                Some(branch) => FakeHead::Branch(branch.clone()),
                None => FakeHead::Detached(to.to_owned().to_string()),
            };
        }
        state.move_head(&sandbox.id, to);
        Ok(kept)
    }

    fn retire(&self, sandbox: &Sandbox) -> Result<bool, Problem> {
        let mut state = self.alive()?;
        let found = state.sandboxes.get_mut(&sandbox.id);
        Ok(found.is_some_and(|checkout| !std::mem::replace(&mut checkout.retired, true)))
    }

    fn settle(&self, id: &SandboxId) -> Result<Option<KeptWork>, Problem> {
        let mut state = self.alive()?;
        let kept = state.keep(id, None, self.clock.now());
        state.forget(id);
        Ok(kept)
    }

    fn sweep(&self, owner: &dyn Fn(&RunId) -> OwnerState) -> Result<SweepReport, Problem> {
        let mut state = self.alive()?;
        let mut report = SweepReport::default();
        let mut dead = Vec::new();
        for checkout in state.sandboxes.values() {
            let sandbox = &checkout.sandbox;
            let is_transient = sandbox.lifetime != Lifetime::Persistent;
            if checkout.retired || is_transient && owner(&sandbox.run) == OwnerState::Dead {
                dead.push(sandbox.clone());
            }
        }
        for Sandbox { id, run, .. } in dead {
            let kept = state.keep(&id, None, self.clock.now());
            state.forget(&id);
            report.removed.push(Swept { id, run, kept });
        }
        Ok(report)
    }

    fn kept(&self, _: &Path) -> Result<Vec<KeptWork>, Problem> {
        Ok(self.alive()?.kept.clone())
    }

    fn restore(&self, _: &Path, reference: &str, branch: &BranchName) -> Result<KeptWork, Problem> {
        let mut state = self.alive()?;
        let kept = find_kept(&state, reference)?;
        state
            .refs
            .insert(branch.full(), kept.sha.clone().to_string());
        Ok(kept)
    }

    fn drop_kept(&self, _: &Path, reference: &str) -> Result<KeptWork, Problem> {
        let mut state = self.alive()?;
        let kept = find_kept(&state, reference)?;
        state.kept.retain(|one| one.reference != reference);
        state.refs.remove(reference);
        Ok(kept)
    }
}

impl RepositoryState {
    /// Removes a sandbox, and its branch if it has no commits of its own.
    fn forget(&mut self, id: &SandboxId) {
        let Some(gone) = self.sandboxes.remove(id) else {
            return;
        };
        if let Some(branch) = &gone.sandbox.branch {
            let name = full(branch);
            if self.refs.get(&name).map(String::as_str) == Some(gone.sandbox.base_sha.as_str()) {
                self.refs.remove(&name);
            }
        }
    }

    /// Saves the work that would be lost with the sandbox, or by a reset to `to`.
    fn keep(&mut self, id: &SandboxId, to: Option<&str>, now: Timestamp) -> Option<KeptWork> {
        let checkout = self.sandboxes.get(id)?;
        let (head, dirty) = (self.head_of(checkout), self.dirty(checkout));
        let is_safe = match (to, &checkout.head) {
            (Some(to), _) => self.ancestors(to).contains(&head),
            (None, FakeHead::Branch(branch)) => Some(branch) == checkout.sandbox.branch.as_ref(),
            (None, FakeHead::Detached(sha)) => {
                let mut tips = self.refs.values();
                tips.any(|tip| self.ancestors(tip).contains(sha))
            }
        };
        if is_safe && dirty == 0 && checkout.merging.is_none() {
            return None;
        }
        let about = KeptAbout {
            run: checkout.sandbox.run.clone(),
            kept_at: now,
            branch: checkout.sandbox.branch.clone(),
            dirty_files: dirty,
            unpushed_commits: 0,
            in_progress: checkout.merging.as_ref().map(|_| InProgress::Merge),
        };
        let files = checkout.files.clone();
        let sha = self.add(vec![head], files, "Work kept from a sandbox");
        let reference = self.kept_name(&about.run);
        self.refs.insert(reference.clone(), sha.clone());
        let kept = KeptWork {
            reference,
            sha: CommitSha::new(sha),
            about,
        };
        self.kept.push(kept.clone());
        Some(kept)
    }
}

fn find_kept(state: &RepositoryState, reference: &str) -> Result<KeptWork, Problem> {
    let found = state.kept.iter().find(|one| one.reference == reference);
    found.cloned().ok_or_else(|| {
        Problem::new(
            Kind::UnknownRevision,
            format!("no saved work is named `{reference}`"),
        )
    })
}
