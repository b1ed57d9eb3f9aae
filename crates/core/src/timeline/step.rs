//! Descriptions of the steps of a run, in progress and afterwards.

use super::first_line;
use crate::agent::Role;
use crate::ids::PrNumber;
use crate::run::{ContractCheck, Effect, ForgeAct, LineAct, MergeWhen, RunMessage};

/// Whether an effect is repeated while a run only waits.
pub fn is_routine(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::OnForge {
            act: ForgeAct::Poll { .. } | ForgeAct::React { .. },
            ..
        }
    )
}

/// Whether an effect is a step that only `-v` shows.
pub fn is_internal(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::ReadDiff { .. }
            | Effect::ReadFile { .. }
            | Effect::WriteFile { .. }
            | Effect::Notify { .. }
    )
}

/// The description of an effect, for people.
pub fn describe_step(effect: &Effect) -> String {
    match effect {
        Effect::ChooseBranch { wanted, .. } => format!("reserving branch {wanted}"),
        Effect::CreateSandbox { spec } => format!("creating sandbox {}", spec.id),
        Effect::RunAgent { job, .. } => match &job.domain {
            Some(domain) => format!("{}: {} ({domain})", job.agent, activity(job.role)),
            None => format!("{}: {}", job.agent, activity(job.role)),
        },
        Effect::EndProcess { identity } => format!("stopping process {}", identity.child.pid),
        Effect::CommitWork { .. } => "committing changes".to_owned(),
        Effect::ReadDiff { .. } => "reading the diff".to_owned(),
        Effect::OnForge { pr, act, .. } => on_forge(*pr, act),
        Effect::WriteFile { path, .. } => format!("writing {path}"),
        Effect::ReadFile { path, .. } => format!("reading {path}"),
        Effect::Push { branch, remote, .. } => format!("pushing {branch} to {remote}"),
        Effect::OpenPullRequest { branch, base, .. } => {
            format!("opening a pull request from {branch} to {base}")
        }
        Effect::Integrate { from, when, .. } => match when {
            MergeWhen::Always => format!("merging {from}"),
            MergeWhen::Conflicting => format!("checking for conflicts with {from}"),
        },
        Effect::ConcludeMerge { from, .. } => format!("committing the merge of {from}"),
        Effect::RollBack { to, .. } => format!("resetting the sandbox to {to}"),
        Effect::Verify { head, base, .. } => format!("verifying {head} merged into {base}"),
        Effect::CheckLanded { base, .. } => format!("checking what landed on {base}"),
        Effect::OnLine { act } => on_line(act),
        Effect::ToRun { run, message } => match message {
            RunMessage::StartRun { .. } => format!("starting run {run}"),
            RunMessage::AskRun { .. } => format!("sending a request to run {run}"),
            RunMessage::StopRun => format!("stopping run {run}"),
            RunMessage::ReportToParent { .. } => format!("reporting to run {run}"),
        },
        Effect::Notify { notice } => format!("notifying you: {}", notice.title),
        Effect::RemoveSandbox { sandbox } => format!("removing sandbox {sandbox}"),
    }
}

fn on_line(act: &LineAct) -> String {
    match act {
        LineAct::BeginLine { line, .. } => format!("making branch {line}"),
        LineAct::Assemble { cars, .. } => {
            let tasks: Vec<&str> = cars.iter().map(|car| car.task.as_str()).collect();
            format!("merging tasks: {}", tasks.join(", "))
        }
        LineAct::VerifyTrain { commit, .. } => format!("verifying {}", commit.short()),
        LineAct::Land { line, commit, .. } => format!("landing {} on {line}", commit.short()),
        LineAct::CheckContract { checks, .. } if checks.iter().all(ContractCheck::is_claim) => {
            "checking what the validator claims".to_owned()
        }
        LineAct::CheckContract { checks, .. } => match checks.len() {
            1 => "checking 1 acceptance entry".to_owned(),
            many => format!("checking {many} acceptance entries"),
        },
    }
}

fn on_forge(pr: PrNumber, act: &ForgeAct) -> String {
    match act {
        ForgeAct::Poll { .. } => format!("polling #{pr}"),
        ForgeAct::React { comment } => format!("acknowledging comment {} on #{pr}", comment.id),
        ForgeAct::PostReview { body, .. } | ForgeAct::PostComment { body } => {
            format!("posting on #{pr}: {}", first_line(body))
        }
        ForgeAct::Reply { to, .. } => format!("replying to comment {} on #{pr}", to.id),
        ForgeAct::ResolveThread { comment } => format!("resolving comment {}", comment.id),
        ForgeAct::Summarize { .. } => format!("updating the summary on #{pr}"),
        ForgeAct::UpdateBody { .. } => format!("updating the description of #{pr}"),
        ForgeAct::MarkReady => format!("marking #{pr} as ready for review"),
        ForgeAct::Merge { .. } => format!("merging #{pr}"),
        ForgeAct::SetStatus { description, .. } => {
            format!("setting the commit status: {description}")
        }
    }
}

fn activity(role: Role) -> &'static str {
    match role {
        Role::Namer => "naming the branch",
        Role::Planner => "planning",
        Role::Coder => "coding",
        Role::Reviewer => "reviewing",
        Role::Fixer => "fixing",
        Role::Validator => "validating",
    }
}
