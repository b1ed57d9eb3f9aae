//! Summary of a cruise for people, scripts and the state file in its sandbox.

use super::flow::{NotResumable, needs_budget, require_resumable, waits_for};
use super::model::{
    Build, BuildStage, Effect, Flow, PLAN_PATH, Pause, Phase, PhaseTerms, PlanCheck, RoundJob, Run,
    RunKind, Stage, Timer,
};
use crate::agent::answer::{Finding, Verdict};
use crate::forge::checks::{Gate, named};
use crate::ids::CommitSha;
use crate::phase::{MOST_PENDING, PhaseName, PhaseState, STATE_FILE_VERSION};
use crate::problem::Kind;
use crate::review::{Domain, LastWord, Move, distinct, is_blocking};
use crate::settings::TeamMode;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// The state of a cruise, with the facts that a person needs first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CruiseStatus {
    /// The current phase.
    pub phase: PhaseName,
    /// The current activity, in one word.
    pub state: String,
    /// What the cruise waits for, as text.
    pub waiting_for: Option<String>,
    /// When it polls the pull request next.
    pub next_poll_at: Option<Timestamp>,
    /// When the inactivity timeout ends the cruise.
    pub ends_at: Option<Timestamp>,
    /// The domain under review.
    pub domain: Option<String>,
    /// Fixer rounds so far, including those of its children.
    pub rounds: u32,
    /// Unanswered comments, including those of its living children.
    pub pending_comments: u32,
}

/// The status of a cruise; `None` for other runs.
pub fn cruise_status(run: &Run) -> Option<CruiseStatus> {
    if let Flow::Cruise { build } = &run.flow {
        return Some(building_status(run, build));
    }
    let phase = watched(run)?;
    Some(CruiseStatus {
        phase: phase.name,
        state: state(run, phase).to_owned(),
        waiting_for: run.is_active().then(|| waiting_for(run, phase)).flatten(),
        next_poll_at: run.timers.get(&Timer::Poll).copied(),
        ends_at: run.timers.get(&Timer::Inactivity).copied(),
        domain: under_review(phase),
        rounds: run.rounds_in_all(),
        pending_comments: run.open_comments_in_all(),
    })
}

/// The status of a cruise that builds tasks.
fn building_status(run: &Run, build: &Build) -> CruiseStatus {
    let (phase, state) = match build.stage {
        BuildStage::Opening => (PhaseName::Planning, "planning"),
        BuildStage::Probing => (PhaseName::Building, "checking"),
        BuildStage::Building => (PhaseName::Building, "building"),
        BuildStage::Checking | BuildStage::Validating | BuildStage::Reporting => {
            (PhaseName::Validating, "validating")
        }
    };
    let is_waiting = waits_for(run).is_some();
    let state = match (&run.outcome, &run.shutdown) {
        (Some(_), _) => "ended",
        (None, Some(_)) => "ending",
        (None, None) if is_waiting => "waiting",
        (None, None) => state,
    };
    CruiseStatus {
        phase,
        state: state.to_owned(),
        waiting_for: paused_for(run).filter(|_| run.is_active()),
        next_poll_at: None,
        ends_at: run.timers.get(&Timer::Inactivity).copied(),
        domain: None,
        rounds: run.rounds_in_all(),
        pending_comments: run.open_comments_in_all(),
    }
}

/// The contents of the state file; `None` without a sandbox.
pub fn phase_state(run: &Run) -> Option<PhaseState> {
    let phase = watched(run)?;
    let request = run.request.as_ref()?;
    let sandbox = run.sandboxes.get(&run.sandbox_id())?;
    let pr = run.work.pull_request.as_ref();
    Some(PhaseState {
        version: STATE_FILE_VERSION,
        run_id: run.id.clone(),
        task: request.task.clone(),
        base_branch: request.base_branch.clone()?,
        base_sha: request.base_sha.clone(),
        sandbox_path: sandbox.path.clone(),
        branch_name: sandbox.branch.clone()?,
        pr_url: pr.map(|pr| pr.url.clone()),
        pr_number: pr.map(|pr| pr.number),
        phase: phase.name,
        current_review_domain: first_domain(phase),
        last_activity: phase.watch.last_activity,
        backoff_interval_secs: phase.watch.backoff.current.as_secs(),
        pending_comment_ids: phase
            .ledger
            .open()
            .map(|entry| entry.key.id)
            .take(MOST_PENDING)
            .collect(),
        completed_rounds: phase.rounds,
    })
}

