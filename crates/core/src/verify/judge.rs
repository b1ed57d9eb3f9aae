//! Classifies the end of a command as the status of its stage.

use super::envelope::{FailureCategory, Overall, StageEnd, StageName, StageStatus};
use super::tests_ran::TestsRan;
use super::text;
use crate::problem::{Kind, Problem};
use crate::process::{DiskBound, End, TimeBound};
use std::time::Duration;

/// A shell's exit code for a program that does not exist.
const NOT_FOUND: i32 = 127;

/// All observations that decide a stage's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The end of the command.
    pub end: End,
    /// Tracked files that no longer match the commit.
    pub tampered: Vec<String>,
    /// The number of tests that ran, according to the test runner.
    pub tests: TestsRan,
    /// The changed members of a workspace that no test exercised.
    pub untested: Vec<String>,
    /// The time limit it ran under.
    pub timeout: Duration,
    /// Why a program did not become ready, as its helper reported it.
    pub not_ready: Option<String>,
}

/// The classification of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub status: StageStatus,
    /// How the command ended.
    pub ended: StageEnd,
    /// The exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The signal, if one ended it.
    pub signal: Option<i32>,
    /// The reason, if the status does not tell it.
    pub reason: Option<String>,
}

/// Judges one stage. If several causes apply, the first one in this order is reported: the
/// environment, the limits, tampering, left-over processes, and the command's own end.
pub fn judge(name: StageName, seen: &Observation) -> Judgement {
    let fail = |ended, reason: &str| (StageStatus::Fail, ended, Some(reason.to_owned()));
    let (status, ended, reason) = match &seen.end {
        End::Infra { message } => (StageStatus::Error, StageEnd::Infra, Some(message.clone())),
        End::Aborted => {
            let reason = Some("interrupted".to_owned());
            (StageStatus::Error, StageEnd::Aborted, reason)
        }
        End::MemoryLimit => fail(StageEnd::MemoryLimit, "memory limit reached"),
        End::ProcessLimit => fail(StageEnd::ProcessLimit, "process limit reached"),
        End::DiskLimit {
            bound: bound @ (DiskBound::FreeBytes(_) | DiskBound::FreeFiles(_)),
        } => {
            // Anybody may have filled the disk, so this proves nothing about the candidate.
            (StageStatus::Error, StageEnd::Infra, Some(bound.to_string()))
        }
        End::DiskLimit { bound } => fail(StageEnd::DiskLimit, &bound.to_string()),
        End::OutputLimit => fail(StageEnd::OutputLimit, "output limit reached"),
        End::TimedOut { bound } => {
            let reason = Some(out_of_time(*bound, seen));
            (StageStatus::Timeout, StageEnd::TimedOut, reason)
        }
        End::Exited { .. } | End::Signalled { .. } | End::LeakedProcesses { .. }
            if !seen.tampered.is_empty() =>
        {
            let paths = text::named(&seen.tampered, 5);
            fail(
                StageEnd::Tampered,
                &format!("changed tracked files: {paths}"),
            )
        }
        End::LeakedProcesses { count } => {
            let noun = if *count == 1 { "process" } else { "processes" };
            fail(
                StageEnd::LeakedProcesses,
                &format!("left {count} {noun} running"),
            )
        }
        End::Signalled { signal } => {
            fail(StageEnd::Signalled, &format!("killed by signal {signal}"))
        }
        End::Exited { code: 0 }
            if name == StageName::TargetedTests && seen.tests == TestsRan::None =>
        {
            let reason = "exit code 0, but the test runner reports that no test ran";
            fail(StageEnd::Exited, reason)
        }
        End::Exited { code: 0 }
            if name == StageName::TargetedTests && seen.tests == TestsRan::CutShort =>
        {
            let reason = "exit code 0, but its runner ended without a summary";
            fail(StageEnd::Exited, reason)
        }
        End::Exited { code: 0 }
            if name == StageName::TargetedTests && !seen.untested.is_empty() =>
        {
            let names = text::named(&seen.untested, 5);
            let reason =
                format!("exit code 0, but no test ran in {names}, nor in what depends on it");
            fail(StageEnd::Exited, &reason)
        }
        End::Exited { code: 0 } => (StageStatus::Pass, StageEnd::Exited, None),
        End::Exited { code } => match &seen.not_ready {
            Some(reason) => fail(StageEnd::Exited, reason),
            None => fail(StageEnd::Exited, &format!("exit code {code}")),
        },
    };
    Judgement {
        status,
        ended,
        exit_code: seen.end.exit_code(),
        signal: seen.end.signal(),
        reason,
    }
}

/// The end of a command that did not start. If its program is a path, it names a file of the tree
/// or one that an earlier stage creates, so its absence is the candidate's fault; any other missing
/// program is the machine's.
pub fn unstarted(program: Option<&str>, problem: &Problem) -> End {
    let is_of_tree = program.is_some_and(|program| program.contains('/'));
    if is_of_tree && problem.kind == Kind::ProgramNotFound {
        return End::Exited { code: NOT_FOUND };
    }
    End::Infra {
        message: problem.to_string(),
    }
}

/// The failure category of a stage that did not pass.
pub fn category(name: StageName, ended: StageEnd) -> FailureCategory {
    match ended {
        StageEnd::Infra | StageEnd::Aborted => FailureCategory::Infra,
        StageEnd::MemoryLimit
        | StageEnd::ProcessLimit
        | StageEnd::DiskLimit
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

/// The overall verdict that a stage's status forces, if any.
pub(super) fn overall(status: StageStatus) -> Option<Overall> {
    match status {
        StageStatus::Pass | StageStatus::Skipped => None,
        StageStatus::Fail => Some(Overall::Fail),
        StageStatus::Timeout => Some(Overall::Timeout),
        StageStatus::Error => Some(Overall::Error),
    }
}

fn out_of_time(bound: TimeBound, seen: &Observation) -> String {
    match (bound, &seen.not_ready) {
        (TimeBound::Idle, _) => "no output for too long".to_owned(),
        (TimeBound::Wall, Some(reason)) => format!("{reason} within {:?}", seen.timeout),
        (TimeBound::Wall, None) => format!("did not finish within {:?}", seen.timeout),
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
