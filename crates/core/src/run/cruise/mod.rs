//! The flow of `drive cruise`: one sandbox, one branch and one pull request for a whole phase.
//!
//! Two things go on beside each other. The *worker* plans, reviews and fixes, one step at a time
//! ([`Stage`]). The *watch* looks at the pull request again and again, with growing pauses, and
//! enters what people wrote in the [`Ledger`]. Nothing is cleaned up when an agent exits: the
//! sandbox goes when the phase ends, by a merge, a close, silence, approval or on command.

mod answering;
mod asking;
mod batch;
mod describing;
mod ending;
mod integration;
mod ledger;
mod opening;
mod proceeding;
mod retrying;
mod reviewing;
mod round;
mod status;
mod texts;
mod watching;

pub use asking::{Ask, Injected};
pub use ledger::{Answer, Entry, Ledger, Life, is_actionable, proof_of_reply};
pub use round::{Round, RoundJob, RoundStep};
pub use status::{CruiseStatus, cruise_status, is_cruise, phase_state};
pub use watching::{Approved, Watch};

use super::effect::{AgentJob, Effect, EffectResult};
use super::forge_act::ForgeAct;
use super::integrating::Integrating;
use super::leaving;
use super::outcome::OutcomeStatus;
use super::request::{CruiseTerms, Kind, Publish, Request};
use super::reviewing::{Record, Remark};
use super::{Flow, Run};
use crate::Problem;
use crate::agent::Role;
use crate::agent::answer::title_of;
use crate::ids::{EffectKey, SandboxId};
use crate::phase::Phase;
use crate::plan::Plan;
use crate::review::{LastWord, Move, ReviewLoop, ReviewPlan};
use crate::time::Timestamp;
use ending::Ends;
use serde::{Deserialize, Serialize};

/// Where the plan stands.
pub const PLAN_PATH: &str = "plan.md";
/// The names of timers.
/// The timer of the next look: waking it early makes a cruise look now.
pub const POLL_TIMER: &str = "poll";
const POLL: &str = POLL_TIMER;
const INACTIVITY: &str = "inactivity";
const RETRY: &str = "retry";
const HOLD: &str = "hold";

/// Where a cruise stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cruise {
    /// Which phase.
    pub phase: Phase,
    /// What the worker does.
    pub stage: Stage,
    /// The pull request's title.
    pub title: String,
    /// What the planner said at the end of its work.
    pub summary: String,
    /// The loop over the domains.
    pub review: ReviewLoop,
    /// What comes once no comment waits.
    pub next: Move,
    /// What is known of the plan.
    pub plan: PlanCheck,
    /// The comments.
    pub ledger: Ledger,
    /// The watch.
    pub watch: Watch,
    /// Fixer rounds so far.
    pub rounds: u32,
    /// Rounds a person allowed beyond the limit.
    pub extra_rounds: u32,
    /// The commit that others see.
    pub pushed: Option<String>,
    /// How often somebody else took the name of the branch first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub names_taken: u32,
    /// How often the branch moved while the same work was pushed.
    #[serde(default)]
    pub moves: u32,
    /// The description as it was written last.
    pub body: String,
    /// How often in a row writing it failed.
    #[serde(default)]
    pub untold: u32,
    /// Comments from the command line that do not stand on the pull request yet.
    pub injected: Vec<Injected>,
    /// Why nothing is begun now although something waits; a timer or a person ends it.
    pub hold: Option<String>,
    /// How often in a row a fixer failed.
    pub failures: u32,
    /// A limit that was reached, and so who must act.
    pub limit: Option<String>,
    /// What failed and will be tried again.
    pub retry: Option<Retry>,
    /// How often it was tried.
    pub tries: u32,
    /// What happened.
    pub record: Record,
}

