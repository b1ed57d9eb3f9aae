//! Setup: chooses a title and a branch name, reserves the branch, and creates the sandbox.

use super::super::model::{
    Adopted, AfterEnd, AgentJob, Effect, EffectResult, Request, RollBackCost, Round, RoundJob,
    RoundStep, Run, Stage,
};
use super::phase::PhaseFlow;
use crate::agent::Role;
use crate::agent::answer::{read_naming, slug};
use crate::ids::{BranchName, EffectKey};
use crate::problem::Kind;
use crate::prompts::Prompt;
use crate::review::Move;
use crate::sandbox::{Lifetime, SandboxSpec};

/// How often another branch name is tried.
const MOST_NAMES: u32 = 5;

impl PhaseFlow<'_> {
    pub(super) fn name(&mut self) {
        if let (Some(title), Some(branch)) = (&self.terms.title, &self.terms.branch) {
            self.state.title.clone_from(title);
            return self.choose_branch(branch.clone());
        }
        let prompt = self.terms.prompts.render(&Prompt::Name {
            task: &self.request.task,
        });
        let job = AgentJob {
            model: self.terms.namer_model.clone(),
            ..self.job(&self.terms.namer, Role::Namer, prompt)
        };
        self.start_agent(None, job);
    }

    /// Takes the namer's names, or derives names from the task.
    pub(super) fn named(&mut self, key: &EffectKey, result: &EffectResult) {
        let mut text = "";
        let mut failure = None;
        if let EffectResult::AgentEnded { outcome, .. } = result {
            text = &outcome.text;
            failure = outcome.problem(&self.terms.namer);
        } else if let EffectResult::Failed { problem } = result {
            self.state.record.job_failed(key, problem, self.now);
            failure = Some(problem.clone());
        }
        if let Some(problem) = failure {
            let what = match self.terms.branch {
                None => "branch is named",
                Some(_) => "pull request is titled",
            };
            self.warn(format!(
                "the namer failed: {problem}; the {what} after the task"
            ));
        }
        let naming = read_naming(text, &self.request.task);
        self.state.title = naming.pr_title;
        let wanted = self.terms.branch.clone().unwrap_or(naming.branch_name);
        self.choose_branch(wanted);
    }

    pub(super) fn branch_chosen(&mut self, result: EffectResult) {
        let EffectResult::BranchChosen { branch } = result else {
            return self.give_up(result);
        };
        self.state.stage = Stage::CreatingSandbox;
        let mut spec = sandbox_spec(self.run, self.request, &branch);
        if self.terms.is_watched() {
            // The sandbox outlives every agent and the program; the end of the phase removes it.
            spec.lifetime = Lifetime::Persistent;
        }
        self.run.decide(Effect::CreateSandbox { spec });
    }

    fn choose_branch(&mut self, wanted: BranchName) {
        self.state.stage = Stage::ChoosingBranch;
        let exact = self.is_asked_for();
        let remote = self.remote();
        self.run.decide(Effect::ChooseBranch {
            wanted,
            exact,
            remote,
        });
    }

    /// Whether a person asked for this branch name.
    fn is_asked_for(&self) -> bool {
        self.terms.branch.is_some() && self.terms.title.is_none()
    }

    /// Handles the result of creating the sandbox. If another run took the branch name meanwhile,
    /// the next name is tried. A name that conflicts with another branch is replaced by one made
    /// from the task. A name that a person asked for is never replaced.
    pub(super) fn sandbox_created(&mut self, effect: &Effect, result: EffectResult) {
        let EffectResult::SandboxCreated { sandbox } = result else {
            let is_bounded = self.state.counts.names_taken < MOST_NAMES;
            return match self.next_name(effect, &result).filter(|_| is_bounded) {
                Some(name) => {
                    self.state.counts.names_taken += 1;
                    self.choose_branch(name);
                }
                None => self.give_up(result),
            };
        };
        let path = sandbox.path.to_string_lossy();
        self.state.record.sandbox = Some(path.into_owned());
        self.make();
    }

    /// The name to try after the sandbox could not get this one.
    fn next_name(&self, effect: &Effect, result: &EffectResult) -> Option<BranchName> {
        let (Effect::CreateSandbox { spec }, EffectResult::Failed { problem }) = (effect, result)
        else {
            return None;
        };
        if self.is_asked_for() || self.terms.is_on_line() {
            return None;
        }
        let branch = spec.branch.as_ref()?;
        if problem.kind == Kind::BranchConflict {
            let name = slug(&self.request.task);
            return Some(if name == *branch {
                name.numbered(2)
            } else {
                name
            });
        }
        let is_taken = matches!(problem.kind, Kind::BranchExists | Kind::BranchCheckedOut);
        is_taken.then(|| branch.numbered(2))
    }

    /// Continues a phase whose journal was lost. Only whether its reviews were done is known.
    pub(super) fn adopt(&mut self, adopted: &Adopted) {
        let sandbox = adopted.sandbox.clone();
        self.state.record.sandbox = Some(sandbox.path.to_string_lossy().into_owned());
        self.run.work.branch.clone_from(&sandbox.branch);
        self.run.work.head_sha = Some(adopted.head_sha.clone());
        self.run.work.pull_request = Some(adopted.pull_request.clone());
        self.run.sandboxes.insert(sandbox.id.clone(), sandbox);
        self.state.title.clone_from(&adopted.title);
        self.state.rounds = adopted.rounds;
        self.state.watch.fresh = false;
        self.state.next = Move::Done;
        if adopted.domain.is_some() {
            self.state.next = self.terms.review_plan().first();
        }
        self.active();
        let round = Round {
            number: 0,
            job: RoundJob::Adopt,
            step: RoundStep::Commit,
            head_before: Some(adopted.head_sha.clone()),
            answers: Vec::new(),
        };
        // An agent may have been at work then, so its work is unfinished.
        let why = "the run was rebuilt without its journal".to_owned();
        self.roll_back(round, why, RollBackCost::Time);
    }
}

pub(super) fn sandbox_spec(run: &Run, request: &Request, branch: &BranchName) -> SandboxSpec {
    SandboxSpec {
        id: run.sandbox_id(),
        run: run.id.clone(),
        lifetime: match request.after_end {
            AfterEnd::Remove => Lifetime::Transient,
            AfterEnd::Stay => Lifetime::Persistent,
        },
        repo: request.repo.clone(),
        base: request.base_sha.clone(),
        branch: Some(branch.clone()),
        on_existing_branch: false,
        held: false,
        copy: request.copy.clone(),
        seed: request.seed.clone(),
    }
}
