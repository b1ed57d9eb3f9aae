use crate::agent_streams::support::*;
use drive_core::agent::stream::{claude_stream, codex_stream, gemini_stream, program_stream};
use drive_core::agent::{
    AgentEvent, AgentOutcome, Cost, Ending, Failure, Ignored, Session, SessionTotals, Wait,
};
use drive_core::process::Stream;
use drive_core::process::{End, TimeBound};

#[test]
fn claude_writes_a_file_runs_a_command_and_finishes() {
    let (events, outcome) = play(
        &mut *claude_stream(setup()),
        CLAUDE_OK.as_bytes(),
        End::Exited { code: 0 },
    );
    let spent = |n: u64| AgentEvent::Usage {
        usage: usage(110 * n, 7 * n, n),
        cost: None,
    };
    let answer = "done\n```json\n{\"a\":1}\n```";
    let session = "c76c617a-99a3-4672-91c4-a7ce0a621ae8".to_owned();
    let total = usage(330, 21, 60);
    let cost = Cost::from_micro_usd(2554);
    assert_eq!(
        events,
        [
            AgentEvent::Started {
                session: Some(session.clone()),
                model: Some("m".to_owned()),
            },
            text("I will write."),
            spent(1),
            tool("Write", "/sandbox/a.txt"),
            AgentEvent::FileChange {
                path: "/sandbox/a.txt".to_owned(),
            },
            tool("Bash", "echo hello > b.txt"),
            spent(2),
            AgentEvent::Command {
                command: "echo hello > b.txt".to_owned(),
                exit_code: None,
            },
            text(answer),
            spent(3),
            AgentEvent::Finished { success: true },
            AgentEvent::Usage {
                usage: total,
                cost: Some(cost),
            },
        ]
    );
    assert_eq!(
        outcome,
        AgentOutcome {
            ending: Ending::Succeeded,
            text: format!("I will write.\n\n{answer}"),
            summary: answer.to_owned(),
            document: None,
            usage: total,
            cost: Some(cost),
            session: Some(Session {
                id: session,
                totals: SessionTotals { usage: total, cost },
            }),
            escalations: 0,
            ignored: Ignored::default(),
        }
    );
}

#[test]
fn gemini_writes_a_file_runs_a_command_and_finishes() {
    let (events, outcome) = play(
        &mut *gemini_stream(setup()),
        GEMINI_OK.as_bytes(),
        End::Exited { code: 0 },
    );
    assert_eq!(
        events,
        [
            AgentEvent::Started {
                session: Some("9f2a53e2-3c81-4d1a-8505-380980d6524c".to_owned()),
                model: Some("gemini-2.5-flash".to_owned()),
            },
            text("I will write."),
            tool("write_file", "a.txt"),
            AgentEvent::FileChange {
                path: "a.txt".to_owned(),
            },
            tool("run_shell_command", "echo hello > b.txt"),
            AgentEvent::Command {
                command: "echo hello > b.txt".to_owned(),
                exit_code: None,
            },
            text("done"),
            AgentEvent::Finished { success: true },
            AgentEvent::Usage {
                usage: usage(279, 21, 60),
                cost: None,
            },
        ]
    );
    assert_eq!(outcome.ending, Ending::Succeeded);
    assert_eq!(outcome.text, "I will write.\n\ndone");
}

#[test]
fn codex_writes_a_file_runs_a_command_and_finishes() {
    let (events, outcome) = play(
        &mut *codex_stream(setup()),
        CODEX_OK.as_bytes(),
        End::Exited { code: 0 },
    );
    let line = "/bin/bash -lc 'echo hello > b.txt; echo out'";
    assert_eq!(
        events[2..],
        [
            text("I will write."),
            tool("command", line),
            AgentEvent::Command {
                command: line.to_owned(),
                exit_code: Some(0),
            },
            AgentEvent::FileChange {
                path: "/sandbox/a.txt".to_owned(),
            },
            text("done"),
            AgentEvent::Finished { success: true },
            AgentEvent::Usage {
                usage: usage(279, 21, 60),
                cost: None,
            },
        ]
    );
    assert_eq!(outcome.ending, Ending::Succeeded);
}

