//! Notifications, sent through the user's `notify` program: what waits for the user, tasks that landed
//! or are blocked, the end of a run, and the share of the budget that is left.
//!
//! Every notice has a name that says which occurrence it is about. A name is told once in the life of a
//! run, so neither a resumed run nor a repeated event tells it again. A child tells only that its plan
//! waits for an approval and what its fixers ask, which its root cannot see; everything else is told by the root.

use super::super::audit::audit;
use super::super::model::{
    Build, Effect, EffectResult, Entry, Flow, Notice, NoticeEvent, OpenNotice, Outcome,
    OutcomeStatus, Request, Run, Spent, TaskState,
};
use super::super::needs::{Need, is_of_plan};
use super::super::tasks::{TaskLabel, tasks};
use super::cruise::needs_budget;
use super::shutdown;
use super::tree::root_id;
use crate::agent::answer::title_of;
use crate::agent::{Budget, Cost};
use crate::ids::{EffectKey, RunId, TaskId};
use crate::problem::{Kind, command_in};
use crate::time::Timestamp;

/// The percentage of a budget at which a person is warned.
const SOFT_PERCENT: u64 = 80;
/// How many characters of a reason a notice contains.
const LONGEST_REASON: usize = 500;
/// The beginning of the one warning about a notification program that fails.
const WARNING: &str = "could not notify you";

/// A notice before it is complete.
struct Draft {
    name: String,
    event: NoticeEvent,
    words: String,
    reason: String,
    task: Option<TaskId>,
    command: Option<String>,
    /// The address of the notice itself; `None` uses the run's pull request.
    url: Option<String>,
}

/// Decides which notices to send now; each is sent once.
pub(super) fn decide(run: &mut Run, now: Timestamp) {
    let Some(request) = run.request.clone().filter(|request| request.notify) else {
        return;
    };
    for draft in drafts(run, &request) {
        if run.notices.told.contains(&draft.name) {
            continue;
        }
        run.notices.told.insert(draft.name.clone());
        let notice = Box::new(notice(run, &request, draft, now));
        let effect = Effect::Notify { notice };
        let key = run.new_key(effect.name());
        run.notices.open.push(OpenNotice {
            key,
            effect,
            begun: false,
        });
    }
}

/// Takes the result of sending a notice. Returns false if the result does not fit.
pub(super) fn ended(run: &mut Run, key: &EffectKey, result: &EffectResult) -> bool {
    if let EffectResult::Failed { problem } = result {
        // A program that hangs must not delay the run by one deadline for each notice.
        if problem.kind == Kind::NotifyTimedOut {
            run.notices.open.retain(|open| open.key == *key);
        }
        if !run.warnings.iter().any(|text| text.starts_with(WARNING)) {
            run.warnings.push(format!("{WARNING}: {problem}"));
        }
    } else if *result != EffectResult::Notified {
        return false;
    }
    run.notices.open.retain(|open| open.key != *key);
    true
}

fn notice(run: &Run, request: &Request, draft: Draft, now: Timestamp) -> Notice {
    let pr = run.work.pull_request.as_ref();
    let url = pr.filter(|pr| !pr.is_local()).map(|pr| pr.url.clone());
    Notice {
        event: draft.event,
        run_id: RunId::new(root_id(&run.id)),
        kind: request.kind.command(),
        repo: request.repo.clone(),
        title: format!("{}: {}", draft.words, title_of(&request.task)),
        reason: cut(&draft.reason),
        task: draft.task,
        command: draft.command,
        url: draft.url.or(url),
        at: now,
    }
}

fn drafts(run: &Run, request: &Request) -> Vec<Draft> {
    if request.parent.is_some() {
        return approval(run).into_iter().chain(questions(run)).collect();
    }
    let mut drafts = Vec::new();
    if let Flow::Cruise { build } = &run.flow {
        drafts.extend(of_tasks(run, build));
    }
    if let Some(outcome) = &run.outcome {
        drafts.extend(end(run, outcome));
        return drafts;
    }
    if run.shutdown.is_some() {
        return drafts;
    }
    drafts.extend(soft_line(run));
    drafts.extend(approval(run));
    drafts.extend(questions(run));
    drafts.extend(limit(run));
    if let Flow::Cruise { .. } = &run.flow {
        drafts.extend(of_children(run));
        drafts.extend(standstill(run));
    }
    drafts
}

