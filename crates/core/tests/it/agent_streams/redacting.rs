//! Tests that text is redacted before it is cut, so that no part of a secret remains at a cut.

use crate::agent_streams::support::*;
use drive_core::agent::stream::{
    StreamSetup, claude_stream, codex_stream, gemini_stream, program_stream,
};
use drive_core::agent::{EventRedactor, Secrets};
use drive_core::process::End;
use drive_core::process::Stream;
use serde_json::{Value, json};

const SECRET: &str = "k3y-7Gq2ZpX9vLm4TnB8wRc6YhJd1FsAeUoIu5Qx";

/// A place in which an agent can put a text, and where that text is cut.
struct Place {
    name: &'static str,
    reader: Reader,
    source: Stream,
    /// Formats a text as the agent prints it.
    print: fn(&str) -> String,
    code: i32,
    cut: Cut,
}

#[derive(Clone, Copy)]
enum Cut {
    /// Its first bytes are kept.
    After(usize),
    /// Its last bytes are kept, of this total number.
    Last { kept: usize, of: usize },
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}

fn codex(item: Value) -> String {
    line(&json!({"type": "item.completed", "item": item}))
}

fn ask(tool: &str, command: &str) -> String {
    let input = json!({"command": command});
    line(
        &json!({"type": "control_request", "request_id": "1", "request":
        {"subtype": "can_use_tool", "tool_name": tool, "input": input}}),
    )
}

fn refused(reason: &str) -> String {
    line(
        &json!({"type": "system", "subtype": "permission_denied", "tool_name": "Bash", "message": reason}),
    )
}

fn places() -> Vec<Place> {
    let place = |name, reader: Reader, print, cut| Place {
        name,
        reader,
        source: Stream::Stdout,
        print,
        code: 0,
        cut,
    };
    let first = |name, reader, print, bytes| place(name, reader, print, Cut::After(bytes));
    let last = |name, reader, print, kept, of| place(name, reader, print, Cut::Last { kept, of });
    let message: fn(&str) -> String = |t| codex(json!({"type": "agent_message", "text": t}));
    let lines: fn(&str) -> String = |t| format!("{t}\n");
    vec![
        first("an event's text", codex_stream, message, 64 * 1024),
        first(
            "thoughts",
            codex_stream,
            |t| codex(json!({"type": "reasoning", "text": t})),
            64 * 1024,
        ),
        first(
            "a tool's name",
            gemini_stream,
            |t| line(&json!({"type": "tool_use", "tool_name": t})),
            200,
        ),
        first(
            "a tool's input",
            gemini_stream,
            |t| line(&json!({"type": "tool_use", "tool_name": "t", "parameters": {"path": t}})),
            200,
        ),
        first(
            "a command",
            codex_stream,
            |t| codex(json!({"type": "command_execution", "command": t})),
            2000,
        ),
        first(
            "a path",
            codex_stream,
            |t| {
                codex(
                    json!({"type": "file_change", "status": "completed", "changes": [{"path": t}]}),
                )
            },
            4096,
        ),
        first(
            "a warning",
            codex_stream,
            |t| codex(json!({"type": "error", "message": t})),
            2000,
        ),
        first(
            "trouble",
            codex_stream,
            |t| line(&json!({"type": "error", "message": t})),
            1000,
        ),
        first(
            "a failure",
            codex_stream,
            |t| line(&json!({"type": "turn.failed", "error": {"message": t}})),
            2000,
        ),
        first(
            "a session",
            codex_stream,
            |t| line(&json!({"type": "thread.started", "thread_id": t})),
            200,
        ),
        first(
            "a model",
            claude_stream,
            |t| line(&json!({"type": "system", "subtype": "init", "model": t})),
            200,
        ),
        first("a request's tool", claude_stream, |t| ask(t, "ls"), 200),
        first("a request", claude_stream, |t| ask("Bash", t), 2000),
        first("a refusal", claude_stream, refused, 1000),
        first(
            "a search",
            codex_stream,
            |t| codex(json!({"type": "web_search", "query": t})),
            200,
        ),
        first("no event", gemini_stream, |t| format!("{t}\n"), 120),
        first(
            "nothing but no events",
            gemini_stream,
            |t| format!("{t}\n").repeat(201),
            200,
        ),
        last("all it said", program_stream, lines, 256 * 1024, 300 * 1024),
        last(
            "much that it said",
            program_stream,
            lines,
            256 * 1024,
            513 * 1024,
        ),
        first("its last message", program_stream, lines, 4000),
        last(
            "its last message, long",
            program_stream,
            lines,
            8000,
            16_100,
        ),
        Place {
            source: Stream::Stderr,
            code: 3,
            ..last("its last words", program_stream, lines, 4000, 8100)
        },
        Place {
            source: Stream::Stderr,
            code: 3,
            ..last("its last words, in events", codex_stream, lines, 4000, 8100)
        },
    ]
}

