use super::diagnosis::diagnose;
use super::progress::Progress;
use crate::agent::event::AgentEvent;
use crate::agent::outcome::{AgentOutcome, Ending, Failure, Session};
use crate::process::End;
use std::fmt::Write as _;

/// The final outcome: from the agent's own terminal event, else from the limit that ended it, else
/// from its last output.
impl Progress {
    /// Returns the last events and the outcome.
    pub(super) fn finish(&mut self, end: &End) -> (Vec<AgentEvent>, AgentOutcome) {
        self.close_message();
        (self.take_events(), self.outcome(end))
    }

    fn outcome(&mut self, end: &End) -> AgentOutcome {
        self.meter.or_counted(self.counted);
        AgentOutcome {
            ending: self.ending(end),
            text: self.spoken.said().to_owned(),
            summary: self.spoken.summary(),
            document: self.document.take(),
            usage: self.meter.usage(),
            cost: self.meter.cost(),
            session: self.session.take().map(|id| Session {
                id,
                totals: self.meter.totals(),
            }),
            escalations: self.escalations,
            ignored: self.ignored,
        }
    }

    fn ending(&mut self, end: &End) -> Ending {
        if let Some((reason, message)) = self.abandoned.take() {
            return Ending::Failed { reason, message };
        }
        // What happens after a reviewer finished does not affect its review.
        if self.is_complete {
            return Ending::Succeeded;
        }
        match (self.terminal.take(), bound_reached(end)) {
            (Some(Ending::Succeeded), _) => Ending::Succeeded,
            // The last message of a stopped agent is about the stop, not about its work.
            (_, Some(reason)) => Ending::Failed {
                message: self.standstill(end),
                reason,
            },
            (Some(failed @ Ending::Failed { .. }), None) => failed,
            (None, None) => self.no_verdict(end),
        }
    }

    fn no_verdict(&mut self, end: &End) -> Ending {
        let said = self.last_words();
        if self.understood == 0 && self.ignored.garbage_lines > 0 {
            return Ending::Failed {
                reason: Failure::Garbage,
                message: said,
            };
        }
        if let Some((reason, message)) = self.last_error.take()
            && reason != Failure::Reported
        {
            return Ending::Failed { reason, message };
        }
        let spoken = diagnose(&said, None);
        let told = matches!(spoken, Failure::LoginExpired | Failure::UsageLimit { .. });
        let silent = Failure::NoVerdict {
            exit_code: end.exit_code(),
            signal: end.signal(),
        };
        Ending::Failed {
            reason: if told { spoken } else { silent },
            message: said,
        }
    }

    /// A description of the wait during which a limit ended the agent.
    fn standstill(&self, end: &End) -> String {
        let mut message = String::new();
        if let End::Infra { message: why } = end {
            message.push_str(&self.setup.secrets.redact(why));
        }
        if let Some(wait) = &self.wait {
            let _ = write!(message, "{wait}");
        }
        message
    }
}

fn bound_reached(end: &End) -> Option<Failure> {
    match end {
        End::Exited { .. } | End::Signalled { .. } | End::LeakedProcesses { .. } => None,
        End::TimedOut { bound } => Some(Failure::TimedOut { bound: *bound }),
        End::MemoryLimit => Some(Failure::MemoryLimit),
        End::ProcessLimit => Some(Failure::ProcessLimit),
        End::DiskLimit { bound } => Some(Failure::DiskLimit { bound: *bound }),
        End::OutputLimit => Some(Failure::OutputLimit),
        End::Aborted => Some(Failure::Cancelled),
        End::Infra { .. } => Some(Failure::Infra),
    }
}
