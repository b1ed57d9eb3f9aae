//! The need of a run for a person: the reason, and the command or the address to act.

use super::model::{Child, ChildState, Flow, Published, Run, Wants};
use crate::ids::RunId;
use crate::problem::command_in;

/// A reason why a run needs a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The reason, in one sentence without a period.
    pub reason: String,
    /// The `drive` command that helps, where there is one.
    pub command: Option<String>,
    /// The address where a person can act, if it is not a command.
    pub url: Option<String>,
}

impl Need {
    /// A need with the command that its text names, if any.
    pub(in crate::run) fn of_text(reason: String) -> Self {
        Self {
            command: command_in(&reason),
            reason,
            url: None,
        }
    }

    /// What a child of a cruise waits for, if only a person can help.
    pub(in crate::run) fn of_child(id: &RunId, child: &Child) -> Option<Self> {
        let report = child.report.as_ref()?;
        let ChildState::NeedsPerson { why, wants } = &report.state else {
            return None;
        };
        let need = Self::new(id, *wants, why, report.pull_request.as_ref());
        Some(Self {
            reason: if is_of_plan(id) {
                format!("task `{}`: {}", child.task, need.reason)
            } else {
                need.reason
            },
            ..need
        })
    }

    /// What a phase leaves to a person after its own work is done.
    pub(in crate::run) fn of_phase(run: &Run) -> Option<Self> {
        let Flow::Phase { phase } = &run.flow else {
            return None;
        };
        let head = run.work.head_sha.as_ref();
        let why = phase.left_to_person(head)?;
        let wants = phase.wants(head);
        Some(Self::new(
            &run.id,
            wants,
            &why,
            run.work.pull_request.as_ref(),
        ))
    }

    fn new(id: &RunId, wants: Wants, why: &str, pr: Option<&Published>) -> Self {
        let (root, _) = id.as_str().split_once('+').unwrap_or((id.as_str(), ""));
        let url = pr.filter(|pr| !pr.is_local()).map(|pr| pr.url.clone());
        // Pull requests of the local forge have no web address; `drive pr` acts on them.
        let local = pr.filter(|pr| pr.is_local()).map(|pr| pr.number);
        let command = match wants {
            Wants::Limit => Some(format!("drive runs extend {id} --rounds 3")),
            Wants::Approval => local.map(|number| format!("drive pr approve {number}")),
            Wants::Merge => local.map(|number| format!("drive pr merge {number}")),
            Wants::Decision => Some(format!("drive cruise report {root}")),
        };
        Self {
            reason: match wants {
                Wants::Merge => format!("the built commits are ready to merge: {why}"),
                Wants::Limit | Wants::Approval | Wants::Decision => why.to_owned(),
            },
            command: command_in(why).or(command),
            url: match wants {
                Wants::Limit => None,
                Wants::Approval | Wants::Merge | Wants::Decision => url,
            },
        }
    }

    /// The reason, followed by the address if there is no command.
    pub(in crate::run) fn sentence(&self) -> String {
        match (&self.command, &self.url) {
            (None, Some(url)) => format!("{} ({url})", self.reason),
            (Some(_), _) | (None, None) => self.reason.clone(),
        }
    }
}

/// Whether a child works on a task of the plan. The children that write the plan, amend it or merge
/// the whole have ids with `++`, which no task id contains.
pub(in crate::run) fn is_of_plan(id: &RunId) -> bool {
    !id.as_str().contains("++")
}
