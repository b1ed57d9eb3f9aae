use super::ask::Ask;
use super::effect::EffectResult;
use super::outcome::Spent;
use super::request::Request;
use super::timer::Timer;
use super::tree::ChildReport;
use crate::agent::Budget;
use crate::ids::{EffectKey, RunId};
use crate::process::ProcessIdentity;
use serde::{Deserialize, Serialize};

/// Something that happened. The journal is the list of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "event")]
pub enum Event {
    /// A person asked for a run.
    Requested {
        /// For what.
        request: Box<Request>,
    },
    /// A process was started for an effect. Journaled before the process executes anything.
    ProcessStarted {
        /// For which effect.
        key: EffectKey,
        /// Which process.
        identity: ProcessIdentity,
    },
    /// Something worth remembering while an effect is performed.
    Noted {
        /// During which effect.
        key: EffectKey,
        /// What.
        note: Note,
    },
    /// An effect has a result.
    EffectEnded {
        /// Which effect.
        key: EffectKey,
        /// Its result.
        result: EffectResult,
    },
    /// An instant that the run waited for has come.
    Woken {
        /// Which timer.
        timer: Timer,
    },
    /// A person asked a phase for something, from any terminal.
    Asked {
        /// For what.
        ask: Ask,
    },
    /// A child reported how it stands.
    ChildReported {
        /// The child.
        child: RunId,
        /// Its report.
        report: Box<ChildReport>,
    },
    /// A person or a signal asked for a stop.
    CancelAsked,
    /// A later command found that the process which performed this run is gone.
    OwnerLost,
    /// A person lets a run go on that was stopped, lost its owner or used up its budget.
    Resumed {
        /// Tokens and money on top of the budget.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        granted: Option<Budget>,
    },
}

/// What an agent did that a person will want to see again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "note")]
pub enum Note {
    /// It was started like this.
    Launched {
        /// The program and its arguments, without secrets.
        argv: Vec<String>,
    },
    /// It waits, and for what.
    Waiting {
        /// In words.
        reason: String,
    },
    /// It asked for a permission, and this was the answer.
    Permission {
        /// For what.
        tool: String,
        /// Whether it was granted.
        granted: bool,
        /// By which rule.
        rule: String,
    },
    /// It ran a command.
    Command {
        /// The command line, without secrets.
        line: String,
    },
    /// What it has used so far, all in all: an owner that dies before the agent ends leaves that.
    Used {
        /// It.
        spent: Spent,
    },
    /// A warning.
    Warning {
        /// In words.
        text: String,
    },
}