/// The combined verdict of all reviews; `None` before they are done.
pub fn verdict(run: &Run) -> Option<LastWord> {
    let Flow::Phase { phase } = &run.flow else {
        return None;
    };
    if !run.is_watched() {
        return phase.verdict;
    }
    let terms = run.request.as_ref()?.kind.phase_terms()?;
    if !terms.is_reviewed() {
        return None;
    }
    let head = run.work.head_sha.as_ref()?;
    let word = phase.record.last_word(&terms.review_plan().domains, head);
    (phase.next == Move::Done).then_some(word)
}

/// The last review of a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainVerdict {
    /// The domain; `None` for a review of everything at once.
    pub domain: Option<Domain>,
    /// The verdict; `None` without a review, or if the review gave none.
    pub verdict: Option<Verdict>,
    /// The commit that was reviewed.
    pub commit: Option<CommitSha>,
    /// Whether the reviewed commit is the current head.
    pub is_current: bool,
}

/// The last verdict of each domain, in the order of the settings.
pub fn domain_verdicts(run: &Run) -> Vec<DomainVerdict> {
    let terms = run.request.as_ref().and_then(|one| one.kind.phase_terms());
    let (Flow::Phase { phase }, Some(terms)) = (&run.flow, terms) else {
        return Vec::new();
    };
    let domains = terms.review_plan().domains.into_iter();
    let verdicts = domains.map(|domain| {
        let mut latest = phase.record.reviews.iter().rev();
        let last = latest.find(|review| review.domain == domain);
        let commit = last.and_then(|review| review.head.clone());
        DomainVerdict {
            verdict: last.and_then(|review| review.verdict),
            is_current: commit.is_some() && commit == run.work.head_sha,
            domain,
            commit,
        }
    });
    verdicts.collect()
}

/// The findings that block a merge: those of each domain whose last review asked for changes.
pub fn open_findings(run: &Run) -> Vec<(Option<&Domain>, &Finding)> {
    let Flow::Phase { phase } = &run.flow else {
        return Vec::new();
    };
    let terms = run.request.as_ref().and_then(|one| one.kind.phase_terms());
    let Some(terms) = terms else {
        return Vec::new();
    };
    let all = phase.record.objections().flat_map(|review| {
        let found = review.findings.iter();
        found.map(|finding| (review.domain.as_ref(), finding))
    });
    let open = all.filter(|(_, finding)| is_blocking(finding, terms.review.min_confidence));
    distinct(open.collect(), |(_, finding)| finding)
}

/// Whether a fixer made the requested changes and no review follows, because the mode ends there.
pub fn is_fix_unreviewed(run: &Run) -> bool {
    let Flow::Phase { phase } = &run.flow else {
        return false;
    };
    let terms = run.request.as_ref().and_then(|one| one.kind.phase_terms());
    let is_sequential = terms.is_some_and(|terms| terms.mode == TeamMode::Sequential);
    let is_over = phase.verdict == Some(LastWord::NeedsChanges);
    let mut head = run.work.head_sha.iter();
    is_sequential && is_over && head.any(|head| phase.record.is_changed_since_objections(head))
}

/// The domains whose reviews are still due.
fn domains(phase: &Phase) -> impl Iterator<Item = &Domain> {
    let seats = match &phase.next {
        Move::Review { seats } => seats.as_slice(),
        Move::Fix | Move::Done => &[],
    };
    seats.iter().filter_map(|seat| seat.domain.as_ref())
}

