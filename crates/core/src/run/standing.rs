//! Decides who must act on a run: the one rule behind lists, pages and status texts.

use super::flow::{need, root_id};
use super::model::{
    Effect, Flow, Objected, Outcome, OutcomeStatus, Phase, Run, Stage, TaskState, Timer,
};
use super::needs::{Need, is_of_plan};
use super::status::{cruise_status, is_cruise, paused_for, waits_for_person};
use crate::ids::RunId;
use crate::problem::command_in;
use serde::Serialize;

/// The standing of a run: who must act, why, and with which command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Who must act.
    pub group: Group,
    /// The reason, in one sentence without a period; `None` where the group says enough.
    pub reason: Option<String>,
    /// The `drive` command that helps, where there is one.
    pub command: Option<String>,
}

/// Who must act on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// A person: the run, or a part of it, cannot continue without one.
    NeedsYou,
    /// Drive or an agent.
    Working,
    /// Nobody now: the run waits for a timer, a check, a limit of the forge, or a comment.
    Waiting,
    /// Nobody: it has ended.
    Done,
}

impl Group {
    /// All groups, in the order of lists.
    pub const ALL: [Group; 4] = [Group::NeedsYou, Group::Working, Group::Waiting, Group::Done];

    /// The group's heading in lists.
    pub fn as_str(self) -> &'static str {
        match self {
            Group::NeedsYou => "needs you",
            Group::Working => "working",
            Group::Waiting => "waiting",
            Group::Done => "done",
        }
    }
}

/// The state of a run, as every list and page names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// Drive or an agent is working on it.
    Running,
    /// It continues by itself when something that it waits for happens.
    Waiting,
    /// It continues after a person acts.
    NeedsYou,
    /// It achieved its goal.
    Succeeded,
    /// It did not.
    Failed,
    /// A time limit ended it.
    TimedOut,
    /// A person stopped it.
    Cancelled,
}

impl State {
    /// All of them.
    pub const ALL: [State; 7] = [
        State::Running,
        State::Waiting,
        State::NeedsYou,
        State::Succeeded,
        State::Failed,
        State::TimedOut,
        State::Cancelled,
    ];

    /// The state that follows from the standing of the run.
    pub fn of(run: &Run, its: &Standing) -> Self {
        match (&run.outcome, its.group) {
            (Some(outcome), _) => State::ended(outcome.status),
            (None, Group::NeedsYou) => State::NeedsYou,
            (None, Group::Waiting) => State::Waiting,
            (None, Group::Working | Group::Done) => State::Running,
        }
    }

    /// The state of a run with this outcome.
    pub fn ended(status: OutcomeStatus) -> Self {
        match status {
            OutcomeStatus::Succeeded => State::Succeeded,
            OutcomeStatus::Failed => State::Failed,
            OutcomeStatus::TimedOut => State::TimedOut,
            OutcomeStatus::Cancelled => State::Cancelled,
            OutcomeStatus::NeedsHuman => State::NeedsYou,
        }
    }

    /// The name of the state in texts.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Waiting => "waiting",
            State::NeedsYou => "waiting for you",
            State::Succeeded => "succeeded",
            State::Failed => "failed",
            State::TimedOut => "timed out",
            State::Cancelled => "cancelled",
        }
    }
}

/// The standing of a run. `children` are the states of its child runs, as far as they are known;
/// for the others, the reports in the run decide.
pub fn standing(run: &Run, children: &[Run]) -> Standing {
    if let Some(outcome) = &run.outcome {
        return ended(run, outcome);
    }
    if let Some(why) = waits_for_person(run) {
        let its = needs_you(why);
        let command = || need(run)?.command;
        return Standing {
            command: its.command.or_else(command),
            ..its
        };
    }
    match &run.flow {
        Flow::Cruise { .. } => of_cruise(run, children),
        Flow::Phase { phase } => of_phase(run, phase),
        Flow::Spawn { .. } | Flow::Awaiting => paused(run).unwrap_or_else(|| working(run)),
    }
}