/// What the worker does now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "stage")]
pub enum Stage {
    /// A title and a branch name are being found.
    Naming,
    /// A branch name that is free is being found.
    ChoosingBranch,
    /// The sandbox is being made.
    CreatingSandbox,
    /// An agent plans or fixes, and what it did is being published.
    Working {
        /// How far it is.
        round: Box<Round>,
    },
    /// What somebody else pushed is being merged.
    Integrating {
        /// How far that is.
        merge: Box<Integrating>,
        /// The round that goes on afterwards.
        round: Box<Round>,
    },
    /// The batch is being closed: one more look, so that nothing that stands already is left out.
    Listening,
    /// What is to be reviewed is being read.
    ReadingDiff,
    /// The reviewer is active; comments queue.
    Reviewing {
        /// What it looks at.
        diff: String,
    },
    /// What the review came to is being told on the pull request.
    Telling {
        /// The remarks that the pull request shows, in their order.
        remarks: Vec<Remark>,
    },
    /// People are being told that a limit was reached.
    TellingLimit,
    /// Nothing to do until somebody says something.
    Watching,
    /// The last words are being said; then the cruise ends like this.
    Ending {
        /// What is still to be said.
        words: Vec<Word>,
        /// The status it will have.
        status: OutcomeStatus,
        /// The failure it will have.
        failure: Option<Problem>,
    },
}

/// Something to be said once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Word {
    /// What.
    pub act: ForgeAct,
    /// The name under which it is found again.
    pub proof: Option<String>,
}

/// What is known of the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "check")]
pub enum PlanCheck {
    /// It was not read yet.
    Unread,
    /// It is sound.
    Valid {
        /// It.
        plan: Plan,
    },
    /// It is not.
    Invalid {
        /// Why, for a fixer and for people.
        errors: String,
    },
}

/// Something that failed and is tried again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// What.
    pub effect: Effect,
    /// Why it failed.
    pub why: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Cruise {
    /// What all reviews together came to, once they are through.
    pub fn verdict(&self) -> Option<LastWord> {
        match self.next {
            Move::Done(word) => Some(word),
            Move::Review { .. } | Move::Fix { .. } => None,
        }
    }
}

/// One step of a cruise: the run, the cruise taken out of it, and what was asked for.
struct Flight<'a> {
    run: &'a mut Run,
    cruise: Cruise,
    request: &'a Request,
    terms: &'a CruiseTerms,
    now: Timestamp,
}

/// Begins with the names, or with what an earlier journal left.
pub(super) fn begin(run: &mut Run, request: &Request, terms: &CruiseTerms, now: Timestamp) {
    let (review, next) = ReviewLoop::begin(ReviewPlan::by_domain(terms.max_iterations));
    let cruise = Cruise {
        phase: Phase::Planning,
        stage: Stage::Naming,
        title: title_of(&request.task),
        summary: String::new(),
        review,
        next,
        plan: PlanCheck::Unread,
        ledger: Ledger::default(),
        watch: Watch::new(terms, now),
        rounds: 0,
        extra_rounds: 0,
        pushed: None,
        names_taken: 0,
        moves: 0,
        body: String::new(),
        untold: 0,
        injected: Vec::new(),
        hold: None,
        failures: 0,
        limit: None,
        retry: None,
        tries: 0,
        record: Record::default(),
    };
    let mut flight = Flight {
        run,
        cruise,
        request,
        terms,
        now,
    };
    match &terms.adopted {
        Some(adopted) => flight.adopt(adopted),
        None => flight.name(),
    }
    flight.land();
}

/// Goes on once an effect has ended.
pub(super) fn ended(
    run: &mut Run,
    cruise: Cruise,
    key: &EffectKey,
    effect: Effect,
    result: EffectResult,
    now: Timestamp,
) {
    fly(run, cruise, now, |flight| flight.ended(key, effect, result));
}

/// Goes on because an instant has come.
pub(super) fn woken(run: &mut Run, cruise: Cruise, timer: &str, now: Timestamp) {
    if run.timers.remove(timer).is_some() {
        fly(run, cruise, now, |flight| flight.woken(timer));
    }
}

/// Goes on because a person asked for something.
pub(super) fn asked(run: &mut Run, cruise: Cruise, ask: Ask, now: Timestamp) {
    fly(run, cruise, now, |flight| flight.asked(ask));
}

