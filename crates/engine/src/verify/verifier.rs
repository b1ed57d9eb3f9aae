//! The verifier's ports, what it is asked and what it answers.

use super::StageEnv;
use super::ports::{Candidates, Projects, Reports, Slots, Workspaces};
use crate::CancelToken;
use crate::ports::{Clock, ProcessRunner};
use drive_core::Problem;
use drive_core::ids::RunId;
use drive_core::verify::{
    Failure, FailureCategory, Plan, RouteProblem, Rules, RulesFrom, Scope, Verification, detect,
    split_routes,
};
use std::ffi::OsString;
use std::path::PathBuf;

/// What to verify, and by which rules.
#[derive(Clone, Debug)]
pub struct VerifyRequest {
    /// The run it belongs to.
    pub run: RunId,
    /// The repository: the caller's checkout or its git folder. It is only read.
    pub repo: PathBuf,
    /// The candidate.
    pub revision: String,
    /// What it is merged into; without, the whole tree is judged and nothing can be promoted.
    pub base: Option<String>,
    /// Whether the candidate is judged as it is, not merged: nothing can be promoted either.
    pub head_only: bool,
    /// The rules.
    pub rules: Rules,
    /// Where they were read.
    pub rules_from: RulesFrom,
    /// What the report should say about them.
    pub notes: Vec<String>,
    /// The programs that wait until others are ready.
    pub helpers: Helpers,
    /// Whether a verdict that is known already is not asked for.
    pub fresh: bool,
}

/// Program and first arguments of the helpers that start programs inside a stage's containment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Helpers {
    /// Waits until a program is ready, and ends it.
    pub startup: Vec<OsString>,
    /// Starts services, runs a command beside them, and ends them.
    pub services: Vec<OsString>,
}

/// A finished verification.
#[derive(Clone, Debug)]
pub struct Verified {
    /// The envelope.
    pub report: Verification,
    /// What keeps it from being a success, with who must act; `None` exactly for a pass.
    pub problem: Option<Problem>,
}

/// The verifier over its ports.
pub struct Verifier<'a> {
    /// Tells the time.
    pub clock: &'a dyn Clock,
    /// Starts processes.
    pub runner: &'a dyn ProcessRunner,
    /// Resolves and merges commits.
    pub candidates: &'a dyn Candidates,
    /// Checks out ephemeral workspaces.
    pub workspaces: &'a dyn Workspaces,
    /// Detects the project's build and test commands.
    pub projects: &'a dyn Projects,
    /// The machine's limit.
    pub slots: &'a dyn Slots,
    /// The store of reports.
    pub reports: &'a dyn Reports,
}

impl Verifier<'_> {
    /// The stages that a scope needs in this workspace: those of the routes, and of the projects of what
    /// no route covers.
    pub(super) fn plan(
        &self,
        stage_env: &StageEnv,
        scope: &Scope,
        cancel: &CancelToken,
    ) -> Result<Plan, Stop> {
        let routes = &stage_env.rules.routes;
        if routes.is_empty() {
            return self.detected(stage_env, scope, cancel);
        }
        let (plan, uncovered) = split_routes(routes, scope)?;
        if uncovered.is_empty() {
            return Ok(plan);
        }
        let uncovered = Scope::Changed(uncovered);
        let detected = self.detected(stage_env, &uncovered, cancel)?;
        let stages = plan.stages.into_iter().chain(detected.stages);
        Ok(Plan::ordered(stages.collect(), detected.notes))
    }

    /// The stages that a scope needs by the projects of this workspace.
    pub(super) fn detected(
        &self,
        stage_env: &StageEnv,
        scope: &Scope,
        cancel: &CancelToken,
    ) -> Result<Plan, Stop> {
        let projects = self.projects.read(stage_env, cancel)?;
        let bounds = stage_env.rules.bounds();
        Ok(detect::plan_projects(&projects, scope, &bounds)?)
    }
}

/// Why there is no stage to judge by.
pub(super) enum Stop {
    /// The candidate, or its base, is to blame.
    Failed(Failure),
    Problem(Problem),
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Self {
        Stop::Problem(problem)
    }
}

impl From<RouteProblem> for Stop {
    fn from(problem: RouteProblem) -> Self {
        if let Some(problem) = problem.of_machine() {
            return Stop::Problem(problem);
        }
        Stop::Failed(Failure {
            category: FailureCategory::Policy,
            reason: problem.reason(),
            stage: None,
            hint: Some(problem.hint()),
        })
    }
}
