//! Shutdown, the same for every flow: processes that still run are ended, the sandbox is removed
//! after its work was saved, and then the run ends as was decided.

use super::super::model::{
    AfterEnd, Effect, EffectResult, Outcome, OutcomeStatus, Run, Shutdown, ShutdownStep,
};
use crate::problem::{Kind, Problem};
use crate::time::Timestamp;

/// Towards the end: removes the sandbox unless it is to stay, and ends the run after that.
fn leave(run: &mut Run, status: OutcomeStatus, failure: Option<Problem>, now: Timestamp) {
    let stay = run
        .request
        .as_ref()
        .is_some_and(|r| r.after_end == AfterEnd::Stay);
    let sandbox = run.sandbox_id();
    if stay && run.sandboxes.contains_key(&sandbox) {
        return end(run, status, failure, now);
    }
    run.shutdown = Some(Shutdown {
        step: ShutdownStep::RemovingSandbox,
        status,
        failure,
    });
    run.decide(Effect::RemoveSandbox { sandbox });
}

/// A stop was asked for. An agent is ended by its own cancellation and reports that; whatever else
/// is being done at this moment is finished, and then nothing new is begun.
pub(super) fn cancel_asked(run: &mut Run) {
    let is_agent = |effect: &Effect| matches!(effect, Effect::RunAgent { .. });
    if run.shutdown.is_none() && !run.pending.is_empty() && !run.pending.values().any(is_agent) {
        run.shutdown = Some(Shutdown {
            step: ShutdownStep::Finishing,
            status: OutcomeStatus::Cancelled,
            failure: Some(Problem::new(Kind::Interrupted, "stopped on request")),
        });
        run.timers.clear();
    }
}

/// The owner died. What it left running is ended before its sandbox is touched. A sandbox may
/// exist even when its making was never reported: removal copes with both.
pub(super) fn owner_lost(run: &mut Run, now: Timestamp) {
    run.timers.clear();
    let (status, failure) = match run.shutdown.take() {
        // How the run was about to end is not changed by a death on the way out.
        Some(shutdown) => (shutdown.status, shutdown.failure),
        None => {
            let problem = Problem::new(Kind::OwnerLost, "the drive that ran this was killed")
                .hint("what was written so far is on its branch, or in `drive kept list`");
            (OutcomeStatus::Failed, Some(problem))
        }
    };
    if run.pending.is_empty() {
        return leave(run, status, failure, now);
    }
    run.shutdown = Some(Shutdown {
        step: ShutdownStep::EndingProcesses,
        status,
        failure,
    });
}

/// Ends a run from wherever it stands: nothing new is begun, what was started is ended, and then the
/// sandbox goes.
pub(super) fn abandon(
    run: &mut Run,
    status: OutcomeStatus,
    failure: Option<Problem>,
    now: Timestamp,
) {
    if run.shutdown.is_some() || run.outcome.is_some() {
        return;
    }
    run.pending.clear();
    run.timers.clear();
    for identity in run.processes.values().cloned().collect::<Vec<_>>() {
        run.decide(Effect::EndProcess { identity });
    }
    if run.pending.is_empty() {
        return leave(run, status, failure, now);
    }
    run.shutdown = Some(Shutdown {
        step: ShutdownStep::EndingProcesses,
        status,
        failure,
    });
}

/// Something ended on the way out.
pub(super) fn ended(run: &mut Run, shutdown: Shutdown, result: &EffectResult, now: Timestamp) {
    let Shutdown {
        step,
        status,
        failure,
    } = shutdown;
    if let EffectResult::Failed { problem } = result {
        match step {
            ShutdownStep::Finishing => run
                .warnings
                .push(format!("what was under way was not finished: {problem}")),
            ShutdownStep::EndingProcesses => run
                .warnings
                .push(format!("a process could not be ended: {problem}")),
            ShutdownStep::RemovingSandbox => run
                .warnings
                .push(format!("the sandbox is still there: {problem}")),
        }
    }
    match step {
        ShutdownStep::Finishing | ShutdownStep::EndingProcesses => {
            leave_when_idle(run, status, failure, now);
        }
        ShutdownStep::RemovingSandbox => end(run, status, failure, now),
    }
}

fn leave_when_idle(run: &mut Run, status: OutcomeStatus, failure: Option<Problem>, now: Timestamp) {
    if run.pending.is_empty() {
        leave(run, status, failure, now);
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
