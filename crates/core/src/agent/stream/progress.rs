use super::diagnosis::{Tries, diagnose, wait_for};
use super::spoken::{MAX_EVENT_TEXT, MAX_SAID, Spoken};
use super::text::{cut, one_line, push_bounded};
use super::{Phase, StreamSetup};
use crate::agent::answer::{ends_review, has_answer, has_begun_answer};
use crate::agent::event::{AgentEvent, Wait};
use crate::agent::outcome::{Ending, Failure, Ignored};
use crate::agent::redact::Redactor;
use crate::agent::role::Role;
use crate::agent::usage::{Cost, Meter, Scope, Usage};

/// How many lines that are no event are tolerated before the stream counts as garbage.
pub(super) const MAX_GARBAGE_LINES: u64 = 200;
/// How many bytes a line with a marker may have.
const MAX_MARKER_LINE: usize = 200;
/// How many bytes of a text its first line is taken from.
const MAX_FIRST_LINE: usize = 1000;
/// How many bytes of standard error are kept for the message of a failure.
const MAX_STDERR: usize = 4000;

/// The state of a run so far, independent of the agent's event format.
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) setup: StreamSetup,
    pub(super) meter: Meter,
    /// The tokens counted on the way to the model.
    pub(super) counted: Usage,
    pub(super) events: Vec<AgentEvent>,
    pub(super) outgoing: Vec<Vec<u8>>,
    pub(super) session: Option<String>,
    pub(super) spoken: Spoken,
    /// The last message, if it has the requested form.
    pub(super) document: Option<String>,
    stderr: String,
    stderr_redactor: Redactor,
    pub(super) last_error: Option<(Failure, String)>,
    pub(super) wait: Option<Wait>,
    pub(super) terminal: Option<Ending>,
    /// The unfinished line, as far as it may be a marker.
    pub(super) line: String,
    /// Whether a reviewer marked its review as complete.
    is_marked: bool,
    /// Whether it also gave its answer. After that it only has to exit.
    pub(super) is_complete: bool,
    pub(super) abandoned: Option<(Failure, String)>,
    pub(super) escalations: u32,
    pub(super) ignored: Ignored,
    pub(super) understood: u64,
}

impl Progress {
    pub(super) fn new(setup: StreamSetup, tokens: Scope, money: Scope) -> Self {
        let before = setup.resume.as_ref().map(|s| s.totals).unwrap_or_default();
        Self {
            meter: Meter::new(before, tokens, money),
            counted: Usage::default(),
            session: setup.resume.as_ref().map(|s| s.id.clone()),
            events: Vec::new(),
            outgoing: Vec::new(),
            spoken: Spoken::new(setup.secrets.clone()),
            document: None,
            stderr: String::new(),
            stderr_redactor: Redactor::new(setup.secrets.clone()),
            setup,
            last_error: None,
            wait: None,
            terminal: None,
            line: String::new(),
            is_marked: false,
            is_complete: false,
            abandoned: None,
            escalations: 0,
            ignored: Ignored::default(),
            understood: 0,
        }
    }

    pub(super) fn take_events(&mut self) -> Vec<AgentEvent> {
        std::mem::take(&mut self.events)
    }

