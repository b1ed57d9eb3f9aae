use super::usage::{Cost, Overrun, SessionTotals, Usage};
use crate::ids::RunId;
use crate::problem::{Kind, Problem};
use crate::process::{DiskBound, TimeBound};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// The outcome of one agent job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentOutcome {
    /// Whether it succeeded; else why not.
    pub ending: Ending,
    /// All its messages together, the last 256 KiB. It contains the structured answer.
    pub text: String,
    /// The agent's last message, shortened.
    pub summary: String,
    /// The complete last message, if the agent's CLI returned it in the form that the job asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// Tokens of this run.
    pub usage: Usage,
    /// The cost of this run, if the agent reports it.
    pub cost: Option<Cost>,
    /// The conversation, so that a later run can resume it.
    pub session: Option<Session>,
    /// The number of permissions it requested.
    pub escalations: u32,
    /// The number of lines that were no event, and of events of an unknown kind.
    pub ignored: Ignored,
}

/// A conversation that can be resumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// The agent's own name for it.
    pub id: String,
    /// Usage of the session so far, over all jobs.
    pub totals: SessionTotals,
}

/// Counts of output that the parser skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ignored {
    /// Lines that were no event.
    pub garbage_lines: u64,
    /// Events of an unknown kind.
    pub unknown_events: u64,
}

/// How an agent's run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "ending")]
pub enum Ending {
    /// Its terminal event reported success, with a clear error flag.
    Succeeded,
    /// The agent failed.
    Failed {
        /// The kind of failure.
        reason: Failure,
        /// The agent's message; empty if there is none.
        message: String,
    },
}

impl Ending {
    /// Whether a limit of the budget stopped it, so the work itself did not fail.
    pub fn is_over_budget(&self) -> bool {
        matches!(
            self,
            Ending::Failed {
                reason: Failure::Budget { .. },
                ..
            }
        )
    }
}

/// Why an agent's run did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Failure {
    /// The agent reported that it failed.
    Reported,
    /// The model could not be reached, or refused the request.
    Model {
        /// The HTTP status of the model's server, if known.
        status: Option<u16>,
    },
    /// The agent is not logged in.
    LoginExpired,
    /// The usage limit of the agent's plan is reached.
    #[serde(rename_all = "camelCase")]
    UsageLimit {
        /// The reset time, if the agent reports it.
        resets_at: Option<Timestamp>,
    },
    /// The agent ended without a terminal event.
    #[serde(rename_all = "camelCase")]
    NoVerdict {
        /// The exit code, if the process exited.
        exit_code: Option<i32>,
        /// The signal that ended it, if one did.
        signal: Option<i32>,
    },
    /// The output is not in the format of the configured kind.
    Garbage,
    /// The agent asked for more permissions than allowed.
    Escalations {
        /// The number of allowed requests.
        allowed: u32,
    },
    /// The agent exceeded its budget.
    Budget {
        /// The exceeded limit.
        overrun: Overrun,
    },
    /// The agent ran, or produced no output, for too long.
    TimedOut {
        /// The exceeded time limit.
        bound: TimeBound,
    },
    /// The agent reached its memory limit.
    MemoryLimit,
    /// The agent reached its process limit.
    ProcessLimit,
    /// The agent wrote more than allowed, or the disk is nearly full.
    DiskLimit {
        /// The exceeded limit.
        bound: DiskBound,
    },
    /// The agent reached its output limit.
    OutputLimit,
    /// The run was stopped.
    Cancelled,
    /// The agent could not be started or supervised.
    Infra,
}

impl Failure {
    /// The kind of the reported problem.
    pub fn kind(&self) -> Kind {
        match self {
            Failure::Reported => Kind::AgentFailed,
            Failure::Model { .. } => Kind::ModelUnavailable,
            Failure::LoginExpired => Kind::AgentLoginExpired,
            Failure::UsageLimit { .. } => Kind::AgentUsageLimit,
            Failure::NoVerdict { .. } => Kind::AgentNoVerdict,
            Failure::Garbage => Kind::AgentGarbage,
            Failure::Escalations { .. } => Kind::AgentEscalations,
            Failure::Budget { .. } => Kind::BudgetExceeded,
            Failure::TimedOut { .. } => Kind::AgentTimedOut,
            Failure::MemoryLimit => Kind::AgentMemoryLimit,
            Failure::ProcessLimit => Kind::AgentProcessLimit,
            Failure::DiskLimit { .. } => Kind::AgentDiskLimit,
            Failure::OutputLimit => Kind::AgentOutputLimit,
            Failure::Cancelled => Kind::Interrupted,
            Failure::Infra => Kind::AgentNotSupervised,
        }
    }
}

