//! Renders an agent's event log for people: text as text, each tool call on one line.

use crate::table::length;
use drive_adapters::agents::{AgentEnd, AgentHead, LoggedEvent};
use drive_core::agent::{AgentEvent, Decision};
use drive_core::time::Timestamp;
use drive_core::timeline::first_line;

/// Turns the events of one agent into lines. Pieces of a text are joined.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    /// The beginning of an unfinished line.
    open: String,
    /// The last printed command, until its exit code is known.
    command: Option<String>,
    /// When the last event happened.
    pub(super) last: Option<Timestamp>,
    /// Whether the agent has ended.
    pub(super) ended: bool,
}

impl Rendered {
    /// The lines to print for an event.
    pub(super) fn push(&mut self, line: &LoggedEvent) -> Vec<String> {
        self.last = Some(line.at);
        let mut lines = Vec::new();
        if let Some(AgentEvent::Text { text }) = &line.event {
            self.open.push_str(text);
            while let Some(end) = self.open.find('\n') {
                let rest = self.open.split_off(end + 1);
                lines.push(self.open.trim_end().to_owned());
                self.open = rest;
            }
            return lines;
        }
        let told = line.event.as_ref().and_then(|event| self.tell(event));
        if told.is_some() || line.ended.is_some() || line.cut {
            lines.extend(self.flush());
        }
        lines.extend(told);
        if line.cut {
            lines.push("  ! the log has reached its limit; the rest is not in it".to_owned());
        }
        if let Some(end) = &line.ended {
            self.ended = true;
            lines.push(conclusion(end));
        }
        lines
    }

    /// Returns the unfinished line.
    pub(super) fn flush(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.open);
        let line = line.trim_end();
        (!line.is_empty()).then(|| line.to_owned())
    }

    /// The line for an event; `None` if people do not need it.
    fn tell(&mut self, event: &AgentEvent) -> Option<String> {
        Some(match event {
            AgentEvent::Text { .. }
            | AgentEvent::Launched { .. }
            | AgentEvent::Started { .. }
            | AgentEvent::Usage { .. }
            | AgentEvent::Isolation { .. }
            | AgentEvent::Finished { .. } => return None,
            AgentEvent::Thinking { text } => format!("  ~ {}", first_line(text)),
            AgentEvent::ToolUse { name, summary } if summary.starts_with(name.as_str()) => {
                format!("  > {}", first_line(summary))
            }
            AgentEvent::ToolUse { name, summary } => format!("  > {name} {}", first_line(summary))
                .trim_end()
                .to_owned(),
            AgentEvent::FileChange { path } => format!("  + {}", first_line(path)),
            AgentEvent::Command { command, exit_code } => {
                return self.command(command, *exit_code);
            }
            AgentEvent::Waiting { wait } => format!("  ! {wait}"),
            AgentEvent::Resumed => "  ! continues".to_owned(),
            AgentEvent::PermissionAsked { .. } => return None,
            AgentEvent::PermissionAnswered { request, decision } => {
                let answer = match decision {
                    Decision::Grant => "granted",
                    Decision::Deny { .. } | Decision::Exhausted { .. } => "refused",
                };
                let detail = first_line(&request.detail);
                format!("  ? {} {detail}: {answer}", request.tool)
            }
            AgentEvent::Warning { message } | AgentEvent::Network { message } => {
                format!("  ! {}", first_line(message))
            }
        })
    }

    /// The line for a command: it is printed at its start, and again only if it failed.
    fn command(&mut self, command: &str, exit_code: Option<i32>) -> Option<String> {
        let is_known = self.command.as_deref() == Some(command);
        self.command = exit_code.is_none().then(|| command.to_owned());
        let line = first_line(command);
        match exit_code {
            Some(0) | None if is_known => None,
            Some(0) | None => Some(format!("  $ {line}")),
            Some(code) if is_known => Some(format!("    exit code {code}")),
            Some(code) => Some(format!("  $ {line} (exit code {code})")),
        }
    }
}

/// The line about the agent's end, with its tokens and cost.
fn conclusion(end: &AgentEnd) -> String {
    let how = end.problem.as_deref().map_or("done", |why| why);
    let cost = end.cost.map_or(String::new(), |cost| format!(", {cost}"));
    format!("= {} ({}{cost})", first_line(how), end.usage.describe())
}

/// The heading of an agent's log.
pub(super) fn header(number: usize, head: &AgentHead, whose: &str, until: Timestamp) -> String {
    let mut words = vec![format!("{}", head.role)];
    words.extend(head.domain.clone());
    words.push(format!("round {}", head.round));
    words.extend(head.model.clone());
    if !whose.is_empty() {
        words.push(whose.to_owned());
    }
    words.push(format!("at {}", head.started_at.strftime("%H:%M:%S UTC")));
    words.push(length(until.duration_since(head.started_at).as_secs()));
    format!("== agent {number}: {}, {}", head.agent, words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use drive_core::agent::Usage;

    fn logged(event: AgentEvent) -> LoggedEvent {
        LoggedEvent {
            at: Timestamp::UNIX_EPOCH,
            event: Some(event),
            ended: None,
            cut: false,
        }
    }

    fn text(text: &str) -> AgentEvent {
        AgentEvent::Text {
            text: text.to_owned(),
        }
    }

    fn command(exit_code: Option<i32>) -> AgentEvent {
        AgentEvent::Command {
            command: "make\nall".to_owned(),
            exit_code,
        }
    }

    #[test]
    fn pieces_of_text_are_one_text_and_a_tool_call_is_one_line() {
        let mut rendered = Rendered::default();
        let mut lines = Vec::new();
        for event in [
            text("I loo"),
            text("k at it.\nThen"),
            AgentEvent::ToolUse {
                name: "Read".to_owned(),
                summary: "src/a.rs\nmore".to_owned(),
            },
            command(None),
            command(Some(2)),
            command(Some(0)),
            AgentEvent::FileChange {
                path: "src/a.rs".to_owned(),
            },
        ] {
            lines.extend(rendered.push(&logged(event)));
        }
        lines.extend(rendered.push(&LoggedEvent {
            at: Timestamp::UNIX_EPOCH,
            event: None,
            ended: Some(AgentEnd {
                problem: None,
                usage: Usage::default(),
                cost: None,
            }),
            cut: false,
        }));
        assert_eq!(
            lines[..7],
            [
                "I look at it.",
                "Then",
                "  > Read src/a.rs",
                "  $ make",
                "    exit code 2",
                "  $ make",
                "  + src/a.rs",
            ]
        );
        assert!(lines[7].starts_with("= done ("), "{lines:?}");
        assert!(rendered.ended);
    }
}
