//! Redaction: removes secrets from an agent's output before anything else reads it.

mod find;
mod forms;
mod redactor;
mod shapes;

use super::event::{AgentEvent, Wait};
use super::outcome::{AgentOutcome, Ending};
use super::permission::Decision;
use crate::Problem;
use crate::process::LayerState;
pub(super) use forms::MIN_SECRET;
pub use redactor::{REPLACEMENT, Redactor, Secrets};

impl Secrets {
    /// Returns `text` without secrets.
    pub fn redact(&self, text: &str) -> String {
        let mut redactor = Redactor::new(self.clone());
        let mut clean = redactor.push(text.as_bytes());
        clean.extend(redactor.finish());
        text_of(clean)
    }

    /// The beginning of `text` without secrets: all of it, or more than `enough` bytes. It contains
    /// no part of a secret that a cut would split, and a long text is not read to its end.
    pub(super) fn redact_beginning(&self, text: &str, enough: usize) -> String {
        let mut redactor = Redactor::new(self.clone());
        let mut clean = Vec::new();
        for piece in text.as_bytes().chunks(PIECE) {
            clean.extend(redactor.push(piece));
            if clean.len() > enough {
                return text_of(clean);
            }
        }
        clean.extend(redactor.finish());
        text_of(clean)
    }

    /// Returns `problem` without secrets.
    #[must_use]
    pub fn redact_problem(&self, problem: Problem) -> Problem {
        Problem {
            message: self.redact(&problem.message),
            hint: problem.hint.map(|hint| self.redact(&hint)),
            causes: problem.causes.iter().map(|c| self.redact(c)).collect(),
            ..problem
        }
    }

    /// Returns `outcome` without secrets.
    #[must_use]
    pub fn redact_outcome(&self, mut outcome: AgentOutcome) -> AgentOutcome {
        if let Ending::Failed { message, .. } = &mut outcome.ending {
            *message = self.redact(message);
        }
        outcome.text = self.redact(&outcome.text);
        outcome.summary = self.redact(&outcome.summary);
        outcome.document = outcome.document.map(|document| self.redact(&document));
        outcome
    }

    pub(super) fn redact_wait(&self, mut wait: Wait) -> Wait {
        let text = text_of_wait(&mut wait);
        *text = self.redact(text);
        wait
    }
}

/// How many bytes of a long text are redacted at once.
const PIECE: usize = 16 * 1024;

/// Converts redacted bytes to text. Only whole pieces were removed from valid text, but its last
/// character may be cut.
fn text_of(clean: Vec<u8>) -> String {
    String::from_utf8(clean)
        .unwrap_or_else(|broken| String::from_utf8_lossy(broken.as_bytes()).into_owned())
}

/// Redacts a run's events in order.
///
/// Text arrives in pieces, and a secret may be split between two of them. So the end of a piece
/// that could begin a secret is held back until the next piece, or any other event.
#[derive(Debug)]
pub struct EventRedactor {
    secrets: Secrets,
    text: Redactor,
    held: bool,
}

impl EventRedactor {
    /// A redactor for one run.
    pub fn new(secrets: Secrets) -> Self {
        Self {
            text: Redactor::new(secrets.clone()),
            secrets,
            held: false,
        }
    }

    /// The redacted events to pass on for `event`, in order.
    pub fn push(&mut self, event: AgentEvent) -> Vec<AgentEvent> {
        if let AgentEvent::Text { text } = &event {
            let clean = self.text.push(text.as_bytes());
            self.held = true;
            return text_event(clean);
        }
        let mut events = self.finish();
        events.push(self.whole(event));
        events
    }

    /// The text that was still held back.
    pub fn finish(&mut self) -> Vec<AgentEvent> {
        if std::mem::take(&mut self.held) {
            return text_event(self.text.finish());
        }
        Vec::new()
    }

    fn whole(&self, mut event: AgentEvent) -> AgentEvent {
        for text in texts_of(&mut event) {
            *text = self.secrets.redact(text);
        }
        event
    }
}