impl AgentOutcome {
    /// Whether it succeeded.
    pub fn succeeded(&self) -> bool {
        self.ending == Ending::Succeeded
    }

    /// The problem of an agent that failed.
    pub fn problem(&self, agent: &str) -> Option<Problem> {
        self.described(agent, "drive runs logs")
    }

    /// Like `problem`, with a hint that names the run.
    pub fn problem_of(&self, agent: &str, run: &RunId) -> Option<Problem> {
        self.described(agent, &format!("drive runs logs {run}"))
    }

    fn described(&self, agent: &str, logs: &str) -> Option<Problem> {
        let (reason, message) = match &self.ending {
            Ending::Succeeded => return None,
            Ending::Failed { reason, message } => (reason, message),
        };
        let problem = describe(agent, reason, logs);
        Some(if message.is_empty() {
            problem
        } else {
            problem.cause(message.clone())
        })
    }
}

fn describe(agent: &str, reason: &Failure, logs: &str) -> Problem {
    let failed = |what: &str| Problem::new(reason.kind(), format!("agent `{agent}` {what}"));
    match reason {
        Failure::Reported => failed("reported a failure").hint(format!("read its log: `{logs}`")),
        Failure::Model { status } => {
            let answered = status.map_or(String::new(), |s| format!(" (HTTP {s})"));
            failed(&format!("could not use its model{answered}"))
                .hint("try again later, or choose another agent with `--agent`")
        }
        Failure::LoginExpired => failed("is not logged in").hint(format!(
            "log in with its own command, or pass its key with `env` in `[agents.{agent}]`"
        )),
        Failure::UsageLimit { resets_at } => {
            let reset = resets_at.map_or(String::new(), |at| format!("; it resets at `{at}`"));
            failed(&format!("reached its usage limit{reset}"))
                .hint("wait for the reset, or choose another agent with `--agent`")
        }
        Failure::NoVerdict { exit_code, signal } => failed(&match (exit_code, signal) {
            (_, Some(signal)) => format!("was killed by signal {signal}"),
            (Some(code), None) => {
                format!("failed (exit code {code})")
            }
            (None, None) => "ended without a result".to_owned(),
        })
        .hint(format!("read its log: `{logs}`")),
        Failure::Garbage => failed("printed output that does not match its `kind`").hint(format!(
            "check `kind` and `command` in `[agents.{agent}]`, then run `drive doctor`"
        )),
        Failure::Escalations { allowed } => failed(&format!(
            "asked for permission more than {allowed} times (max_escalations)"
        ))
        .hint(format!(
            "raise `max_escalations`, or allow what it needs in `[agents.{agent}]`"
        )),
        Failure::Budget { overrun } => failed(&format!("{overrun}")).hint(
            "raise the limit in `[budget]`; the work so far \
                                                is saved",
        ),
        Failure::TimedOut {
            bound: TimeBound::Wall,
        } => failed("ran for too long (total_timeout)")
            .hint("raise `total_timeout` or pass `--total-timeout`; the work so far is saved"),
        Failure::TimedOut {
            bound: TimeBound::Idle,
        } => failed("produced no output for too long (idle_timeout)")
            .hint("raise `idle_timeout` or pass `--idle-timeout`; the work so far is saved"),
        Failure::MemoryLimit => failed("reached its memory limit").hint(format!(
            "raise `memory` in `[agents.{agent}.limits]`, or give it a smaller task; the work \
                 so far is saved"
        )),
        Failure::ProcessLimit => failed("reached its process limit").hint(format!(
            "raise `processes` in `[agents.{agent}.limits]` if it needs more; the work so far is \
             saved"
        )),
        Failure::DiskLimit { bound } => failed(&bound.to_string()).hint(match bound {
            DiskBound::Bytes(_) => format!(
                "raise `disk` in `[agents.{agent}.limits]` if it needs more; the work so far is saved"
            ),
            DiskBound::Files(_) => format!(
                "raise `files` in `[agents.{agent}.limits]` if it needs more; the work so far is saved"
            ),
            DiskBound::FreeBytes(_) | DiskBound::FreeFiles(_) => {
                "make room: `drive prune` removes what is not needed".to_owned()
            }
        }),
        Failure::OutputLimit => failed("reached its output limit")
            .hint(format!("read its log: `{logs}`; the work so far is saved")),
        Failure::Cancelled => failed("was stopped").hint("the work so far is saved"),
        Failure::Infra => failed("could not be supervised").hint("run `drive doctor`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every failure with its message and hint.
    fn all() -> Vec<(Failure, &'static str, &'static str)> {
        let wall = TimeBound::Wall;
        let idle = TimeBound::Idle;
        let log = "read its log: `drive runs logs`";
        let model = "try again later, or choose another agent with `--agent`";
        let limit = "wait for the reset, or choose another agent with `--agent`";
        let at = "2026-11-16T00:00:00Z".parse().unwrap();
        let disk = |bound| Failure::DiskLimit { bound };
        let no_verdict = |exit_code, signal| Failure::NoVerdict { exit_code, signal };
        vec![
            (Failure::Reported, "reported a failure", log),
            (
                Failure::Model { status: None },
                "could not use its model",
                model,
            ),
            (
                Failure::Model { status: Some(503) },
                "could not use its model (HTTP 503)",
                model,
            ),
            (
                Failure::LoginExpired,
                "is not logged in",
                "log in with its own command, or pass its key with `env` in `[agents.a]`",
            ),
            (
                Failure::UsageLimit { resets_at: None },
                "reached its usage limit",
                limit,
            ),
            (
                Failure::UsageLimit {
                    resets_at: Some(at),
                },
                "reached its usage limit; it resets at `2026-11-16T00:00:00Z`",
                limit,
            ),
            (no_verdict(Some(7), None), "failed (exit code 7)", log),
            (no_verdict(None, Some(9)), "was killed by signal 9", log),
            (no_verdict(None, None), "ended without a result", log),
            (
                Failure::Garbage,
                "printed output that does not match its `kind`",
                "check `kind` and `command` in `[agents.a]`, then run `drive doctor`",
            ),
            (
                Failure::Escalations { allowed: 5 },
                "asked for permission more than 5 times (max_escalations)",
                "raise `max_escalations`, or allow what it needs in `[agents.a]`",
            ),
            (
                Failure::Budget {
                    overrun: Overrun::Tokens {
                        allowed: 10,
                        used: 11,
                    },
                },
                "used 11 tokens (limit 10)",
                "raise the limit in `[budget]`; the work so far is saved",
            ),
            (
                Failure::TimedOut { bound: wall },
                "ran for too long (total_timeout)",
                "raise `total_timeout` or pass `--total-timeout`; the work so far is saved",
            ),
            (
                Failure::TimedOut { bound: idle },
                "produced no output for too long (idle_timeout)",
                "raise `idle_timeout` or pass `--idle-timeout`; the work so far is saved",
            ),
            (
                Failure::MemoryLimit,
                "reached its memory limit",
                "raise `memory` in `[agents.a.limits]`, or give it a smaller task; the work \
                 so far is saved",
            ),
            (
                Failure::ProcessLimit,
                "reached its process limit",
                "raise `processes` in `[agents.a.limits]` if it needs more; the work so far is \
                 saved",
            ),
            (
                disk(DiskBound::Bytes(10 << 30)),
                "used more than 10GiB of disk",
                "raise `disk` in `[agents.a.limits]` if it needs more; the work so far is saved",
            ),
            (
                disk(DiskBound::Files(2000)),
                "made more than 2000 files",
                "raise `files` in `[agents.a.limits]` if it needs more; the work so far is saved",
            ),
            (
                disk(DiskBound::FreeBytes(512 << 20)),
                "was stopped: the disk has less than 512MiB left",
                "make room: `drive prune` removes what is not needed",
            ),
            (
                disk(DiskBound::FreeFiles(100)),
                "was stopped: the disk can take less than 100 more files",
                "make room: `drive prune` removes what is not needed",
            ),
            (
                Failure::OutputLimit,
                "reached its output limit",
                "read its log: `drive runs logs`; the work so far is saved",
            ),
            (
                Failure::Cancelled,
                "was stopped",
                "the work so far is saved",
            ),
            (
                Failure::Infra,
                "could not be supervised",
                "run `drive doctor`",
            ),
        ]
    }

    #[test]
    fn every_end_that_is_no_success_is_told_with_what_to_do_about_it() {
        for (reason, message, hint) in all() {
            let problem = describe("a", &reason, "drive runs logs");
            assert_eq!(
                (problem.message, problem.hint.as_deref()),
                (format!("agent `a` {message}"), Some(hint)),
                "{reason:?}"
            );
            assert_eq!(problem.kind, reason.kind());
        }
    }
}
