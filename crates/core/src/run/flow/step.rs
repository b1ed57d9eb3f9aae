//! The fold: takes a run and one event, returns the next state and the decided effects.

use super::super::model::{
    Ask, ChildReport, CommitSummary, Effect, EffectResult, Event, Flow, ForgeAnswer, Note,
    OutcomeStatus, OwnPost, Request, Run, RunKind, RunMessage, Spent, Timer,
};
use super::{
    continuing, cruise, notify, phase, relocate, reporting, resume, shutdown, spawn, tree,
};
use crate::ids::{CommitSha, EffectKey, RunId};
use crate::problem::{Kind, Problem};
use crate::process::add_layers;
use crate::time::Timestamp;
use std::sync::Arc;

/// An event that is impossible in this state. It is not folded, and the state stays as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} does not fit the state of run `{run}`")]
pub struct IllegalEvent {
    /// The run.
    pub run: RunId,
    /// A description of the event.
    pub what: String,
}

/// The next state, and the effects that the caller must perform, in order.
///
/// Effects that are no longer wanted are removed from [`Run::pending`]; the caller drops them.
pub fn step(
    mut run: Run,
    event: Event,
    now: Timestamp,
) -> Result<(Run, Vec<EffectKey>), IllegalEvent> {
    let known: Vec<EffectKey> = run.outbox().map(|(key, _)| key.clone()).collect();
    match event {
        Event::Requested { request } => begin(&mut run, *request, now)?,
        Event::ProcessStarted { key, identity } => {
            require_pending(&run, &key, "a started process")?;
            run.count_used(&key);
            run.processes.insert(key, identity);
        }
        // A note about a notice means that its program is about to be started.
        Event::Noted { key, .. } if run.notices.begin(&key) => {}
        Event::Noted { key, note } => {
            require_pending(&run, &key, "a note")?;
            if let Some(record) = run.flow.record_mut() {
                record.note(&key, &note);
            }
            match note {
                // Every agent of a run may report the same refused host.
                Note::Warning { text } if run.warnings.contains(&text) => {}
                Note::Warning { text } => run.warnings.push(text),
                Note::Used { spent } => {
                    run.using.insert(key, spent);
                }
                Note::ForgeLimit { until } => {
                    run.forge_waits.insert(key, until);
                }
                Note::Steering { files } => run.work.steering = files,
                Note::Isolation { layers } => add_layers(&mut run.layers, layers),
                Note::Launched { .. }
                | Note::Waiting { .. }
                | Note::Permission { .. }
                | Note::Command { .. } => {}
            }
        }
        Event::EffectEnded { key, result } if run.notices.get(&key).is_some() => {
            if !notify::ended(&mut run, &key, &result) {
                let what = format!("a result of another kind for `{key}`");
                return Err(illegal(&run, &what));
            }
        }
        Event::EffectEnded { key, result } => effect_ended(&mut run, &key, result, now)?,
        Event::Woken { timer } => woken(&mut run, timer, now),
        Event::Asked { ask } => asked(&mut run, ask, now)?,
        Event::ChildReported { child, report } => child_reported(&mut run, &child, *report, now),
        Event::CancelAsked => cancel_asked(&mut run, now),
        Event::OwnerLost => owner_lost(&mut run, now),
        Event::Resumed { granted } => {
            resume::resumed(&mut run, granted, now).map_err(|_| illegal(&run, "being resumed"))?;
        }
        Event::Continued { task } => {
            continuing::continued(&mut run, &task, now).map_err(|_| illegal(&run, "more to do"))?;
        }
        Event::Relocated { repo, git_dir } => relocate::relocated(&mut run, &repo, &git_dir),
    }
    stop_when_idle(&mut run, now);
    reporting::report_change(&mut run);
    notify::decide(&mut run, now);
    let pending = &run.pending;
    run.forge_waits.retain(|key, _| pending.contains_key(key));
    let gone = |key: &&EffectKey| !run.pending.contains_key(*key);
    let gone: Vec<EffectKey> = run.using.keys().filter(gone).cloned().collect();
    for key in gone {
        run.count_used(&key);
    }
    let wanted = run.outbox().map(|(key, _)| key);
    let decided = wanted.filter(|key| !known.contains(key)).cloned().collect();
    Ok((run, decided))
}

/// The state after a journal, or after its first events.
pub fn fold(
    id: RunId,
    journal: impl IntoIterator<Item = (Event, Timestamp)>,
) -> Result<Run, IllegalEvent> {
    let mut run = Run::new(id);
    for (event, at) in journal {
        run = step(run, event, at)?.0;
    }
    Ok(run)
}