/// Notices about tasks of a cruise that landed or are blocked.
fn of_tasks<'r>(run: &'r Run, build: &'r Build) -> impl Iterator<Item = Draft> + 'r {
    let all = build.tasks.len();
    let landed = build.tasks.values();
    let landed = landed.filter(|task| matches!(task.state, TaskState::Landed { .. }));
    let landed = landed.count();
    build.tasks.iter().filter_map(move |(id, task)| {
        let (name, event, words, reason, command) = match &task.state {
            TaskState::Landed { .. } => (
                format!("landed/{id}"),
                NoticeEvent::Landed,
                format!("task `{id}` landed"),
                format!("{landed} of {} landed", counted(all)),
                format!("drive cruise status {}", run.id),
            ),
            TaskState::Blocked { why, .. } => (
                format!("blocked/{id}/{}", task.runs.len()),
                NoticeEvent::Blocked,
                format!("task `{id}` is blocked"),
                why.clone(),
                format!("drive cruise retry {id} --cruise {}", run.id),
            ),
            TaskState::Waiting { .. }
            | TaskState::Building { .. }
            | TaskState::Landing { .. }
            | TaskState::Skipped => return None,
        };
        Some(Draft {
            name,
            event,
            words,
            reason,
            task: Some(id.clone()),
            command: Some(command),
            url: None,
        })
    })
}

fn counted(tasks: usize) -> String {
    match tasks {
        1 => "1 task".to_owned(),
        many => format!("{many} tasks"),
    }
}

/// The notice about the end of a run. A person who stopped the run gets none.
fn end(run: &Run, outcome: &Outcome) -> Option<Draft> {
    let failure = outcome.failure.as_ref();
    let is_over_budget = failure.is_some_and(|problem| problem.kind == Kind::BudgetExceeded);
    let (event, words) = match outcome.status {
        OutcomeStatus::Cancelled => return None,
        OutcomeStatus::Succeeded => (NoticeEvent::Done, "done"),
        OutcomeStatus::Failed | OutcomeStatus::TimedOut | OutcomeStatus::NeedsHuman
            if is_over_budget =>
        {
            (NoticeEvent::Budget, "stopped, the budget is used up")
        }
        OutcomeStatus::NeedsHuman => (NoticeEvent::NeedsYou, "needs you"),
        OutcomeStatus::Failed | OutcomeStatus::TimedOut
            if shutdown::waits_for_decision(run, failure) =>
        {
            (NoticeEvent::NeedsYou, "needs you")
        }
        OutcomeStatus::Failed => (NoticeEvent::Failed, "failed"),
        OutcomeStatus::TimedOut => (NoticeEvent::Failed, "timed out"),
    };
    let hint = failure.and_then(|problem| problem.hint.as_deref());
    let usual = match &run.flow {
        Flow::Cruise { .. } => format!("drive cruise report {}", run.id),
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Phase { .. } => {
            format!("drive runs show {}", run.id)
        }
    };
    Some(Draft {
        name: format!("ended/{}", outcome.ended_at),
        event,
        words: words.to_owned(),
        reason: failure.map_or_else(|| made(run), |problem| problem.message.clone()),
        task: None,
        command: hint.and_then(command_in).or(Some(usual)),
        url: None,
    })
}

/// The result of a run that succeeded, as text.
fn made(run: &Run) -> String {
    if let Some(audit) = audit(run) {
        return audit.conclusion();
    }
    match (&run.work.pull_request, &run.work.branch) {
        (Some(pr), _) => format!("its work is on pull request #{}", pr.number),
        (None, Some(branch)) => format!("its work is on branch `{branch}`"),
        (None, None) => "it changed nothing".to_owned(),
    }
}

/// The warning that most of the budget is used.
fn soft_line(run: &Run) -> Option<Draft> {
    let (budget, spent) = (run.budget(), used(run));
    let percent = percent_of(budget, spent)?;
    // When the budget is used up, the run stops and sends another notice.
    if !(SOFT_PERCENT..100).contains(&percent) {
        return None;
    }
    Some(Draft {
        name: format!("soft/{}", amount(budget)),
        event: NoticeEvent::Budget,
        words: format!("{percent}% of the budget is used"),
        reason: "it stops when the budget is used up".to_owned(),
        task: None,
        command: Some(extend(run)),
        url: None,
    })
}

/// Usage of the run's agents and of its children so far.
fn used(run: &Run) -> Spent {
    let at_work = run.using.values().copied();
    at_work.fold(run.spent_in_all(), Spent::plus)
}

/// The used percentage of a budget, for the limit that is nearer.
fn percent_of(budget: Budget, spent: Spent) -> Option<u64> {
    let of = |used: u64, allowed: u64| (allowed > 0).then(|| used.saturating_mul(100) / allowed);
    let tokens = budget
        .tokens
        .and_then(|allowed| of(spent.usage.counted(), allowed));
    let cost = budget.cost.zip(spent.cost);
    let cost = cost.and_then(|(allowed, used)| of(used.micro_usd(), allowed.micro_usd()));
    tokens.max(cost)
}

fn is_used_up(run: &Run) -> bool {
    let spent = run.spent_in_all();
    run.budget().minus(spent.usage, spent.cost).is_used_up()
}

/// The budget as a part of a notice's name: a raised budget gives a new name.
fn amount(budget: Budget) -> String {
    let tokens = budget.tokens.unwrap_or(0);
    let micro_usd = budget.cost.map_or(0, Cost::micro_usd);
    format!("{tokens}/{micro_usd}")
}

