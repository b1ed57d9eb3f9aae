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

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Run these at the same time, then call [`Sequence::record`] with each result.
    Run(Vec<Turn>),
    /// Every stage has a result.
    Done,
}

/// A stage to run now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The name of the stage.
    pub name: StageName,
    /// The route it belongs to.
    pub route: String,
    /// The command.
    pub command: StageCommand,
    /// Its own timeout or the remaining time, whichever is shorter.
    pub within: Duration,
}

/// The stages of one verification, with the results so far.
#[derive(Clone, Debug)]
pub struct Sequence {
    waiting: std::collections::VecDeque<PlannedStage>,
    done: Vec<Stage>,
    deadline: Timestamp,
    stopped_by: Option<String>,
}

impl Sequence {
    /// The stages of a plan, before any ran.
    pub fn new(plan: Plan, deadline: Timestamp) -> Self {
        Self {
            waiting: plan.stages.into(),
            done: Vec::new(),
            deadline,
            stopped_by: None,
        }
    }

    /// How many stages could run next at the same time, up to `most`.
    pub fn width(&self, most: usize) -> usize {
        self.together(most).len()
    }

    /// The next commands: one, or up to `at_once` that are independent of each other. Stages
    /// without commands are settled first.
    pub fn next(&mut self, now: Timestamp, at_once: usize) -> Next {
        while let Some(stage) = self.waiting.front() {
            let is_settled = match (&self.stopped_by, &stage.work) {
                (Some(reason), work) => {
                    let required = matches!(work, Work::Run(_));
                    let reason = reason.clone();
                    Some(unrun(stage, StageStatus::Skipped, required, reason))
                }
                (None, Work::Nothing(reason)) => {
                    let reason = reason.clone();
                    Some(unrun(stage, StageStatus::Skipped, false, reason))
                }
                (None, Work::Run(_)) => None,
            };
            if let Some(settled) = is_settled {
                self.waiting.pop_front();
                self.done.push(settled);
                continue;
            }
            let left = time_left(now, self.deadline);
            if left.is_zero() {
                if let Some(stage) = self.waiting.pop_front() {
                    self.reach_deadline(&stage);
                }
                continue;
            }
            return Next::Run(self.take(at_once, left));
        }
        Next::Done
    }

    fn take(&mut self, at_once: usize, left: Duration) -> Vec<Turn> {
        let mut turns = Vec::new();
        // Each removed stage moves those after it.
        for (taken, at) in self.together(at_once).into_iter().enumerate() {
            let Some(PlannedStage { name, route, work }) = self.waiting.remove(at - taken) else {
                continue;
            };
            if let Work::Run(command) = work {
                let within = command.timeout.min(left);
                turns.push(Turn {
                    name,
                    route,
                    command,
                    within,
                });
            }
        }
        turns
    }

    /// The indices of the stages that may run next at the same time: the first one, and those of
    /// the same name that are independent of all before them.
    fn together(&self, most: usize) -> Vec<usize> {
        if self.stopped_by.is_some() {
            return Vec::new();
        }
        let runs = |stage: &&PlannedStage| matches!(stage.work, Work::Run(_));
        let first = self.waiting.iter().find(runs).map(|stage| stage.name);
        let same = self.waiting.iter().enumerate();
        let same = same.filter(|(_, stage)| Some(stage.name) == first);
        let mut before: Vec<&StageCommand> = Vec::new();
        let mut together = Vec::new();
        for (at, stage) in same {
            let Work::Run(command) = &stage.work else {
                continue;
            };
            if before.iter().all(|one| one.is_independent_of(command)) {
                together.push(at);
            }
            before.push(command);
        }
        together.truncate(most.max(1));
        together
    }

    /// Takes the result of the stage that [`Sequence::next`] returned.
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

/// The advice for a stage that ended like this.
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

/// The time until a deadline; zero after it.
pub fn time_left(now: Timestamp, deadline: Timestamp) -> Duration {
    let millis = deadline
        .as_millisecond()
        .saturating_sub(now.as_millisecond());
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

#[cfg(test)]
#[path = "sequence_tests.rs"]
mod tests;
