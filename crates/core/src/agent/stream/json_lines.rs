use super::lines::{Line, Lines};
use super::progress::Progress;
use super::{AgentStream, Phase};
use crate::agent::event::AgentEvent;
use crate::agent::outcome::AgentOutcome;
use crate::agent::usage::Usage;
use crate::process::{End, Stream};
use serde_json::Value;

/// The longest line that is read, in bytes. Tool results with whole files are long.
const MAX_LINE: usize = 16 * 1024 * 1024;
/// The longest line of standard error that is read.
const MAX_STDERR_LINE: usize = 16 * 1024;

/// The event format of one agent.
pub(super) trait Dialect: Send {
    /// Handles one event.
    fn event(&mut self, event: &Value, progress: &mut Progress) -> Known;

    /// Handles one line of standard error.
    fn stderr(&mut self, _line: &str, _progress: &mut Progress) {}

    /// Handles the agent's exit.
    fn end(&mut self, _progress: &mut Progress) {}
}

/// Whether an event was of a known kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Yes,
    No,
    /// It is JSON, but not an event.
    Garbage,
}

/// A stream with one JSON object per line.
pub(super) struct JsonLines<D> {
    dialect: D,
    progress: Progress,
    stdout: Lines,
    stderr: Lines,
}

impl<D: Dialect> JsonLines<D> {
    pub(super) fn new(dialect: D, progress: Progress) -> Self {
        Self {
            dialect,
            progress,
            stdout: Lines::new(MAX_LINE),
            stderr: Lines::new(MAX_STDERR_LINE),
        }
    }
}

impl<D: Dialect> AgentStream for JsonLines<D> {
    fn push(&mut self, source: Stream, bytes: &[u8]) -> Vec<AgentEvent> {
        let (dialect, progress) = (&mut self.dialect, &mut self.progress);
        match source {
            Stream::Stdout => self
                .stdout
                .push(bytes, |line| read(line, dialect, progress)),
            Stream::Stderr => self
                .stderr
                .push(bytes, |line| overhear(line, dialect, progress)),
        }
        progress.take_events()
    }

    fn counted(&mut self, usage: Usage) -> Vec<AgentEvent> {
        self.progress.counted(usage);
        self.progress.take_events()
    }

    fn outgoing(&mut self) -> Vec<Vec<u8>> {
        self.progress.take_outgoing()
    }

    fn phase(&self) -> Phase {
        self.progress.phase()
    }

    fn finish(&mut self, end: &End) -> (Vec<AgentEvent>, AgentOutcome) {
        let (dialect, progress) = (&mut self.dialect, &mut self.progress);
        self.stdout.finish(|line| read(line, dialect, progress));
        self.stderr.finish(|line| overhear(line, dialect, progress));
        dialect.end(progress);
        progress.finish(end)
    }
}

fn read(line: Line<'_>, dialect: &mut impl Dialect, progress: &mut Progress) {
    if progress.phase() == Phase::Abandoned {
        return;
    }
    let bytes = match line {
        Line::Whole(bytes) => bytes,
        Line::TooLong => return progress.garbage_line("a line longer than 16 MiB"),
    };
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    if text.is_empty() {
        return;
    }
    let Ok(event) = serde_json::from_str::<Value>(text) else {
        return progress.garbage_line(text);
    };
    match dialect.event(&event, progress) {
        Known::Yes => progress.understood(),
        Known::No => progress.unknown_event(),
        Known::Garbage => progress.garbage_line(text),
    }
}

fn overhear(line: Line<'_>, dialect: &mut impl Dialect, progress: &mut Progress) {
    let Line::Whole(bytes) = line else { return };
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_end();
    if !text.is_empty() {
        progress.stderr_line(text);
        dialect.stderr(text, progress);
    }
}

/// The items of a list; empty for any other value.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A tool's input in one line: the field that a person would look at first.
pub(super) fn summary_of(input: &Value) -> String {
    const TELLING: [&str; 11] = [
        "command",
        "file_path",
        "notebook_path",
        "absolute_path",
        "path",
        "pattern",
        "query",
        "url",
        "description",
        "prompt",
        "cmd",
    ];
    let telling = TELLING.iter().find_map(|key| input.get(key)?.as_str());
    if let Some(text) = telling {
        return text.to_owned();
    }
    let is_empty = input.is_null() || input.as_object().is_some_and(serde_json::Map::is_empty);
    if is_empty {
        return String::new();
    }
    input.to_string()
}
