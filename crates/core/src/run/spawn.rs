//! The flow of `drive spawn`: sandbox, agent, commit, publish, remove.
//!
//! Whatever goes wrong after the sandbox was asked for, the way out leads through its removal,
//! which keeps the work first.

use super::effect::{AgentJob, Effect, EffectResult};
use super::outcome::OutcomeStatus;
use super::request::{AfterEnd, Publish, Request};
use super::step::{Moment, end};
use super::{Flow, Run};
use crate::agent::answer::title_of;
use crate::agent::{AgentOutcome, Role};
use crate::ids::SandboxId;
use crate::sandbox::{Lifetime, SandboxSpec};
use crate::time::Timestamp;
use crate::{Class, Problem};
use serde::{Deserialize, Serialize};

/// How many characters of a task a commit message and a pull request repeat.
const LONGEST_REPEATED: usize = 8_000;

/// How far a spawn has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "stage")]
pub enum SpawnStage {
    /// The sandbox is being made.
    CreatingSandbox,
    /// The agent works.
    AgentWorking,
    /// What it left is being committed.
    CommittingWork,
    /// The branch is being pushed.
    Pushing,
    /// The pull request is being opened.
    OpeningPullRequest,
    /// What a dead owner left running is being ended; then the run leaves like this.
    EndingProcesses {
        /// The status it will have.
        status: OutcomeStatus,
        /// The failure it will have.
        failure: Option<Problem>,
    },
    /// The sandbox is being removed; then the run ends like this.
    Leaving {
        /// The status it will have.
        status: OutcomeStatus,
        /// The failure it will have.
        failure: Option<Problem>,
    },
}

pub(super) fn advance(run: &mut Run, stage: SpawnStage, moment: Moment, now: Timestamp) {
    let Some(request) = run.request.clone() else {
        return;
    };
    match moment {
        Moment::Begun => {
            run.decide(Effect::CreateSandbox {
                spec: sandbox_spec(run, &request),
            });
        }
        Moment::Ended(result) => ended(run, &request, stage, result, now),
        Moment::CancelAsked => cancel_asked(run, stage),
        Moment::OwnerLost => owner_lost(run, stage, now),
    }
}

/// The owner died. What it left running is ended before its sandbox is touched. A sandbox may
/// exist even when its making was never reported: removal copes with both.
fn owner_lost(run: &mut Run, stage: SpawnStage, now: Timestamp) {
    let (status, failure) = match stage {
        // How the run was about to end is not changed by a death on the way out.
        SpawnStage::Leaving { status, failure }
        | SpawnStage::EndingProcesses { status, failure } => (status, failure),
        SpawnStage::CreatingSandbox
        | SpawnStage::AgentWorking
        | SpawnStage::CommittingWork
        | SpawnStage::Pushing
        | SpawnStage::OpeningPullRequest => {
            let problem = Problem::work("ownerLost", "the drive that ran this was killed")
                .hint("what was written so far is on its branch, or in `drive kept list`");
            (OutcomeStatus::Failed, Some(problem))
        }
    };
    to(
        run,
        SpawnStage::EndingProcesses {
            status,
            failure: failure.clone(),
        },
    );
    leave_when_idle(run, status, failure, now);
}

fn leave_when_idle(run: &mut Run, status: OutcomeStatus, failure: Option<Problem>, now: Timestamp) {
    if run.pending.is_empty() {
        leave(run, status, failure, now);
    }
}

fn ended(
    run: &mut Run,
    request: &Request,
    stage: SpawnStage,
    result: EffectResult,
    now: Timestamp,
) {
    match stage {
        SpawnStage::Leaving { status, failure } => left(run, status, failure, result, now),
        SpawnStage::EndingProcesses { status, failure } => {
            if let EffectResult::Failed { problem } = result {
                run.warnings
                    .push(format!("a process could not be ended: {problem}"));
            }
            leave_when_idle(run, status, failure, now);
        }
        SpawnStage::CreatingSandbox
        | SpawnStage::AgentWorking
        | SpawnStage::CommittingWork
        | SpawnStage::Pushing
        | SpawnStage::OpeningPullRequest => go_on(run, request, result, now),
    }
}

