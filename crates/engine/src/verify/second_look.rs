//! Repeats a failed stage on the same tree and on the base.

use super::StageEnv;
use super::stage::StageRunner;
use super::verifier::{Verifier, VerifyRequest};
use crate::CancelToken;
use drive_core::Problem;
use drive_core::ids::{CommitSha, RunId};
use drive_core::settings::{Day, FlakyTests};
use drive_core::time::Timestamp;
use drive_core::verify::{
    OnBase, Plan, PlannedStage, Scope, Stage, StageStatus, Turn, Work, attributed, blames_machine,
    deserves_second_look, expired, flaky, gone, may_be_flaky, on_base, quarantined, time_left,
};

/// The data for repeating a stage.
pub(super) struct SecondLook<'a> {
    pub(super) verifier: &'a Verifier<'a>,
    pub(super) request: &'a VerifyRequest,
    /// The stages of the candidate.
    pub(super) plan: &'a Plan,
    /// The verified commit.
    pub(super) commit: &'a CommitSha,
    /// The files of its tree.
    pub(super) files: &'a [String],
    /// The candidate's changes.
    pub(super) scope: &'a Scope,
    /// The commit that the candidate was merged into.
    pub(super) base: Option<&'a CommitSha>,
    pub(super) deadline: Timestamp,
    pub(super) cancel: &'a CancelToken,
}

