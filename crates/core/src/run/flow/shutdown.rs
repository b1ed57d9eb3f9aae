//! Shutdown, the same for every flow: stops child runs, ends processes, saves the work and removes
//! the sandbox, reports to the parent, and then ends the run with its decided outcome.

use super::super::model::{
    AfterEnd, ChildState, Effect, EffectResult, Flow, ForgeAct, Outcome, OutcomeStatus, PostKey,
    Run, Shutdown, ShutdownStep, Timer,
};
use super::{report, tree};
use crate::problem::{Kind, Problem};
use crate::time::{Timestamp, after};
use std::time::Duration;

/// The pause before a failed last report is retried.
const REPORT_PAUSE: Duration = Duration::from_secs(60);

/// Handles a stop request. Agents are cancelled and report their end; other pending effects are
/// finished, and nothing new begins.
pub(super) fn cancel_asked(run: &mut Run) {
    let is_agent = |effect: &Effect| matches!(effect, Effect::RunAgent { .. });
    if run.shutdown.is_none() && !run.pending.is_empty() && !run.pending.values().any(is_agent) {
        let problem = Problem::new(Kind::Interrupted, "stopped on request");
        set_out(
            run,
            ShutdownStep::Finishing,
            OutcomeStatus::Cancelled,
            Some(problem),
            Vec::new(),
        );
    }
}

/// Handles the death of the owner: its processes are ended before the sandbox is touched. A sandbox
/// may exist although its creation was never reported; removing it handles both cases.
pub(super) fn owner_lost(run: &mut Run, now: Timestamp) {
    let ends = run.shutdown.take().unwrap_or_else(|| Shutdown {
        step: ShutdownStep::StoppingChildren,
        status: OutcomeStatus::Failed,
        failure: Some(Problem::new(
            Kind::OwnerLost,
            "the drive process that owned this run was killed",
        )),
        saved: None,
        posts: Vec::new(),
    });
    // A death during the shutdown does not change how the run ends.
    begin(run, ends.status, ends.failure, ends.posts, now);
    if let Some(shutdown) = &mut run.shutdown {
        shutdown.saved = ends.saved;
    }
}

/// Ends a run from any state: starts nothing new, ends what is running, then removes the sandbox.
pub(super) fn abandon(
    run: &mut Run,
    status: OutcomeStatus,
    failure: Option<Problem>,
    now: Timestamp,
) {
    abandon_with(run, status, failure, Vec::new(), now);
}

/// Like [`abandon`], and makes these posts on the pull request.
pub(super) fn abandon_with(
    run: &mut Run,
    status: OutcomeStatus,
    failure: Option<Problem>,
    posts: Vec<ForgeAct>,
    now: Timestamp,
) {
    if run.shutdown.is_none() && run.outcome.is_none() {
        begin(run, status, failure, posts, now);
    }
}

/// Begins a shutdown. Messages to other runs are still delivered, because they may have arrived;
/// all other pending effects are dropped.
fn begin(
    run: &mut Run,
    status: OutcomeStatus,
    failure: Option<Problem>,
    posts: Vec<ForgeAct>,
    now: Timestamp,
) {
    let is_message = |effect: &Effect| matches!(effect, Effect::ToRun { .. });
    run.pending.retain(|_, effect| is_message(effect));
    set_out(run, ShutdownStep::StoppingChildren, status, failure, posts);
    proceed(run, now);
}

fn set_out(
    run: &mut Run,
    step: ShutdownStep,
    status: OutcomeStatus,
    failure: Option<Problem>,
    posts: Vec<ForgeAct>,
) {
    run.timers.clear();
    run.shutdown = Some(Shutdown {
        step,
        status,
        failure,
        saved: None,
        posts,
    });
}

/// Handles the result of an effect during a shutdown.
pub(super) fn ended(run: &mut Run, result: &EffectResult, now: Timestamp) {
    let step = run.shutdown.as_ref().map(|shutdown| shutdown.step);
    if let EffectResult::SandboxRemoved {
        kept: Some(kept), ..
    } = result
        && let Some(shutdown) = &mut run.shutdown
    {
        shutdown.saved = Some(kept.sha.clone());
    }
    if let (EffectResult::Failed { problem }, Some(step)) = (result, step) {
        let what = match step {
            ShutdownStep::Finishing | ShutdownStep::StoppingChildren | ShutdownStep::Reporting => {
                "an operation was interrupted"
            }
            ShutdownStep::EndingProcesses => "could not stop a process",
            ShutdownStep::RemovingSandbox => "could not remove the sandbox",
            ShutdownStep::Posting => "could not post the closing comment",
        };
        run.warnings.push(format!("{what}: {problem}"));
    }
    proceed(run, now);
}

