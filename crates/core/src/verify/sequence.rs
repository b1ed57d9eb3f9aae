//! The order of stages as a pure state machine: the next stage, its time limit, and the final
//! result.

use super::envelope::{
    Failure, FailureCategory, Fault, Overall, Stage, StageEnd, StageName, StageStatus,
};
use super::environment_fault::environment_fault;
use super::judge;
use super::plan::{Plan, PlannedStage, StageCommand, Work};
use crate::time::Timestamp;
use std::time::Duration;

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Run this, then [`Sequence::record`] its result.
    Run(Box<Turn>),
    /// Every stage has a result.
    Done,
}

/// One stage whose turn it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The name of the stage.
    pub name: StageName,
    /// The route it belongs to.
    pub route: String,
    /// The command.
    pub command: StageCommand,
    /// The smaller of its own timeout and the remaining time.
    pub within: Duration,
}

/// The stages of one verification as they come to their results.
#[derive(Clone, Debug)]
pub struct Sequence {
    waiting: std::collections::VecDeque<PlannedStage>,
    done: Vec<Stage>,
    deadline: Timestamp,
    stopped_by: Option<String>,
}

impl Sequence {
    /// The stages of a plan, none of them run.
    pub fn new(plan: Plan, deadline: Timestamp) -> Self {
        Self {
            waiting: plan.stages.into(),
            done: Vec::new(),
            deadline,
            stopped_by: None,
        }
    }

    /// The next command, after settling every stage that needs none.
    pub fn next(&mut self, now: Timestamp) -> Next {
        while let Some(stage) = self.waiting.pop_front() {
            if let Some(reason) = &self.stopped_by {
                let required = matches!(stage.work, Work::Run(_));
                self.done.push(unrun(
                    &stage,
                    StageStatus::Skipped,
                    required,
                    reason.clone(),
                ));
                continue;
            }
            match stage.work.clone() {
                Work::Nothing(reason) => {
                    self.done
                        .push(unrun(&stage, StageStatus::Skipped, false, reason));
                }
                Work::Run(command) => {
                    let left = time_left(now, self.deadline);
                    if left.is_zero() {
                        self.reach_deadline(&stage);
                        continue;
                    }
                    let within = command.timeout.min(left);
                    return Next::Run(Box::new(Turn {
                        name: stage.name,
                        route: stage.route,
                        command,
                        within,
                    }));
                }
            }
        }
        Next::Done
    }

    /// Takes the result of the stage that [`Sequence::next`] handed out.
    pub fn record(&mut self, stage: Stage) {
        if judge::overall(stage.status).is_some() {
            self.stopped_by = Some(stopped_by(&stage));
        }
        self.done.push(stage);
    }

    /// The results, the verdict and its reason.
    pub fn finish(self) -> (Vec<Stage>, Overall, Option<Failure>) {
        let failed = self
            .done
            .iter()
            .find_map(|stage| Some((stage, judge::overall(stage.status)?)));
        let (overall, failure) = match failed {
            Some((stage, overall)) => (overall, Some(failure(stage))),
            None if self.done.is_empty() => (Overall::Fail, Some(nothing_to_run())),
            None => (Overall::Pass, None),
        };
        (self.done, overall, failure)
    }

    fn reach_deadline(&mut self, stage: &PlannedStage) {
        let reason = "the overall deadline was reached before it started".to_owned();
        let mut result = unrun(stage, StageStatus::Timeout, true, reason);
        result.ended = Some(StageEnd::TimedOut);
        self.record(result);
    }
}

/// A stage that did not run.
fn unrun(stage: &PlannedStage, status: StageStatus, required: bool, reason: String) -> Stage {
    let command = match &stage.work {
        Work::Run(command) => command.argv.as_slice(),
        Work::Nothing(_) => &[],
    };
    Stage {
        required,
        reason: Some(reason),
        ..Stage::unrun(stage.name, &stage.route, command, status)
    }
}

fn stopped_by(stage: &Stage) -> String {
    format!("{} of route `{}` failed", stage.name.words(), stage.route)
}

fn failure(stage: &Stage) -> Failure {
    let ended = stage.ended.unwrap_or(StageEnd::Infra);
    let reason = stage
        .reason
        .clone()
        .unwrap_or_else(|| "it failed".to_owned());
    let (category, hint) = match stage.fault {
        None => (judge::category(stage.name, ended), hint(stage.name, ended)),
        Some(Fault::Flaky) => (
            FailureCategory::Flaky,
            "fix the test, or set `verify.flaky = \"allow\"`".to_owned(),
        ),
        Some(Fault::Baseline) => (
            FailureCategory::Baseline,
            "fix the base, then run `drive verify` again".to_owned(),
        ),
        Some(Fault::Infra) => (
            FailureCategory::Infra,
            environment_fault(stage).map_or_else(
                || hint(stage.name, StageEnd::Infra),
                |fault| fault.hint.to_owned(),
            ),
        ),
    };
    Failure {
        category,
        reason: format!("{} ({}): {reason}", stage.name.words(), stage.route),
        stage: Some(stage.name),
        hint: Some(hint),
    }
}

/// What to do next about a stage that ended like this.
fn hint(name: StageName, ended: StageEnd) -> String {
    let text = match ended {
        StageEnd::TimedOut => {
            let setting = name.setting();
            return format!(
                "raise `timeout.{setting}` of its route or `verify.deadline` if it needs more time"
            );
        }
        StageEnd::Exited | StageEnd::Signalled => {
            "read the end of its output, fix the code, then verify the new commit"
        }
        StageEnd::MemoryLimit => "raise `verify.limits.memory` if it needs more",
        StageEnd::ProcessLimit => "raise `verify.limits.processes` if it needs more",
        StageEnd::DiskLimit => {
            "raise `verify.limits.disk` or `verify.limits.files` if it needs more, or make room on \
             the disk"
        }
        StageEnd::OutputLimit => "make it print less, or raise `verify.limits.output_total`",
        StageEnd::LeakedProcesses => {
            "stop the processes it starts; for build daemons set `verify.limits.leaked_processes \
             = \"kill\"`"
        }
        StageEnd::Tampered => "make builds and tests write only untracked files",
        StageEnd::Aborted => "run `drive verify` again",
        StageEnd::Infra => "run `drive doctor`, then `drive verify` again",
    };
    text.to_owned()
}

fn nothing_to_run() -> Failure {
    Failure {
        category: FailureCategory::Policy,
        reason: "no route has a command to run".to_owned(),
        stage: None,
        hint: Some("add commands to `[[verify.routes]]` in `drive.toml` on the base".to_owned()),
    }
}

/// The time until a deadline; none once it has passed.
pub fn time_left(now: Timestamp, deadline: Timestamp) -> Duration {
    let millis = deadline
        .as_millisecond()
        .saturating_sub(now.as_millisecond());
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

#[cfg(test)]
#[path = "sequence_tests.rs"]
mod tests;
