//! Everything that is known about one run.

use super::build::Build;
use super::effect::Effect;
use super::notices::Notices;
use super::outcome::{Outcome, Spent, Work};
use super::phase::{Pause, Phase};
use super::phase_terms::PhaseTerms;
use super::record::Record;
use super::request::{Parent, Request, RunKind};
use super::resume::Resumption;
use super::shutdown::Shutdown;
use super::spawn::SpawnStage;
use super::timer::Timer;
use super::tree::{Child, ChildReport};
use crate::agent::{Budget, Cost};
use crate::forge::CommentRef;
use crate::forge::inert::Said;
use crate::ids::{CommitSha, EffectKey, RunId, SandboxId};
use crate::process::{Layer, ProcessIdentity};
use crate::sandbox::{KeptWork, Sandbox};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything that is known about one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// The run's id.
    pub id: RunId,
    /// The request; `None` before it has arrived.
    pub request: Option<Arc<Request>>,
    /// When the run was requested.
    pub started_at: Option<Timestamp>,
    /// Decided effects without a result yet. Each may have happened.
    pub pending: BTreeMap<EffectKey, Effect>,
    /// How many effects of each name were decided, so that every key is new.
    pub decided: BTreeMap<String, u32>,
    /// Sandboxes that exist, or may exist.
    pub sandboxes: BTreeMap<SandboxId, Sandbox>,
    /// Processes that were started for an effect and were not seen to end.
    pub processes: BTreeMap<EffectKey, ProcessIdentity>,
    /// When each timer is due.
    pub timers: BTreeMap<Timer, Timestamp>,
    /// Work that was saved because no branch held it.
    pub kept: Vec<KeptWork>,
    /// Tokens and cost of the run's own agents.
    pub spent: Spent,
    /// Usage reported by agents that have not ended.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub using: BTreeMap<EffectKey, Spent>,
    /// Forge writes that wait for the rate limit, and until when.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub forge_waits: BTreeMap<EffectKey, Timestamp>,
    /// The run's branch, commits and pull request.
    pub work: Work,
    /// The layers of isolation that its agents and its verification ran under, and the missing ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Layer>,
    /// Warnings for a person that did not stop the run.
    pub warnings: Vec<String>,
    /// The run's posts on the forge, by the effect that made them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub posts: Vec<OwnPost>,
    /// Notifications, sent and pending.
    #[serde(default, skip_serializing_if = "Notices::is_empty")]
    pub notices: Notices,
    /// The state of its flow.
    pub flow: Flow,
    /// The budget that a person added to the requested one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<Budget>,
    /// Whether a person or a signal asked for a stop.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop_asked: bool,
    /// The shutdown, once it has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shutdown: Option<Shutdown>,
    /// The runs it started.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub children: BTreeMap<RunId, Child>,
    /// The latest report to its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<ChildReport>,
    /// The resumption, if the run continued after it had ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumption: Option<Resumption>,
    /// How the run ended; `None` while it is active.
    pub outcome: Option<Outcome>,
}

/// The state of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "flow")]
pub enum Flow {
    /// The request has not arrived.
    Awaiting,
    /// One agent in one transient sandbox.
    Spawn {
        /// The current stage.
        stage: SpawnStage,
    },
    /// One sandbox, one branch and one pull request: a team, or a phase of a cruise.
    Phase {
        /// The phase.
        phase: Box<Phase>,
    },
    /// Tasks that are built by child runs.
    Cruise {
        /// The cruise's state besides its children.
        #[serde(default)]
        build: Box<Build>,
    },
}

impl Flow {
    /// The record of this flow's agents, if the flow keeps one.
    pub fn record(&self) -> Option<&Record> {
        match self {
            Flow::Phase { phase } => Some(&phase.record),
            Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. } => None,
        }
    }

    pub(in crate::run) fn record_mut(&mut self) -> Option<&mut Record> {
        match self {
            Flow::Phase { phase } => Some(&mut phase.record),
            Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. } => None,
        }
    }
}

/// A comment that drive posted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnPost {
    /// The comment on the forge.
    pub comment: CommentRef,
    /// The effect that posted it.
    pub effect: EffectKey,
}