fn under_review(phase: &Phase) -> Option<String> {
    let names: Vec<&str> = domains(phase).map(Domain::name).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// The first domain whose review is due, if any.
fn first_domain(phase: &Phase) -> Option<Domain> {
    let given = phase.given.iter();
    let given = given.filter_map(|place| phase.record.reviews.get(*place)?.domain.as_ref());
    let objecting = phase
        .record
        .objections()
        .filter_map(|one| one.domain.as_ref());
    let objecting = objecting.filter(|_| phase.next == Move::Fix);
    domains(phase).chain(given).chain(objecting).next().cloned()
}

fn state(run: &Run, phase: &Phase) -> &'static str {
    if run.outcome.is_some() {
        return "ended";
    }
    if run.shutdown.is_some() {
        return "ending";
    }
    match &phase.stage {
        Stage::Naming | Stage::ChoosingBranch | Stage::CreatingSandbox => "opening",
        Stage::Working { round } => match (&round.job, round.number) {
            (RoundJob::CatchUp | RoundJob::CheckBase, _) => "merging",
            (_, 0) if phase.name == PhaseName::Planning => "planning",
            (_, 0) => "preparing",
            (_, _) => "fixing",
        },
        Stage::Merging { .. } => "merging",
        Stage::ReadingDiff
        | Stage::Reviewing { .. }
        | Stage::Refuting { .. }
        | Stage::PostingReview { .. }
        | Stage::PostingSummary { .. } => "reviewing",
        Stage::Polling | Stage::PostingLimit | Stage::Watching => "polling",
        Stage::CheckingContract | Stage::Judging | Stage::CheckingClaims => "validating",
        Stage::Announcing { .. } => "announcing",
        Stage::Verifying => "verifying",
        Stage::Promoting => "promoting",
        Stage::Landing => "landing",
        Stage::Closing { .. } => "ending",
    }
}

fn waiting_for(run: &Run, phase: &Phase) -> Option<String> {
    if run.shutdown.is_some() {
        return Some("the removal of the sandbox".to_owned());
    }
    if let Some(retry) = &phase.retry {
        return Some(format!("a retry: {}", retry.why));
    }
    if let Some(limit) = forge_limit(run) {
        return Some(limit);
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
    if let Some(limit) = phase.limit() {
        return Some(format!("you: {}", raise(run, limit)));
    }
    if let Some(hold) = phase.hold() {
        return Some(format!("a retry: {hold}"));
    }
    if let Some(trouble) = &phase.watch.trouble {
        return Some(format!("the forge: {trouble}"));
    }
    if let (Stage::Watching, Some(waits)) = (&phase.stage, waits_for_checks(phase)) {
        return Some(waits);
    }
    if let (Stage::Watching, Some(objected)) = (&phase.stage, phase.watch.objections.first()) {
        return Some(format!(
            "{} to approve or dismiss their review (changes requested), comments, merge or close",
            objected.by
        ));
    }
    if let Some(why) = phase.left_to_person(run.work.head_sha.as_ref()) {
        return Some(format!("you: {why}"));
    }
    if phase.stage != Stage::Watching {
        return None;
    }
    let terms = run.request.as_ref().and_then(|one| one.kind.phase_terms());
    let asks = terms.is_some_and(PhaseTerms::asks_approval);
    let others = match &phase.plan {
        PlanCheck::Valid { .. } if asks => "approval of the plan, comments, merge or close",
        PlanCheck::Valid { .. } | PlanCheck::Unread | PlanCheck::Invalid { .. } => {
            "comments, merge or close"
        }
    };
    Some(match phase.ledger.questions().next() {
        Some(asked) => {
            let id = asked.id();
            format!("{} to answer a question ({id}), {others}", asked.author)
        }
        None => others.to_owned(),
    })
}

/// The checks that a phase waits for, as text.
fn waits_for_checks(phase: &Phase) -> Option<String> {
    phase.ci.since?;
    let known = phase.ci.of(phase.pushed.as_ref())?;
    match phase.ci.gate(known) {
        Gate::Pending { names } | Gate::Missing { names } => Some(named(&names)),
        Gate::Green | Gate::Red { .. } => None,
    }
}

/// A limit with the command that raises it. For a plan that no fixer corrects, the text says how to
/// correct it.
fn raise(run: &Run, limit: &str) -> String {
    match &run.flow {
        Flow::Phase { phase } if matches!(phase.pause, Some(Pause::Unsound { .. })) => {
            format!("{limit}; {}", correct(run))
        }
        Flow::Phase { .. } | Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. } => {
            let command = run.extend_command();
            format!("{limit}; raise the limit with `{command}`")
        }
    }
}

