//! The plan of a verification: the stages of each route, in order.

use super::envelope::StageName;
use super::ready::Ready;
use crate::settings::StageNetwork;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// One stage to run, or a stage without work and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedStage {
    /// The name of the stage.
    pub name: StageName,
    /// The route it belongs to.
    pub route: String,
    /// The work of the stage.
    pub work: Work,
}

/// The work of a planned stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// A command to run; the gate requires it to pass.
    Run(StageCommand),
    /// No work, for this reason; the gate does not require the stage.
    Nothing(String),
}

/// A command of a stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StageCommand {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// The folder, relative to the workspace; empty for the workspace itself.
    pub dir: String,
    /// Variables in addition to the stage's environment.
    pub env: Vec<(String, String)>,
    /// Names of variables that it gets from the user's environment.
    pub pass_env: Vec<String>,
    /// The time limit.
    pub timeout: Duration,
    /// Network access; `None` inherits the setting of all stages.
    pub network: Option<StageNetwork>,
    /// The readiness condition of a startup smoke test that keeps running.
    pub ready: Option<Ready>,
    /// Programs that run at the same time.
    pub services: Vec<Service>,
    /// Changed members of a workspace; some test of this command must exercise each.
    pub members: Vec<TestedMember>,
}

/// A changed member of a workspace, with the names of the parts whose tests exercise it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TestedMember {
    /// The member's name.
    pub name: String,
    /// The names of its own test binaries or packages and of those that depend on it.
    pub units: Vec<String>,
}

impl StageCommand {
    /// Whether both may run at the same time: their folders are separate. A command in the root of
    /// the repository may change everything.
    pub fn is_independent_of(&self, other: &Self) -> bool {
        let contains = |outer: &str, inner: &str| {
            let rest = inner.strip_prefix(outer);
            outer.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let (one, two) = (
            self.dir.trim_end_matches('/'),
            other.dir.trim_end_matches('/'),
        );
        !contains(one, two) && !contains(two, one)
    }
}

/// A program that a command needs while it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// Its name in reports.
    pub name: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// The condition that shows that it is ready.
    pub ready: Ready,
    /// The time limit until it is ready.
    pub within: Duration,
}

/// The default timeouts of the stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageTimeouts {
    /// For `compile`.
    pub compile: Duration,
    /// For `targetedTests`.
    pub targeted_tests: Duration,
    /// For `startupSmoke`.
    pub startup_smoke: Duration,
}

impl Default for StageTimeouts {
    fn default() -> Self {
        Self {
            compile: Duration::from_secs(600),
            targeted_tests: Duration::from_secs(600),
            startup_smoke: Duration::from_secs(30),
        }
    }
}

impl StageTimeouts {
    /// The timeout of one stage.
    pub fn of(&self, name: StageName) -> Duration {
        match name {
            StageName::Compile => self.compile,
            StageName::TargetedTests => self.targeted_tests,
            StageName::StartupSmoke => self.startup_smoke,
        }
    }
}

/// All stages of a verification, with notes for the report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The stages, in the order they run.
    pub stages: Vec<PlannedStage>,
    /// Notes for the report.
    pub notes: Vec<String>,
}

impl Plan {
    /// Orders the stages: `compile` of every route comes before the first `targetedTests`, and
    /// within a stage the routes keep their order.
    pub fn ordered(mut stages: Vec<PlannedStage>, notes: Vec<String>) -> Self {
        stages.sort_by_key(|stage| stage.name);
        Self { stages, notes }
    }
}
