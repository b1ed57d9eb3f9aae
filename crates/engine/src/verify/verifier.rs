//! The verifier's ports, its request and its result.

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

/// A verification request.
#[derive(Clone, Debug)]
pub struct VerifyRequest {
    /// The run it belongs to.
    pub run: RunId,
    /// The repository: the caller's checkout or its git directory. It is only read.
    pub repo: PathBuf,
    /// The candidate.
    pub revision: String,
    /// The base to merge into; `None` verifies the whole tree, and nothing can be promoted.
    pub base: Option<String>,
    /// Whether the candidate is verified without a merge; then nothing can be promoted either.
    pub head_only: bool,
    /// The rules.
    pub rules: Rules,
    /// The source of the rules.
    pub rules_from: RulesFrom,
    /// Notes about the rules, for the report.
    pub notes: Vec<String>,
    /// The helper programs that wait until other programs are ready.
    pub helpers: Helpers,
    /// Whether known verdicts are ignored.
    pub fresh: bool,
}

/// Program and first arguments of the helpers that start programs inside a stage's containment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Helpers {
    /// Starts a program, waits until it is ready, and ends it.
    pub startup: Vec<OsString>,
    /// Starts services, runs a command while they run, and ends them.
    pub services: Vec<OsString>,
}

/// A finished verification.
#[derive(Clone, Debug)]
pub struct Verified {
    /// The envelope.
    pub report: Verification,
    /// Why it is not a success, and who must act; `None` only for a pass.
    pub problem: Option<Problem>,
}

/// The verifier over its ports.
pub struct Verifier<'a> {
    /// The clock.
    pub clock: &'a dyn Clock,
    /// Starts processes.
    pub runner: &'a dyn ProcessRunner,
    /// Resolves and merges commits.
    pub candidates: &'a dyn Candidates,
    /// Checks out ephemeral workspaces.
    pub workspaces: &'a dyn Workspaces,
    /// Detects the project's build and test commands.
    pub projects: &'a dyn Projects,
    /// The machine's limit on simultaneous verifications.
    pub slots: &'a dyn Slots,
    /// The store of reports.
    pub reports: &'a dyn Reports,
}

impl Verifier<'_> {
    /// The stages for a scope in this workspace: those of the routes, and those of the projects
    /// that contain paths without a route.
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

    /// The stages for a scope, from the projects in this workspace.
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

/// Why there are no stages to run.
pub(super) enum Stop {
    /// The candidate or its base is at fault.
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