/// Every text of an event that may contain a secret.
fn texts_of(event: &mut AgentEvent) -> Vec<&mut String> {
    match event {
        AgentEvent::Launched { argv } => argv.iter_mut().collect(),
        AgentEvent::Text { text } | AgentEvent::Thinking { text } => vec![text],
        AgentEvent::ToolUse { name, summary } => vec![name, summary],
        AgentEvent::FileChange { path } => vec![path],
        AgentEvent::Command { command, .. } => vec![command],
        AgentEvent::Waiting { wait } => vec![text_of_wait(wait)],
        AgentEvent::PermissionAsked { request } => vec![&mut request.tool, &mut request.detail],
        AgentEvent::PermissionAnswered { request, decision } => {
            let reason = match decision {
                Decision::Deny { reason } => Some(reason),
                Decision::Grant | Decision::Exhausted { .. } => None,
            };
            let asked = [&mut request.tool, &mut request.detail];
            asked.into_iter().chain(reason).collect()
        }
        AgentEvent::Warning { message } | AgentEvent::Network { message } => vec![message],
        AgentEvent::Isolation { layers } => layers
            .iter_mut()
            .filter_map(|layer| match &mut layer.state {
                LayerState::Missing(why) => Some(why),
                LayerState::Active => None,
            })
            .collect(),
        AgentEvent::Started { .. }
        | AgentEvent::Usage { .. }
        | AgentEvent::Resumed
        | AgentEvent::Finished { .. } => Vec::new(),
    }
}

fn text_of_wait(wait: &mut Wait) -> &mut String {
    match wait {
        Wait::Permission { tool: text }
        | Wait::LoginExpired { message: text }
        | Wait::UsageLimit { message: text, .. }
        | Wait::Overloaded { message: text, .. } => text,
    }
}

fn text_event(bytes: Vec<u8>) -> Vec<AgentEvent> {
    if bytes.is_empty() {
        Vec::new()
    } else {
        vec![AgentEvent::Text {
            text: String::from_utf8_lossy(&bytes).into_owned(),
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::permission::PermissionRequest;
    use crate::problem::Kind;

    fn said(text: &str) -> AgentEvent {
        AgentEvent::Text {
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_secret_split_between_two_pieces_of_text_is_replaced() {
        let mut redactor = EventRedactor::new(Secrets::new(["hunter2-hunter2"]));
        let mut events = redactor.push(said("the key is hunter2-"));
        events.extend(redactor.push(said("hunter2 é")));
        events.extend(redactor.push(AgentEvent::Finished { success: true }));
        assert_eq!(
            events,
            [
                said("the key is "),
                said("[redacted] é"),
                AgentEvent::Finished { success: true },
            ]
        );
    }

    #[test]
    fn text_held_back_comes_before_the_next_event_and_is_never_lost() {
        let mut redactor = EventRedactor::new(Secrets::new(["hunter2-hunter2"]));
        let mut events = redactor.push(said("only hunter2-"));
        events.extend(redactor.push(AgentEvent::Resumed));
        events.extend(redactor.push(said("h")));
        events.extend(redactor.finish());
        assert_eq!(
            events,
            [
                said("only "),
                said("hunter2-"),
                AgentEvent::Resumed,
                said("h")
            ]
        );
    }

    #[test]
    fn every_text_of_every_event_is_redacted() {
        let secrets = Secrets::new(["hunter2-hunter2"]);
        let dirty = || "x hunter2-hunter2 y".to_owned();
        let request = || PermissionRequest {
            tool: dirty(),
            detail: dirty(),
        };
        let events = [
            AgentEvent::Thinking { text: dirty() },
            AgentEvent::ToolUse {
                name: dirty(),
                summary: dirty(),
            },
            AgentEvent::FileChange { path: dirty() },
            AgentEvent::Command {
                command: dirty(),
                exit_code: None,
            },
            AgentEvent::Waiting {
                wait: Wait::LoginExpired { message: dirty() },
            },
            AgentEvent::Waiting {
                wait: Wait::UsageLimit {
                    resets_at: None,
                    message: dirty(),
                },
            },
            AgentEvent::Waiting {
                wait: Wait::Permission { tool: dirty() },
            },
            AgentEvent::PermissionAsked { request: request() },
            AgentEvent::PermissionAnswered {
                request: request(),
                decision: Decision::Deny { reason: dirty() },
            },
            AgentEvent::Warning { message: dirty() },
        ];
        for event in events {
            let clean = EventRedactor::new(secrets.clone()).push(event);
            let shown = serde_json::to_string(&clean).unwrap();
            assert!(!shown.contains("hunter2"), "{shown}");
            assert!(shown.contains("x [redacted] y"), "{shown}");
        }
    }

    #[test]
    fn a_problem_keeps_its_shape_and_loses_its_secrets() {
        let secrets = Secrets::new(["hunter2-hunter2"]);
        let problem = Problem::new(Kind::AgentFailed, "failed with `hunter2-hunter2`")
            .hint("unset hunter2-hunter2")
            .cause("hunter2-hunter2");
        assert_eq!(
            secrets.redact_problem(problem),
            Problem::new(Kind::AgentFailed, "failed with `[redacted]`")
                .hint("unset [redacted]")
                .cause("[redacted]")
        );
    }
}
