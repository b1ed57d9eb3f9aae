//! The flow of `drive spawn-team`: name, work, publish, then review and fix until there is nothing
//! more to do.
//!
//! One sandbox serves them all. Which reviews there are and how often is the business of the
//! [`ReviewLoop`]; this flow asks it for the next [`Move`] and carries it out. What people write on
//! the pull request meanwhile comes before the next move.

mod finishing;
mod integration;
mod listening;
mod promoting;
mod review;
mod texts;
mod work;

pub use promoting::Judged;
pub use work::{Errand, ErrandStep};

use super::effect::{AgentJob, Effect, EffectResult};
use super::forge_act::ForgeAct;
use super::integrating::Integrating;
use super::leaving::leave;
use super::outcome::OutcomeStatus;
use super::request::{Kind, Publish, Request, TeamTerms};
use super::reviewing::{Record, Remark, Threads};
use super::spawn::sandbox_spec;
use super::{Flow, Run};
use crate::Problem;
use crate::agent::Role;
use crate::agent::answer::{read_naming, title_of};
use crate::forge::CommentKey;
use crate::ids::SandboxId;
use crate::prompts::Prompt;
use crate::review::{Domain, LastWord, Move, ReviewLoop, ReviewPlan};
use crate::settings::TeamMode;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

/// Where a team stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Team {
    /// What is being done.
    pub stage: TeamStage,
    /// The pull request's title.
    pub title: String,
    /// What the primary said at the end of its first work.
    pub summary: String,
    /// The loop over reviews and fixes.
    pub review: ReviewLoop,
    /// What comes once the queue is empty.
    pub next: Move,
    /// Remarks to work in first.
    pub queue: VecDeque<Remark>,
    /// Whether people were listened to before the next move.
    pub listened: bool,
    /// How often people had something to say after the last review.
    pub late_rounds: u32,
    /// How often the branch that the work goes to was looked at before the end.
    #[serde(default)]
    pub base_looks: u32,
    /// Up to where people were listened to.
    pub cursor: Option<Timestamp>,
    /// Versions of comments that were taken up.
    pub heard: BTreeSet<CommentKey>,
    /// What was said in the threads on lines.
    #[serde(default, skip_serializing_if = "Threads::is_empty")]
    pub threads: Threads,
    /// What all reviews together came to.
    pub verdict: Option<LastWord>,
    /// How often it was verified before the merge.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub verifications: u32,
    /// What the last verification came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Judged>,
    /// The commit on the base, once it is merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<String>,
    /// What happened.
    pub record: Record,
}

/// What a team does now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "stage")]
pub enum TeamStage {
    /// A title and a branch name are being found.
    Naming,
    /// A branch name that is free is being found.
    ChoosingBranch,
    /// The sandbox is being made.
    CreatingSandbox,
    /// The primary works: on the task, or on a remark.
    Working {
        /// On what, and how far it is.
        errand: Box<Errand>,
    },
    /// Others' commits are being brought in; then the errand is pushed.
    Integrating {
        /// Whose, and how far it is.
        merge: Box<Integrating>,
        /// The errand.
        errand: Box<Errand>,
    },
    /// The pull request is being opened.
    OpeningPullRequest,
    /// People are being listened to.
    Listening,
    /// What is to be reviewed is being read.
    ReadingDiff,
    /// The reviewer looks.
    Reviewing {
        /// At this change.
        diff: String,
    },
    /// What the review came to is being told on the pull request.
    Telling {
        /// The remarks that the pull request shows, in their order.
        remarks: Vec<Remark>,
    },
    /// The last words are being said; then the run ends like this.
    Finishing {
        /// The status it will have.
        status: OutcomeStatus,
        /// The failure it will have.
        failure: Option<Problem>,
    },
    /// What is to be merged is being verified.
    Verifying,
    /// That it did not pass is being told on the pull request; then the run ends with this.
    Refusing {
        /// Why it was not merged.
        problem: Problem,
    },
    /// The pull request is being merged, as was asked for.
    Merging,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the serialiser hands a reference"
)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// One step of a team: the run, the team taken out of it, and what was asked for.
struct Flight<'a> {
    run: &'a mut Run,
    team: Team,
    request: &'a Request,
    terms: &'a TeamTerms,
    now: Timestamp,
}

