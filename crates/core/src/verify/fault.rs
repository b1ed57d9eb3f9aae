//! Whose fault a failed stage is: the candidate's, its base's, the environment's, or a flaky test's.

use super::envelope::{Fault, Stage, StageEnd, StageStatus};
use super::environment_fault::environment_fault;
use super::failed_tests::MOST;
use crate::settings::FlakyTests;

/// What the same stage does on the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnBase {
    /// It was not run there, for this reason; `None` where nobody asked.
    Unknown(Option<String>),
    /// It passes: the change made it fail.
    Passes,
    /// It fails there as well.
    Fails {
        /// The reason.
        reason: String,
        /// The tests that fail there, as far as its output names them.
        tests: Vec<String>,
    },
}

/// Whether a stage failed in a way that the candidate, its base or its tests can be to blame for.
pub fn deserves_second_look(stage: &Stage) -> bool {
    stage.status == StageStatus::Fail
        && matches!(stage.ended, Some(StageEnd::Exited | StageEnd::Signalled))
}

/// A stage that failed first and then passed on the same tree. `passed` is the second run.
pub fn flaky(failed: &Stage, passed: Stage, policy: FlakyTests) -> Stage {
    let why = failed.reason.as_deref().unwrap_or("it failed");
    let tests = match failed.failed_tests.as_slice() {
        [] => String::new(),
        names => format!(" ({})", super::text::named(names, 5)),
    };
    let stage = Stage {
        fault: Some(Fault::Flaky),
        reason: Some(format!("{why}{tests}, then passed on the same tree")),
        failed_tests: failed.failed_tests.clone(),
        ..passed
    };
    match policy {
        FlakyTests::Allow => stage,
        FlakyTests::Fail => Stage {
            status: StageStatus::Fail,
            exit_code: failed.exit_code,
            signal: failed.signal,
            ended: failed.ended,
            stdout_tail: failed.stdout_tail.clone(),
            stderr_tail: failed.stderr_tail.clone(),
            ..stage
        },
    }
}

/// A failed stage with whose fault it is. What passes on the base is the candidate's fault, whatever
/// its output looks like: a candidate can print anything.
pub fn attributed(mut stage: Stage, on_base: &OnBase) -> Stage {
    let why = stage
        .reason
        .clone()
        .unwrap_or_else(|| "it failed".to_owned());
    let environment = || environment_fault(&stage);
    let (fault, reason) = match on_base {
        OnBase::Passes => (None, format!("{why}; it passes on the base")),
        OnBase::Fails { reason, tests } => {
            let own = stage
                .failed_tests
                .iter()
                .filter(|test| !tests.contains(test));
            let own: Vec<String> = own.cloned().collect();
            // A list that was cut does not say what passes there.
            if !own.is_empty() && !tests.is_empty() && tests.len() < MOST {
                let own = super::text::named(&own, 5);
                (None, format!("{why}; not failing on the base: {own}"))
            } else if let Some(fault) = environment() {
                (Some(Fault::Infra), format!("{why}: {}", fault.reason))
            } else {
                let reason = format!("{why}; it fails on the base as well: {reason}");
                (Some(Fault::Baseline), reason)
            }
        }
        OnBase::Unknown(uncompared) => match (environment(), uncompared) {
            (Some(fault), _) => (Some(Fault::Infra), format!("{why}: {}", fault.reason)),
            (None, Some(because)) => (
                None,
                format!("{why}; not compared with the base: {because}"),
            ),
            (None, None) => (None, why),
        },
    };
    if fault == Some(Fault::Infra) {
        // It says nothing about the candidate.
        stage.status = StageStatus::Error;
    }
    stage.fault = fault;
    stage.reason = Some(reason);
    stage
}

#[cfg(test)]
#[path = "fault_tests.rs"]
mod tests;