/// The way forward, one effect after the other.
fn go_on(run: &mut Run, request: &Request, result: EffectResult, now: Timestamp) {
    match result {
        EffectResult::SandboxCreated { .. } => {
            to(run, SpawnStage::AgentWorking);
            let job = Box::new(coder_job(request));
            run.decide(Effect::RunAgent {
                sandbox: sandbox_id(run),
                job,
            });
        }
        EffectResult::AgentEnded { outcome, .. } => agent_ended(run, request, &outcome, now),
        EffectResult::WorkCommitted {
            head_sha,
            commits,
            warnings,
        } => {
            if commits.is_empty() {
                let problem = match warnings.is_empty() {
                    true => nothing_changed(request),
                    false => nothing_on_branch(request),
                };
                leave(run, OutcomeStatus::Failed, Some(problem), now);
            } else {
                publish(run, request, head_sha, now);
            }
        }
        EffectResult::Pushed => open_pull_request(run, request, now),
        EffectResult::PullRequestOpened { .. } => leave(run, OutcomeStatus::Succeeded, None, now),
        EffectResult::Failed { problem } => {
            let status = match problem.class {
                Class::Interrupted => OutcomeStatus::Cancelled,
                Class::Work | Class::Usage | Class::Environment => OutcomeStatus::Failed,
            };
            leave(run, status, Some(problem), now);
        }
        // Decided only on the way out.
        EffectResult::ProcessEnded | EffectResult::SandboxRemoved { .. } => {}
    }
}

fn agent_ended(run: &mut Run, request: &Request, outcome: &AgentOutcome, now: Timestamp) {
    match OutcomeStatus::of_agent(&outcome.ending) {
        OutcomeStatus::Succeeded => {
            to(run, SpawnStage::CommittingWork);
            run.decide(Effect::CommitWork {
                sandbox: sandbox_id(run),
                message: commit_message(&request.task),
            });
        }
        status @ (OutcomeStatus::Failed
        | OutcomeStatus::TimedOut
        | OutcomeStatus::Cancelled
        | OutcomeStatus::NeedsHuman) => leave(run, status, outcome.problem(&request.agent), now),
    }
}

fn publish(run: &mut Run, request: &Request, head_sha: String, now: Timestamp) {
    match &request.publish {
        Publish::BranchOnly => leave(run, OutcomeStatus::Succeeded, None, now),
        Publish::PullRequest { remote: None } => open_pull_request(run, request, now),
        Publish::PullRequest {
            remote: Some(remote),
        } => {
            to(run, SpawnStage::Pushing);
            run.decide(Effect::Push {
                sandbox: sandbox_id(run),
                remote: remote.clone(),
                branch: request.branch.clone(),
                head_sha,
            });
        }
    }
}

fn open_pull_request(run: &mut Run, request: &Request, now: Timestamp) {
    let Some(base) = request.base_branch.clone() else {
        let problem = Problem::usage(
            "noBaseBranch",
            "there is no branch to open a pull request against",
        )
        .hint("start from a branch with `--base BRANCH`, or pass `--no-pr`");
        return leave(run, OutcomeStatus::Failed, Some(problem), now);
    };
    to(run, SpawnStage::OpeningPullRequest);
    run.decide(Effect::OpenPullRequest {
        branch: request.branch.clone(),
        base,
        title: title_of(&request.task),
        body: pull_request_body(run, request),
    });
}

/// A stop was asked for. The agent is ended by its own cancellation and reports that; whatever is
/// being done at this moment is finished, and then nothing new is begun.
fn cancel_asked(run: &mut Run, stage: SpawnStage) {
    match stage {
        // The agent's own end says whether it was cancelled or had just finished.
        SpawnStage::AgentWorking => {}
        SpawnStage::Leaving { .. } | SpawnStage::EndingProcesses { .. } => {}
        SpawnStage::CreatingSandbox
        | SpawnStage::CommittingWork
        | SpawnStage::Pushing
        | SpawnStage::OpeningPullRequest => {
            to(
                run,
                SpawnStage::Leaving {
                    status: OutcomeStatus::Cancelled,
                    failure: Some(Problem::interrupted("stopped on request")),
                },
            );
        }
    }
}