/// Begins with the names: everything else is called by them.
pub(super) fn begin(run: &mut Run, request: &Request, terms: &TeamTerms, now: Timestamp) {
    let (review, next) = ReviewLoop::begin(terms.plan());
    let team = Team {
        stage: TeamStage::Naming,
        title: title_of(&request.task),
        summary: String::new(),
        review,
        next,
        queue: VecDeque::new(),
        listened: false,
        late_rounds: 0,
        base_looks: 0,
        cursor: None,
        heard: BTreeSet::new(),
        threads: Threads::default(),
        verdict: None,
        verifications: 0,
        judged: None,
        merged: None,
        record: Record::default(),
    };
    let mut flight = Flight {
        run,
        team,
        request,
        terms,
        now,
    };
    flight.name();
    flight.land();
}

/// Goes on once an effect has ended.
pub(super) fn ended(run: &mut Run, team: Team, result: EffectResult, now: Timestamp) {
    let Some(request) = run.request.clone() else {
        return;
    };
    let Kind::Team(terms) = &request.kind else {
        return;
    };
    let mut flight = Flight {
        run,
        team,
        request: &request,
        terms,
        now,
    };
    flight.ended(result);
    flight.land();
}

impl Flight<'_> {
    /// Puts the team back into its run.
    fn land(self) {
        let team = Box::new(self.team);
        self.run.flow = Flow::Team { team };
    }

    fn ended(&mut self, result: EffectResult) {
        if let EffectResult::AgentEnded { outcome, .. } = &result {
            self.team.record.job_ended(outcome, self.now);
            if OutcomeStatus::of_agent(&outcome.ending) == OutcomeStatus::Cancelled {
                let problem = Problem::interrupted("stopped on request");
                return self.leave(OutcomeStatus::Cancelled, Some(problem));
            }
        }
        match self.team.stage.clone() {
            TeamStage::Naming => self.named(&result),
            TeamStage::ChoosingBranch => self.branch_chosen(result),
            TeamStage::CreatingSandbox => self.sandbox_created(result),
            TeamStage::Working { errand } => self.worked(*errand, result),
            TeamStage::Integrating { merge, errand } => self.integrated(*merge, *errand, result),
            TeamStage::OpeningPullRequest => self.pull_request_opened(result),
            TeamStage::Listening => self.listened(result),
            TeamStage::ReadingDiff => self.diff_read(result),
            TeamStage::Reviewing { diff } => self.reviewed(&diff, &result),
            TeamStage::Telling { remarks } => self.told(remarks, result),
            TeamStage::Finishing { status, failure } => self.said(status, failure, result),
            TeamStage::Verifying => self.verified(result),
            TeamStage::Refusing { problem } => self.refused(problem, result),
            TeamStage::Merging => self.merged(result),
        }
    }

    fn name(&mut self) {
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
    fn named(&mut self, result: &EffectResult) {
        let mut text = "";
        if let EffectResult::AgentEnded { outcome, .. } = result {
            text = &outcome.text;
        } else if let EffectResult::Failed { problem } = result {
            self.team.record.job_failed(problem, self.now);
            self.run
                .warnings
                .push(format!("the names come from the task: {problem}"));
        }
        let naming = read_naming(text, &self.request.task);
        self.team.title = naming.pr_title;
        self.team.stage = TeamStage::ChoosingBranch;
        let remote = self.remote().map(str::to_owned);
        let wanted = self.terms.branch.clone().unwrap_or(naming.branch_name);
        self.run.decide(Effect::ChooseBranch { wanted, remote });
    }

    fn branch_chosen(&mut self, result: EffectResult) {
        let EffectResult::BranchChosen { branch } = result else {
            return self.give_up(result);
        };
        self.team.stage = TeamStage::CreatingSandbox;
        let spec = sandbox_spec(self.run, self.request, &branch);
        self.run.decide(Effect::CreateSandbox { spec });
    }

    fn sandbox_created(&mut self, result: EffectResult) {
        let EffectResult::SandboxCreated { sandbox } = result else {
            return self.give_up(result);
        };
        let path = sandbox.path.to_string_lossy();
        self.team.record.sandbox = Some(path.into_owned());
        self.work(None);
    }

    /// What comes next: remarks first, then people, then the next move of the loop.
    fn proceed(&mut self) {
        if let Some(remark) = self.team.queue.pop_front() {
            return self.work(Some(remark));
        }
        if let Move::Fix { .. } = self.team.next {
            self.team.next = self.team.review.fixed();
            self.team.listened = false;
        }
        if self.is_listening() && !self.team.listened {
            return self.listen();
        }
        match self.team.next.clone() {
            Move::Review { .. } => self.read_diff(),
            Move::Done(LastWord::Approved) if self.review_again() => self.proceed(),
            Move::Done(word) => {
                if !self.look_at_base(word) {
                    self.finish(word);
                }
            }
            // A fix was turned into what follows it above.
            Move::Fix { .. } => {}
        }
    }

    /// What a domain approved may have changed since: because of a later domain, of a person, or of
    /// a merge. It looks again, as long as the bound on its reviews allows. Tells whether one does.
    fn review_again(&mut self) -> bool {
        let head = self.run.work.head_sha.clone().unwrap_or_default();
        let plan = self.terms.plan();
        let mut stale = self.team.record.stale(&head);
        stale.retain(|(_, reviews)| *reviews < plan.max_reviews);
        if stale.is_empty() {
            return false;
        }
        let (domains, earlier) = stale.into_iter().unzip();
        let plan = ReviewPlan { domains, ..plan };
        (self.team.review, self.team.next) = ReviewLoop::again(plan, earlier);
        true
    }

    /// Starts an agent, unless the budget is used up.
    fn start(&mut self, sandbox: Option<SandboxId>, job: AgentJob) {
        let spent = self.run.spent;
        if let Some(overrun) = self.request.budget.overrun(spent.usage, spent.cost) {
            let problem = Problem::work("outOfBudget", format!("the run {overrun}"))
                .hint("raise `[budget]` in `drive.toml`; what was done so far is on its branch");
            return self.stop(OutcomeStatus::Failed, problem);
        }
        self.team.record.job_started(&job, self.now);
        let job = Box::new(job);
        self.run.decide(Effect::RunAgent { sandbox, job });
    }

    fn job(&self, agent: String, role: Role, prompt: String) -> AgentJob {
        AgentJob::of(self.run, self.request, agent, role, prompt)
    }

    /// Does something on the pull request; without one, says that nothing was done.
    fn on_forge(&mut self, act: ForgeAct) -> bool {
        let Some(pr) = self.run.work.pull_request.as_ref().map(|pr| pr.number) else {
            return false;
        };
        self.run.decide(Effect::OnForge {
            pr,
            act,
            proof: None,
        });
        true
    }

    /// Reviews and answers stand on the pull request, and people are listened to.
    fn is_listening(&self) -> bool {
        self.terms.mode == TeamMode::Github && self.run.work.pull_request.is_some()
    }

    fn remote(&self) -> Option<&str> {
        match &self.request.publish {
            Publish::PullRequest { remote } => remote.as_deref(),
            Publish::BranchOnly => None,
        }
    }

    /// Which review is under way.
    fn under_review(&self) -> (Option<Domain>, u32) {
        match &self.team.next {
            Move::Review { domain, round, .. } => (*domain, *round),
            Move::Fix { domain, .. } => (*domain, 0),
            Move::Done(_) => (None, 0),
        }
    }

    fn give_up(&mut self, result: EffectResult) {
        if let EffectResult::Failed { problem } = result {
            self.fail(problem);
        }
    }

    /// Ends the team because something it needs could not be done.
    fn fail(&mut self, problem: Problem) {
        self.leave(OutcomeStatus::of_problem(&problem), Some(problem));
    }

    fn leave(&mut self, status: OutcomeStatus, failure: Option<Problem>) {
        leave(self.run, status, failure, self.now);
    }
}
