//! One run, whichever command asked for it.
//!
//! `spawn`, `spawn-team` and `cruise` differ in their *flow*; everything else is the same for all
//! of them and lives here: what was asked for, which effects were decided and have no result yet,
//! which sandboxes and processes exist, what was kept, what it cost, how it ended.
//!
//! A run moves only by [`step`]. The engine journals the event, folds it, and performs what is
//! [pending](Run::pending); results come back as events.

mod cruise;
mod effect;
mod event;
mod forge_act;
mod format;
mod integrating;
mod leaving;
mod outcome;
mod request;
mod reviewing;
mod spawn;
mod step;
mod team;

pub use cruise::{
    Answer, Approved, Ask, Cruise, CruiseStatus, Entry, Injected, Ledger, Life, PLAN_PATH,
    POLL_TIMER, PlanCheck, Retry, Round, RoundJob, RoundStep, Stage, Watch, Word, cruise_status,
    is_actionable, is_cruise, phase_state, proof_of_reply,
};
pub use effect::{AgentJob, BranchAt, Effect, EffectResult, JobComment, JobInput, MergeWhen};
pub use event::{Event, Note};
pub use forge_act::{ForgeAct, ForgeAnswer, IgnoredComment, LineRemark, Seen, VerifiedAgainst};
pub use format::{
    EVENT_FORMAT, STATE_FORMAT, UnreadableFormat, read_event, read_run, write_event, write_run,
};
pub use integrating::{Integrating, IntegratingStep};
pub use leaving::{Leaving, WayOut};
pub use outcome::{BranchTip, CommitSummary, Outcome, OutcomeStatus, Published, Spent, Work};
pub use request::{Adopted, AfterEnd, CruiseTerms, Kind, Publish, Request, TeamTerms};
pub use reviewing::{
    JobRecord, PermissionRecord, Record, Remark, RemarkRecord, ReviewRecord, Threads,
};
pub use spawn::SpawnStage;
pub use step::{IllegalEvent, fold, step};
pub use team::{Errand, ErrandStep, Judged, Team, TeamStage};

use crate::agent::Budget;
use crate::forge::CommentRef;
use crate::ids::{EffectKey, RunId, SandboxId};
use crate::process::ProcessIdentity;
use crate::sandbox::{KeptWork, Sandbox};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything that is known about one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// What was asked for; `None` before the request has arrived.
    pub request: Option<Request>,
    /// When it was asked for.
    pub started_at: Option<Timestamp>,
    /// Effects that were decided and have no result yet. Each may have happened.
    pub pending: BTreeMap<EffectKey, Effect>,
    /// How many effects of each name were decided, so that every key is new.
    pub decided: BTreeMap<String, u32>,
    /// Sandboxes that exist, or may exist.
    pub sandboxes: BTreeMap<SandboxId, Sandbox>,
    /// Processes that were started for an effect and have not been seen to end.
    pub processes: BTreeMap<EffectKey, ProcessIdentity>,
    /// Instants at which the run wants to be woken.
    pub timers: BTreeMap<String, Timestamp>,
    /// Work that was saved because it was safe nowhere else.
    pub kept: Vec<KeptWork>,
    /// What the agents used.
    pub spent: Spent,
    /// What agents that have not ended said they used so far.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub using: BTreeMap<EffectKey, Spent>,
    /// What the run made.
    pub work: Work,
    /// Things a person should know that did not stop the run.
    pub warnings: Vec<String>,
    /// What it posted on the forge, by the effect that did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub posts: Vec<OwnPost>,
    /// Where its flow stands.
    pub flow: Flow,
    /// Set once it is on its way out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaving: Option<Leaving>,
    /// How it ended; `None` while it lives.
    pub outcome: Option<Outcome>,
}

/// Where the flow of a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "flow")]
pub enum Flow {
    /// The request has not arrived.
    Awaiting,
    /// One agent in one transient sandbox.
    Spawn {
        /// Its stage.
        stage: SpawnStage,
    },
    /// A phase with a sandbox and a pull request of its own.
    Cruise {
        /// Where it stands.
        cruise: Box<Cruise>,
    },
    /// A primary and a reviewer in one sandbox.
    Team {
        /// Where they stand.
        team: Box<Team>,
    },
}

/// A comment of ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnPost {
    /// Which.
    pub comment: CommentRef,
    /// The effect that posted it.
    pub effect: EffectKey,
}

impl Run {
    /// A run of which only the name is known.
    pub fn new(id: RunId) -> Self {
        Self {
            id,
            request: None,
            started_at: None,
            pending: BTreeMap::new(),
            decided: BTreeMap::new(),
            sandboxes: BTreeMap::new(),
            processes: BTreeMap::new(),
            timers: BTreeMap::new(),
            kept: Vec::new(),
            spent: Spent::default(),
            using: BTreeMap::new(),
            work: Work::default(),
            warnings: Vec::new(),
            posts: Vec::new(),
            flow: Flow::Awaiting,
            leaving: None,
            outcome: None,
        }
    }

    /// Whether anything may still happen.
    pub fn is_active(&self) -> bool {
        self.outcome.is_none()
    }

    /// What an agent that is started for this effect now may use. An earlier one may have been
    /// started for it and have died with its owner.
    pub fn budget_for(&self, key: &EffectKey) -> Budget {
        let budget = self.request.as_ref().map(|request| request.budget);
        let spent = match self.using.get(key) {
            Some(used) => self.spent.plus(*used),
            None => self.spent,
        };
        budget.unwrap_or_default().minus(spent.usage, spent.cost)
    }

    /// An agent is gone without having told what it used in the end: what it said before counts.
    fn count_used(&mut self, key: &EffectKey) {
        let Some(used) = self.using.remove(key) else {
            return;
        };
        self.spent = self.spent.plus(used);
        match &mut self.flow {
            Flow::Team { team } => team.record.job_used(used),
            Flow::Cruise { cruise } => cruise.record.job_used(used),
            Flow::Awaiting | Flow::Spawn { .. } => {}
        }
    }

    /// The commit that its work is compared with.
    fn base_sha(&self) -> String {
        let started_at = self.request.as_ref().map(|request| &request.base_sha);
        let base = self.work.base_sha.as_ref().or(started_at);
        base.cloned().unwrap_or_default()
    }

    /// The name of its sandbox.
    fn sandbox_id(&self) -> SandboxId {
        SandboxId::new(self.id.as_str())
    }

    /// Decides an effect: from now on it may happen.
    fn decide(&mut self, effect: Effect) -> EffectKey {
        let name = effect.name();
        let count = self.decided.entry(name.to_owned()).or_default();
        *count += 1;
        let key = EffectKey::new(format!("{name}/{count}"));
        self.pending.insert(key.clone(), effect);
        key
    }
}
