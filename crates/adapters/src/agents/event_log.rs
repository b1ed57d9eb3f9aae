//! The event log of an agent: one event per line, in the same format for every kind of agent.

use super::files::unusable;
use drive_core::agent::{AgentConfig, AgentEvent, AgentKind, AgentOutcome, Cost, Role, Usage};
use drive_core::problem::Problem;
use drive_core::time::Timestamp;
use drive_engine::ports::AgentRequest;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The name of the file, next to the log of the agent's output.
pub const EVENT_LOG: &str = "events.jsonl";
/// How many bytes are written for one agent at most.
const MOST_BYTES: u64 = 16 << 20;
/// The longest line that is read.
const LONGEST_LINE: u64 = 4 << 20;

/// The first line: which agent wrote the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentHead {
    /// Its name in the settings.
    pub agent: String,
    /// The kind of the agent's CLI.
    pub kind: AgentKind,
    /// The model that was requested; `None` for the agent's default.
    pub model: Option<String>,
    /// The role it works in.
    pub role: Role,
    /// The round of the run.
    pub round: u32,
    /// The review domain.
    pub domain: Option<String>,
    /// The effect that started it, with its attempt.
    pub effect: String,
    /// When it was started.
    pub started_at: Timestamp,
}

impl AgentHead {
    pub(super) fn of(
        request: &AgentRequest,
        agent: &str,
        config: &AgentConfig,
        started_at: Timestamp,
    ) -> Self {
        let model = request.model.as_deref();
        let effect = request.scratch.file_name().unwrap_or_default();
        Self {
            agent: agent.to_owned(),
            kind: config.kind,
            model: model
                .or_else(|| config.model_for(request.role))
                .map(str::to_owned),
            role: request.role,
            round: request.round,
            domain: request.domain.clone(),
            effect: effect.to_string_lossy().into_owned(),
            started_at,
        }
    }
}

/// A later line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoggedEvent {
    /// When it happened.
    pub at: Timestamp,
    /// What the agent did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<AgentEvent>,
    /// The last line: how the agent ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<AgentEnd>,
    /// Whether the rest is missing because the log reached its limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// The end of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentEnd {
    /// Why it did not succeed, if so.
    pub problem: Option<String>,
    /// The tokens it used.
    pub usage: Usage,
    /// Its cost, if it reports one.
    pub cost: Option<Cost>,
}

/// Writes the events of an agent, which must be redacted before.
pub(super) struct EventLog {
    file: File,
    left: u64,
}

impl EventLog {
    pub(super) fn open(folder: &Path, head: &AgentHead, max_bytes: u64) -> Result<Self, Problem> {
        let path = folder.join(EVENT_LOG);
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| unusable(&path).because(error))?;
        let is_new = file.metadata().is_ok_and(|found| found.len() == 0);
        let mut log = Self {
            file,
            left: max_bytes.min(MOST_BYTES),
        };
        if is_new {
            log.write(head);
        }
        Ok(log)
    }

    pub(super) fn event(&mut self, event: &AgentEvent) {
        let line = LoggedEvent {
            at: Timestamp::now(),
            event: Some(event.clone()),
            ended: None,
            cut: false,
        };
        self.write(&line);
    }

    /// Writes the end, even if the log is full, because it is one short line.
    pub(super) fn ended(&mut self, agent: &str, outcome: &AgentOutcome) {
        self.left = self.left.max(LONGEST_LINE);
        let line = LoggedEvent {
            at: Timestamp::now(),
            event: None,
            ended: Some(AgentEnd {
                problem: outcome.problem(agent).map(|problem| problem.message),
                usage: outcome.usage,
                cost: outcome.cost,
            }),
            cut: false,
        };
        self.write(&line);
    }

    /// Writes a line. A failed write, for example on a full disk, must not stop the agent.
    fn write(&mut self, line: &impl Serialize) {
        let Ok(mut bytes) = serde_json::to_vec(line) else {
            return;
        };
        bytes.push(b'\n');
        if self.left == 0 {
            return;
        }
        if bytes.len() as u64 > self.left {
            self.left = 0;
            let cut = LoggedEvent {
                at: Timestamp::now(),
                event: None,
                ended: None,
                cut: true,
            };
            bytes = serde_json::to_vec(&cut).unwrap_or_default();
            bytes.push(b'\n');
        } else {
            self.left -= bytes.len() as u64;
        }
        let _ = self.file.write_all(&bytes);
    }
}

/// The agent that wrote into this folder; `None` if no event was logged.
pub fn load_head(folder: &Path) -> Option<AgentHead> {
    let file = File::open(folder.join(EVENT_LOG)).ok()?;
    let mut line = Vec::new();
    let mut reader = BufReader::new(file).take(LONGEST_LINE);
    reader.read_until(b'\n', &mut line).ok()?;
    serde_json::from_slice(&line).ok()
}

/// The events in these bytes, up to the last complete line, and the number of bytes read. Other
/// lines are skipped: the first one, and those of newer versions.
pub fn parse_events(bytes: &[u8]) -> (Vec<LoggedEvent>, usize) {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n');
    let whole = whole.map_or(0, |end| end + 1);
    let lines = bytes[..whole].split(|byte| *byte == b'\n');
    let events = lines.filter_map(|line| serde_json::from_slice(line).ok());
    (events.collect(), whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> AgentHead {
        AgentHead {
            agent: "a".to_owned(),
            kind: AgentKind::Command,
            model: None,
            role: Role::Coder,
            round: 1,
            domain: None,
            effect: "runAgent-1-1".to_owned(),
            started_at: "2026-11-18T10:00:00Z".parse().unwrap(),
        }
    }

    fn text(text: &str) -> AgentEvent {
        AgentEvent::Text {
            text: text.to_owned(),
        }
    }

    #[test]
    fn an_event_log_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = EventLog::open(folder.path(), &head(), u64::MAX).unwrap();
        log.event(&text("hello"));
        drop(log);
        // The next round continues in the same file.
        let mut log = EventLog::open(folder.path(), &head(), u64::MAX).unwrap();
        log.event(&text("again"));
        assert_eq!(load_head(folder.path()), Some(head()));
        let mut bytes = std::fs::read(folder.path().join(EVENT_LOG)).unwrap();
        let all = bytes.len();
        bytes.extend(b"{\"at\": half");
        let (events, whole) = parse_events(&bytes);
        assert_eq!(whole, all);
        let events: Vec<AgentEvent> = events.into_iter().filter_map(|one| one.event).collect();
        assert_eq!(events, [text("hello"), text("again")]);
    }

    #[test]
    fn an_event_log_ends_at_its_limit_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = EventLog::open(folder.path(), &head(), 600).unwrap();
        for _ in 0..100 {
            log.event(&text("twenty more characters"));
        }
        let bytes = std::fs::read(folder.path().join(EVENT_LOG)).unwrap();
        assert!(bytes.len() < 800, "{}", bytes.len());
        let (events, _) = parse_events(&bytes);
        assert!(events.last().unwrap().cut);
    }
}
