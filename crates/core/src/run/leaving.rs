//! The way out, the same for every flow: what a dead owner left running is ended, the sandbox is
//! removed, which keeps its work first, and then the run ends as was decided.

use super::Run;
use super::effect::{Effect, EffectResult};
use super::outcome::OutcomeStatus;
use super::request::AfterEnd;
use super::step::end;
use crate::Problem;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// How a run that is on its way out will end, and how far it has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Leaving {
    /// What is being done.
    pub step: WayOut,
    /// The status it will have.
    pub status: OutcomeStatus,
    /// The failure it will have.
    pub failure: Option<Problem>,
}

/// How far a run on its way out has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WayOut {
    /// What was under way when a stop was asked for is being finished.
    Finishing,
    /// What a dead owner left running is being ended.
    EndingProcesses,
    /// The sandbox is being removed.
    RemovingSandbox,
}

/// Towards the end: removes the sandbox unless it is to stay, and ends the run after that.
pub(super) fn leave(
    run: &mut Run,
    status: OutcomeStatus,
    failure: Option<Problem>,
    now: Timestamp,
) {
    let stay = run
        .request
        .as_ref()
        .is_some_and(|r| r.after_end == AfterEnd::Stay);
    let sandbox = run.sandbox_id();
    if stay && run.sandboxes.contains_key(&sandbox) {
        return end(run, status, failure, now);
    }
    run.leaving = Some(Leaving {
        step: WayOut::RemovingSandbox,
        status,
        failure,
    });
    run.decide(Effect::RemoveSandbox { sandbox });
}

/// A stop was asked for. An agent is ended by its own cancellation and reports that; whatever else
/// is being done at this moment is finished, and then nothing new is begun.
pub(super) fn cancel_asked(run: &mut Run) {
    let is_agent = |effect: &Effect| matches!(effect, Effect::RunAgent { .. });
    if run.leaving.is_none() && !run.pending.values().any(is_agent) {
        run.leaving = Some(Leaving {
            step: WayOut::Finishing,
            status: OutcomeStatus::Cancelled,
            failure: Some(Problem::interrupted("stopped on request")),
        });
    }
}

/// The owner died. What it left running is ended before its sandbox is touched. A sandbox may
/// exist even when its making was never reported: removal copes with both.
pub(super) fn owner_lost(run: &mut Run, now: Timestamp) {
    let (status, failure) = match run.leaving.take() {
        // How the run was about to end is not changed by a death on the way out.
        Some(leaving) => (leaving.status, leaving.failure),
        None => {
            let problem = Problem::work("ownerLost", "the drive that ran this was killed")
                .hint("what was written so far is on its branch, or in `drive kept list`");
            (OutcomeStatus::Failed, Some(problem))
        }
    };
    if run.pending.is_empty() {
        return leave(run, status, failure, now);
    }
    run.leaving = Some(Leaving {
        step: WayOut::EndingProcesses,
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
    if run.leaving.is_some() || run.outcome.is_some() {
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
    run.leaving = Some(Leaving {
        step: WayOut::EndingProcesses,
        status,
        failure,
    });
}

/// Something ended on the way out.
pub(super) fn ended(run: &mut Run, leaving: Leaving, result: &EffectResult, now: Timestamp) {
    let Leaving {
        step,
        status,
        failure,
    } = leaving;
    if let EffectResult::Failed { problem } = result {
        match step {
            WayOut::Finishing => run
                .warnings
                .push(format!("what was under way was not finished: {problem}")),
            WayOut::EndingProcesses => run
                .warnings
                .push(format!("a process could not be ended: {problem}")),
            WayOut::RemovingSandbox => run
                .warnings
                .push(format!("the sandbox is still there: {problem}")),
        }
    }
    match step {
        WayOut::Finishing | WayOut::EndingProcesses => {
            leave_when_idle(run, status, failure, now);
        }
        WayOut::RemovingSandbox => end(run, status, failure, now),
    }
}

fn leave_when_idle(run: &mut Run, status: OutcomeStatus, failure: Option<Problem>, now: Timestamp) {
    if run.pending.is_empty() {
        leave(run, status, failure, now);
    }
}
