//! Attributes a failed stage to the candidate, its base, the machine or a flaky test.

use super::envelope::{Fault, Stage, StageEnd, StageStatus};
use super::environment_fault::{EnvironmentFault, environment_fault};
use super::failed_tests::MOST;
use crate::settings::FlakyTests;

/// The result of the same stage on the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnBase {
    /// It did not run there, for this reason; `None` if no such run was requested.
    Unknown(Option<String>),
    /// It passes there, so the change made it fail.
    Passes,
    /// It fails there as well.
    Fails(BaseFailure),
}

/// The failure of a stage on the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseFailure {
    /// How its command ended.
    pub ended: StageEnd,
    /// The reason.
    pub reason: String,
    /// The tests that fail there, as far as the output names them.
    pub tests: Vec<String>,
    /// How many further failed tests its summaries count.
    pub unnamed: u64,
    /// The fault of the machine that its output shows.
    pub blames: Option<&'static str>,
}

/// Converts a run on the base to its result.
pub fn on_base(stage: Stage) -> OnBase {
    let unnamed = unnamed(&stage);
    let blames = environment_fault(&stage).map(|fault| fault.reason);
    match (stage.status, stage.ended) {
        (StageStatus::Pass, _) => OnBase::Passes,
        (StageStatus::Fail | StageStatus::Timeout, Some(ended)) => OnBase::Fails(BaseFailure {
            ended,
            reason: stage.reason.unwrap_or_default(),
            tests: stage.failed_tests,
            unnamed,
            blames,
        }),
        (StageStatus::Fail | StageStatus::Timeout, None)
        | (StageStatus::Error | StageStatus::Skipped, _) => OnBase::Unknown(stage.reason),
    }
}

/// Whether the candidate, its base or its tests can have caused the failure of a stage.
pub fn deserves_second_look(stage: &Stage) -> bool {
    let failed = match stage.status {
        StageStatus::Fail | StageStatus::Timeout => stage.ended,
        StageStatus::Pass | StageStatus::Error | StageStatus::Skipped => None,
    };
    match failed {
        Some(
            StageEnd::Exited
            | StageEnd::Signalled
            | StageEnd::TimedOut
            | StageEnd::MemoryLimit
            | StageEnd::ProcessLimit
            | StageEnd::DiskLimit
            | StageEnd::OutputLimit
            | StageEnd::LeakedProcesses
            | StageEnd::Tampered,
        ) => true,
        Some(StageEnd::Aborted | StageEnd::Infra) | None => false,
    }
}

/// Whether a failed stage may pass in another run: its command ended by itself.
pub fn may_be_flaky(stage: &Stage) -> bool {
    stage.status == StageStatus::Fail && stage.ended.is_some_and(ended_by_itself)
}

fn ended_by_itself(ended: StageEnd) -> bool {
    match ended {
        StageEnd::Exited | StageEnd::Signalled => true,
        StageEnd::TimedOut
        | StageEnd::MemoryLimit
        | StageEnd::ProcessLimit
        | StageEnd::DiskLimit
        | StageEnd::OutputLimit
        | StageEnd::LeakedProcesses
        | StageEnd::Tampered
        | StageEnd::Aborted
        | StageEnd::Infra => false,
    }
}

/// How many failed tests the summaries count besides those that the output names.
fn unnamed(stage: &Stage) -> u64 {
    let named = stage.failed_tests.len() as u64;
    stage
        .tests
        .map_or(0, |tests| tests.failed.saturating_sub(named))
}

/// Whether the output of a failed stage indicates a fault of the machine.
pub fn blames_machine(stage: &Stage) -> bool {
    may_be_flaky(stage) && environment_fault(stage).is_some()
}

/// Marks a stage as failed by the machine: it failed because the machine lacked something, and
/// passed on the same tree in another run.
pub fn gone(mut stage: Stage) -> Stage {
    let why = stage.reason.as_deref().unwrap_or("it failed");
    let fault = environment_fault(&stage).map_or("the machine", |fault| fault.reason);
    stage.reason = Some(format!("{why}: {fault}; passed when retried"));
    stage.status = StageStatus::Error;
    stage.fault = Some(Fault::Infra);
    stage
}

/// Marks a stage as flaky: it failed first and then passed on the same tree. `passed` is the second run.
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

/// Attributes a failed stage. If it passes on the base, the candidate caused the failure, whatever
/// the output says: a candidate can print anything.
pub fn attributed(mut stage: Stage, on_base: &OnBase) -> Stage {
    let why = stage
        .reason
        .clone()
        .unwrap_or_else(|| "it failed".to_owned());
    let by_itself = may_be_flaky(&stage);
    let environment = || environment_fault(&stage).filter(|_| by_itself);
    let (fault, reason) = match on_base {
        OnBase::Passes => (None, format!("{why}; it passes on the base")),
        OnBase::Fails(base) => compared(&stage, &why, base, environment()),
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
        // The result shows nothing about the candidate.
        stage.status = StageStatus::Error;
    }
    stage.fault = fault;
    stage.reason = Some(reason);
    stage
}

/// The cause of a stage that fails here and on the base, with the reason.
fn compared(
    stage: &Stage,
    why: &str,
    base: &BaseFailure,
    environment: Option<EnvironmentFault>,
) -> (Option<Fault>, String) {
    let is_same_end = match stage.ended {
        Some(ended) if ended_by_itself(ended) => ended_by_itself(base.ended),
        ended => ended == Some(base.ended),
    };
    let own = stage
        .failed_tests
        .iter()
        .filter(|test| !base.tests.contains(test));
    let own: Vec<String> = own.cloned().collect();
    // A shortened list does not show which tests pass there.
    let is_whole = !base.tests.is_empty() && base.tests.len() < MOST && base.unnamed == 0;
    // Output that appears on both sides does not explain why a test fails only on one of them.
    let met_here = environment.filter(|fault| {
        let is_of_tests = !stage.failed_tests.is_empty();
        is_of_tests && base.blames != Some(fault.reason)
    });
    if !own.is_empty() && is_whole && met_here.is_none() {
        let own = super::text::named(&own, 5);
        return (None, format!("{why}; not failing on the base: {own}"));
    }
    if let Some(fault) = environment {
        return (Some(Fault::Infra), format!("{why}: {}", fault.reason));
    }
    if !is_same_end {
        let reason = format!("{why}; on the base it ends otherwise: {}", base.reason);
        return (None, reason);
    }
    let unnamed = match (unnamed(stage), base.unnamed) {
        (0, _) if own.is_empty() => None,
        (0, 0) => None,
        (0, unnamed) => Some(("the output of the base", base.tests.len(), unnamed)),
        (unnamed, _) => Some(("its output", stage.failed_tests.len(), unnamed)),
    };
    if let Some((output, named, unnamed)) = unnamed {
        let counted = unnamed.saturating_add(named as u64);
        let reason = format!(
            "{why}; not compared with the base: {output} names {named} of {counted} failing tests"
        );
        return (None, reason);
    }
    let reason = format!("{why}; it fails on the base as well: {}", base.reason);
    (Some(Fault::Baseline), reason)
}

#[cfg(test)]
#[path = "fault_tests.rs"]
mod tests;
