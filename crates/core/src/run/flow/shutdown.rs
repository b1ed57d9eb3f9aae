//! Shutdown, the same for every flow: child runs are stopped first, then processes that still run are
//! ended, the sandbox is removed after its work was saved, the parent is told, and then the run ends as
//! was decided.

use super::super::model::{
    AfterEnd, ChildState, Effect, EffectResult, Outcome, OutcomeStatus, Run, Shutdown, ShutdownStep,
};
use super::tree;
use crate::problem::{Kind, Problem};
use crate::time::Timestamp;

/// A stop was asked for. An agent is ended by its own cancellation and reports that; whatever else
/// is being done at this moment is finished, and then nothing new is begun.
pub(super) fn cancel_asked(run: &mut Run) {
    let is_agent = |effect: &Effect| matches!(effect, Effect::RunAgent { .. });
    if run.shutdown.is_none() && !run.pending.is_empty() && !run.pending.values().any(is_agent) {
        let problem = Problem::new(Kind::Interrupted, "stopped on request");
        set_out(
            run,
            ShutdownStep::Finishing,
            OutcomeStatus::Cancelled,
            Some(problem),
        );
    }
}

/// The owner died. What it left running is ended before its sandbox is touched. A sandbox may
/// exist even when its making was never reported: removal copes with both.
pub(super) fn owner_lost(run: &mut Run, now: Timestamp) {
    let (status, failure) = match run.shutdown.take() {
        // How the run was about to end is not changed by a death on the way out.
        Some(shutdown) => (shutdown.status, shutdown.failure),
        None => {
            let problem = Problem::new(Kind::OwnerLost, "the drive that ran this was killed")
                .hint("what was written so far is on its branch, or in `drive kept list`");
            (OutcomeStatus::Failed, Some(problem))
        }
    };
    begin(run, status, failure, now);
}

/// Ends a run from wherever it stands: nothing new is begun, what was started is ended, and then the
/// sandbox goes.
pub(super) fn abandon(
    run: &mut Run,
    status: OutcomeStatus,
    failure: Option<Problem>,
    now: Timestamp,
) {
    if run.shutdown.is_none() && run.outcome.is_none() {
        begin(run, status, failure, now);
    }
}

/// What another run is being told is finished, because it may have happened; everything else that is
/// pending is given up.
fn begin(run: &mut Run, status: OutcomeStatus, failure: Option<Problem>, now: Timestamp) {
    let is_message = |effect: &Effect| matches!(effect, Effect::ToRun { .. });
    run.pending.retain(|_, effect| is_message(effect));
    set_out(run, ShutdownStep::StoppingChildren, status, failure);
    proceed(run, now);
}

fn set_out(run: &mut Run, step: ShutdownStep, status: OutcomeStatus, failure: Option<Problem>) {
    run.timers.clear();
    run.shutdown = Some(Shutdown {
        step,
        status,
        failure,
    });
}

/// Something ended on the way out.
pub(super) fn ended(run: &mut Run, result: &EffectResult, now: Timestamp) {
    let step = run.shutdown.as_ref().map(|shutdown| shutdown.step);
    if let (EffectResult::Failed { problem }, Some(step)) = (result, step) {
        let what = match step {
            ShutdownStep::Finishing | ShutdownStep::StoppingChildren | ShutdownStep::Reporting => {
                "what was under way was not finished"
            }
            ShutdownStep::EndingProcesses => "a process could not be ended",
            ShutdownStep::RemovingSandbox => "the sandbox is still there",
        };
        run.warnings.push(format!("{what}: {problem}"));
    }
    proceed(run, now);
}

/// Takes the next step once everything of the one before has ended.
pub(super) fn proceed(run: &mut Run, now: Timestamp) {
    while let Some(Shutdown {
        step,
        status,
        failure,
    }) = run.shutdown.clone()
    {
        let has_children = tree::stop_children(run);
        if has_children || !run.pending.is_empty() {
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
                next(run, ShutdownStep::Reporting);
                report_end(run);
            }
            ShutdownStep::Reporting => {
                return end(run, status, failure, now);
            }
        }
    }
}

fn next(run: &mut Run, step: ShutdownStep) {
    if let Some(shutdown) = run.shutdown.as_mut() {
        shutdown.step = step;
    }
}

/// A run without a sandbox of its own has nothing to remove. Every other one may have one, even where
/// its making was not reported.
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

fn report_end(run: &mut Run) {
    if let Some(shutdown) = run.shutdown.clone() {
        tree::report(
            run,
            ChildState::Ended {
                status: shutdown.status,
                failure: shutdown.failure,
            },
        );
    }
}

/// Ends the run. Nothing may be pending any more.
pub(super) fn end(run: &mut Run, status: OutcomeStatus, failure: Option<Problem>, now: Timestamp) {
    run.timers.clear();
    run.outcome = Some(Outcome {
        status,
        failure,
        ended_at: now,
    });
}