impl Standing {
    /// The standing of a run whose owner died or detached: the run continues only when somebody resumes it.
    #[must_use]
    pub fn without_owner(self, run: &Run) -> Self {
        match self.group {
            Group::NeedsYou | Group::Done => self,
            Group::Working | Group::Waiting => Standing {
                group: Group::NeedsYou,
                reason: Some(
                    "no process owns it, so nothing happens until it is resumed".to_owned(),
                ),
                command: Some(resume_command(run)),
            },
        }
    }
}

/// The root of the tree to which a run belongs.
pub fn root_of(run: &RunId) -> RunId {
    RunId::new(root_id(run))
}

/// What a run waits for, with the command that ends the wait; `None` while it works, and after its final end.
pub fn waiting_for(run: &Run, its: &Standing) -> Option<String> {
    if let Some(why) = waits_for_person(run) {
        return Some(why);
    }
    let is_wait = match its.group {
        Group::NeedsYou | Group::Waiting => run.is_active(),
        Group::Working | Group::Done => false,
    };
    let reason = its.reason.clone().filter(|_| is_wait)?;
    Some(match &its.command {
        Some(command) if !reason.contains(command.as_str()) => format!("{reason}; `{command}`"),
        Some(_) | None => reason,
    })
}

fn resume_command(run: &Run) -> String {
    let root = root_id(&run.id);
    if is_cruise(run) || run.parent().is_some() {
        format!("drive cruise resume {root}")
    } else {
        format!("drive runs resume {root}")
    }
}

fn needs_you(why: String) -> Standing {
    Standing {
        group: Group::NeedsYou,
        command: command_in(&why),
        reason: Some(why),
    }
}

fn ended(run: &Run, outcome: &Outcome) -> Standing {
    let failure = outcome.failure.as_ref();
    let waits = waits_for_person(run);
    let group = match outcome.status {
        OutcomeStatus::NeedsHuman => Group::NeedsYou,
        OutcomeStatus::Failed | OutcomeStatus::TimedOut if waits.is_some() => Group::NeedsYou,
        OutcomeStatus::Succeeded
        | OutcomeStatus::Cancelled
        | OutcomeStatus::Failed
        | OutcomeStatus::TimedOut => Group::Done,
    };
    let hint = failure.and_then(|problem| problem.hint.as_deref());
    let command = waits.as_deref().and_then(command_in);
    let command = command.or_else(|| hint.and_then(command_in));
    let usual = || match &run.flow {
        Flow::Cruise { .. } => format!("drive cruise report {}", run.id),
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Phase { .. } => {
            format!("drive runs show {}", run.id)
        }
    };
    Standing {
        group,
        reason: failure.map(|problem| problem.message.clone()),
        command: command.or_else(|| failure.is_some().then(usual)),
    }
}

fn of_cruise(run: &Run, children: &[Run]) -> Standing {
    let is_live = |child: &&Run| child.parent().is_some_and(|parent| parent.run == run.id);
    let known: Vec<Standing> = children
        .iter()
        .filter(is_live)
        .filter(|child| child.is_active())
        .map(|child| of_child(run, child))
        .collect();
    // A run that is ending requests nothing.
    if run.shutdown.is_none() {
        let asks = known.iter().find(|one| one.group == Group::NeedsYou);
        if let Some(asks) = asks.cloned().or_else(|| reported(run)) {
            return asks;
        }
    }
    let is_idle = run.pending.is_empty() && !run.timers.contains_key(&Timer::Retry);
    if is_idle && !known.is_empty() {
        let at_work = known.iter().find(|one| one.group == Group::Working);
        if at_work.is_none()
            && let Some(first) = known.first()
        {
            return first.clone();
        }
    }
    paused(run).unwrap_or_else(|| working(run))
}

