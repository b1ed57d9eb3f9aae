//! The flow of `drive spawn`: sandbox, agent, commit, publish, remove.
//!
//! After any failure, shutdown saves the work and removes the sandbox.

use super::super::model::{
    AgentJob, Effect, EffectResult, Flow, ForgeAct, OutcomeStatus, PostKey, Publish, Request, Run,
    SpawnStage, Timer,
};
use super::attempt::{added_nothing, earlier_attempt};
use super::isolation_text::isolation_text;
use super::kit::Context;
use super::outage;
use super::publish::{commit_message, nothing_changed, shortened};
use super::setup::sandbox_spec;
use super::shutdown::is_unpushed;
use crate::agent::answer::title_of;
use crate::agent::{AgentOutcome, Ending, Role};
use crate::forge::part::unmarked;
use crate::ids::CommitSha;
use crate::problem::{Kind, Problem};
use crate::prompts::Prompt;
use crate::steering::notice;
use crate::time::Timestamp;

type SpawnFlow<'a> = Context<'a, SpawnStage>;

pub(super) fn begin(run: &mut Run, request: &Request, now: Timestamp) {
    fly(run, request, SpawnStage::CreatingSandbox, now, |flow| {
        let spec = sandbox_spec(flow.run, flow.request, &flow.request.branch);
        flow.run.decide(Effect::CreateSandbox { spec });
    });
}

/// Continues after a stop, in a sandbox on the run's branch. An agent that failed, or whose work
/// was not committed, is started again.
pub(super) fn go_on(run: &mut Run, stage: SpawnStage, now: Timestamp) {
    let Some(request) = run.request.clone() else {
        return;
    };
    fly(run, &request, stage, now, |flow| match flow.state {
        SpawnStage::CreatingSandbox
        | SpawnStage::AgentWorking { .. }
        | SpawnStage::WaitingForModel { .. }
        | SpawnStage::WaitingForBudget { .. }
        | SpawnStage::CommittingWork => flow.start_coder(0),
        SpawnStage::Pushing | SpawnStage::OpeningPullRequest => match flow.head() {
            Some(head) => flow.publish(head),
            None => flow.start_coder(0),
        },
    });
}

/// Starts an agent that waited for a larger budget.
pub(super) fn extended(run: &mut Run, stage: SpawnStage, now: Timestamp) {
    if let (Some(request), SpawnStage::WaitingForBudget { .. }) = (run.request.clone(), &stage) {
        fly(run, &request, stage, now, |flow| flow.start_or_wait());
    }
}

/// Starts the agent after the pause of an outage, once the last agent's work is saved.
pub(super) fn woken(run: &mut Run, stage: SpawnStage, now: Timestamp) {
    let is_saving = |effect: &Effect| matches!(effect, Effect::RollBack { .. });
    let is_saved = !run.pending.values().any(is_saving);
    if let (Some(request), true) = (run.request.clone(), is_saved) {
        fly(run, &request, stage, now, |flow| flow.start_or_wait());
    }
}

pub(super) fn ended(run: &mut Run, stage: SpawnStage, result: EffectResult, now: Timestamp) {
    if let Some(request) = run.request.clone() {
        fly(run, &request, stage, now, |flow| flow.ended(result));
    }
}