#[test]
fn failures_of_the_real_agents_are_named() {
    let model = |status| Failure::Model { status };
    let table: [(Reader, &str, i32, Failure); 5] = [
        (claude_stream, CLAUDE_429, 1, model(Some(429))),
        (claude_stream, CLAUDE_401, 1, Failure::LoginExpired),
        (gemini_stream, GEMINI_401, 145, Failure::LoginExpired),
        (codex_stream, CODEX_401, 1, Failure::LoginExpired),
        (codex_stream, CODEX_DROPPED, 1, model(None)),
    ];
    for (reader, recorded, code, expected) in table {
        match outcome(reader, recorded, code).ending {
            Ending::Failed { reason, .. } => assert_eq!(reason, expected, "{recorded}"),
            Ending::Succeeded => panic!("success read from {recorded}"),
        }
    }
}

#[test]
fn a_retry_is_a_wait_and_the_next_word_ends_it() {
    let stream = concat!(
        r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":2,"retry_delay_ms":1000,"error_status":529,"error":"overloaded"}"#,
        "\n",
        r#"{"type":"assistant","message":{"content":[{"type":"text","text":"hi"}]}}"#,
        "\n"
    );
    let events = claude_stream(setup()).push(Stream::Stdout, stream.as_bytes());
    assert_eq!(
        events,
        [
            AgentEvent::Waiting {
                wait: Wait::Overloaded {
                    attempt: Some(1),
                    attempts: Some(2),
                    retry_in_ms: Some(1000),
                    status: Some(529),
                    message: "API error: overloaded".to_owned(),
                }
            },
            AgentEvent::Resumed,
            text("hi"),
        ]
    );
}

#[test]
fn gemini_tells_its_retries_on_standard_error() {
    let mut stream = gemini_stream(setup());
    let events = stream.push(
        Stream::Stderr,
        b"Attempt 3 failed with status 500. Retrying with backoff... Error: x\n    at y\n",
    );
    assert_eq!(
        events,
        [AgentEvent::Waiting {
            wait: Wait::Overloaded {
                attempt: Some(3),
                attempts: None,
                retry_in_ms: None,
                status: Some(500),
                message: "API error: attempt failed with status 500. ".to_owned(),
            }
        }]
    );
    let (_, outcome) = stream.finish(&End::TimedOut {
        bound: TimeBound::Idle,
    });
    assert_eq!(
        outcome.ending,
        failed(
            Failure::TimedOut {
                bound: TimeBound::Idle
            },
            "the model is overloaded, attempt 3"
        )
    );
}

#[test]
fn a_usage_limit_keeps_the_reset_time_named_earlier() {
    let stream = concat!(
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794718826,"rateLimitType":"five_hour"}}"#,
        "\n",
        r#"{"type":"result","subtype":"success","is_error":true,"result":"You've hit your session limit · resets 3pm"}"#,
        "\n"
    );
    assert_eq!(
        outcome(claude_stream, stream, 1).ending,
        failed(
            Failure::UsageLimit {
                resets_at: Some("2026-11-15T05:00:26Z".parse().unwrap())
            },
            "You've hit your session limit · resets 3pm"
        )
    );
}

#[test]
fn a_program_succeeds_by_exiting_with_zero_and_only_so() {
    let said = outcome(program_stream, "hello\nworld", 0);
    assert_eq!(
        (said.ending, said.text),
        (Ending::Succeeded, "hello\nworld\n".to_owned())
    );
    let no_verdict = Failure::NoVerdict {
        exit_code: Some(3),
        signal: None,
    };
    assert_eq!(
        outcome(program_stream, "hello", 3).ending,
        failed(no_verdict, "")
    );
}

#[test]
fn the_text_kept_of_an_endless_talker_is_its_end() {
    let mut stream = program_stream(setup());
    let line = format!("{}\n", "é".repeat(5000));
    for _ in 0..200 {
        stream.push(Stream::Stdout, line.as_bytes());
    }
    stream.push(Stream::Stdout, b"the answer\n");
    let (_, outcome) = stream.finish(&End::Exited { code: 0 });
    assert!(outcome.text.len() <= 256 * 1024, "{}", outcome.text.len());
    assert!(outcome.text.ends_with("é\nthe answer\n"));
}
