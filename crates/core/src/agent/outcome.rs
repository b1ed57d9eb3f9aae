use super::usage::{Cost, Overrun, SessionTotals, Usage};
use crate::problem::{Kind, Problem};
use crate::process::TimeBound;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// What came of one run of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentOutcome {
    /// Whether it succeeded, and why not.
    pub ending: Ending,
    /// What it wrote, all messages together, the last 256 KiB: where a structured answer stands.
    pub text: String,
    /// Its last message, cut to a size people read.
    pub summary: String,
    /// Tokens of this run.
    pub usage: Usage,
    /// Money of this run, where the agent says.
    pub cost: Option<Cost>,
    /// The conversation, for a later run that resumes it.
    pub session: Option<Session>,
    /// Permissions it asked for.
    pub escalations: u32,
    /// Lines that were no event, and events of an unknown kind.
    pub ignored: Ignored,
}

/// A conversation that can be resumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// The agent's own name for it.
    pub id: String,
    /// What it has used so far, all runs together.
    pub totals: SessionTotals,
}

/// What a stream held besides what is understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ignored {
    /// Lines that are no event at all.
    pub garbage_lines: u64,
    /// Events of a kind that is not known.
    pub unknown_events: u64,
}

/// How an agent's run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "ending")]
pub enum Ending {
    /// It said so in its terminal event, and the event's error flag was clear.
    Succeeded,
    /// It did not, for this reason.
    Failed {
        /// What kind of failure.
        reason: Failure,
        /// What it said about it, if anything.
        message: String,
    },
}

/// Why an agent's run did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Failure {
    /// It said itself that it failed.
    Reported,
    /// Its model could not be reached, or refused.
    Model {
        /// What the model's server answered, where known.
        status: Option<u16>,
    },
    /// It is not logged in.
    LoginExpired,
    /// Its plan's quota is used up.
    #[serde(rename_all = "camelCase")]
    UsageLimit {
        /// When it says it may go on.
        resets_at: Option<Timestamp>,
    },
    /// It ended without a terminal event.
    #[serde(rename_all = "camelCase")]
    NoVerdict {
        /// Its exit code, where it exited.
        exit_code: Option<i32>,
        /// The signal that ended it, where one did.
        signal: Option<i32>,
    },
    /// What it printed are no events of that agent.
    Garbage,
    /// It asked for more permissions than allowed.
    Escalations {
        /// How many are allowed.
        allowed: u32,
    },
    /// It used up its budget.
    Budget {
        /// Which limit.
        overrun: Overrun,
    },
    /// It ran, or was silent, for too long.
    TimedOut {
        /// Which clock.
        bound: TimeBound,
    },
    /// It used more memory than allowed.
    MemoryLimit,
    /// It had more processes than allowed.
    ProcessLimit,
    /// It printed more than allowed.
    OutputLimit,
    /// It was stopped from above.
    Cancelled,
    /// It could not be started or supervised.
    Infra,
}

impl Failure {
    /// The kind of problem that a person is told of.
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

    /// What a person is told about a run of `agent` that did not succeed.
    pub fn problem(&self, agent: &str) -> Option<Problem> {
        let (reason, message) = match &self.ending {
            Ending::Succeeded => return None,
            Ending::Failed { reason, message } => (reason, message),
        };
        let problem = describe(agent, reason);
        Some(match message.is_empty() {
            true => problem,
            false => problem.cause(message.clone()),
        })
    }
}

