//! The context of one step: the run, the state of its flow, its request and the time.

use super::super::model::{
    AgentJob, BranchAt, Effect, ForgeAct, JobInput, OutcomeStatus, PostKey, Request, Run,
};
use super::shutdown;
use crate::agent::{Access, Overrun, Role};
use crate::ids::{BranchName, CommitSha, RemoteName};
use crate::problem::{Kind, Problem};
use crate::time::Timestamp;

/// One step of a flow with state `S` under terms `T`.
pub(super) struct Context<'a, S, T = ()> {
    pub(super) run: &'a mut Run,
    /// The state of the flow; it is put back into the run after the step.
    pub(super) state: S,
    pub(super) terms: &'a T,
    pub(super) request: &'a Request,
    pub(super) now: Timestamp,
}

impl<S, T> Context<'_, S, T> {
    /// Decides an action on the pull request. Returns false if there is none.
    pub(super) fn on_forge(&mut self, act: ForgeAct, idempotency_key: Option<PostKey>) -> bool {
        let Some(pr) = self.run.work.pull_request.as_ref().map(|pr| pr.number) else {
            return false;
        };
        self.run.decide(Effect::OnForge {
            pr,
            act,
            idempotency_key,
        });
        true
    }

    /// A first-round job with the rest of the run's budget.
    pub(super) fn job(&self, agent: &str, role: Role, prompt: String) -> AgentJob {
        let spent = self.run.spent;
        AgentJob {
            agent: agent.to_owned(),
            role,
            round: 1,
            domain: None,
            prompt,
            input: JobInput {
                task: self.request.task.clone(),
                diff_base: Some(self.base_sha()),
                pull_request: self.run.work.pull_request.clone(),
                ..JobInput::default()
            },
            model: self.model_for(agent, role),
            idle: self.request.idle_timeout,
            total: self.request.total_timeout,
            budget: self.run.budget().minus(spent.usage, spent.cost),
            max_escalations: self.request.max_escalations,
            held: Vec::new(),
        }
    }

    /// The model for an agent. The model that a person asked for is only for the agent that does the work.
    fn model_for(&self, agent: &str, role: Role) -> Option<String> {
        let is_meant = agent == self.request.agent && role.access() == Access::Write;
        self.request.model.clone().filter(|_| is_meant)
    }

    /// The remote that the branch is pushed to.
    pub(super) fn remote(&self) -> Option<RemoteName> {
        self.request.publish.remote().cloned()
    }

    /// The branch that the pull request goes to.
    pub(super) fn base(&self) -> Option<BranchAt> {
        let branch = self.request.base_branch.clone()?;
        let remote = self.remote();
        Some(BranchAt { remote, branch })
    }

    /// The commit that the work is compared with.
    pub(super) fn base_sha(&self) -> CommitSha {
        let base = self.run.work.base_sha.as_ref();
        base.unwrap_or(&self.request.base_sha).clone()
    }

    /// The tip of the run's branch; `None` before it has commits.
    pub(super) fn head(&self) -> Option<CommitSha> {
        self.run.work.head_sha.clone()
    }

    /// The name of the run's branch; `None` before it has commits.
    pub(super) fn branch(&self) -> Option<BranchName> {
        self.run.work.branch.clone()
    }

    /// The budget limit that is used up, if one is.
    pub(super) fn overrun(&self) -> Option<Overrun> {
        let spent = self.run.spent;
        self.run.budget().overrun(spent.usage, spent.cost)
    }

    /// Adds a warning, once.
    pub(super) fn warn(&mut self, warning: String) {
        if !self.run.warnings.contains(&warning) {
            self.run.warnings.push(warning);
        }
    }

    /// Ends the run now: processes are ended, the work is saved, the sandbox is removed.
    pub(super) fn leave(&mut self, status: OutcomeStatus, failure: Option<Problem>) {
        shutdown::abandon(self.run, status, failure, self.now);
    }

    /// Like `leave`, but makes these posts on the pull request as well.
    pub(super) fn leave_with(
        &mut self,
        status: OutcomeStatus,
        failure: Option<Problem>,
        posts: Vec<ForgeAct>,
    ) {
        shutdown::abandon_with(self.run, status, failure, posts, self.now);
    }
}

/// The problem of a step that needs a commit of the run's branch when there is none.
pub(super) fn no_commit() -> Problem {
    Problem::new(Kind::Internal, "the branch of the run has no commit yet")
}

/// The problem of a step that needs the run's branch when there is none.
pub(super) fn no_branch() -> Problem {
    Problem::new(Kind::Internal, "the run has no branch yet")
}

/// The command that shows a run, for a hint.
pub(super) fn show_hint(run: &Run) -> String {
    format!("`drive runs show {}`", run.id)
}

/// The command that prints what the agents of a run did, for a hint.
pub(super) fn logs_hint(run: &Run) -> String {
    format!("`drive runs logs {}`", run.id)
}