/// Takes the next step once all effects of the previous one have ended.
pub(super) fn proceed(run: &mut Run, now: Timestamp) {
    while let Some(Shutdown {
        step,
        status,
        failure,
        saved: _,
        posts,
    }) = run.shutdown.clone()
    {
        let has_children = tree::stop_children(run);
        if has_children || !run.pending.is_empty() || run.timers.contains_key(&Timer::Retry) {
            return;
        }
        match step {
            ShutdownStep::Finishing => next(run, ShutdownStep::StoppingChildren),
            ShutdownStep::StoppingChildren => {
                next(run, ShutdownStep::EndingProcesses);
                for identity in run.processes.values().cloned().collect::<Vec<_>>() {
                    run.decide(Effect::EndProcess { identity });
                }
            }
            ShutdownStep::EndingProcesses => {
                next(run, ShutdownStep::RemovingSandbox);
                remove_sandbox(run);
            }
            ShutdownStep::RemovingSandbox => {
                next(run, ShutdownStep::Posting);
                say_stopped(run, failure.as_ref());
                bring_up_to_date(run, posts);
            }
            ShutdownStep::Posting => {
                next(run, ShutdownStep::Reporting);
                report_end(run);
            }
            ShutdownStep::Reporting => return end(run, status, failure, now),
        }
    }
}

fn next(run: &mut Run, step: ShutdownStep) {
    if let Some(shutdown) = run.shutdown.as_mut() {
        shutdown.step = step;
    }
}

/// Removes the sandbox of a run that has its own; it may exist although its creation was not reported.
fn remove_sandbox(run: &mut Run) {
    let Some(request) = &run.request else {
        return;
    };
    let sandbox = run.sandbox_id();
    let stays = request.after_end == AfterEnd::Stay && run.sandboxes.contains_key(&sandbox);
    if !stays && request.kind.has_sandbox() {
        run.decide(Effect::RemoveSandbox { sandbox });
    }
}

/// Handles a report that did not reach the parent. The last report is retried, unless the parent is gone.
pub(super) fn not_reported(run: &mut Run, problem: &Problem, now: Timestamp) {
    let is_gone = matches!(problem.kind, Kind::UnknownRun | Kind::IllegalEvent);
    let step = run.shutdown.as_ref().map(|shutdown| shutdown.step);
    if step == Some(ShutdownStep::Reporting) && !is_gone {
        run.timers.insert(Timer::Retry, after(now, REPORT_PAUSE));
    }
}

/// Reports the run's end to its parent.
pub(super) fn report_end(run: &mut Run) {
    if let Some(shutdown) = run.shutdown.clone() {
        report::report(
            run,
            ChildState::Ended {
                status: shutdown.status,
                failure: shutdown.failure,
            },
        );
    }
}

/// Whether a run with this failure can be resumed. A run that continues without an owner cannot.
pub(super) fn can_go_on(run: &Run, failure: Option<&Problem>) -> bool {
    if is_reopenable(run, failure) {
        return true;
    }
    let is_open = run.request.is_some() && !run.outlives_its_owner();
    let Some(problem) = failure.filter(|_| is_open) else {
        return false;
    };
    matches!(
        problem.kind,
        Kind::Interrupted
            | Kind::OwnerLost
            | Kind::BudgetExceeded
            | Kind::SteeringUnapproved
            | Kind::SecretInCommit
            | Kind::SecretCheckFailed
    )
}

/// Whether a run continues once its pull request is reopened.
fn is_reopenable(run: &Run, failure: Option<&Problem>) -> bool {
    let is_closed = failure.is_some_and(|problem| problem.kind == Kind::PullRequestClosed);
    let is_planning = match &run.flow {
        // A cruise that builds tasks ends for good.
        Flow::Cruise { build } => build.line.is_none(),
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Phase { .. } => run.is_watched(),
    };
    is_closed && is_planning && run.request.is_some()
}

/// Whether a run that has ended, or is about to, can be resumed later.
pub(super) fn ends_resumable(run: &Run) -> bool {
    let failure = match (&run.outcome, &run.shutdown) {
        (Some(outcome), _) => outcome.failure.as_ref(),
        (None, Some(shutdown)) => shutdown.failure.as_ref(),
        (None, None) => None,
    };
    can_go_on(run, failure)
}

