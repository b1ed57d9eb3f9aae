//! The flow of `drive spawn`: sandbox, agent, commit, publish, remove.
//!
//! Whatever goes wrong after the sandbox was asked for, the way out leads through its removal,
//! which keeps the work first.

use super::effect::{AgentJob, Effect, EffectResult, JobInput};
use super::leaving::leave;
use super::outcome::OutcomeStatus;
use super::request::{AfterEnd, Publish, Request};
use super::{Flow, Run};
use crate::Problem;
use crate::agent::answer::title_of;
use crate::agent::{AgentOutcome, Role};
use crate::sandbox::{Lifetime, SandboxSpec};
use crate::time::Timestamp;
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
}

pub(super) fn begin(run: &mut Run, request: &Request) {
    to(run, SpawnStage::CreatingSandbox);
    let spec = sandbox_spec(run, request, &request.branch);
    run.decide(Effect::CreateSandbox { spec });
}

pub(super) fn ended(run: &mut Run, result: EffectResult, now: Timestamp) {
    let Some(request) = run.request.clone() else {
        return;
    };
    let request = &request;
    match result {
        EffectResult::SandboxCreated { .. } => {
            to(run, SpawnStage::AgentWorking);
            let job = Box::new(coder_job(request));
            let sandbox = Some(run.sandbox_id());
            run.decide(Effect::RunAgent { sandbox, job });
        }
        EffectResult::AgentEnded { outcome, .. } => agent_ended(run, request, &outcome, now),
        EffectResult::WorkCommitted {
            head_sha,
            commits,
            warnings,
        } => {
            if commits.is_empty() {
                let problem = match warnings.is_empty() {
                    true => nothing_changed(&request.agent),
                    false => nothing_on_branch(request),
                };
                leave(run, OutcomeStatus::Failed, Some(problem), now);
            } else {
                publish(run, request, head_sha, now);
            }
        }
        EffectResult::Pushed => open_pull_request(run, request, now),
        EffectResult::BranchMoved { .. } => {
            let problem = branch_moved(&request.branch);
            leave(run, OutcomeStatus::Failed, Some(problem), now);
        }
        EffectResult::PullRequestOpened { .. } => leave(run, OutcomeStatus::Succeeded, None, now),
        EffectResult::Failed { problem } => {
            leave(run, OutcomeStatus::of_problem(&problem), Some(problem), now);
        }
        // Decided only on the way out, or by other flows.
        EffectResult::ProcessEnded
        | EffectResult::SandboxRemoved { .. }
        | EffectResult::BranchChosen { .. }
        | EffectResult::FileWritten
        | EffectResult::FileRead { .. }
        | EffectResult::DiffRead { .. }
        | EffectResult::Integrated { .. }
        | EffectResult::Replaced { .. }
        | EffectResult::Conflicted { .. }
        | EffectResult::RolledBack { .. }
        | EffectResult::Verified { .. }
        | EffectResult::OnForge { .. } => {}
    }
}

fn agent_ended(run: &mut Run, request: &Request, outcome: &AgentOutcome, now: Timestamp) {
    match OutcomeStatus::of_agent(&outcome.ending) {
        OutcomeStatus::Succeeded => {
            to(run, SpawnStage::CommittingWork);
            run.decide(Effect::CommitWork {
                sandbox: run.sandbox_id(),
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
                sandbox: run.sandbox_id(),
                remote: remote.clone(),
                branch: request.branch.clone(),
                head_sha,
                published: None,
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
        draft: false,
    });
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
        input: JobInput {
            task: request.task.clone(),
            diff_base: Some(request.base_sha.clone()),
            ..JobInput::default()
        },
        model: None,
        idle: request.idle_timeout,
        total: request.total_timeout,
        budget: request.budget,
        max_escalations: request.max_escalations,
    }
}

pub(super) fn sandbox_spec(run: &Run, request: &Request, branch: &str) -> SandboxSpec {
    SandboxSpec {
        id: run.sandbox_id(),
        run: run.id.clone(),
        lifetime: match request.after_end {
            AfterEnd::Remove => Lifetime::Transient,
            AfterEnd::Stay => Lifetime::Persistent,
        },
        repo: request.repo.clone(),
        base: request.base_sha.clone(),
        branch: Some(branch.to_owned()),
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
pub(super) fn shortened(task: &str) -> String {
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

pub(super) fn branch_moved(branch: &str) -> Problem {
    Problem::work(
        "branchMoved",
        format!("branch `{branch}` on the remote holds commits that this run does not have"),
    )
    .hint(format!(
        "the work is on the local branch `{branch}`; pass `--branch` with another name next time"
    ))
}

pub(super) fn nothing_changed(agent: &str) -> Problem {
    Problem::work(
        "nothingChanged",
        format!("the agent `{agent}` changed nothing"),
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
    .hint("what it left is on a branch of its own, or in `drive kept list`")
}