fn begin(run: &mut Run, request: Request, now: Timestamp) -> Result<(), IllegalEvent> {
    if run.request.is_some() {
        return Err(illegal(run, "a second request"));
    }
    let request = Arc::new(request);
    run.request = Some(Arc::clone(&request));
    run.started_at = Some(now);
    match &request.kind {
        RunKind::Spawn => spawn::begin(run, &request, now),
        RunKind::Team(terms) | RunKind::Cruise(terms) => phase::begin(run, &request, terms, now),
        RunKind::Build(_) => cruise::begin(run, now),
    }
    Ok(())
}

fn effect_ended(
    run: &mut Run,
    key: &EffectKey,
    result: EffectResult,
    now: Timestamp,
) -> Result<(), IllegalEvent> {
    let Some(effect) = run.pending.get(key) else {
        return Err(illegal(
            run,
            &format!("a result for `{key}`, which is not pending,"),
        ));
    };
    if !fits(effect, &result) {
        return Err(illegal(
            run,
            &format!("a result of another kind for `{key}`"),
        ));
    }
    let Some(effect) = run.pending.remove(key) else {
        return Ok(());
    };
    run.processes.remove(key);
    remember(run, key, &effect, &result);
    // The usage of a failed agent is deducted before the next one gets its share.
    run.count_used(key);
    if run.outcome.is_none() {
        advance(run, key, effect, result, now);
    }
    Ok(())
}

/// Whether a result can be the result of this effect.
fn fits(effect: &Effect, result: &EffectResult) -> bool {
    match result {
        EffectResult::Failed { .. } => true,
        EffectResult::BranchChosen { .. } => matches!(effect, Effect::ChooseBranch { .. }),
        EffectResult::SandboxCreated { sandbox } => {
            matches!(effect, Effect::CreateSandbox { spec } if spec.id == sandbox.id)
        }
        EffectResult::AgentEnded { .. } => matches!(effect, Effect::RunAgent { .. }),
        EffectResult::ProcessEnded => matches!(effect, Effect::EndProcess { .. }),
        EffectResult::WorkCommitted { .. } => matches!(effect, Effect::CommitWork { .. }),
        EffectResult::FileWritten => matches!(effect, Effect::WriteFile { .. }),
        EffectResult::FileRead { .. } => matches!(effect, Effect::ReadFile { .. }),
        EffectResult::DiffRead { .. } => matches!(effect, Effect::ReadDiff { .. }),
        EffectResult::Verified { .. } => matches!(effect, Effect::Verify { .. }),
        EffectResult::Landed { .. } => matches!(effect, Effect::CheckLanded { .. }),
        EffectResult::OnForge { .. } => matches!(effect, Effect::OnForge { .. }),
        EffectResult::Pushed => matches!(effect, Effect::Push { .. }),
        EffectResult::BranchMoved { .. } => {
            matches!(effect, Effect::Push { .. } | Effect::CommitWork { .. })
        }
        EffectResult::Integrated { .. } | EffectResult::Conflicted { .. } => matches!(
            effect,
            Effect::Integrate { .. } | Effect::ConcludeMerge { .. }
        ),
        EffectResult::Replaced { .. } => matches!(effect, Effect::Integrate { .. }),
        EffectResult::RolledBack { .. } => matches!(effect, Effect::RollBack { .. }),
        EffectResult::PullRequestOpened { .. } => matches!(effect, Effect::OpenPullRequest { .. }),
        EffectResult::OnLine { .. } => matches!(effect, Effect::OnLine { .. }),
        EffectResult::Delivered => matches!(effect, Effect::ToRun { .. }),
        EffectResult::Notified => matches!(effect, Effect::Notify { .. }),
        EffectResult::SandboxRemoved { .. } => matches!(effect, Effect::RemoveSandbox { .. }),
    }
}

