//! Performs effects through the ports: one file for each kind of effect.

mod agent;
mod effect;
mod forge;
mod line;
mod merge;
mod notify;
mod promotion;
mod publish;
mod put_back;
mod reading;
mod steering;
mod verify_report;
mod work;

pub use self::line::{Line, OnLine};
pub(crate) use self::publish::branch_exists;

use crate::executor::{Performer, Task};
use crate::forge::Conversation;
use crate::ports::{
    AgentSource, IsolationMode, Notifier, PhaseFiles, Place, ProcessRunner, PromotionGate,
    Sandboxes, VersionControl,
};
use drive_core::agent::AgentEvent;
use drive_core::ids::{EffectKey, PrNumber, RunId, SandboxId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{BranchTip, Effect, EffectResult, Note, Run, phase_state};
use drive_core::sandbox::Sandbox;
use drive_core::secrets::{SecretPolicy, redact_result};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The number of the note about a repaired sandbox; the notes of agents begin at 1.
const MENDED: u32 = 0;

/// The ports that effects act on.
pub struct World<'a> {
    /// Creates and removes sandboxes.
    pub sandboxes: &'a dyn Sandboxes,
    /// The state files of phases.
    pub phase_files: &'a dyn PhaseFiles,
    /// Version control.
    pub history: &'a dyn VersionControl,
    /// Agents by name.
    pub agents: &'a dyn AgentSource,
    /// Processes of earlier owners.
    pub processes: &'a dyn ProcessRunner,
    /// The forge of the pull requests; `None` if the run opens none.
    pub forge: Option<&'a Conversation>,
    /// The gate before a promotion; `None` if nothing is verified.
    pub gate: Option<&'a dyn PromotionGate>,
    /// The notifier; `None` if the user wants no notifications.
    pub notifier: Option<&'a dyn Notifier>,
    /// The parent of each run's folder for logs and private files.
    pub runs_dir: PathBuf,
    /// Whether agents may run without full isolation.
    pub isolation: IsolationMode,
    /// The policy on secrets.
    pub secrets: SecretPolicy,
    /// Observes effects and agents as they run.
    pub observer: &'a dyn Observer,
}

/// Observes a run. It is called from several threads.
pub trait Observer: Sync {
    /// An effect begins.
    fn begun(&self, run: &RunId, key: &EffectKey, effect: &Effect);
    /// An agent reported an event.
    fn agent(&self, run: &RunId, key: &EffectKey, event: &AgentEvent);
    /// An effect has a result.
    fn ended(&self, run: &RunId, key: &EffectKey, result: &EffectResult);
    /// A run has changed.
    fn changed(&self, run: &Run) {
        let _ = run;
    }
}

/// An observer that ignores everything.
pub struct Unobserved;

impl Observer for Unobserved {
    fn begun(&self, _: &RunId, _: &EffectKey, _: &Effect) {}
    fn agent(&self, _: &RunId, _: &EffectKey, _: &AgentEvent) {}
    fn ended(&self, _: &RunId, _: &EffectKey, _: &EffectResult) {}
}

impl Performer for World<'_> {
    fn perform(&self, task: &Task<'_>) -> Result<EffectResult, Problem> {
        let (run, key) = (&task.run.id, &task.claimed.key);
        self.observer.begun(run, key, &task.claimed.effect);
        let result = self
            .perform_effect(task)
            .unwrap_or_else(|problem| EffectResult::Failed { problem });
        let result = redact_result(&self.secrets.secrets(), result);
        self.observer.ended(run, key, &result);
        Ok(result)
    }

    fn changed(&self, run: &Run) {
        self.observer.changed(run);
        self.write_phase(run);
        if let Some(talk) = self.forge {
            talk.follow(run);
        }
    }

    fn touched(&self) -> BTreeSet<PrNumber> {
        self.forge
            .map(Conversation::take_touched)
            .unwrap_or_default()
    }
}

impl World<'_> {
    /// Updates the state file of a phase. A run does not depend on this file for people and tools,
    /// so a failed write is made up at the next change.
    fn write_phase(&self, run: &Run) {
        let Some(state) = phase_state(run) else {
            return;
        };
        if let Some(sandbox) = run.sandboxes.values().next() {
            let known = self.phase_files.read(&sandbox.path).ok().flatten();
            if known.as_ref() != Some(&state) {
                let _ = self.phase_files.write(sandbox, &state);
            }
        }
    }

    /// The sandbox from the journal, or from its own record.
    fn find_sandbox(&self, task: &Task<'_>, id: &SandboxId) -> Result<Option<Sandbox>, Problem> {
        match task.run.sandboxes.get(id) {
            Some(sandbox) => Ok(Some(sandbox.clone())),
            None => self.sandboxes.find(id),
        }
    }

    /// The sandbox after repair: files that were deleted by hand are restored. No agent runs in it
    /// at this time.
    fn require_sandbox(&self, task: &Task<'_>, id: &SandboxId) -> Result<Sandbox, Problem> {
        let sandbox = self.known_sandbox(task, id)?;
        let head = task.run.work.head_sha.as_ref();
        let mended = self.sandboxes.make_whole(&sandbox, head)?;
        if !mended.is_empty() {
            let text = mended.join("; ");
            task.note(MENDED, Note::Warning { text })?;
        }
        Ok(sandbox)
    }

    fn known_sandbox(&self, task: &Task<'_>, id: &SandboxId) -> Result<Sandbox, Problem> {
        self.find_sandbox(task, id)?.ok_or_else(|| {
            Problem::new(
                Kind::SandboxGone,
                format!("sandbox `{id}` no longer exists"),
            )
            .hint("it was removed by hand; its commits are on its branch")
        })
    }

    /// Removes a sandbox. It may never have been created, or be gone already.
    fn remove_sandbox(&self, task: &Task<'_>, id: &SandboxId) -> Result<EffectResult, Problem> {
        let Some(sandbox) = self.find_sandbox(task, id)? else {
            return Ok(EffectResult::SandboxRemoved {
                kept: None,
                branch: None,
            });
        };
        let kept = self.sandboxes.remove(&sandbox)?.kept;
        let branch = match task.run.work.branch {
            Some(_) => None,
            None => self.branch_tip(task, &sandbox),
        };
        Ok(EffectResult::SandboxRemoved { kept, branch })
    }

    /// The branch's tip after a failed agent. Its commits are safe on the branch, even if this
    /// cannot be read.
    fn branch_tip(&self, task: &Task<'_>, sandbox: &Sandbox) -> Option<BranchTip> {
        let request = task.run.request.as_ref()?;
        let place = Place::Checkout(&request.repo);
        let branch = sandbox.branch.as_ref()?;
        let head_sha = self.history.resolve(place, &branch.full()).ok()?;
        let commits = self
            .history
            .commits(place, &sandbox.base_sha, &head_sha)
            .ok()?;
        (!commits.is_empty()).then_some(BranchTip { head_sha, commits })
    }
}