/// Everything that a session shows of an agent.
fn shown(place: &Place, text: &str) -> String {
    let secrets = Secrets::new([SECRET]);
    let mut stream = (place.reader)(StreamSetup {
        secrets: secrets.clone(),
        ..setup()
    });
    let mut events = stream.push(place.source, (place.print)(text).as_bytes());
    let (rest, outcome) = stream.finish(&End::Exited { code: place.code });
    events.extend(rest);
    let mut redactor = EventRedactor::new(secrets.clone());
    let mut clean: Vec<_> = events.into_iter().flat_map(|e| redactor.push(e)).collect();
    clean.extend(redactor.finish());
    let outcome = secrets.redact_outcome(outcome);
    serde_json::to_string(&(clean, outcome)).unwrap()
}

#[test]
fn a_secret_across_any_cut_leaves_no_part_of_itself() {
    let windows: Vec<&str> = (0..=SECRET.len() - 8).map(|i| &SECRET[i..i + 8]).collect();
    for place in places() {
        let (Cut::After(size) | Cut::Last { kept: size, .. }) = place.cut;
        let step = if size < 10_000 { 1 } else { 7 };
        for shift in (0..SECRET.len() + 6).step_by(step) {
            let text = match place.cut {
                Cut::After(bytes) => {
                    let before = bytes + 3 - shift;
                    format!("{}{SECRET}{}", "y".repeat(before), "x".repeat(3 * bytes))
                }
                Cut::Last { kept, of } => {
                    let after = kept + 3 - shift;
                    let before = of - after - SECRET.len();
                    format!("{}{SECRET}{}", "y".repeat(before), "x".repeat(after))
                }
            };
            let shown = shown(&place, &text);
            assert!(
                shown.contains("yyyy") || shown.contains("xxxx"),
                "{}",
                place.name
            );
            let left = windows.iter().find(|window| shown.contains(**window));
            assert_eq!(left, None, "{} at {shift}", place.name);
        }
    }
}

#[test]
fn what_is_asked_is_judged_as_it_is_and_shown_without_secrets() {
    let permissions = drive_core::agent::PermissionRules {
        allow: vec![format!("Bash(login {SECRET})")],
        deny: Vec::new(),
    };
    let mut stream = claude_stream(StreamSetup {
        secrets: Secrets::new([SECRET]),
        permissions,
        ..setup()
    });
    let asked = ask("Bash", &format!("login {SECRET}"));
    let events = stream.push(Stream::Stdout, asked.as_bytes());
    let request = json!({"tool": "Bash", "detail": "login [redacted]"});
    assert_eq!(
        serde_json::to_value(events).unwrap(),
        json!([
            {"type": "permissionAsked", "request": request},
            {"type": "permissionAnswered", "request": request, "decision": {"decision": "grant"}},
        ])
    );
}

#[test]
fn a_last_word_that_only_might_begin_a_secret_is_said() {
    let mut stream = gemini_stream(StreamSetup {
        secrets: Secrets::new([SECRET]),
        ..setup()
    });
    let said = [
        json!({"type": "message", "role": "assistant", "content": "k", "delta": true}),
        json!({"type": "result", "status": "success"}),
    ];
    let (events, outcome) = play(
        &mut *stream,
        said.map(|event| line(&event)).concat().as_bytes(),
        End::Exited { code: 0 },
    );
    assert_eq!(events[0], text("k"));
    assert!(outcome.succeeded(), "{outcome:?}");
    assert_eq!((&*outcome.text, &*outcome.summary), ("k", "k"));
}