/// Updates the parts of the run that every flow shares.
fn remember(run: &mut Run, key: &EffectKey, effect: &Effect, result: &EffectResult) {
    match result {
        EffectResult::SandboxCreated { sandbox } => {
            run.sandboxes
                .insert(sandbox.id.clone(), sandbox.as_ref().clone());
        }
        EffectResult::AgentEnded { outcome, log } => {
            run.using.remove(key);
            run.spent = run.spent.plus(Spent::of(outcome));
            run.work.summary = Some(outcome.summary.clone()).filter(|text| !text.is_empty());
            run.work.log.clone_from(log);
        }
        EffectResult::WorkCommitted {
            head_sha,
            commits,
            warnings,
            ..
        } => {
            if !commits.is_empty() {
                let sandbox = run.sandboxes.get(&run.sandbox_id());
                run.work.branch = sandbox.and_then(|sandbox| sandbox.branch.clone());
                run.work.head_sha = Some(head_sha.clone());
            }
            run.work.commits.clone_from(commits);
            run.warnings.extend(warnings.iter().cloned());
        }
        EffectResult::Integrated {
            head_sha,
            base_sha,
            commits,
            warnings,
        } => {
            stands_at(run, head_sha, base_sha.as_ref(), commits);
            run.warnings.extend(warnings.iter().cloned());
        }
        EffectResult::Replaced {
            head_sha,
            base_sha,
            commits,
            kept,
        } => {
            stands_at(run, head_sha, base_sha.as_ref(), commits);
            run.kept.extend(kept.iter().cloned());
        }
        EffectResult::RolledBack { kept } => run.kept.extend(kept.iter().cloned()),
        EffectResult::PullRequestOpened { pull_request } => {
            run.work.pull_request = Some(pull_request.clone());
        }
        EffectResult::SandboxRemoved { kept, branch } => {
            let mut gone = None;
            if let Effect::RemoveSandbox { sandbox } = effect {
                gone = run.sandboxes.remove(sandbox);
            }
            run.kept.extend(kept.iter().cloned());
            if let Some(tip) = branch {
                let asked = run.request.as_ref().map(|r| r.branch.clone());
                run.work.branch = gone.and_then(|sandbox| sandbox.branch).or(asked);
                run.work.head_sha = Some(tip.head_sha.clone());
                run.work.commits.clone_from(&tip.commits);
            }
        }
        EffectResult::ProcessEnded => {
            if let Effect::EndProcess { identity } = effect {
                run.processes.retain(|_, running| running != identity);
            }
        }
        EffectResult::OnForge { answer } => {
            let mut name = key.clone();
            if let Effect::OnForge {
                idempotency_key: Some(key),
                ..
            } = effect
            {
                name = EffectKey::new(key.to_string());
            }
            remember_posts(run, &name, answer);
        }
        EffectResult::BranchChosen { .. }
        | EffectResult::FileWritten
        | EffectResult::FileRead { .. }
        | EffectResult::DiffRead { .. }
        | EffectResult::Verified { .. }
        | EffectResult::Landed { .. }
        | EffectResult::Pushed
        | EffectResult::BranchMoved { .. }
        | EffectResult::Conflicted { .. }
        | EffectResult::OnLine { .. }
        | EffectResult::Delivered
        | EffectResult::Notified
        | EffectResult::Failed { .. } => {}
    }
}

/// Records the branch's tip and its commits since the base.
fn stands_at(run: &mut Run, head: &CommitSha, base: Option<&CommitSha>, commits: &[CommitSummary]) {
    run.work.head_sha = Some(head.to_owned());
    let started_at = run.request.as_ref().map(|request| &request.base_sha);
    if let Some(base) = base.filter(|sha| Some(*sha) != started_at) {
        run.work.base_sha = Some(base.clone());
    }
    run.work.commits = commits.to_vec();
}

/// Stores the ids of drive's posts.
fn remember_posts(run: &mut Run, key: &EffectKey, answer: &ForgeAnswer) {
    let comments = match answer {
        ForgeAnswer::ReviewPosted { review, lines } => {
            [std::slice::from_ref(review), lines.as_slice()].concat()
        }
        ForgeAnswer::Posted { comment } => vec![*comment],
        ForgeAnswer::Polled { .. }
        | ForgeAnswer::Merged { .. }
        | ForgeAnswer::NotMerged { .. }
        | ForgeAnswer::Queued
        | ForgeAnswer::BaseMoved
        | ForgeAnswer::Unheard { .. }
        | ForgeAnswer::Done => Vec::new(),
    };
    run.posts
        .extend(comments.into_iter().map(|comment| OwnPost {
            comment,
            effect: key.clone(),
        }));
}

/// Handles the death of the owner. A watched phase continues under its next owner; any other run
/// ends, and its work is saved.
fn owner_lost(run: &mut Run, now: Timestamp) {
    let goes_on = run.outlives_its_owner() && run.shutdown.is_none();
    if run.outcome.is_some() || run.request.is_none() || goes_on {
        return;
    }
    resume::suspend(run);
    shutdown::owner_lost(run, now);
}

fn cancel_asked(run: &mut Run, now: Timestamp) {
    if run.outcome.is_some() {
        return;
    }
    if run.request.is_none() {
        let problem = Problem::new(Kind::Interrupted, "stopped before it started");
        return shutdown::end(run, OutcomeStatus::Cancelled, Some(problem), now);
    }
    if run.is_watched() {
        let problem = Problem::new(Kind::Interrupted, "stopped on request");
        return phase::advance(run, now, |flow| flow.leave_told(problem));
    }
    run.stop_asked = true;
    resume::suspend(run);
    shutdown::cancel_asked(run);
}

/// Stops a run that was asked to stop and has no pending effect; it does not wait for timers.
fn stop_when_idle(run: &mut Run, now: Timestamp) {
    let is_idle = run.pending.is_empty() && run.shutdown.is_none();
    if run.stop_asked && is_idle && run.outcome.is_none() {
        let problem = Problem::new(Kind::Interrupted, "stopped on request");
        shutdown::abandon(run, OutcomeStatus::Cancelled, Some(problem), now);
    }
}

