use super::permission::{Decision, PermissionRequest};
use super::usage::{Cost, Usage};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One thing an agent did, as it happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum AgentEvent {
    /// It is started like this.
    Launched {
        /// The program and its arguments.
        argv: Vec<String>,
    },
    /// It is up and has named its session.
    Started {
        /// The agent's own name for the conversation; needed to resume it.
        session: Option<String>,
        /// The model it says it uses.
        model: Option<String>,
    },
    /// It wrote text.
    Text {
        /// What it wrote: a whole message, or the next piece of one.
        text: String,
    },
    /// It thought aloud.
    Thinking {
        /// What it thought.
        text: String,
    },
    /// It used one of its tools.
    ToolUse {
        /// The tool, as the agent calls it.
        name: String,
        /// One line a person can read.
        summary: String,
    },
    /// It changed a file.
    FileChange {
        /// The file, as the agent named it.
        path: String,
    },
    /// It ran a command.
    Command {
        /// The command line.
        command: String,
        /// How it ended, once known.
        exit_code: Option<i32>,
    },
    /// The totals of this run so far. The last one counts.
    #[serde(rename_all = "camelCase")]
    Usage {
        /// Tokens of this run.
        usage: Usage,
        /// What this run has cost, where the agent says.
        cost: Option<Cost>,
    },
    /// It cannot go on by itself.
    Waiting {
        /// For what.
        wait: Wait,
    },
    /// It goes on after a wait.
    Resumed,
    /// It asked to be allowed something.
    PermissionAsked {
        /// What it asked for.
        request: PermissionRequest,
    },
    /// It was answered.
    PermissionAnswered {
        /// What it had asked for.
        request: PermissionRequest,
        /// What the rules said.
        decision: Decision,
    },
    /// Something odd that did not stop it.
    Warning {
        /// What.
        message: String,
    },
    /// Its own last word.
    Finished {
        /// Whether it says that it succeeded.
        success: bool,
    },
}

/// Why an agent stands still. Each of these ends by a rule or by a person, and never by silence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "for")]
pub enum Wait {
    /// It needs a permission.
    Permission {
        /// For which tool.
        tool: String,
    },
    /// It is not logged in, or no longer.
    LoginExpired {
        /// What it said.
        message: String,
    },
    /// Its plan's quota is used up.
    #[serde(rename_all = "camelCase")]
    UsageLimit {
        /// When it says it may go on.
        resets_at: Option<Timestamp>,
        /// What it said.
        message: String,
    },
    /// The model does not answer, and the agent tries again.
    #[serde(rename_all = "camelCase")]
    Overloaded {
        /// Which try.
        attempt: Option<u32>,
        /// How many it will make.
        attempts: Option<u32>,
        /// How long it waits before the next.
        retry_in_ms: Option<u64>,
        /// What the model's server answered.
        status: Option<u16>,
        /// What it said.
        message: String,
    },
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wait::Permission { tool } => write!(f, "waiting for permission to use `{tool}`"),
            Wait::LoginExpired { .. } => f.write_str("waiting for a login"),
            Wait::UsageLimit {
                resets_at: Some(at),
                ..
            } => write!(f, "usage limit reached, resets at {at}"),
            Wait::UsageLimit {
                resets_at: None, ..
            } => f.write_str("usage limit reached"),
            Wait::Overloaded {
                attempt, attempts, ..
            } => {
                f.write_str("the model is overloaded")?;
                match (attempt, attempts) {
                    (Some(n), Some(of)) => write!(f, ", attempt {n} of {of}"),
                    (Some(n), None) => write!(f, ", attempt {n}"),
                    (None, _) => Ok(()),
                }
            }
        }
    }
}