/// Towards the end: removes the sandbox unless it is to stay, and ends the run after that.
fn leave(run: &mut Run, status: OutcomeStatus, failure: Option<Problem>, now: Timestamp) {
    let stay = run
        .request
        .as_ref()
        .is_some_and(|r| r.after_end == AfterEnd::Stay);
    if stay && run.sandboxes.contains_key(&sandbox_id(run)) {
        return end(run, status, failure, now);
    }
    to(run, SpawnStage::Leaving { status, failure });
    let sandbox = sandbox_id(run);
    run.decide(Effect::RemoveSandbox { sandbox });
}

/// Something ended while leaving: either what was under way when a stop was asked for, or the
/// removal itself.
fn left(
    run: &mut Run,
    status: OutcomeStatus,
    failure: Option<Problem>,
    result: EffectResult,
    now: Timestamp,
) {
    match result {
        EffectResult::SandboxRemoved { .. } => end(run, status, failure, now),
        EffectResult::Failed { problem } if run.decided.contains_key("removeSandbox") => {
            run.warnings
                .push(format!("the sandbox is still there: {problem}"));
            end(run, status, failure, now);
        }
        EffectResult::Failed { .. }
        | EffectResult::SandboxCreated { .. }
        | EffectResult::AgentEnded { .. }
        | EffectResult::ProcessEnded
        | EffectResult::WorkCommitted { .. }
        | EffectResult::Pushed
        | EffectResult::PullRequestOpened { .. } => leave(run, status, failure, now),
    }
}

fn to(run: &mut Run, stage: SpawnStage) {
    run.flow = Flow::Spawn { stage };
}

fn coder_job(request: &Request) -> AgentJob {
    AgentJob {
        agent: request.agent.clone(),
        role: Role::Coder,
        round: 1,
        domain: None,
        prompt: request.task.clone(),
        idle: request.idle_timeout,
        total: request.total_timeout,
        budget: request.budget,
        max_escalations: request.max_escalations,
    }
}

fn sandbox_id(run: &Run) -> SandboxId {
    SandboxId::new(run.id.as_str())
}

fn sandbox_spec(run: &Run, request: &Request) -> SandboxSpec {
    SandboxSpec {
        id: sandbox_id(run),
        run: run.id.clone(),
        lifetime: match request.after_end {
            AfterEnd::Remove => Lifetime::Transient,
            AfterEnd::Stay => Lifetime::Persistent,
        },
        repo: request.repo.clone(),
        base: request.base_sha.clone(),
        branch: Some(request.branch.clone()),
        copy: request.copy.clone(),
        seed: request.seed.clone(),
    }
}

fn commit_message(task: &str) -> String {
    let subject = title_of(task);
    if subject == task.trim() {
        subject
    } else {
        format!("{subject}\n\n{}", shortened(task))
    }
}

/// A task as a message repeats it: all of what a person writes, the beginning of what a program
/// pastes. Forges refuse longer texts.
fn shortened(task: &str) -> String {
    let task = task.trim();
    match task.char_indices().nth(LONGEST_REPEATED) {
        None => task.to_owned(),
        Some((end, _)) => format!("{}…\n\n(the task goes on)", task[..end].trim_end()),
    }
}

fn pull_request_body(run: &Run, request: &Request) -> String {
    let said = run
        .work
        .summary
        .as_deref()
        .map(str::trim)
        .unwrap_or_default();
    let task = shortened(&request.task);
    let (run, agent) = (&run.id, &request.agent);
    format!(
        "{said}\n\n<details><summary>The task</summary>\n\n{task}\n\n</details>\n\nRun `{run}` of agent `{agent}`.\n"
    )
    .trim_start()
    .to_owned()
}

fn nothing_changed(request: &Request) -> Problem {
    Problem::work(
        "nothingChanged",
        format!("the agent `{}` changed nothing", request.agent),
    )
    .hint("read what it said with `drive runs logs`, or make the task more concrete")
}

fn nothing_on_branch(request: &Request) -> Problem {
    Problem::work(
        "nothingOnBranch",
        format!(
            "the agent `{}` left nothing that can go on branch `{}`",
            request.agent, request.branch
        ),
    )
    .hint("what it left is kept: `drive kept list`")
}
