use drive_core::agent::answer::AnswerForm;
use drive_core::agent::stream::{AgentStream, StreamSetup};
use drive_core::agent::{
    AgentEvent, AgentOutcome, Budget, Ending, Failure, PermissionRules, Role, Secrets, Usage,
};
use drive_core::process::End;
use drive_core::process::Stream;

pub(crate) type Reader = fn(StreamSetup) -> Box<dyn AgentStream>;

pub(crate) fn setup() -> StreamSetup {
    StreamSetup {
        role: Role::Coder,
        permissions: PermissionRules::default(),
        max_escalations: 5,
        budget: Budget::default(),
        resume: None,
        answer: AnswerForm::Free,
        secrets: Secrets::default(),
    }
}

pub(crate) fn play(
    stream: &mut dyn AgentStream,
    bytes: &[u8],
    end: End,
) -> (Vec<AgentEvent>, AgentOutcome) {
    let mut events = stream.push(Stream::Stdout, bytes);
    let (last, outcome) = stream.finish(&end);
    events.extend(last);
    (events, outcome)
}

pub(crate) fn outcome(reader: Reader, text: &str, code: i32) -> AgentOutcome {
    play(&mut *reader(setup()), text.as_bytes(), End::Exited { code }).1
}

pub(crate) fn failed(reason: Failure, message: &str) -> Ending {
    Ending::Failed {
        reason,
        message: message.to_owned(),
    }
}

pub(crate) fn usage(input: u64, cached: u64, output: u64) -> Usage {
    Usage {
        input,
        cached,
        output,
    }
}

pub(crate) fn text(text: &str) -> AgentEvent {
    AgentEvent::Text {
        text: text.to_owned(),
    }
}

pub(crate) fn tool(name: &str, summary: &str) -> AgentEvent {
    AgentEvent::ToolUse {
        name: name.to_owned(),
        summary: summary.to_owned(),
    }
}

pub(crate) const CLAUDE_OK: &str = include_str!("recorded/claude-ok.jsonl");
pub(crate) const CLAUDE_429: &str = include_str!("recorded/claude-429.jsonl");
pub(crate) const CLAUDE_401: &str = include_str!("recorded/claude-401.jsonl");
pub(crate) const GEMINI_OK: &str = include_str!("recorded/gemini-ok.jsonl");
pub(crate) const GEMINI_401: &str = include_str!("recorded/gemini-401.jsonl");
pub(crate) const CODEX_OK: &str = include_str!("recorded/codex-ok.jsonl");
pub(crate) const CODEX_401: &str = include_str!("recorded/codex-401.jsonl");
pub(crate) const CODEX_DROPPED: &str = include_str!("recorded/codex-dropped.jsonl");