fn fly(
    run: &mut Run,
    request: &Request,
    stage: SpawnStage,
    now: Timestamp,
    act: impl FnOnce(&mut SpawnFlow<'_>),
) {
    let mut flow = Context {
        run,
        state: stage,
        terms: &(),
        request,
        now,
    };
    act(&mut flow);
    let Context { run, state, .. } = flow;
    run.flow = Flow::Spawn { stage: state };
}

impl SpawnFlow<'_> {
    fn ended(&mut self, result: EffectResult) {
        match result {
            EffectResult::SandboxCreated { .. } => self.start_coder(0),
            EffectResult::AgentEnded { outcome, .. } => self.agent_ended(&outcome),
            EffectResult::WorkCommitted {
                head_sha,
                commits,
                warnings,
                ..
            } => match (
                commits.is_empty() || added_nothing(self.run),
                warnings.is_empty(),
            ) {
                (true, true) => self.fail(nothing_changed(self.run, &self.request.agent)),
                (true, false) => self.fail(nothing_on_branch(self.request)),
                (false, _) => self.publish(head_sha),
            },
            EffectResult::Pushed => self.open(),
            EffectResult::BranchMoved { .. } => {
                self.fail(super::publish::branch_moved(&self.request.branch));
            }
            EffectResult::PullRequestOpened { .. } | EffectResult::OnForge { .. } => {
                self.leave(OutcomeStatus::Succeeded, None);
            }
            EffectResult::Failed { problem } if self.is_telling() => {
                let warning = format!("could not post the new commits: {problem}");
                self.run.warnings.push(warning);
                self.leave(OutcomeStatus::Succeeded, None);
            }
            EffectResult::Failed { problem } if problem.kind == Kind::AgentInterrupted => {
                self.roll_back();
            }
            EffectResult::RolledBack { kept } => {
                let resumption = self.run.resumption.get_or_insert_default();
                // An agent that left nothing did not take over the work that was saved before.
                if let Some(kept) = kept {
                    resumption.saved = Some(kept.sha);
                }
                if !self.run.timers.contains_key(&Timer::Hold) {
                    self.start_or_wait();
                }
            }
            EffectResult::Failed { problem } if is_unpushed(problem.kind) => {
                self.leave(OutcomeStatus::NeedsHuman, Some(problem));
            }
            EffectResult::Failed { problem } => {
                self.leave(OutcomeStatus::of_problem(&problem), Some(problem));
            }
            // Only the shutdown or other flows decide these effects.
            EffectResult::ProcessEnded
            | EffectResult::SandboxRemoved { .. }
            | EffectResult::BranchChosen { .. }
            | EffectResult::FileWritten
            | EffectResult::FileRead { .. }
            | EffectResult::DiffRead { .. }
            | EffectResult::Integrated { .. }
            | EffectResult::Replaced { .. }
            | EffectResult::Conflicted { .. }
            | EffectResult::Verified { .. }
            | EffectResult::Landed { .. }
            | EffectResult::OnLine { .. }
            | EffectResult::Delivered
            | EffectResult::Notified => {}
        }
    }

    /// Saves an agent's unfinished work, before the next agent starts.
    fn roll_back(&mut self) {
        let to = self.head().unwrap_or_else(|| self.base_sha());
        let sandbox = self.run.sandbox_id();
        self.run.decide(Effect::RollBack { sandbox, to });
    }

    /// Starts the agent again, once the budget allows it. Only a child waits for more.
    fn start_or_wait(&mut self) {
        let Some(overrun) = self.overrun() else {
            return self.start_coder(self.state.outages());
        };
        let why = format!("the run {overrun}");
        match self.run.parent() {
            Some(_) => self.state = SpawnStage::WaitingForBudget { why },
            None => {
                let problem = Problem::new(Kind::BudgetExceeded, why);
                self.leave(OutcomeStatus::NeedsHuman, Some(problem));
            }
        }
    }

    fn start_coder(&mut self, outages: u32) {
        self.state = SpawnStage::AgentWorking { outages };
        let job = Box::new(self.coder());
        let sandbox = Some(self.run.sandbox_id());
        self.run.decide(Effect::RunAgent { sandbox, job });
    }

    fn coder(&self) -> AgentJob {
        let task = &self.request.task;
        let mut prompt = match &self.request.prompts {
            Some(prompts) => prompts.render(&Prompt::Code { task }),
            None => task.clone(),
        };
        prompt.push_str(&earlier_attempt(self.run, &self.base_sha()));
        self.job(&self.request.agent, Role::Coder, prompt)
    }

    fn agent_ended(&mut self, outcome: &AgentOutcome) {
        let status = OutcomeStatus::of_agent(&outcome.ending);
        let is_asking = self.run.parent().is_some() || self.overrun().is_none();
        if outcome.ending.is_over_budget() && is_asking {
            return self.roll_back();
        }
        if let Some(problem) = outcome.problem_of(&self.request.agent, &self.run.id) {
            return if self.is_held_outage(&outcome.ending) {
                self.hold(problem.to_string(), &outcome.ending)
            } else {
                self.leave(status, Some(problem))
            };
        }
        self.state = SpawnStage::CommittingWork;
        self.run.decide(Effect::CommitWork {
            sandbox: self.run.sandbox_id(),
            message: commit_message(&title_of(&self.request.task), &self.request.task),
            since: Vec::new(),
        });
    }

    fn is_held_outage(&self, ending: &Ending) -> bool {
        outage::is_outage(ending)
            && outage::is_patient(self.state.outages())
            && outage::resets_soon(ending, self.now)
    }

    /// Waits for the model, and saves the agent's work meanwhile.
    fn hold(&mut self, why: String, ending: &Ending) {
        let outages = self.state.outages();
        let until = outage::held_until(outages, Some(ending), self.now);
        self.run.timers.insert(Timer::Hold, until);
        self.state = SpawnStage::WaitingForModel {
            why,
            outages: outages + 1,
        };
        self.roll_back();
    }

    fn publish(&mut self, head_sha: CommitSha) {
        match &self.request.publish {
            Publish::BranchOnly => self.leave(OutcomeStatus::Succeeded, None),
            Publish::PullRequest { remote: None } => self.open(),
            Publish::PullRequest {
                remote: Some(remote),
            } => {
                self.state = SpawnStage::Pushing;
                let resumption = self.run.resumption.as_ref();
                let published = resumption.and_then(|one| one.follows.clone());
                let published = published.filter(|_| self.run.work.pull_request.is_some());
                self.push(
                    remote.clone(),
                    self.request.branch.clone(),
                    head_sha,
                    published,
                );
            }
        }
    }

    fn open(&mut self) {
        let Some(base) = self.request.base_branch.clone() else {
            return self.fail(no_base_branch());
        };
        self.state = SpawnStage::OpeningPullRequest;
        if self.run.work.pull_request.is_some() {
            return self.tell_what_was_added();
        }
        self.run.decide(Effect::OpenPullRequest {
            branch: self.request.branch.clone(),
            base,
            title: title_of(&self.request.task),
            body: pull_request_body(self.run, self.request),
            draft: false,
        });
    }

    /// Posts a comment about work that a person asked for later; the description of the pull
    /// request stays as it is.
    fn tell_what_was_added(&mut self) {
        let body = pull_request_body(self.run, self.request);
        let count = self.run.resumption.as_ref().map_or(0, |one| one.count);
        let key = Some(PostKey::Step(format!("added/{count}")));
        self.on_forge(ForgeAct::PostComment { body }, key);
    }

    fn is_telling(&self) -> bool {
        let is_open = self.run.work.pull_request.is_some();
        is_open && matches!(self.state, SpawnStage::OpeningPullRequest)
    }

    fn fail(&mut self, problem: Problem) {
        self.leave(OutcomeStatus::Failed, Some(problem));
    }
}

