//! A cruise at a glance, for people, for scripts and for the file in its sandbox.

use super::super::effect::Effect;
use super::super::request::Kind;
use super::super::{Flow, Run};
use super::{Cruise, INACTIVITY, POLL, PlanCheck, RoundJob, Stage};
use crate::phase::{MOST_PENDING, Phase, PhaseState, STATE_FILE_VERSION};
use crate::review::{Domain, Move};
use crate::sandbox::BranchName;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// What a person wants to know first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CruiseStatus {
    /// Which phase.
    pub phase: Phase,
    /// What it does, in one word.
    pub state: String,
    /// What it waits for, in words.
    pub waiting_for: Option<String>,
    /// When it looks at the pull request again.
    pub next_poll_at: Option<Timestamp>,
    /// When silence ends it.
    pub ends_at: Option<Timestamp>,
    /// The domain under review.
    pub domain: Option<String>,
    /// Fixer rounds so far.
    pub rounds: u32,
    /// Comments that are not answered yet.
    pub pending_comments: u32,
}

/// How a cruise stands; `None` for other runs.
pub fn cruise_status(run: &Run) -> Option<CruiseStatus> {
    let Flow::Cruise { cruise } = &run.flow else {
        return None;
    };
    let open = cruise.ledger.open().count();
    Some(CruiseStatus {
        phase: cruise.phase,
        state: state(run, cruise).to_owned(),
        waiting_for: run.is_active().then(|| waiting_for(run, cruise)).flatten(),
        next_poll_at: run.timers.get(POLL).copied(),
        ends_at: run.timers.get(INACTIVITY).copied(),
        domain: domain(cruise).map(|domain| domain.name().to_owned()),
        rounds: cruise.rounds,
        pending_comments: u32::try_from(open).unwrap_or(u32::MAX),
    })
}

/// What the file in the sandbox says; `None` while there is no sandbox.
pub fn phase_state(run: &Run) -> Option<PhaseState> {
    let Flow::Cruise { cruise } = &run.flow else {
        return None;
    };
    let request = run.request.as_ref()?;
    let sandbox = run.sandboxes.get(&run.sandbox_id())?;
    let pr = run.work.pull_request.as_ref();
    Some(PhaseState {
        version: STATE_FILE_VERSION,
        run_id: run.id.clone(),
        task: request.task.clone(),
        base_branch: BranchName::parse(request.base_branch.as_deref()?).ok()?,
        base_sha: request.base_sha.clone(),
        sandbox_path: sandbox.path.clone(),
        branch_name: BranchName::parse(sandbox.branch.as_deref()?).ok()?,
        pr_url: pr.map(|pr| pr.url.clone()),
        pr_number: pr.map(|pr| pr.number),
        phase: cruise.phase,
        current_review_domain: domain(cruise),
        last_activity: cruise.watch.last_activity,
        backoff_interval_secs: cruise.watch.backoff.current.as_secs(),
        pending_comment_ids: cruise
            .ledger
            .open()
            .map(|entry| entry.key.id)
            .take(MOST_PENDING)
            .collect(),
        completed_rounds: cruise.rounds,
    })
}

fn domain(cruise: &Cruise) -> Option<Domain> {
    match &cruise.next {
        Move::Review { domain, .. } | Move::Fix { domain, .. } => *domain,
        Move::Done(_) => None,
    }
}

fn state(run: &Run, cruise: &Cruise) -> &'static str {
    if run.outcome.is_some() {
        return "ended";
    }
    if run.leaving.is_some() {
        return "ending";
    }
    match &cruise.stage {
        Stage::Naming | Stage::ChoosingBranch | Stage::CreatingSandbox => "opening",
        Stage::Working { round } => match (&round.job, round.number) {
            (RoundJob::CatchUp, _) => "merging",
            (_, 0) => "planning",
            (_, _) => "fixing",
        },
        Stage::Integrating { .. } => "merging",
        Stage::ReadingDiff | Stage::Reviewing { .. } | Stage::Telling { .. } => "reviewing",
        Stage::Listening | Stage::TellingLimit | Stage::Watching => "polling",
        Stage::Ending { .. } => "ending",
    }
}

fn waiting_for(run: &Run, cruise: &Cruise) -> Option<String> {
    if run.leaving.is_some() {
        return Some("the sandbox to be removed".to_owned());
    }
    if let Some(retry) = &cruise.retry {
        return Some(format!("another try: {}", retry.why));
    }
    let agent = run.pending.values().find_map(|effect| {
        if let Effect::RunAgent { job, .. } = effect {
            return Some(format!("the {} `{}`", job.role, job.agent));
        }
        None
    });
    if agent.is_some() {
        return agent;
    }
    if let Some(limit) = &cruise.limit {
        return Some(format!("a person: {limit}"));
    }
    if let Some(hold) = &cruise.hold {
        return Some(format!("a pause to end: {hold}"));
    }
    if let Some(trouble) = &cruise.watch.trouble {
        return Some(format!("the forge: {trouble}"));
    }
    match (&cruise.stage, &cruise.plan) {
        (Stage::Watching, PlanCheck::Valid { .. }) => {
            Some("approval of the plan, comments, a merge or a close".to_owned())
        }
        (Stage::Watching, _) => Some("comments, a merge or a close".to_owned()),
        _ => None,
    }
}

/// Whether a run is a cruise.
pub fn is_cruise(run: &Run) -> bool {
    let request = run.request.as_ref();
    request.is_some_and(|request| matches!(request.kind, Kind::Cruise(_)))
}