fn describe(agent: &str, reason: &Failure) -> Problem {
    let failed = |what: &str| Problem::new(reason.kind(), format!("agent `{agent}` {what}"));
    match reason {
        Failure::Reported => failed("says that it failed").hint("read its log: `drive runs logs`"),
        Failure::Model { status } => {
            let answered = status.map_or(String::new(), |s| format!(" (HTTP {s})"));
            failed(&format!("could not use its model{answered}"))
                .hint("try again later, or choose another agent with `--agent`")
        }
        Failure::LoginExpired => failed("is not logged in").hint(format!(
            "log in with its own command, or let its key through with `env` in `[agents.{agent}]`"
        )),
        Failure::UsageLimit { resets_at } => {
            let reset = resets_at.map_or(String::new(), |at| format!(", which resets at `{at}`"));
            failed(&format!("has reached its usage limit{reset}"))
                .hint("run it again after that, or choose another agent with `--agent`")
        }
        Failure::NoVerdict { exit_code, signal } => failed(&match (exit_code, signal) {
            (_, Some(signal)) => format!("was ended by signal `{signal}` before it had finished"),
            (Some(code), None) => {
                format!("exited with `{code}` without saying that it had finished")
            }
            (None, None) => "ended without saying that it had finished".to_owned(),
        })
        .hint("read its log: `drive runs logs`"),
        Failure::Garbage => failed("prints something else than the events of its kind").hint(
            format!("check `kind` and `command` in `[agents.{agent}]`, then run `drive doctor`"),
        ),
        Failure::Escalations { allowed } => failed(&format!(
            "asked for more than the `{allowed}` permissions allowed"
        ))
        .hint(format!(
            "raise `max_escalations`, or allow what it needs in `[agents.{agent}]`"
        )),
        Failure::Budget { overrun } => {
            failed(&format!("{overrun}")).hint("raise it in `[budget]`; the work so far is kept")
        }
        Failure::TimedOut {
            bound: TimeBound::Wall,
        } => failed("ran for longer than allowed")
            .hint("raise `total_timeout`, or pass `--total-timeout`; the work so far is kept"),
        Failure::TimedOut {
            bound: TimeBound::Idle,
        } => failed("was silent for longer than allowed")
            .hint("raise `idle_timeout`, or pass `--idle-timeout`; the work so far is kept"),
        Failure::MemoryLimit => failed("used more memory than allowed")
            .hint("give it a smaller task; the work so far is kept"),
        Failure::ProcessLimit => failed("started more processes than allowed")
            .hint("see what it ran with `drive runs show`; the work so far is kept"),
        Failure::OutputLimit => failed("printed more than allowed")
            .hint("read its log: `drive runs logs`; the work so far is kept"),
        Failure::Cancelled => failed("was stopped").hint("the work so far is kept"),
        Failure::Infra => failed("could not be supervised").hint("run `drive doctor`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every failure there is, with what a person is told and advised.
    fn all() -> Vec<(Failure, &'static str, &'static str)> {
        let wall = TimeBound::Wall;
        let idle = TimeBound::Idle;
        let log = "read its log: `drive runs logs`";
        let model = "try again later, or choose another agent with `--agent`";
        let limit = "run it again after that, or choose another agent with `--agent`";
        let at = "2026-11-16T00:00:00Z".parse().unwrap();
        let no_verdict = |exit_code, signal| Failure::NoVerdict { exit_code, signal };
        vec![
            (Failure::Reported, "says that it failed", log),
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
                "log in with its own command, or let its key through with `env` in `[agents.a]`",
            ),
            (
                Failure::UsageLimit { resets_at: None },
                "has reached its usage limit",
                limit,
            ),
            (
                Failure::UsageLimit {
                    resets_at: Some(at),
                },
                "has reached its usage limit, which resets at `2026-11-16T00:00:00Z`",
                limit,
            ),
            (
                no_verdict(Some(7), None),
                "exited with `7` without saying that it had finished",
                log,
            ),
            (
                no_verdict(None, Some(9)),
                "was ended by signal `9` before it had finished",
                log,
            ),
            (
                no_verdict(None, None),
                "ended without saying that it had finished",
                log,
            ),
            (
                Failure::Garbage,
                "prints something else than the events of its kind",
                "check `kind` and `command` in `[agents.a]`, then run `drive doctor`",
            ),
            (
                Failure::Escalations { allowed: 5 },
                "asked for more than the `5` permissions allowed",
                "raise `max_escalations`, or allow what it needs in `[agents.a]`",
            ),
            (
                Failure::Budget {
                    overrun: Overrun::Tokens {
                        allowed: 10,
                        used: 11,
                    },
                },
                "used 11 tokens where `10` are allowed",
                "raise it in `[budget]`; the work so far is kept",
            ),
            (
                Failure::TimedOut { bound: wall },
                "ran for longer than allowed",
                "raise `total_timeout`, or pass `--total-timeout`; the work so far is kept",
            ),
            (
                Failure::TimedOut { bound: idle },
                "was silent for longer than allowed",
                "raise `idle_timeout`, or pass `--idle-timeout`; the work so far is kept",
            ),
            (
                Failure::MemoryLimit,
                "used more memory than allowed",
                "give it a smaller task; the work so far is kept",
            ),
            (
                Failure::ProcessLimit,
                "started more processes than allowed",
                "see what it ran with `drive runs show`; the work so far is kept",
            ),
            (
                Failure::OutputLimit,
                "printed more than allowed",
                "read its log: `drive runs logs`; the work so far is kept",
            ),
            (Failure::Cancelled, "was stopped", "the work so far is kept"),
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
            let problem = describe("a", &reason);
            assert_eq!(
                (problem.message, problem.hint.as_deref()),
                (format!("agent `a` {message}"), Some(hint)),
                "{reason:?}"
            );
            assert_eq!(problem.kind, reason.kind());
        }
    }
}
