//! The beginning of a phase: names, a branch, the sandbox.

use super::super::effect::{AgentJob, Effect, EffectResult};
use super::super::request::Adopted;
use super::super::spawn::sandbox_spec;
use super::{Flight, Round, RoundJob, RoundStep, Stage};
use crate::agent::Role;
use crate::agent::answer::read_naming;
use crate::prompts::Prompt;
use crate::review::{LastWord, Move, ReviewLoop, ReviewPlan};
use crate::sandbox::Lifetime;

/// How often another name is looked for.
const MOST_NAMES: u32 = 5;

impl Flight<'_> {
    pub(super) fn name(&mut self) {
        let prompt = self.terms.prompts.render(&Prompt::Name {
            task: &self.request.task,
        });
        let job = AgentJob {
            model: self.terms.namer_model.clone(),
            ..self.job(self.terms.namer.clone(), Role::Namer, prompt)
        };
        self.start(None, job);
    }

    /// Whatever came of the namer, there are names now.
    pub(super) fn named(&mut self, result: &EffectResult) {
        let mut text = "";
        if let EffectResult::AgentEnded { outcome, .. } = result {
            text = &outcome.text;
        } else if let EffectResult::Failed { problem } = result {
            self.cruise.record.job_failed(problem, self.now);
            self.run
                .warnings
                .push(format!("the names come from the task: {problem}"));
        }
        let naming = read_naming(text, &self.request.task);
        self.cruise.title = naming.pr_title;
        self.cruise.stage = Stage::ChoosingBranch;
        let remote = self.remote().map(str::to_owned);
        let wanted = self.terms.branch.clone().unwrap_or(naming.branch_name);
        self.run.decide(Effect::ChooseBranch { wanted, remote });
    }

    pub(super) fn branch_chosen(&mut self, result: EffectResult) {
        let EffectResult::BranchChosen { branch } = result else {
            return self.give_up(result);
        };
        self.cruise.stage = Stage::CreatingSandbox;
        let mut spec = sandbox_spec(self.run, self.request, &branch);
        // It outlives every agent and the program; the end of the phase removes it.
        spec.lifetime = Lifetime::Persistent;
        self.run.decide(Effect::CreateSandbox { spec });
    }

    /// A name that was free a moment ago may be somebody else's by now: then another one is found.
    pub(super) fn sandbox_created(&mut self, effect: &Effect, result: EffectResult) {
        let EffectResult::SandboxCreated { sandbox } = result else {
            return match (taken(effect, &result), self.cruise.names_taken) {
                (Some(branch), ..MOST_NAMES) => self.choose_beside(branch),
                (_, _) => self.give_up(result),
            };
        };
        let path = sandbox.path.to_string_lossy();
        self.cruise.record.sandbox = Some(path.into_owned());
        self.plan();
    }

    fn choose_beside(&mut self, branch: &str) {
        self.cruise.names_taken += 1;
        self.cruise.stage = Stage::ChoosingBranch;
        let remote = self.remote().map(str::to_owned);
        let wanted = format!("{branch}-2");
        self.run.decide(Effect::ChooseBranch { wanted, remote });
    }

    /// Goes on with a phase whose journal is gone. Which reviews there were is not known beyond the
    /// domain that was under review.
    pub(super) fn adopt(&mut self, adopted: &Adopted) {
        let sandbox = adopted.sandbox.clone();
        self.cruise.record.sandbox = Some(sandbox.path.to_string_lossy().into_owned());
        self.run.work.branch.clone_from(&sandbox.branch);
        self.run.work.head_sha = Some(adopted.head_sha.clone());
        self.run.work.pull_request = Some(adopted.pull_request.clone());
        self.run.sandboxes.insert(sandbox.id.clone(), sandbox);
        self.cruise.title.clone_from(&adopted.title);
        self.cruise.rounds = adopted.rounds;
        self.cruise.watch.fresh = false;
        self.cruise.next = Move::Done(LastWord::Inconclusive);
        if let Some(domain) = adopted.domain {
            let mut plan = ReviewPlan::by_domain(self.terms.max_iterations);
            plan.domains.retain(|one| *one >= Some(domain));
            (self.cruise.review, self.cruise.next) = ReviewLoop::begin(plan);
        }
        self.active();
        // What an agent left that was at work then must not be in the way of a merge.
        self.commit(Round {
            number: 0,
            job: RoundJob::Adopt,
            step: RoundStep::Commit,
            head_before: Some(adopted.head_sha.clone()),
            answers: Vec::new(),
        });
    }
}

/// The branch that a sandbox could not have because it is somebody else's.
fn taken<'a>(effect: &'a Effect, result: &EffectResult) -> Option<&'a str> {
    let (Effect::CreateSandbox { spec }, EffectResult::Failed { problem }) = (effect, result)
    else {
        return None;
    };
    let is_taken = matches!(problem.kind.as_str(), "branchExists" | "branchCheckedOut");
    spec.branch.as_deref().filter(|_| is_taken)
}