/// Handles a timer. A timer that is not set is ignored.
fn woken(run: &mut Run, timer: Timer, now: Timestamp) {
    if run.timers.remove(&timer).is_some() && run.is_active() {
        match &run.flow {
            _ if run.shutdown.is_some() => shutdown::report_end(run),
            Flow::Spawn { stage } => spawn::woken(run, stage.clone(), now),
            Flow::Cruise { .. } => cruise::woken(run, timer, now),
            Flow::Awaiting | Flow::Phase { .. } => {
                phase::advance(run, now, |flow| flow.woken(timer));
            }
        }
    }
}

/// Handles a request. A request that arrives too late changes nothing.
fn asked(run: &mut Run, ask: Ask, now: Timestamp) -> Result<(), IllegalEvent> {
    let is_open = run.is_active() && run.shutdown.is_none();
    let is_taken = match (&run.flow, &ask) {
        (Flow::Awaiting, _) => false,
        (Flow::Phase { .. }, _) if is_open => {
            phase::advance(run, now, |flow| flow.asked(ask));
            true
        }
        (Flow::Cruise { .. }, _) if is_open => cruise::asked(run, &ask, now),
        (Flow::Spawn { stage }, Ask::Extend { budget, .. }) if is_open => {
            let stage = stage.clone();
            run.grant(*budget);
            spawn::extended(run, stage, now);
            true
        }
        // A run that ends, or has ended, uses the budget when it is resumed.
        (Flow::Spawn { .. } | Flow::Phase { .. }, Ask::Extend { budget, .. }) => {
            if shutdown::ends_resumable(run) {
                run.grant(*budget);
            }
            true
        }
        (Flow::Phase { .. } | Flow::Cruise { .. }, _) => true,
        (Flow::Spawn { .. }, _) => false,
    };
    if is_taken {
        Ok(())
    } else {
        Err(illegal(run, "a request to a phase"))
    }
}

fn advance(run: &mut Run, key: &EffectKey, effect: Effect, result: EffectResult, now: Timestamp) {
    if let Effect::ToRun {
        run: other,
        message,
    } = &effect
    {
        return delivered(run, other, message, &result, now);
    }
    if run.shutdown.is_some() {
        return shutdown::ended(run, &result, now);
    }
    if let Some(step) = resume::step_under_way(run) {
        return resume::ended(run, step, result, now);
    }
    match &run.flow {
        Flow::Awaiting => {}
        Flow::Cruise { .. } => cruise::ended(run, key, effect, result, now),
        Flow::Spawn { stage } => spawn::ended(run, stage.clone(), result, now),
        Flow::Phase { .. } => phase::advance(run, now, |flow| flow.ended(key, effect, result)),
    }
}

/// Handles the result of delivering a message to another run.
fn delivered(
    run: &mut Run,
    other: &RunId,
    message: &RunMessage,
    result: &EffectResult,
    now: Timestamp,
) {
    let mut failure = None;
    if let EffectResult::Failed { problem } = result {
        failure = Some(problem);
    }
    match (message, failure) {
        (RunMessage::StartRun { .. }, failure) => tree::started(run, other, failure),
        (RunMessage::StopRun, Some(problem)) => tree::not_stopped(run, other, problem),
        (RunMessage::AskRun { ask }, Some(problem)) => tree::not_asked(run, other, ask, problem),
        (RunMessage::ReportToParent { .. }, Some(problem)) => {
            shutdown::not_reported(run, problem, now);
            let warning = format!("could not report to run `{other}`: {problem}");
            if !run.warnings.contains(&warning) {
                run.warnings.push(warning);
            }
        }
        (
            RunMessage::StopRun | RunMessage::AskRun { .. } | RunMessage::ReportToParent { .. },
            None,
        ) => {}
    }
    if run.shutdown.is_some() {
        shutdown::proceed(run, now)
    } else {
        cruise::go_on(run, now)
    }
}

/// Handles a child's report. A report that arrives too late changes nothing.
fn child_reported(run: &mut Run, child: &RunId, report: ChildReport, now: Timestamp) {
    if run.outcome.is_some() {
        return;
    }
    tree::heard(run, child, report);
    if run.shutdown.is_some() {
        shutdown::proceed(run, now)
    } else {
        cruise::go_on(run, now)
    }
}

fn require_pending(run: &Run, key: &EffectKey, what: &str) -> Result<(), IllegalEvent> {
    if run.pending.contains_key(key) {
        return Ok(());
    }
    Err(illegal(
        run,
        &format!("{what} for `{key}`, which is not pending,"),
    ))
}

fn illegal(run: &Run, what: &str) -> IllegalEvent {
    IllegalEvent {
        run: run.id.clone(),
        what: what.to_owned(),
    }
}
