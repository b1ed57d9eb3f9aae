//! Preflight → slot → workspace → plan → stages → clean-up → report.

use super::ports::{Merging, Slot, Workspace, Workspaces};
use super::second_look::SecondLook;
use super::stage::{RanStage, StageRunner};
use super::verifier::{Stop, Verified, Verifier, VerifyRequest};
use super::{ReportDraft, StageEnv};
use crate::CancelToken;
use drive_core::ids::CommitSha;
use drive_core::problem::Kind;
use drive_core::time::{self, Timestamp};
use drive_core::verify::{
    Failure, FailureCategory, Fault, Next, Overall, Scope, Sequence, Stage, StageStatus,
    VerdictKey, Verification, removed_tests, split_routes,
};
use drive_core::{Class, Problem};

type Ending = (Vec<Stage>, Overall, Option<Failure>);

/// The origin of a verdict.
enum Judged {
    /// Its stages ran.
    Ran(Ending),
    /// An earlier verdict of the same verification is reused.
    Known(Box<Verification>),
}

impl Verifier<'_> {
    /// Verifies a commit. There is always a report, which is stored; `progress` is called for each step.
    pub fn verify(
        &self,
        request: &VerifyRequest,
        cancel: &CancelToken,
        progress: &mut dyn FnMut(&str),
    ) -> Verified {
        let started_at = self.clock.now();
        let mut draft = ReportDraft::new(request.run.clone(), started_at);
        let deadline = time::after(started_at, request.rules.deadline);
        let mut key = None;
        let judged = self.judge(request, deadline, cancel, &mut draft, &mut key, progress);
        let (mut report, class) = match judged {
            Ok(Judged::Known(report)) => (*report, None),
            Ok(Judged::Ran(ending)) => (draft.finish(self.clock.now(), ending), None),
            Err(stop) => {
                let (ending, class) = stop.into_ending();
                (draft.finish(self.clock.now(), ending), class)
            }
        };
        if let Err(problem) = self.reports.save(&report) {
            report
                .notes
                .push(format!("could not save the report: {problem}"));
        } else {
            self.remember(key.as_ref(), &report);
        }
        let problem = problem_of(&report, class, cancel);
        Verified { report, problem }
    }

    fn judge(
        &self,
        request: &VerifyRequest,
        deadline: Timestamp,
        cancel: &CancelToken,
        draft: &mut ReportDraft,
        key: &mut Option<VerdictKey>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Judged, Stop> {
        draft.candidate.rules_from = Some(request.rules_from.clone());
        draft.notes.extend(request.notes.iter().cloned());
        let (commit, scope) = self.preflight(request, draft)?;
        let rules = &request.rules;
        *key = self.key_of(request, &commit, &scope, draft);
        let known = key
            .as_ref()
            .and_then(|key| self.recall(request, key, draft.started_at(), draft));
        if let Some(known) = known {
            return Ok(Judged::Known(Box::new(known)));
        }
        let _slot = self.slots.acquire(rules.max_parallel, deadline, cancel)?;
        match self.workspaces.sweep() {
            Ok(notes) => notes.iter().for_each(|note| progress(note)),
            Err(problem) => draft
                .notes
                .push(format!("could not remove an earlier workspace: {problem}")),
        }
        progress("creating the workspace");
        let workspace = self
            .workspaces
            .open(&request.run, &request.repo, &commit, rules)?;
        let closing = Closing::of(self.workspaces, &workspace);
        draft.opened(&workspace.path);
        draft.notes.extend(workspace.notes.iter().cloned());
        let stage_env = StageEnv {
            workspace,
            rules: rules.clone(),
        };
        let ending = self.run_stages(
            request, &commit, &stage_env, &scope, deadline, cancel, draft, progress,
        );
        if let Err(problem) = closing.close() {
            progress(&format!("could not remove the workspace: {problem}"));
            draft.workspace.removal_problem = Some(problem.to_string());
        }
        ending.map(Judged::Ran)
    }

    /// Checks quickly, before anything is created, whether everything exists, the merge applies,
    /// and there is anything to verify. Returns the commit whose tree would land.
    fn preflight(
        &self,
        request: &VerifyRequest,
        draft: &mut ReportDraft,
    ) -> Result<(CommitSha, Scope), Stop> {
        let repo = &request.repo;
        let head = self.candidates.resolve(repo, &request.revision)?;
        draft.candidate.head_sha = Some(head.clone());
        let Some(base) = &request.base else {
            return Ok((head, Scope::Everything));
        };
        let base = self.candidates.resolve(repo, base)?;
        draft.candidate.base_sha = Some(base.clone());
        let (commit, since) = if request.head_only {
            let since = self.candidates.fork_point(repo, &base, &head)?;
            (head, since.unwrap_or(base))
        } else {
            match self
                .candidates
                .merge(repo, &base, &head)
                .map_err(unmergeable)?
            {
                Merging::Conflicts(paths) => return Err(Stop::Failed(conflict(&paths))),
                Merging::Clean { commit, tree } => {
                    draft.candidate.merged_tree_sha = Some(tree);
                    (commit, base)
                }
            }
        };
        let changed = self.candidates.changed_paths(repo, &since, &commit)?;
        draft.protect(&request.rules, &changed)?;
        let scope = Scope::Changed(changed);
        if !request.rules.routes.is_empty() {
            // Explicit routes need no tree, so a bad one is reported before anything is created.
            split_routes(&request.rules.routes, &scope)?;
        }
        Ok((commit, scope))
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one step of one service, cut out to be read alone"
    )]
    fn run_stages(
        &self,
        request: &VerifyRequest,
        commit: &CommitSha,
        stage_env: &StageEnv,
        scope: &Scope,
        deadline: Timestamp,
        cancel: &CancelToken,
        draft: &mut ReportDraft,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Ending, Stop> {
        let base = draft.candidate.base_sha.clone();
        let plan = match self.plan(stage_env, scope, cancel) {
            Ok(plan) => plan,
            Err(stop) => return Err(self.unplanned(stop, request, base.as_ref(), cancel)),
        };
        draft.notes.extend(plan.notes.iter().cloned());
        let second_look = SecondLook {
            verifier: self,
            request,
            plan: &plan.clone(),
            commit,
            files: &stage_env.workspace.files,
            scope,
            base: base.as_ref(),
            deadline,
            cancel,
        };
        if let Scope::Changed(changed) = scope {
            draft
                .notes
                .extend(removed_tests(changed, second_look.files));
        }
        let dropped = second_look.dropped(progress)?;
        if let Some(failure) = dropped {
            return Err(Stop::Failed(failure));
        }
        let stages = StageRunner {
            runner: self.runner,
            workspaces: self.workspaces,
            stage_env,
            helpers: &request.helpers,
            cancel,
        };
        let at_once = usize::try_from(request.rules.max_parallel).unwrap_or(usize::MAX);
        let mut sequence = Sequence::new(plan, deadline);
        loop {
            // Each stage besides the first one needs a slot, as a verification would.
            let beside = sequence.width(at_once).saturating_sub(1);
            let spare: Vec<Slot> = (0..beside)
                .map_while(|_| self.slots.spare(request.rules.max_parallel))
                .collect();
            let Next::Run(turns) = sequence.next(self.clock.now(), 1 + spare.len()) else {
                return Ok(sequence.finish());
            };
            for turn in &turns {
                progress(&format!(
                    "{} ({}): {}",
                    turn.name.words(),
                    turn.route,
                    turn.command.argv.join(" ")
                ));
            }
            let ran = stages.run_together(&turns);
            drop(spare);
            for (one, turn) in ran.into_iter().zip(&turns) {
                note_run(&one, draft, progress);
                let stage = match one.stage.status {
                    StageStatus::Pass => second_look.counted(one.stage, turn, progress),
                    StageStatus::Fail
                    | StageStatus::Timeout
                    | StageStatus::Error
                    | StageStatus::Skipped => second_look.take(one.stage, turn, progress),
                };
                if stage.fault == Some(Fault::Flaky) && stage.status == StageStatus::Pass {
                    let why = stage.reason.as_deref().unwrap_or_default();
                    let name = stage.name.words();
                    draft
                        .notes
                        .push(format!("flaky: {name} of route `{}`: {why}", stage.route));
                }
                sequence.record(stage);
            }
        }
    }
}

