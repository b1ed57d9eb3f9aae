use super::permission::{Decision, PermissionRequest};
use super::usage::{Cost, Usage};
use crate::process::Layer;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;

/// An event of a running agent.
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
        /// The agent's own id of the conversation; needed to resume it.
        session: Option<String>,
        /// The model that the agent reports.
        model: Option<String>,
    },
    /// The agent wrote text.
    Text {
        /// A whole message, or its next piece.
        text: String,
    },
    /// The agent printed its reasoning.
    Thinking {
        /// The reasoning.
        text: String,
    },
    /// The agent used one of its tools.
    ToolUse {
        /// The tool's name, as the agent uses it.
        name: String,
        /// A summary in one line.
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
    /// The totals of this run so far. The last event counts.
    #[serde(rename_all = "camelCase")]
    Usage {
        /// Tokens of this run.
        usage: Usage,
        /// The cost of this run, if the agent reports it.
        cost: Option<Cost>,
    },
    /// The agent waits for something external.
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
    /// A problem that did not stop the agent.
    Warning {
        /// The text of the warning.
        message: String,
    },
    /// drive did not connect the agent to a host, or could not restrict its network.
    Network {
        /// The cause, and a remedy.
        message: String,
    },
    /// The layers of isolation that the agent ran under, and the missing ones.
    Isolation {
        /// Every layer.
        layers: Vec<Layer>,
    },
    /// The agent's terminal event.
    Finished {
        /// Whether the agent reports success.
        success: bool,
    },
}

/// Why an agent does not continue. A rule or a person ends each wait; silence never does.
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
    /// The model does not answer, and the agent retries.
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