/// Posts on the pull request how to continue a run that was stopped or killed, after its work was
/// saved.
fn say_stopped(run: &mut Run, failure: Option<&Problem>) {
    let number = run.work.pull_request.as_ref().map(|pr| pr.number);
    let body = failure
        .filter(|problem| can_go_on(run, Some(problem)))
        .and_then(|problem| stopped_comment(run, problem));
    if let (Some(pr), Some(body)) = (number, body) {
        let lives = run.resumption.as_ref().map_or(0, |one| one.count);
        run.decide(Effect::OnForge {
            pr,
            act: ForgeAct::PostComment { body },
            idempotency_key: Some(PostKey::Step(format!("interrupted/{lives}"))),
        });
    }
}

/// Makes the last posts. Repeating one changes nothing: a text is replaced, and a comment is posted once.
fn bring_up_to_date(run: &mut Run, posts: Vec<ForgeAct>) {
    let Some(pr) = run.work.pull_request.as_ref().map(|pr| pr.number) else {
        return;
    };
    for act in posts {
        let is_comment = matches!(act, ForgeAct::PostComment { .. });
        run.decide(Effect::OnForge {
            pr,
            act,
            idempotency_key: is_comment.then(|| PostKey::Step("outcome".to_owned())),
        });
    }
}

/// The closing comment of a stopped run; `None` if another comment says why it stopped.
fn stopped_comment(run: &Run, failure: &Problem) -> Option<String> {
    let kind = failure.kind;
    // These problems have their own closing comment.
    if is_unpushed(kind) || matches!(kind, Kind::BudgetExceeded | Kind::PullRequestClosed) {
        return None;
    }
    if kind == Kind::SteeringUnapproved {
        return Some(format!(
            "Not merged: {}. Approve this pull request, then merge it with `drive runs resume {}`, or \
             merge it yourself.",
            failure.message, run.id
        ));
    }
    let why = if kind == Kind::OwnerLost {
        "The process that worked on this was killed before the work was done."
    } else {
        "Stopped on request before the work was done."
    };
    let id = &run.id;
    Some(format!(
        "{why} Continue with `drive runs resume {id}`; comments that are written here until then are \
         read when it continues."
    ))
}

/// Adds a hint with a command to the failure of a run that can continue.
fn with_way_on(run: &Run, failure: Problem) -> Problem {
    if !can_go_on(run, Some(&failure)) {
        return failure;
    }
    let id = &run.id;
    if failure.kind == Kind::SteeringUnapproved {
        return failure.hint(approve_first(run));
    }
    if is_unpushed(failure.kind) {
        let then = format!("then continue with `drive runs resume {id}`");
        let hint = match &failure.hint {
            Some(hint) => format!("{hint}; {then}"),
            None => then,
        };
        return failure.hint(hint);
    }
    if failure.kind == Kind::PullRequestClosed {
        let root = tree::root_id(&run.id);
        return failure.hint(format!(
            "its commits are on its local branch; to continue, reopen the pull request and run \
             `drive cruise resume {root}`"
        ));
    }
    let spent = run.spent;
    let is_over_budget = run.budget().overrun(spent.usage, spent.cost).is_some();
    let command = if failure.kind == Kind::BudgetExceeded && is_over_budget {
        format!("drive runs extend {id} {}", run.extension())
    } else {
        format!("drive runs resume {id}")
    };
    failure.hint(format!(
        "continue with `{command}`; the work so far is on its branch, or in `drive kept list`"
    ))
}

/// Whether a run with this failure continues after a person has checked its change.
pub(super) fn waits_for_decision(run: &Run, failure: Option<&Problem>) -> bool {
    let is_ours =
        |problem: &Problem| is_unpushed(problem.kind) || problem.kind == Kind::SteeringUnapproved;
    failure.is_some_and(is_ours) && can_go_on(run, failure)
}

/// Whether commits were kept from the remote.
pub(super) fn is_unpushed(kind: Kind) -> bool {
    matches!(kind, Kind::SecretInCommit | Kind::SecretCheckFailed)
}

/// How a person allows a change of steering files to be merged.
fn approve_first(run: &Run) -> String {
    let id = &run.id;
    let approve = match &run.work.pull_request {
        Some(pr) if pr.is_local() => format!("`drive pr approve {}`", pr.number),
        Some(pr) => format!("an approval of {}", pr.url),
        None => "an approval of its pull request".to_owned(),
    };
    format!("read them; after {approve}, `drive runs resume {id}` verifies and merges the change")
}

/// Ends the run. No effect may be pending.
pub(super) fn end(run: &mut Run, status: OutcomeStatus, failure: Option<Problem>, now: Timestamp) {
    run.timers.clear();
    let failure = failure.map(|problem| with_way_on(run, problem));
    run.outcome = Some(Outcome {
        status,
        failure,
        ended_at: now,
    });
}