    pub(super) fn take_outgoing(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.outgoing)
    }

    pub(super) fn phase(&self) -> Phase {
        match &self.abandoned {
            Some(_) => Phase::Abandoned,
            None if self.is_done() => Phase::Done,
            None => Phase::Working,
        }
    }

    /// Sends one JSON value as a line.
    pub(super) fn send(&mut self, value: &serde_json::Value) {
        let mut line = value.to_string().into_bytes();
        line.push(b'\n');
        self.outgoing.push(line);
    }

    pub(super) fn understood(&mut self) {
        self.understood += 1;
    }

    pub(super) fn unknown_event(&mut self) {
        self.understood += 1;
        self.ignored.unknown_events += 1;
    }

    /// At most `max` bytes of `text`, without secrets. Redaction comes before the cut: otherwise a
    /// part of a cut secret would remain.
    pub(super) fn shown(&self, text: &str, max: usize) -> String {
        cut(&self.setup.secrets.redact_beginning(text, max), max)
    }

    pub(super) fn garbage_line(&mut self, line: &str) {
        self.ignored.garbage_lines += 1;
        if self.ignored.garbage_lines == 1 {
            self.warn(&format!(
                "a line that is not an event: `{}`",
                self.shown(line, 120)
            ));
        }
        if self.ignored.garbage_lines > MAX_GARBAGE_LINES {
            self.abandon(Failure::Garbage, line);
        }
    }

    pub(super) fn started(&mut self, session: Option<&str>, model: Option<&str>) {
        if let Some(session) = session {
            self.session = Some(self.shown(session, 200));
        }
        self.emit(AgentEvent::Started {
            session: self.session.clone(),
            model: model.map(|m| self.shown(m, 200)),
        });
    }

    pub(super) fn session_id(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Adds the next piece of a message that other events end.
    pub(super) fn text_piece(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.resume();
        if !self.spoken.is_open() {
            self.line.clear();
        }
        let is_marker = self.look_for_marker(text);
        let shown = self.spoken.piece(text);
        self.tell(shown);
        if is_marker {
            self.marked();
        } else if text.contains('}') {
            self.look_for_answer();
        }
    }

    /// Adds a whole message.
    pub(super) fn text(&mut self, text: &str) {
        self.close_message();
        self.text_piece(text);
        self.close_message();
    }

    /// Takes a message as the answer, if the CLI was asked for a form and the message is an object.
    pub(super) fn answered(&mut self, text: &str) {
        let has_form = !self.setup.answer.is_free() && text.len() <= MAX_SAID;
        let is_object = || serde_json::from_str::<serde_json::Map<_, _>>(text).is_ok();
        let is_answer = has_form && is_object();
        self.document = is_answer.then(|| self.setup.secrets.redact(text));
    }

    /// Ends the message: text that was held back can be shown.
    pub(super) fn close_message(&mut self) {
        let held = self.spoken.close();
        self.tell(held);
        self.look_for_answer();
    }

    fn tell(&mut self, shown: Option<String>) {
        let event = shown.map(|text| AgentEvent::Text { text });
        self.events.extend(event);
    }

    pub(super) fn thinking(&mut self, text: &str) {
        if !text.is_empty() {
            self.act(AgentEvent::Thinking {
                text: self.shown(text, MAX_EVENT_TEXT),
            });
        }
    }

    pub(super) fn tool(&mut self, name: &str, summary: &str) {
        self.act(AgentEvent::ToolUse {
            name: self.shown(name, 200),
            summary: one_line(&self.shown(summary.trim(), MAX_FIRST_LINE)),
        });
    }

    pub(super) fn command(&mut self, command: &str, exit_code: Option<i32>) {
        self.act(AgentEvent::Command {
            command: self.shown(command, 2000),
            exit_code,
        });
    }

    pub(super) fn file_change(&mut self, path: &str) {
        self.act(AgentEvent::FileChange {
            path: self.shown(path, 4096),
        });
    }

    pub(super) fn warn(&mut self, message: &str) {
        let message = self.shown(message, 2000);
        self.emit(AgentEvent::Warning { message });
    }

    /// Takes the agent's own totals, and stops the run when they exceed the budget.
    pub(super) fn usage(&mut self, usage: Option<Usage>, cost: Option<Cost>) {
        let before = (self.meter.usage(), self.meter.cost());
        if let Some(usage) = usage {
            self.meter.tokens(usage);
        }
        if let Some(cost) = cost {
            self.meter.money(cost);
        }
        let now = (self.meter.usage(), self.meter.cost());
        if now == before {
            return;
        }
        self.emit(AgentEvent::Usage {
            usage: now.0,
            cost: now.1,
        });
        // A finished job is not stopped: its cost cannot be undone.
        if !self.is_done()
            && let Some(overrun) = self.setup.budget.overrun(now.0, now.1)
        {
            self.abandon(Failure::Budget { overrun }, "");
        }
    }

    /// Takes the tokens counted on the way to the model, and stops the run when they exceed the budget.
    pub(super) fn counted(&mut self, usage: Usage) {
        if usage == self.counted {
            return;
        }
        self.counted = usage;
        if self.meter.usage() == Usage::default() {
            // This is no output of the agent, so it does not end the current message.
            let cost = self.meter.cost();
            self.events.push(AgentEvent::Usage { usage, cost });
        }
        if let Some(overrun) = self.setup.budget.overrun(usage, None) {
            self.abandon(Failure::Budget { overrun }, "");
        }
    }

    /// Reports a problem; the agent retries or is about to give up.
    pub(super) fn trouble(&mut self, message: &str, status: Option<u16>, tries: Tries) {
        let failure = diagnose(message, status);
        let shown = self.shown(message, 1000);
        match wait_for(&failure, tries, &shown) {
            Some(wait) => self.wait(wait),
            None => self.warn(&shown),
        }
        self.last_error = Some((failure, shown));
    }

    pub(super) fn wait(&mut self, wait: Wait) {
        let wait = self.setup.secrets.redact_wait(wait);
        self.wait = Some(wait.clone());
        self.emit(AgentEvent::Waiting { wait });
    }

    /// Handles a terminal event with a clear error flag.
    pub(super) fn succeed(&mut self) {
        self.end_with(Ending::Succeeded);
    }

    /// Handles a terminal event with the error flag set.
    pub(super) fn fail(&mut self, message: &str, status: Option<u16>) {
        let mut reason = diagnose(message, status);
        // An earlier event may have contained the reset time that the last one omits.
        if let (
            Failure::UsageLimit { resets_at },
            Some(Wait::UsageLimit {
                resets_at: known, ..
            }),
        ) = (&mut reason, &self.wait)
        {
            *resets_at = resets_at.or(*known);
        }
        self.end_with(Ending::Failed {
            reason,
            message: self.shown(message, 2000),
        });
    }

    /// Gives up the run, so that the process is ended.
    pub(super) fn abandon(&mut self, failure: Failure, message: &str) {
        if self.abandoned.is_none() && !self.is_done() {
            self.abandoned = Some((failure, self.shown(message, 200)));
        }
    }

    /// Looks for the marker of a complete review, which a reviewer may write before it exits, or
    /// instead of exiting. Returns whether it is in this text.
    fn look_for_marker(&mut self, text: &str) -> bool {
        let mut is_marker = false;
        for (number, part) in text.split('\n').enumerate() {
            if number > 0 {
                self.line.clear();
            }
            if self.line.len() <= MAX_MARKER_LINE {
                self.line.push_str(part);
            }
            is_marker |= ends_review(&self.line);
        }
        is_marker
    }

    /// Looks for the marker in an unfinished line that was not reported yet.
    pub(super) fn unfinished_line(&mut self, line: &[u8]) {
        if line.len() <= MAX_MARKER_LINE
            && let Ok(line) = std::str::from_utf8(line)
            && ends_review(line)
        {
            self.marked();
        }
    }

    /// Handles the marker: it ends the review, unless it comes before the answer.
    fn marked(&mut self) {
        self.is_marked = self.setup.role == Role::Reviewer;
        self.is_complete |= self.is_marked && has_begun_answer(self.spoken.said());
    }

    fn look_for_answer(&mut self) {
        let is_awaited = self.is_marked && !self.is_complete;
        self.is_complete |= is_awaited && has_answer(self.spoken.said());
    }

    /// Whether the agent has finished.
    fn is_done(&self) -> bool {
        self.is_complete || self.terminal.is_some()
    }

    pub(super) fn stderr_line(&mut self, line: &str) {
        for piece in [line, "\n"] {
            let clean = self.stderr_redactor.push(piece.as_bytes());
            push_bounded(
                &mut self.stderr,
                &String::from_utf8_lossy(&clean),
                MAX_STDERR,
            );
        }
    }

    /// The end of its standard error.
    pub(super) fn last_words(&mut self) -> String {
        let held = self.stderr_redactor.finish();
        self.stderr.push_str(&String::from_utf8_lossy(&held));
        self.stderr.trim().to_owned()
    }

    pub(super) fn has_said_something(&mut self) -> bool {
        self.close_message();
        !self.spoken.is_empty()
    }

    /// Whether `text` is the message that the agent just wrote.
    pub(super) fn just_said(&mut self, text: &str) -> bool {
        self.close_message();
        let clean = self.setup.secrets.redact(text);
        self.spoken.ends_with(&clean)
    }

    fn end_with(&mut self, ending: Ending) {
        if self.terminal.is_some() {
            return;
        }
        self.emit(AgentEvent::Finished {
            success: ending == Ending::Succeeded,
        });
        self.terminal = Some(ending);
    }

    /// Adds an event that shows the agent at work, so that any wait is over.
    fn act(&mut self, event: AgentEvent) {
        self.resume();
        self.emit(event);
    }

    fn resume(&mut self) {
        if self.wait.take().is_some() {
            self.events.push(AgentEvent::Resumed);
        }
    }

    pub(super) fn emit(&mut self, event: AgentEvent) {
        self.close_message();
        self.events.push(event);
    }
}
