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

/// Something that happened. The journal is a list of events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "event")]
pub enum Event {
    /// A run was requested.
    Requested {
        /// The request.
        request: Box<Request>,
    },
    /// A process was started for an effect. The event is journaled before the process executes anything.
    ProcessStarted {
        /// The effect.
        key: EffectKey,
        /// The process.
        identity: ProcessIdentity,
    },
    /// A note about an effect that is being performed.
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
    /// A timer fired.
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
    /// A person or a signal requested a stop.
    CancelAsked,
    /// A later command found that the run's owner is dead.
    OwnerLost,
    /// A person continues a run that was stopped, lost its owner or used up its budget.
    Resumed {
        /// Tokens and money on top of the budget.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        granted: Option<Budget>,
    },
    /// A person gave an ended run more to do, on its branch and its pull request.
    Continued {
        /// The new task, as given.
        task: String,
    },
    /// The run's checkout is gone, and the repository was found elsewhere.
    Relocated {
        /// The checkout, or the repository itself if the run has no checkout.
        repo: PathBuf,
        /// The git folder that all checkouts share.
        git_dir: PathBuf,
    },
}

/// A note for people about an agent or its work.
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
    /// Usage so far. It counts if the owner dies before the agent ends.
    Used {
        /// The usage.
        spent: Spent,
    },
    /// The steering files that the run's branch changes now.
    Steering {
        /// Their paths.
        files: Vec<String>,
    },
    /// The layers of isolation that an agent ran under, and the missing ones.
    Isolation {
        /// Every layer.
        layers: Vec<Layer>,
    },
    /// A write waits because the forge limits the rate of writes.
    ForgeLimit {
        /// When the write may be sent.
        until: Timestamp,
    },
    /// A warning.
    Warning {
        /// The text.
        text: String,
    },
}