fn no_base_branch() -> Problem {
    Problem::new(
        Kind::NoBaseBranch,
        "no base branch to open a pull request against",
    )
    .hint("start from a branch with `--base BRANCH`, or pass `--no-pr`")
}

fn pull_request_body(run: &Run, request: &Request) -> String {
    let said = run
        .work
        .summary
        .as_deref()
        .map(|text| unmarked(text.trim()))
        .unwrap_or_default();
    let flagged = notice(&run.work.steering).map_or(String::new(), |text| format!("\n\n{text}"));
    let isolation = isolation_text(&run.layers).map_or(String::new(), |text| format!("\n\n{text}"));
    let task = shortened(&request.task);
    let (run, agent) = (&run.id, &request.agent);
    format!(
        "{said}{flagged}\n\n<details><summary>Task</summary>\n\n{task}\n\n</details>\n\nRun `{run}`, \
         agent `{agent}`.{isolation}\n"
    )
    .trim_start()
    .to_owned()
}

fn nothing_on_branch(request: &Request) -> Problem {
    Problem::new(
        Kind::NothingOnBranch,
        format!(
            "agent `{}` left no commit that belongs on branch `{}`",
            request.agent, request.branch
        ),
    )
    .hint("look for its work on other branches and in `drive kept list`")
}