/// Records the isolation layers of a stage, the hosts it tried to reach, and the processes it left.
fn note_run(ran: &RanStage, draft: &mut ReportDraft, progress: &mut dyn FnMut(&str)) {
    let stage = &ran.stage;
    let name = stage.name.words();
    draft.held_by(&ran.layers);
    for host in &ran.hosts {
        let note = format!("{name} of route `{}` {host}", stage.route);
        progress(&note);
        draft.notes.push(note);
    }
    if stage.status == StageStatus::Pass && stage.leaked_processes > 0 {
        let count = stage.leaked_processes;
        let left = match count {
            1 => "1 process running, which was killed".to_owned(),
            _ => format!("{count} processes running, which were killed"),
        };
        draft
            .notes
            .push(format!("{name} of route `{}` left {left}", stage.route));
    }
}

/// Removes the workspace even when a panic unwinds.
pub(super) struct Closing<'a> {
    workspaces: &'a dyn Workspaces,
    workspace: Option<Workspace>,
}

impl<'a> Closing<'a> {
    pub(super) fn of(workspaces: &'a dyn Workspaces, workspace: &Workspace) -> Self {
        Self {
            workspaces,
            workspace: Some(workspace.clone()),
        }
    }

    pub(super) fn close(mut self) -> Result<(), Problem> {
        match self.workspace.take() {
            Some(workspace) => self.workspaces.close(&workspace),
            None => Ok(()),
        }
    }
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        if let Some(workspace) = self.workspace.take() {
            // Nobody receives a result here; the next start sweeps.
            let _ = self.workspaces.close(&workspace);
        }
    }
}