impl Run {
    /// A new run with only an id.
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
            forge_waits: BTreeMap::new(),
            work: Work::default(),
            layers: Vec::new(),
            warnings: Vec::new(),
            posts: Vec::new(),
            notices: Notices::default(),
            flow: Flow::Awaiting,
            granted: None,
            stop_asked: false,
            shutdown: None,
            children: BTreeMap::new(),
            reported: None,
            resumption: None,
            outcome: None,
        }
    }

    /// Whether the run has not ended.
    pub fn is_active(&self) -> bool {
        self.outcome.is_none()
    }

    /// Everything to perform now: the pending effects and the next notice.
    pub fn outbox(&self) -> impl Iterator<Item = (&EffectKey, &Effect)> {
        let notice = self.notices.next().map(|open| (&open.key, &open.effect));
        self.pending.iter().chain(notice)
    }

    /// Whether the result of an effect is still wanted.
    pub fn wants(&self, key: &EffectKey) -> bool {
        self.pending.contains_key(key) || self.notices.next().is_some_and(|open| open.key == *key)
    }

    /// Whether it is a watched phase, which continues without an owner.
    pub fn is_watched(&self) -> bool {
        let request = self.request.as_ref();
        let terms = request.and_then(|request| request.kind.phase_terms());
        terms.is_some_and(PhaseTerms::is_watched)
    }

    /// Whether it is a plan that waits only for a person's approval.
    pub fn awaits_approval(&self) -> bool {
        let Flow::Phase { phase } = &self.flow else {
            return false;
        };
        let request = self.request.as_ref();
        let terms = request.and_then(|request| request.kind.phase_terms());
        let is_asked = terms.is_some_and(PhaseTerms::asks_approval);
        let is_open = self.outcome.is_none() && self.shutdown.is_none();
        let is_open = is_open && is_asked && self.is_watched();
        is_open && self.work.head_sha.is_some() && phase.awaits_approval()
    }

    /// The reached limit that must be raised before the run continues.
    pub fn limit(&self) -> Option<&str> {
        if self.outcome.is_some() || self.shutdown.is_some() {
            return None;
        }
        match &self.flow {
            Flow::Phase { phase } => phase.limit(),
            Flow::Spawn { stage } => stage.limit(),
            Flow::Awaiting | Flow::Cruise { .. } => None,
        }
    }

    /// The parent, if this run is a child.
    pub fn parent(&self) -> Option<&Parent> {
        self.request.as_ref()?.parent.as_ref()
    }

    /// Whether the next owner continues the run when its owner dies. A child continues with its root.
    pub fn outlives_its_owner(&self) -> bool {
        self.is_watched() || self.parent().is_some() || matches!(self.flow, Flow::Cruise { .. })
    }

    /// Whether a child run has not ended.
    pub fn has_live_children(&self) -> bool {
        self.children.values().any(Child::is_live)
    }

    /// Tokens and cost of its agents and of its children, as far as they reported them.
    pub fn spent_in_all(&self) -> Spent {
        let children = self.children.values().map(Child::spent);
        children.fold(self.spent, Spent::plus)
    }

    /// Its fixer rounds and those that its children reported.
    pub fn rounds_in_all(&self) -> u32 {
        let own = match &self.flow {
            Flow::Phase { phase } => phase.rounds,
            Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. } => 0,
        };
        let children = self.children.values().map(Child::rounds);
        children.fold(own, u32::saturating_add)
    }

    /// The comments that it and its living children have not answered yet.
    pub fn open_comments_in_all(&self) -> u32 {
        let own = match &self.flow {
            Flow::Phase { phase } => phase.ledger.open().count(),
            Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. } => 0,
        };
        let own = u32::try_from(own).unwrap_or(u32::MAX);
        let children = self.children.values().map(Child::open_comments);
        children.fold(own, u32::saturating_add)
    }

    /// The commit on the base, once drive merged the pull request.
    pub fn merged(&self) -> Option<&CommitSha> {
        match &self.flow {
            Flow::Phase { phase } => phase.merged.as_ref(),
            Flow::Cruise { build } => build.merged.as_ref(),
            Flow::Awaiting | Flow::Spawn { .. } => None,
        }
    }

    /// The options of `drive runs extend` that raise the used-up limit: more money does not help if
    /// tokens are used up.
    pub fn extension(&self) -> &'static str {
        let (whole, spent) = (self.budget(), self.spent_in_all());
        let left = whole.minus(spent.usage, spent.cost);
        let is_out_of_money = left.cost.is_some_and(|cost| cost.micro_usd() == 0);
        match (left.tokens == Some(0), is_out_of_money) {
            (true, true) => "--cost 5 --tokens 1000000",
            (true, false) => "--tokens 1000000",
            (false, true) => "--cost 5",
            (false, false) if whole.cost.is_none() && whole.tokens.is_some() => "--tokens 1000000",
            (false, false) => "--cost 5",
        }
    }

    /// The id of the root of the run's tree.
    fn root(&self) -> &str {
        let id = self.id.as_str();
        id.split_once('+').map_or(id, |(root, _)| root)
    }

    /// The command that raises the limit. Only a watched phase limits its rounds; the budget is the root's.
    pub(in crate::run) fn extend_command(&self) -> String {
        let (id, root) = (self.id.as_str(), self.root());
        let (options, spent) = (self.extension(), self.spent_in_all());
        let is_over_budget = self.budget().overrun(spent.usage, spent.cost).is_some();
        let what = match (self.parent(), is_over_budget) {
            (None, _) if self.is_watched() => format!("{root} {options} --rounds 3"),
            (None, _) | (Some(_), true) => format!("{root} {options}"),
            (Some(_), false) => format!("{id} --rounds 3"),
        };
        format!("drive runs extend {what}")
    }

    /// The command that lets a run continue that is at a limit.
    pub(in crate::run) fn continue_command(&self) -> String {
        match &self.flow {
            Flow::Phase { phase } if matches!(phase.pause, Some(Pause::Unsound { .. })) => {
                format!("drive cruise fix {} --comment TEXT", self.root())
            }
            Flow::Phase { .. } | Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. } => {
                self.extend_command()
            }
        }
    }

    /// Where a person finds the run's commits.
    pub(in crate::run) fn on_branch(&self) -> String {
        match &self.work.branch {
            Some(branch) => format!("on branch `{branch}`"),
            None => "on its branch".to_owned(),
        }
    }

    /// Adds to the run's budget.
    pub(in crate::run) fn grant(&mut self, more: Budget) {
        let nothing = Budget {
            tokens: Some(0),
            cost: Some(Cost::default()),
        };
        self.granted = Some(self.granted.unwrap_or(nothing).plus(more));
    }

    /// The budget of an agent that is started for this effect now. An earlier agent for the same
    /// effect may have died with its owner; its usage is deducted.
    pub fn budget_for(&self, key: &EffectKey) -> Budget {
        let used = self.using.get(key).copied().unwrap_or_default();
        let agents = self.pending.iter().filter_map(|(key, effect)| {
            if let Effect::RunAgent { job, .. } = effect {
                return Some((key, job.budget));
            }
            None
        });
        let agents: Vec<(&EffectKey, Budget)> = agents.collect();
        // Agents that work at the same time have a share each.
        let share = agents.iter().find(|(one, _)| *one == key);
        match share {
            Some((_, share)) if agents.len() > 1 => share.minus(used.usage, used.cost),
            Some(_) | None => {
                let spent = self.spent.plus(used);
                self.budget().minus(spent.usage, spent.cost)
            }
        }
    }

    /// The run's budget, including what a person granted.
    pub fn budget(&self) -> Budget {
        let asked = self.request.as_ref().map(|request| request.budget);
        let asked = asked.unwrap_or_default();
        self.granted.map_or(asked, |granted| asked.plus(granted))
    }

    /// Counts the last usage note of an agent that ended without a final usage report.
    pub(in crate::run) fn count_used(&mut self, key: &EffectKey) {
        let Some(used) = self.using.remove(key) else {
            return;
        };
        self.spent = self.spent.plus(used);
        // The first agent's usage is deducted from the share.
        if let Some(Effect::RunAgent { job, .. }) = self.pending.get_mut(key) {
            job.budget = job.budget.minus(used.usage, used.cost);
        }
        if let Some(record) = self.flow.record_mut() {
            record.job_used(key, used);
        }
    }

    /// The id of the run's sandbox.
    pub(in crate::run) fn sandbox_id(&self) -> SandboxId {
        SandboxId::new(self.id.as_str())
    }

    /// The text of the task, if a person wrote it. An agent wrote the task of a child, unless that
    /// child plans.
    pub fn said(&self) -> Said {
        let request = self.request.as_ref().filter(|request| {
            request.parent.is_none() || matches!(request.kind, RunKind::Cruise(_))
        });
        request.map_or_else(Said::default, |request| Said::by_person(&request.task))
    }

    /// Decides an effect. From now on it may be performed.
    pub(in crate::run) fn decide(&mut self, effect: Effect) -> EffectKey {
        let effect = effect.without_paths(self).inert(&self.said());
        let key = self.new_key(effect.name());
        self.pending.insert(key.clone(), effect);
        key
    }

    /// A key that no effect of this run has used.
    pub(in crate::run) fn new_key(&mut self, name: &str) -> EffectKey {
        let count = self.decided.entry(name.to_owned()).or_default();
        *count += 1;
        EffectKey::new(format!("{name}/{count}"))
    }
}