/// The standing of a child, with the name of its task if it works on one.
fn of_child(run: &Run, child: &Run) -> Standing {
    let mut its = standing(child, &[]);
    let report = run.children.get(&child.id);
    if let (true, Some(report), Some(reason)) = (is_of_plan(&child.id), report, &its.reason) {
        its.reason = Some(format!("task `{}`: {reason}", report.task));
    }
    its
}

/// The first need that a live child has reported.
fn reported(run: &Run) -> Option<Standing> {
    let live = run.children.iter().filter(|(_, child)| child.is_live());
    let mut needs = live.filter_map(|(id, child)| Need::of_child(id, child));
    needs.next().map(of_need)
}

fn of_need(need: Need) -> Standing {
    Standing {
        group: Group::NeedsYou,
        reason: Some(need.sentence()),
        command: need.command,
    }
}

fn of_phase(run: &Run, phase: &Phase) -> Standing {
    if run.shutdown.is_some() {
        return paused(run).unwrap_or_else(|| working(run));
    }
    if run.awaits_approval() {
        // A question to a person comes first, because its answer may change what they would approve.
        if let Some(asked) = asked(phase) {
            return asked;
        }
        return Standing {
            group: Group::NeedsYou,
            reason: Some("the plan waits for your approval or comments".to_owned()),
            command: Some(format!("drive cruise approve {}", root_id(&run.id))),
        };
    }
    if let Some(at_work) = agent_at_work(run) {
        return Standing {
            group: Group::Working,
            reason: Some(at_work),
            command: None,
        };
    }
    if let Some(paused) = paused(run) {
        return paused;
    }
    if let Some(need) = Need::of_phase(run) {
        return of_need(need);
    }
    let is_watching = phase.stage == Stage::Watching;
    if is_watching && let Some(asked) = asked(phase) {
        return asked;
    }
    if is_watching
        && phase.watch.trouble.is_none()
        && let Some(objected) = phase.watch.objections.first()
    {
        return of_objection(objected);
    }
    if is_watching {
        let status = cruise_status(run);
        return Standing {
            group: Group::Waiting,
            reason: status.and_then(|status| status.waiting_for),
            command: None,
        };
    }
    working(run)
}

/// A fixer's question that nobody has answered.
fn asked(phase: &Phase) -> Option<Standing> {
    let asked = phase.ledger.questions().next()?;
    let reason = format!("{} was asked a question ({})", asked.author, asked.id());
    Some(Standing {
        group: Group::NeedsYou,
        reason: Some(reason),
        command: None,
    })
}

/// The standing of a run with a request for changes, which remains until its author withdraws it.
fn of_objection(objected: &Objected) -> Standing {
    let place = objected.url.as_ref();
    let place = place.map_or_else(String::new, |url| format!(" ({url})"));
    Standing {
        group: Group::NeedsYou,
        reason: Some(format!(
            "{} requested changes, and approves or dismisses that review{place}",
            objected.by
        )),
        command: None,
    }
}

/// The standing of a run that waits for something that needs no person.
fn paused(run: &Run) -> Option<Standing> {
    paused_for(run).map(|why| Standing {
        group: Group::Waiting,
        reason: Some(why),
        command: None,
    })
}

fn working(run: &Run) -> Standing {
    let reason = match &run.flow {
        Flow::Cruise { build } if !build.tasks.is_empty() => {
            let landed = build.tasks.values();
            let landed = landed.filter(|task| matches!(task.state, TaskState::Landed { .. }));
            Some(format!(
                "{} of {} tasks landed",
                landed.count(),
                build.tasks.len()
            ))
        }
        Flow::Cruise { .. } | Flow::Phase { .. } => cruise_status(run).map(|status| status.state),
        Flow::Awaiting | Flow::Spawn { .. } => None,
    };
    Standing {
        group: Group::Working,
        reason: agent_at_work(run).or(reason),
        command: None,
    }
}

fn agent_at_work(run: &Run) -> Option<String> {
    run.pending.values().find_map(|effect| {
        if let Effect::RunAgent { job, .. } = effect {
            return Some(format!("the {} `{}` works", job.role, job.agent));
        }
        None
    })
}
