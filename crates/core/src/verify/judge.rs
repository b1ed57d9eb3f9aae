//! Classifies the end of a command as the status of its stage.

use super::envelope::{FailureCategory, Overall, StageEnd, StageName, StageStatus};
use super::tests_ran::TestsRan;
use super::text;
use crate::process::{End, TimeBound};
use std::time::Duration;

/// Everything that decides about one stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The end of the command.
    pub end: End,
    /// Tracked files that are not what the commit says any more.
    pub tampered: Vec<String>,
    /// What a test runner said about how many tests ran.
    pub tests: TestsRan,
    /// The time bound it ran under.
    pub timeout: Duration,
    /// Why a startup smoke that waits for readiness did not pass, in its own words.
    pub smoke_reason: Option<String>,
}

/// The classification of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub status: StageStatus,
    /// How the command ended.
    pub ended: StageEnd,
    /// The exit code, when it exited.
    pub exit_code: Option<i32>,
    /// The signal, when one ended it.
    pub signal: Option<i32>,
    /// Why, where the status alone does not say.
    pub reason: Option<String>,
}

/// Judges one stage. When several things hold, the worst one is reported: what the environment did,
/// then the bounds, then tampering, then what was left behind, then the command's own end.
pub fn judge(name: StageName, seen: &Observation) -> Judgement {
    let (status, ended, reason) = match &seen.end {
        End::Infra { message } => (StageStatus::Error, StageEnd::Infra, Some(message.clone())),
        End::Aborted => plain(StageStatus::Error, StageEnd::Aborted, "interrupted"),
        End::MemoryLimit => plain(
            StageStatus::Fail,
            StageEnd::MemoryLimit,
            "memory limit reached",
        ),
        End::ProcessLimit => plain(
            StageStatus::Fail,
            StageEnd::ProcessLimit,
            "process limit reached",
        ),
        End::OutputLimit => plain(
            StageStatus::Fail,
            StageEnd::OutputLimit,
            "output limit reached",
        ),
        End::TimedOut { bound } => (
            StageStatus::Timeout,
            StageEnd::TimedOut,
            Some(out_of_time(*bound, seen)),
        ),
        End::Exited { .. } | End::Signalled { .. } | End::LeakedProcesses { .. }
            if !seen.tampered.is_empty() =>
        {
            (
                StageStatus::Fail,
                StageEnd::Tampered,
                Some(tampered(&seen.tampered)),
            )
        }
        End::LeakedProcesses { count } => (
            StageStatus::Fail,
            StageEnd::LeakedProcesses,
            Some(format!("left {count} {} running", noun(*count))),
        ),
        End::Signalled { signal } => (
            StageStatus::Fail,
            StageEnd::Signalled,
            Some(format!("killed by signal {signal}")),
        ),
        End::Exited { code } => by_exit_code(name, *code, seen),
    };
    Judgement {
        status,
        ended,
        exit_code: seen.end.exit_code(),
        signal: seen.end.signal(),
        reason,
    }
}

/// The category of a stage that did not pass.
pub fn category(name: StageName, ended: StageEnd) -> FailureCategory {
    match ended {
        StageEnd::Infra | StageEnd::Aborted => FailureCategory::Infra,
        StageEnd::MemoryLimit
        | StageEnd::ProcessLimit
        | StageEnd::OutputLimit
        | StageEnd::LeakedProcesses => FailureCategory::Resource,
        StageEnd::TimedOut => FailureCategory::Timeout,
        StageEnd::Tampered => FailureCategory::Policy,
        StageEnd::Exited | StageEnd::Signalled => match name {
            StageName::Compile => FailureCategory::Compile,
            StageName::TargetedTests => FailureCategory::Test,
            StageName::StartupSmoke => FailureCategory::Startup,
        },
    }
}

/// The overall verdict a stage's status forces; `None` when it forces none.
pub(super) fn overall(status: StageStatus) -> Option<Overall> {
    match status {
        StageStatus::Pass | StageStatus::Skipped => None,
        StageStatus::Fail => Some(Overall::Fail),
        StageStatus::Timeout => Some(Overall::Timeout),
        StageStatus::Error => Some(Overall::Error),
    }
}

type Verdict = (StageStatus, StageEnd, Option<String>);

fn by_exit_code(name: StageName, code: i32, seen: &Observation) -> Verdict {
    if code != 0 {
        let reason = seen
            .smoke_reason
            .clone()
            .unwrap_or_else(|| format!("exit code {code}"));
        return (StageStatus::Fail, StageEnd::Exited, Some(reason));
    }
    match seen.tests {
        TestsRan::None if name == StageName::TargetedTests => plain(
            StageStatus::Fail,
            StageEnd::Exited,
            "exit code 0, but the test runner reports that no test ran",
        ),
        TestsRan::None | TestsRan::Unknown | TestsRan::Some(_) => {
            (StageStatus::Pass, StageEnd::Exited, None)
        }
    }
}

fn plain(status: StageStatus, ended: StageEnd, reason: &str) -> Verdict {
    (status, ended, Some(reason.to_owned()))
}

fn out_of_time(bound: TimeBound, seen: &Observation) -> String {
    match (bound, &seen.smoke_reason) {
        (TimeBound::Idle, _) => "no output for too long".to_owned(),
        (TimeBound::Wall, Some(reason)) => format!("{reason} within {:?}", seen.timeout),
        (TimeBound::Wall, None) => format!("did not finish within {:?}", seen.timeout),
    }
}

fn tampered(paths: &[String]) -> String {
    format!("changed tracked files: {}", text::named(paths, 5))
}

fn noun(count: u32) -> &'static str {
    if count == 1 { "process" } else { "processes" }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