/// How a person corrects a plan that fixers could not.
fn correct(run: &Run) -> String {
    let (place, command) = (run.on_branch(), run.continue_command());
    format!("correct `{PLAN_PATH}` {place}, or say what to change with `{command}`")
}

/// What only a person can end: the reason and, where there is one, the command. This includes a run
/// that ended because its budget was used up: it can continue with a larger one.
pub fn waits_for_person(run: &Run) -> Option<String> {
    if let Some(outcome) = &run.outcome {
        let failure = outcome.failure.as_ref()?;
        let is_ours = matches!(
            failure.kind,
            Kind::SteeringUnapproved | Kind::SecretInCommit | Kind::SecretCheckFailed
        );
        if is_ours && require_resumable(run, None).is_ok() {
            return failure.hint.clone();
        }
        let is_over_budget = require_resumable(run, None) == Err(NotResumable::OverBudget);
        return is_over_budget.then(|| raise(run, &failure.message));
    }
    if let Some(limit) = run.limit() {
        return Some(raise(run, limit));
    }
    let why = waits_for(run)
        .filter(|_| matches!(run.flow, Flow::Cruise { .. }) && run.shutdown.is_none())?;
    Some(if needs_budget(run) {
        format!(
            "{why}; raise the budget with `drive runs extend {} {}`",
            run.id,
            run.extension()
        )
    } else {
        why
    })
}

/// The write limit of the forge that a post of this run waits for, as text.
fn forge_limit(run: &Run) -> Option<String> {
    let until = run.forge_waits.values().max()?;
    Some(format!(
        "the forge's write limit until {}",
        until.strftime("%H:%M:%S UTC")
    ))
}

/// Why a run pauses: it waits for a retry, for the forge's write limit, or for a person. `None`
/// while it works.
pub fn paused_for(run: &Run) -> Option<String> {
    if let Some(limit) = forge_limit(run).filter(|_| run.is_active()) {
        return Some(limit);
    }
    if let Some(why) = waits_for_person(run).filter(|_| run.is_active()) {
        return Some(format!("you: {why}"));
    }
    let (retry, hold) = match &run.flow {
        _ if run.shutdown.is_some() => (Some("the last report to its parent"), None),
        Flow::Phase { phase } if waits_for_checks(phase).is_some() => {
            return waits_for_checks(phase);
        }
        Flow::Phase { phase } => {
            let retry = phase.retry.as_ref().map(|retry| retry.why.as_str());
            (retry, phase.hold())
        }
        Flow::Spawn { stage } => (None, stage.hold()),
        Flow::Cruise { build } => (build.trouble.as_deref(), build.held()),
        Flow::Awaiting => return None,
    };
    let (why, timer) = match (retry, hold) {
        (Some(why), _) => (why, Timer::Retry),
        (None, Some(why)) => (why, Timer::Hold),
        (None, None) => return None,
    };
    let at = run.timers.get(&timer)?;
    Some(format!("a retry at {}: {why}", at.strftime("%H:%M:%S UTC")))
}

/// Whether a run is a cruise.
pub fn is_cruise(run: &Run) -> bool {
    let request = run.request.as_ref();
    request.is_some_and(|request| matches!(request.kind, RunKind::Cruise(_) | RunKind::Build(_)))
}

fn watched(run: &Run) -> Option<&Phase> {
    match &run.flow {
        Flow::Phase { phase } if run.is_watched() => Some(phase),
        Flow::Phase { .. } | Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. } => None,
    }
}