fn fly(run: &mut Run, cruise: Cruise, now: Timestamp, act: impl FnOnce(&mut Flight<'_>)) {
    let Some(request) = run.request.clone() else {
        return;
    };
    let Kind::Cruise(terms) = &request.kind else {
        return;
    };
    let mut flight = Flight {
        run,
        cruise,
        request: &request,
        terms,
        now,
    };
    act(&mut flight);
    flight.land();
}

impl Flight<'_> {
    /// Puts the cruise back into its run.
    fn land(self) {
        let cruise = Box::new(self.cruise);
        self.run.flow = Flow::Cruise { cruise };
    }

    fn ended(&mut self, key: &EffectKey, effect: Effect, result: EffectResult) {
        if let Effect::OnForge { act, proof, .. } = &effect {
            if let ForgeAct::Look { .. } = act {
                return self.looked(result);
            }
            if let ForgeAct::React { .. } = act {
                return self.react_next();
            }
            let is_ending = matches!(self.cruise.stage, Stage::Ending { .. });
            if let (ForgeAct::UpdateBody { .. }, false) = (act, is_ending) {
                return self.described(&result);
            }
            if asking::is_injected(proof.as_deref()) {
                return self.injected_posted(proof.as_deref(), result);
            }
        }
        if let EffectResult::AgentEnded { outcome, .. } = &result {
            self.cruise.record.job_ended(outcome, self.now);
            self.cruise.watch.fresh = false;
            self.active();
        }
        if !matches!(result, EffectResult::Failed { .. }) {
            self.cruise.tries = 0;
        }
        match self.cruise.stage.clone() {
            Stage::Naming => self.named(&result),
            Stage::ChoosingBranch => self.branch_chosen(result),
            Stage::CreatingSandbox => self.sandbox_created(&effect, result),
            Stage::Working { round } => self.worked(*round, key, effect, result),
            Stage::Integrating { merge, round } => {
                self.integrated(*merge, *round, key, effect, result);
            }
            Stage::ReadingDiff => self.diff_read(result),
            Stage::Reviewing { diff } => self.reviewed(&diff, &result),
            Stage::Telling { remarks } => self.told(remarks, key, effect, result),
            Stage::TellingLimit => self.limit_told(key, effect, result),
            Stage::Ending {
                words,
                status,
                failure,
            } => {
                let ends = Ends {
                    words,
                    status,
                    failure,
                };
                self.said(ends, key, effect, &result);
            }
            // Nothing of the worker is under way then.
            Stage::Listening | Stage::Watching => {}
        }
    }

    fn woken(&mut self, timer: &str) {
        match timer {
            POLL => self.look(),
            INACTIVITY => self.silence(),
            HOLD => {
                self.cruise.hold = None;
                self.cruise.watch.fresh = false;
                self.go_on();
            }
            RETRY => {
                if let Some(retry) = self.cruise.retry.take() {
                    self.run.decide(retry.effect);
                }
            }
            _ => {}
        }
    }

    /// Something happened: the silence starts anew.
    fn active(&mut self) {
        self.cruise.watch.last_activity = self.cruise.watch.last_activity.max(self.now);
        if self.run.work.pull_request.is_some() {
            self.wait_for_silence();
        }
    }

    fn start(&mut self, sandbox: Option<SandboxId>, job: AgentJob) {
        self.cruise.record.job_started(&job, self.now);
        let job = Box::new(job);
        self.run.decide(Effect::RunAgent { sandbox, job });
    }

    fn job(&self, agent: String, role: Role, prompt: String) -> AgentJob {
        let mut job = AgentJob::of(self.run, self.request, agent, role, prompt);
        job.input.plan_path = Some(PLAN_PATH.to_owned());
        job
    }

    /// Does something on the pull request; without one, says that nothing was done.
    fn on_forge(&mut self, act: ForgeAct, proof: Option<String>) -> bool {
        let Some(pr) = self.run.work.pull_request.as_ref().map(|pr| pr.number) else {
            return false;
        };
        self.run.decide(Effect::OnForge { pr, act, proof });
        true
    }

    fn remote(&self) -> Option<&str> {
        match &self.request.publish {
            Publish::PullRequest { remote } => remote.as_deref(),
            Publish::BranchOnly => None,
        }
    }

    fn give_up(&mut self, result: EffectResult) {
        if let EffectResult::Failed { problem } = result {
            self.fail(problem);
        }
    }

    fn fail(&mut self, problem: Problem) {
        let status = OutcomeStatus::of_problem(&problem);
        if status == OutcomeStatus::Cancelled {
            return self.leave(status, Some(problem));
        }
        self.stop(status, problem);
    }

    /// Ends the cruise now: what is under way is ended, the work kept, the sandbox removed.
    fn leave(&mut self, status: OutcomeStatus, failure: Option<Problem>) {
        leaving::abandon(self.run, status, failure, self.now);
    }
}
