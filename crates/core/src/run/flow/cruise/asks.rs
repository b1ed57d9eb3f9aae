//! Applies people's decisions about a cruise and its tasks.

use super::super::super::model::{Ask, Effect, OutcomeStatus, Run, RunMessage, TaskState, Timer};
use super::super::tree;
use super::advance::go_on;
use super::context::{is_over, with_build};
use super::skipping::skip;
use super::{leave, offers, probe};
use crate::agent::{Budget, Cost};
use crate::ids::RunId;
use crate::problem::{Kind, Problem};
use crate::time::Timestamp;

/// Handles a request of a person or the parent. Returns false for requests that only a phase can handle.
pub(in crate::run::flow) fn asked(run: &mut Run, ask: &Ask, now: Timestamp) -> bool {
    match ask {
        Ask::Extend { budget, rounds } => {
            run.grant(*budget);
            ask_again(run);
            if *rounds > 0 {
                pass_on(run, *rounds);
            }
        }
        Ask::Cleanup => {
            let problem = Problem::new(Kind::Interrupted, "cleaned up on request");
            leave::leave(run, OutcomeStatus::Cancelled, problem, now);
            return true;
        }
        // After the landed work is checked, a task can neither be retried nor skipped.
        Ask::RetryTask { .. } | Ask::SkipTask { .. } if is_over(run) => return true,
        Ask::RetryTask { task } => {
            offers::end(run, task);
            with_build(run, |build| {
                if let Some(record) = build.tasks.get_mut(task)
                    && let TaskState::Blocked { diagnosis, .. } = &record.state
                {
                    let diagnosis = diagnosis.clone();
                    record.attempts = 0;
                    record.outages = 0;
                    record.state = TaskState::Waiting { diagnosis };
                    build.amending.over = false;
                }
            });
        }
        Ask::SkipTask { task } => skip(run, task),
        Ask::Pause => with_build(run, |build| build.paused = true),
        Ask::Unpause => with_build(run, |build| build.paused = false),
        Ask::Poll => {}
        // The amending run handles requests about the plan itself.
        Ask::Approve { .. } => probe::accept(run),
        Ask::Comment { .. }
        | Ask::Conclude
        | Ask::Landed { .. }
        | Ask::Mend { .. }
        | Ask::Hear { .. } => {
            return false;
        }
    }
    run.timers.remove(&Timer::Inactivity);
    go_on(run, now);
    true
}

/// Raises the round limit of the children that wait for a person to do so: a cruise that builds has
/// none of its own.
fn pass_on(run: &mut Run, rounds: u32) {
    let waiting = run
        .children
        .iter()
        .filter(|(_, child)| child.waits_for_limit());
    let waiting: Vec<RunId> = waiting.map(|(id, _)| id.clone()).collect();
    if waiting.is_empty() {
        run.warnings.push(format!(
            "`--rounds {rounds}` was not applied: no run of this cruise waited for fixer rounds"
        ));
    }
    for id in waiting {
        let budget = Budget {
            tokens: Some(0),
            cost: Some(Cost::default()),
        };
        let ask = Ask::Extend { budget, rounds };
        tree::tell(run, id, RunMessage::AskRun { ask });
    }
}

/// Lets waiting children be granted a larger share again, although an earlier grant was sent: it
/// may never have arrived.
fn ask_again(run: &mut Run) {
    let pending = &run.pending;
    for (id, child) in &mut run.children {
        let is_told = |effect: &Effect| matches!(effect, Effect::ToRun { run, .. } if run == id);
        if !pending.values().any(is_told) {
            child.granted_for = 0;
        }
    }
}