impl SecondLook<'_> {
    /// The stage with its fault attributed, if it failed by itself.
    pub(super) fn take(&self, stage: Stage, turn: &Turn, progress: &mut dyn FnMut(&str)) -> Stage {
        if !deserves_second_look(&stage) {
            return stage;
        }
        let rules = &self.request.rules;
        let today = Day::of(self.verifier.clock.now());
        let mut known = quarantined(&stage, &rules.quarantine, today);
        // A test that is known to be flaky is retried even if no retries are set. A stage that
        // reached a limit is not retried, because it would reach it again.
        let retries = if may_be_flaky(&stage) {
            rules.retries.max(u32::from(known.is_some()))
        } else {
            0
        };
        let mut unmade = None;
        for attempt in 1..=retries {
            progress(&format!(
                "{} ({}) failed; retry {attempt} of {retries}",
                turn.name.words(),
                turn.route,
            ));
            // The retry gets its own workspace: remains of the first try must not make it pass.
            let tried = self.in_fresh("retry", self.commit, |stage_env| {
                self.run_up_to(turn, self.plan, stage_env)
            });
            let second = match tried {
                Ok(Tried::Ran(second)) => second,
                Ok(Tried::Not(because)) => {
                    unmade = Some(format!("retry {attempt} skipped: {because}"));
                    continue;
                }
                Err(problem) => {
                    unmade = Some(format!("retry {attempt} skipped: {problem}"));
                    continue;
                }
            };
            if second.status == StageStatus::Pass {
                let policy = match known {
                    Some(_) => FlakyTests::Allow,
                    None => rules.flaky,
                };
                return with_reason(flaky(&stage, *second, policy), known);
            }
            // Another test failed, which the quarantine does not cover.
            known = known.filter(|_| quarantined(&second, &rules.quarantine, today).is_some());
        }
        let over = expired(&stage, &rules.quarantine, today);
        let on_base = self.on_base(turn, progress).unwrap_or_else(|problem| {
            // A comparison that did not take place proves nothing.
            OnBase::Unknown(Some(problem.to_string()))
        });
        let may_be_gone = on_base == OnBase::Passes && retries == 0 && blames_machine(&stage);
        if may_be_gone && self.passes_now(turn, progress) {
            return gone(stage);
        }
        with_reason(with_reason(attributed(stage, &on_base), over), unmade)
    }

    /// Whether the stage passes on the candidate now. This is tried if the first failure looked
    /// like the machine's and the base did not have it.
    fn passes_now(&self, turn: &Turn, progress: &mut dyn FnMut(&str)) -> bool {
        progress(&format!(
            "{} ({}) seems to have failed because of the machine; retrying",
            turn.name.words(),
            turn.route,
        ));
        let tried = self.in_fresh("again", self.commit, |stage_env| {
            self.run_up_to(turn, self.plan, stage_env)
        });
        match tried {
            Ok(Tried::Ran(second)) => second.status == StageStatus::Pass,
            Ok(Tried::Not(_)) | Err(_) => false,
        }
    }

    /// The turn with the remaining time; `None` if no time is left or a stop was requested.
    fn again(&self, turn: &Turn) -> Option<Turn> {
        let left = time_left(self.verifier.clock.now(), self.deadline);
        let goes_on = !left.is_zero() && self.cancel.asked().is_none();
        goes_on.then(|| Turn {
            within: turn.command.timeout.min(left),
            ..turn.clone()
        })
    }

    /// Runs the stages of the route up to the failed one on the base.
    fn on_base(&self, turn: &Turn, progress: &mut dyn FnMut(&str)) -> Result<OnBase, Problem> {
        let Some(base) = self.compared_base() else {
            return Ok(OnBase::Unknown(None));
        };
        progress(&format!(
            "{} ({}) failed; comparing with base {}",
            turn.name.words(),
            turn.route,
            base.short()
        ));
        let tried = self.in_fresh("base", base, |stage_env| {
            let known = self.commands_on_base(stage_env)?;
            if known.stages.iter().any(|one| is_same(one, turn)) {
                self.run_up_to(turn, self.plan, stage_env)
            } else {
                Ok(Tried::Not("the base has no such stage".to_owned()))
            }
        })?;
        Ok(match tried {
            Tried::Ran(stage) => on_base(*stage),
            Tried::Not(because) => OnBase::Unknown(Some(because)),
        })
    }

    /// Does something in a workspace of its own, which is removed afterwards.
    pub(super) fn in_fresh<T>(
        &self,
        what: &str,
        commit: &CommitSha,
        act: impl FnOnce(&StageEnv) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let run = RunId::new(format!("{}-{what}", self.request.run));
        let workspaces = self.verifier.workspaces;
        let rules = &self.request.rules;
        let workspace = workspaces.open(&run, &self.request.repo, commit, rules)?;
        let stage_env = StageEnv {
            workspace: workspace.clone(),
            rules: rules.clone(),
        };
        let tried = act(&stage_env);
        let closed = workspaces.close(&workspace);
        let tried = tried?;
        closed.map(|()| tried)
    }

    /// Runs a stage after the earlier stages of its route.
    pub(super) fn run_up_to(
        &self,
        turn: &Turn,
        plan: &Plan,
        stage_env: &StageEnv,
    ) -> Result<Tried, Problem> {
        let stages = StageRunner {
            runner: self.verifier.runner,
            workspaces: self.verifier.workspaces,
            stage_env,
            helpers: &self.request.helpers,
            cancel: self.cancel,
        };
        let no_time = || Ok(Tried::Not("`verify.deadline` was reached".to_owned()));
        // A stage may have several commands, and each needs those before it.
        let is_turn = |one: &PlannedStage| {
            one.name == turn.name
                && one.route == turn.route
                && one.work == Work::Run(turn.command.clone())
        };
        let before = plan.stages.iter().take_while(|one| !is_turn(one));
        let before = before.filter(|one| one.route == turn.route);
        let before = before.filter_map(|one| match &one.work {
            Work::Run(command) => Some(Turn {
                name: one.name,
                route: one.route.clone(),
                command: command.clone(),
                within: command.timeout,
            }),
            Work::Nothing(_) => None,
        });
        for earlier in before {
            let Some(earlier) = self.again(&earlier) else {
                return no_time();
            };
            let stage = stages.run(&earlier).stage;
            if stage.status != StageStatus::Pass {
                return Ok(Tried::Not(format!("{} failed there", earlier.name.words())));
            }
        }
        let Some(again) = self.again(turn) else {
            return no_time();
        };
        let stage = stages.run(&again).stage;
        if stage.status == StageStatus::Timeout && again.within < turn.within {
            // It had less time than the first run.
            return no_time();
        }
        Ok(Tried::Ran(Box::new(stage)))
    }

    /// The candidate's changes to files that the base has.
    pub(super) fn known_on_base(&self, stage_env: &StageEnv) -> Scope {
        match self.scope {
            Scope::Everything => Scope::Everything,
            Scope::Changed(paths) => {
                let files = &stage_env.workspace.files;
                let known = paths.iter().filter(|path| files.contains(path));
                Scope::Changed(known.cloned().collect())
            }
        }
    }

    /// The commands that would verify the base itself: a command that it lacks cannot fail there.
    pub(super) fn commands_on_base(&self, stage_env: &StageEnv) -> Result<Plan, Problem> {
        let rules = &self.request.rules;
        let files = &stage_env.workspace.files;
        let covered = rules.routes.iter().filter(|route| {
            // A bad glob was reported before the first stage.
            route
                .covers_any(files.iter().map(String::as_str))
                .unwrap_or(false)
        });
        let names: Vec<&String> = covered.map(|route| &route.name).collect();
        let own = self.plan.stages.iter();
        let own = own.filter(|stage| names.contains(&&stage.route));
        let mut stages: Vec<PlannedStage> = own.cloned().collect();
        let is_detected = |stage: &PlannedStage| !rules.has_route(&stage.route);
        if self.plan.stages.iter().any(is_detected) {
            let plan = |scope: &Scope| self.verifier.detected(stage_env, scope, self.cancel);
            let everything = plan(&Scope::Everything);
            // Another project in the tree that cannot be planned does not matter for this one.
            let plan = everything.or_else(|_| plan(&self.known_on_base(stage_env)));
            stages.extend(plan.unwrap_or_default().stages);
        }
        Ok(Plan::ordered(stages, Vec::new()))
    }
}

/// Adds to the reason of a stage's end.
pub(super) fn with_reason(mut stage: Stage, more: Option<String>) -> Stage {
    if let Some(more) = more {
        let reason = stage.reason.map(|reason| format!("{reason}; {more}"));
        stage.reason = Some(reason.unwrap_or(more));
    }
    stage
}

/// Whether a planned stage is the one of a turn, with any command.
fn is_same(one: &PlannedStage, turn: &Turn) -> bool {
    match &one.work {
        Work::Run(command) => {
            let place = (one.name, &one.route, &command.dir);
            place == (turn.name, &turn.route, &turn.command.dir)
        }
        Work::Nothing(_) => false,
    }
}

/// The result of a second run.
pub(super) enum Tried {
    /// The stage ran.
    Ran(Box<Stage>),
    /// The stage did not run, for this reason.
    Not(String),
}