impl Stop {
    fn into_ending(self) -> (Ending, Option<Class>) {
        match self {
            Stop::Failed(failure) => (
                (Vec::new(), Overall::Fail, Some(failure)),
                Some(Class::Work),
            ),
            Stop::Problem(problem) => {
                let class = problem.class();
                let category = match class {
                    Class::Usage => FailureCategory::Policy,
                    Class::Work | Class::Environment | Class::Interrupted => FailureCategory::Infra,
                };
                let failure = Failure {
                    category,
                    reason: problem.to_string(),
                    stage: None,
                    hint: problem.hint,
                };
                ((Vec::new(), Overall::Error, Some(failure)), Some(class))
            }
        }
    }
}

/// A candidate whose history is unrelated to its base has failed.
fn unmergeable(problem: Problem) -> Stop {
    if problem.kind != Kind::HistoryUnrelated {
        return Stop::Problem(problem);
    }
    Stop::Failed(Failure {
        category: FailureCategory::Policy,
        reason: problem.to_string(),
        stage: None,
        hint: problem.hint,
    })
}

fn conflict(paths: &[String]) -> Failure {
    let named: Vec<String> = paths.iter().take(5).map(|p| format!("`{p}`")).collect();
    Failure {
        category: FailureCategory::Policy,
        reason: format!(
            "cannot be merged into its base: conflict in {}",
            named.join(", ")
        ),
        stage: None,
        hint: Some(
            "rebase the commit, or merge the base into it, then verify the new commit".to_owned(),
        ),
    }
}

/// The problem of a verification, whose class decides the command's exit code.
fn problem_of(
    report: &Verification,
    class: Option<Class>,
    cancel: &CancelToken,
) -> Option<Problem> {
    let failure = report.failure.as_ref()?;
    let message = format!(
        "verification failed: {}: {}",
        failure.category.as_str(),
        failure.reason
    );
    let kind = match (report.overall, class) {
        (Overall::Error, _) if cancel.asked().is_some() => Kind::Interrupted,
        (Overall::Error, Some(Class::Interrupted)) => Kind::Interrupted,
        (Overall::Error, Some(Class::Usage)) => Kind::VerificationRefused,
        (Overall::Error, Some(Class::Environment) | None) => Kind::VerificationNotRun,
        (Overall::Error, Some(Class::Work))
        | (Overall::Pass | Overall::Fail | Overall::Timeout, _) => Kind::VerificationFailed,
    };
    Some(Problem {
        hint: failure.hint.clone(),
        ..Problem::new(kind, message)
    })
}

#[cfg(test)]
#[path = "service_tests.rs"]
mod tests;