fn extend(run: &Run) -> String {
    format!("drive runs extend {} {}", run.id, run.extension())
}

fn used_up(run: &Run, why: &str) -> Draft {
    Draft {
        name: format!("hard/{}", amount(run.budget())),
        event: NoticeEvent::Budget,
        words: "waits, the budget is used up".to_owned(),
        reason: why.to_owned(),
        task: None,
        command: Some(extend(run)),
        url: None,
    }
}

/// The notice about a plan that a person must approve.
fn approval(run: &Run) -> Option<Draft> {
    let head = run.work.head_sha.as_ref();
    let head = head.filter(|_| run.awaits_approval())?;
    Some(Draft {
        name: format!("approve/{head}"),
        event: NoticeEvent::NeedsYou,
        words: "needs you".to_owned(),
        reason: "the plan waits for your approval or comments".to_owned(),
        task: None,
        command: Some(format!("drive cruise approve {}", root_id(&run.id))),
        url: None,
    })
}

/// Questions of a fixer, each of which its author must answer.
fn questions(run: &Run) -> Vec<Draft> {
    let Flow::Phase { phase } = &run.flow else {
        return Vec::new();
    };
    if run.outcome.is_some() || run.shutdown.is_some() {
        return Vec::new();
    }
    let asked = phase.ledger.questions();
    let draft = |asked: &Entry| Draft {
        name: format!("asked/{}/{}", asked.id(), asked.tries),
        event: NoticeEvent::NeedsYou,
        words: "needs you".to_owned(),
        reason: format!("{} was asked a question ({})", asked.author, asked.id()),
        task: None,
        command: None,
        url: asked.url.clone(),
    };
    asked.map(draft).collect()
}

/// The notice about a limit that a person must raise.
fn limit(run: &Run) -> Option<Draft> {
    if matches!(run.flow, Flow::Cruise { .. }) {
        return needs_budget(run)
            .then(|| used_up(run, "no task can continue without a larger budget"));
    }
    let why = run.limit()?;
    if is_used_up(run) {
        return Some(used_up(run, why));
    }
    let rounds = match &run.flow {
        Flow::Phase { phase } => phase.rounds + phase.extra_rounds,
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. } => 0,
    };
    Some(Draft {
        name: format!("limit/{rounds}/{why}"),
        event: NoticeEvent::NeedsYou,
        words: "needs you".to_owned(),
        reason: why.to_owned(),
        task: None,
        command: Some(format!("drive runs extend {} --rounds 3", run.id)),
        url: None,
    })
}

/// Notices about children that wait for a person; other children may continue.
fn of_children(run: &Run) -> impl Iterator<Item = Draft> + '_ {
    let live = run.children.iter().filter(|(_, child)| child.is_live());
    live.filter_map(|(id, child)| {
        let (report, need) = (child.report.as_ref()?, Need::of_child(id, child)?);
        let name = match &report.head_sha {
            Some(head) => format!("child/{id}/{head}/{}", need.reason),
            None => format!("child/{id}/{}", need.reason),
        };
        Some(Draft {
            name,
            event: NoticeEvent::NeedsYou,
            words: "needs you".to_owned(),
            reason: need.reason,
            task: is_of_plan(id).then(|| child.task.clone()),
            command: need.command,
            url: need.url,
        })
    })
}

/// The notice about a cruise with only blocked tasks and tasks that wait for them.
fn standstill(run: &Run) -> Option<Draft> {
    let tasks = tasks(run);
    let blocked: Vec<String> = tasks
        .iter()
        .filter(|task| task.state == TaskLabel::Blocked)
        .map(|task| format!("`{}`", task.id))
        .collect();
    let is_moving = |state: TaskLabel| match state {
        TaskLabel::Ready | TaskLabel::Running | TaskLabel::InReview | TaskLabel::Verifying => true,
        TaskLabel::Pending | TaskLabel::Landed | TaskLabel::Blocked | TaskLabel::Skipped => false,
    };
    if blocked.is_empty() || tasks.iter().any(|task| is_moving(task.state)) {
        return None;
    }
    let attempts: u32 = tasks.iter().map(|task| task.attempts).sum();
    let what = match blocked.as_slice() {
        [one] => format!("task {one} is blocked"),
        many => format!("{} tasks are blocked: {}", many.len(), many.join(", ")),
    };
    Some(Draft {
        name: format!("standstill/{attempts}/{}", blocked.join(",")),
        event: NoticeEvent::NeedsYou,
        words: "needs you".to_owned(),
        reason: format!("{what}; nothing else can continue"),
        task: None,
        command: Some(format!("drive cruise status {}", run.id)),
        url: None,
    })
}

fn cut(text: &str) -> String {
    let text = text.trim();
    if text.chars().count() <= LONGEST_REASON {
        return text.to_owned();
    }
    let kept: String = text.chars().take(LONGEST_REASON - 1).collect();
    format!("{kept}…")
}
