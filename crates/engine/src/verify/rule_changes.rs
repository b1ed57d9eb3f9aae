//! Compares the files that control what is tested with those of the base.

use super::StageEnv;
use super::second_look::{SecondLook, Tried, with_reason};
use super::verifier::{Stop, Verifier, VerifyRequest};
use crate::CancelToken;
use drive_core::ids::{CommitSha, RunId};
use drive_core::problem::{Kind, Problem};
use drive_core::settings::Baseline;
use drive_core::steering::{is_build_file, steering_files};
use drive_core::verify::{
    Failure, FailureCategory, PlannedStage, Scope, Stage, StageName, StageStatus, Turn, Work,
    detect, dropped, removed_tests, shrunk, silenced, testing,
};

impl SecondLook<'_> {
    /// A failure if a candidate that changes these files dropped commands of the base.
    pub(super) fn dropped(
        &self,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Option<Failure>, Problem> {
        let Scope::Changed(changed) = self.scope else {
            return Ok(None);
        };
        let Some(base) = self.compared_base() else {
            return Ok(None);
        };
        if !changed.iter().any(|path| detect::is_rule_file(path)) {
            return Ok(None);
        }
        progress(&format!("reading the commands of base {}", base.short()));
        let on_base = self.in_fresh("rules", base, |stage_env| {
            let scope = self.known_on_base(stage_env);
            // A base that cannot be planned has no commands to drop.
            let plan = self.verifier.plan(stage_env, &scope, self.cancel);
            Ok(plan.unwrap_or_default())
        })?;
        let is_detected = |stage: &&PlannedStage| !self.request.rules.has_route(&stage.route);
        let detected: Vec<&PlannedStage> = on_base.stages.iter().filter(is_detected).collect();
        Ok(dropped(&detected, self.plan, self.files))
    }

    /// Checks a passed stage of a detected project, if the candidate changes files that affect
    /// which tests run. If the stage reports no number of tests, it fails if the base runs some; if
    /// it ran fewer than the base, that is noted.
    pub(super) fn counted(
        &self,
        stage: Stage,
        turn: &Turn,
        progress: &mut dyn FnMut(&str),
    ) -> Stage {
        let is_passed = stage.name == StageName::TargetedTests && stage.status == StageStatus::Pass;
        let is_silent = stage.tests.is_none();
        let Scope::Changed(changed) = self.scope else {
            return stage;
        };
        let is_ruled = if is_silent {
            !steering_files(changed).is_empty()
        } else {
            let decides = |path: &String| detect::is_rule_file(path) || is_build_file(path);
            changed.iter().any(decides) || removed_tests(changed, self.files).is_some()
        };
        let Some(base) = self.compared_base() else {
            return stage;
        };
        if !is_passed || !is_ruled || self.request.rules.has_route(&turn.route) {
            return stage;
        }
        let number = if is_silent {
            " without a number of tests"
        } else {
            ""
        };
        progress(&format!(
            "{} ({}) passed{number}; counting the tests of base {}",
            turn.name.words(),
            turn.route,
            base.short()
        ));
        let tried = self.in_fresh("count", base, |stage_env| {
            self.same_on_base(turn, stage_env)
        });
        match tried {
            Ok(Tried::Ran(there)) if is_silent => silenced(stage, &there),
            Ok(Tried::Ran(there)) => shrunk(stage, &there),
            Ok(Tried::Not(because)) => uncounted(stage, &because),
            Err(problem) => uncounted(stage, &problem.to_string()),
        }
    }

    /// Runs the tests of the same folder, or of one around it, on the base with the base's own commands.
    fn same_on_base(&self, turn: &Turn, stage_env: &StageEnv) -> Result<Tried, Problem> {
        let plan = self.commands_on_base(stage_env)?;
        // The candidate may have another kind of project there, or a new one inside.
        let stage = testing(&plan, &turn.command.dir, &turn.route);
        let Some(PlannedStage {
            name,
            route,
            work: Work::Run(command),
        }) = stage
        else {
            return Ok(Tried::Not("the base has no such stage".to_owned()));
        };
        let turn = Turn {
            name: *name,
            route: route.clone(),
            command: command.clone(),
            within: command.timeout,
        };
        self.run_up_to(&turn, &plan, stage_env)
    }

    /// The base, if stages are compared with it.
    pub(super) fn compared_base(&self) -> Option<&CommitSha> {
        compared_base(self.request, self.base)
    }
}

fn compared_base<'a>(
    request: &VerifyRequest,
    base: Option<&'a CommitSha>,
) -> Option<&'a CommitSha> {
    match request.rules.baseline {
        Baseline::OnFailure => base,
        Baseline::Off => None,
    }
}

fn uncounted(stage: Stage, because: &str) -> Stage {
    let more = format!("the number of its tests was not compared with the base: {because}");
    with_reason(stage, Some(more))
}

impl Verifier<'_> {
    /// Why there is no plan. If a project cannot be read, the candidate is at fault if the base's
    /// can be, and the base is at fault if it cannot either.
    pub(super) fn unplanned(
        &self,
        stop: Stop,
        request: &VerifyRequest,
        base: Option<&CommitSha>,
        cancel: &CancelToken,
    ) -> Stop {
        let problem = match stop {
            Stop::Problem(problem) if problem.kind == Kind::ProjectUnreadable => problem,
            Stop::Problem(_) | Stop::Failed(_) => return stop,
        };
        let Some(base) = compared_base(request, base) else {
            return Stop::Problem(problem);
        };
        let run = RunId::new(format!("{}-base", request.run));
        let read = || {
            let rules = &request.rules;
            let workspace = self.workspaces.open(&run, &request.repo, base, rules)?;
            let stage_env = StageEnv {
                workspace: workspace.clone(),
                rules: rules.clone(),
            };
            let read = self.projects.read(&stage_env, cancel);
            let closed = self.workspaces.close(&workspace);
            let projects = read?;
            closed.map(|()| projects)
        };
        let (category, compared, hint) = match read() {
            Ok(_) => (
                FailureCategory::Compile,
                "it can be read on the base",
                "correct the file, then verify the new commit",
            ),
            Err(there) if there.kind == Kind::ProjectUnreadable => (
                FailureCategory::Baseline,
                "it cannot be read on the base either",
                "fix the base, then run `drive verify` again",
            ),
            Err(_) => return Stop::Problem(problem),
        };
        Stop::Failed(Failure {
            category,
            reason: format!("{problem}; {compared}"),
            stage: None,
            hint: problem.hint.or_else(|| Some(hint.to_owned())),
        })
    }
}
