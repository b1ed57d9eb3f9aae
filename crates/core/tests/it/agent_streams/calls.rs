//! Tests which tool calls the real agents report: each once, and only what they were allowed to do.

use crate::agent_streams::support::{Reader, play, setup};
use drive_core::agent::stream::{claude_stream, codex_stream, gemini_stream};
use drive_core::agent::{AgentEvent, Decision};
use drive_core::process::End;

macro_rules! recorded {
    ($agent:literal, $case:literal) => {
        include_str!(concat!("../../data/agents/", $agent, "/", $case, ".jsonl"))
    };
}

/// The commands that were run, the files that were changed, and the calls that were refused.
fn told(reader: Reader, recorded: &str) -> Vec<String> {
    let end = End::Exited { code: 0 };
    let (events, _) = play(&mut *reader(setup()), recorded.as_bytes(), end);
    let tell = |event: &AgentEvent| {
        if let AgentEvent::Command { command, exit_code } = event {
            let code = exit_code.map_or(String::new(), |code| format!(" -> {code}"));
            Some(format!("ran {command}{code}"))
        } else if let AgentEvent::FileChange { path } = event {
            Some(format!("changed {path}"))
        } else if let AgentEvent::PermissionAnswered { request, decision } = event {
            let answer = match decision {
                Decision::Grant => "granted",
                Decision::Deny { .. } | Decision::Exhausted { .. } => "refused",
            };
            Some(format!("{answer} {} {}", request.tool, request.detail))
        } else {
            None
        }
    };
    events.iter().filter_map(tell).collect()
}

const COPY: &str = "cp hello.txt copy.txt && echo copied";
const IN_BASH: &str = "/bin/bash -lc 'cp hello.txt copy.txt && echo copied'";

#[test]
fn what_was_done_is_told_once() {
    let table: [(Reader, &str, String); 3] = [
        (
            claude_stream,
            recorded!("claude", "success"),
            format!("ran {COPY}"),
        ),
        (
            gemini_stream,
            recorded!("gemini", "success"),
            format!("ran {COPY}"),
        ),
        (
            codex_stream,
            recorded!("codex", "success"),
            format!("ran {IN_BASH} -> 0"),
        ),
    ];
    for (reader, recorded, ran) in table {
        let changed = "changed /agent/repo/hello.txt".to_owned();
        assert_eq!(told(reader, recorded), [changed, ran]);
    }
}

#[test]
fn a_command_that_failed_was_run() {
    let line = "echo to the error stream >&2; exit 3";
    let table: [(Reader, &str, String); 3] = [
        (
            claude_stream,
            recorded!("claude", "tool_error"),
            format!("ran {line}"),
        ),
        (
            gemini_stream,
            recorded!("gemini", "tool_error"),
            format!("ran {line}"),
        ),
        (
            codex_stream,
            recorded!("codex", "tool_error"),
            format!("ran /bin/bash -lc '{line}' -> 3"),
        ),
    ];
    for (reader, recorded, ran) in table {
        assert_eq!(told(reader, recorded), [ran]);
    }
}

#[test]
fn what_was_refused_reads_as_refused_and_never_as_run() {
    let claude = told(claude_stream, recorded!("claude", "permission_denied"));
    let file = "/agent/repo/hello.txt";
    assert_eq!(
        claude,
        [
            format!("refused Write {file}"),
            format!("refused Bash {COPY}")
        ]
    );
    let gemini = told(gemini_stream, recorded!("gemini", "permission_denied"));
    assert_eq!(
        gemini,
        [
            format!("refused write_file {file}"),
            format!("refused run_shell_command {COPY}"),
        ]
    );
    // Codex runs a command, and the kernel refuses its writes.
    let codex = told(codex_stream, recorded!("codex", "permission_denied"));
    assert_eq!(codex, [format!("ran {IN_BASH} -> 1")]);
    let declined = recorded!("codex", "tool_error").replace("\"failed\"", "\"declined\"");
    assert_eq!(
        told(codex_stream, &declined),
        ["refused command /bin/bash -lc 'echo to the error stream >&2; exit 3'"]
    );
}

#[test]
fn what_the_rules_refused_is_refused_once() {
    let told = told(claude_stream, recorded!("claude", "control_request"));
    assert_eq!(
        told,
        [
            "refused Write /agent/repo/granted.txt",
            "refused Bash touch refused.txt",
        ]
    );
}

#[test]
fn a_command_that_an_agent_died_in_was_run() {
    let table: [(Reader, &str, &str); 3] = [
        (claude_stream, recorded!("claude", "tool_error"), "user"),
        (
            gemini_stream,
            recorded!("gemini", "tool_error"),
            "tool_result",
        ),
        (
            codex_stream,
            recorded!("codex", "tool_error"),
            "item.completed",
        ),
    ];
    for (reader, recorded, its_end) in table {
        let first: Vec<&str> = recorded
            .lines()
            .take_while(|line| !line.starts_with(&format!("{{\"type\":\"{its_end}\"")))
            .collect();
        let told = told(reader, &(first.join("\n") + "\n"));
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("ran "), "{told:?}");
    }
}
