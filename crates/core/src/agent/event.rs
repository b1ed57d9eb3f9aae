use super::permission::{Decision, PermissionRequest};
use super::usage::{Cost, Usage};
use crate::process::Layer;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One thing an agent did, as it happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum AgentEvent {
    /// The agent process is about to start.
    Launched {
        /// The program and its arguments.
        argv: Vec<String>,
    },
    /// The agent is running and reported its session.
    Started {
        /// The agent's own name for the conversation; needed to resume it.
        session: Option<String>,
        /// The model it says it uses.
        model: Option<String>,
    },
    /// The agent wrote text.
    Text {
        /// A whole message, or the next piece of one.
        text: String,
    },
    /// The agent printed its reasoning.
    Thinking {
        /// The reasoning.
        text: String,
    },
    /// The agent used one of its tools.
    ToolUse {
        /// The tool, as the agent calls it.
        name: String,
        /// One line a person can read.
        summary: String,
    },
    /// The agent changed a file.
    FileChange {
        /// The file, as the agent named it.
        path: String,
    },
    /// The agent ran a command.
    Command {
        /// The command line.
        command: String,
        /// The exit code, once known.
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
    /// The agent waits for something outside.
    Waiting {
        /// The reason for the wait.
        wait: Wait,
    },
    /// The agent continues after a wait.
    Resumed,
    /// The agent asked for a permission.
    PermissionAsked {
        /// The requested permission.
        request: PermissionRequest,
    },
    /// The permission request was answered.
    PermissionAnswered {
        /// The requested permission.
        request: PermissionRequest,
        /// The decision of the rules.
        decision: Decision,
    },
    /// Something odd that did not stop it.
    Warning {
        /// The text of the warning.
        message: String,
    },
    /// drive did not connect the agent to a host, or could not restrict its network.
    Network {
        /// What happened, and what to do about it.
        message: String,
    },
    /// Which layers of isolation held the agent, and which were missing.
    Isolation {
        /// Every layer.
        layers: Vec<Layer>,
    },
    /// The agent's terminal event.
    Finished {
        /// Whether it says that it succeeded.
        success: bool,
    },
}

/// Why an agent stands still. Each of these ends by a rule or by a person, and never by silence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "for")]
pub enum Wait {
    /// The agent waits for a permission.
    Permission {
        /// The tool that needs the permission.
        tool: String,
    },
    /// The agent is not logged in, or its login expired.
    LoginExpired {
        /// The agent's message.
        message: String,
    },
    /// The usage limit of the agent's plan is reached.
    #[serde(rename_all = "camelCase")]
    UsageLimit {
        /// The reset time, if the agent reports it.
        resets_at: Option<Timestamp>,
        /// The agent's message.
        message: String,
    },
    /// The model does not answer, and the agent tries again.
    #[serde(rename_all = "camelCase")]
    Overloaded {
        /// The number of the current attempt.
        attempt: Option<u32>,
        /// The number of attempts the agent will make.
        attempts: Option<u32>,
        /// The wait before the next attempt.
        retry_in_ms: Option<u64>,
        /// The HTTP status of the model's server.
        status: Option<u16>,
        /// The agent's message.
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
