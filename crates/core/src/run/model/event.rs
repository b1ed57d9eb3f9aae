use super::ask::Ask;
use super::effect::EffectResult;
use super::outcome::Spent;
use super::request::Request;
use super::timer::Timer;
use super::tree::ChildReport;
use crate::agent::Budget;
use crate::ids::{EffectKey, RunId};
use crate::process::{Layer, ProcessIdentity};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Something that happened. The journal is the list of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "event")]
pub enum Event {
    /// A run was requested.
    Requested {
        /// The request.
        request: Box<Request>,
    },
    /// A process was started for an effect. Journaled before the process executes anything.
    ProcessStarted {
        /// The effect.
        key: EffectKey,
        /// The process.
        identity: ProcessIdentity,
    },
    /// A note while an effect is performed.
    Noted {
        /// The effect.
        key: EffectKey,
        /// The note.
        note: Note,
    },
    /// An effect has a result.
    EffectEnded {
        /// The effect.
        key: EffectKey,
        /// The effect's result.
        result: EffectResult,
    },
    /// A timer is due.
    Woken {
        /// The timer.
        timer: Timer,
    },
    /// A person sent a request to the run, from any terminal.
    Asked {
        /// The request.
        ask: Ask,
    },
    /// A child reported its state.
    ChildReported {
        /// The child.
        child: RunId,
        /// The child's report.
        report: Box<ChildReport>,
    },
    /// A person or a signal asked for a stop.
    CancelAsked,
    /// A later command found that the owner of the run is dead.
    OwnerLost,
    /// A person continues a run that was stopped, lost its owner or used up its budget.
    Resumed {
        /// Tokens and money on top of the budget.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        granted: Option<Budget>,
    },
    /// A person gives a run that has ended more to do, on its branch and its pull request.
    Continued {
        /// The task, as it was given.
        task: String,
    },
    /// The checkout of the run is gone; the repository is found elsewhere.
    Relocated {
        /// The checkout, or the repository itself where it has none.
        repo: PathBuf,
        /// The git folder that all checkouts share.
        git_dir: PathBuf,
    },
}

/// A note about an agent or its work, for people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "note")]
pub enum Note {
    /// The agent was started.
    Launched {
        /// The program and its arguments, without secrets.
        argv: Vec<String>,
    },
    /// The agent waits.
    Waiting {
        /// The reason.
        reason: String,
    },
    /// The agent asked for a permission and got an answer.
    Permission {
        /// The tool.
        tool: String,
        /// Whether it was granted.
        granted: bool,
        /// The rule that decided.
        rule: String,
    },
    /// The agent ran a command.
    Command {
        /// The command line, without secrets.
        line: String,
    },
    /// Usage so far, which counts if the owner dies before the agent ends.
    Used {
        /// The usage.
        spent: Spent,
    },
    /// The steering files that the branch of the run changes now.
    Steering {
        /// Their paths.
        files: Vec<String>,
    },
    /// Which layers of isolation held an agent, and which were missing.
    Isolation {
        /// Every layer.
        layers: Vec<Layer>,
    },
    /// A write waits for its turn: the forge takes only so many.
    ForgeLimit {
        /// When its turn comes.
        until: Timestamp,
    },
    /// A warning.
    Warning {
        /// The text.
        text: String,
    },
}
