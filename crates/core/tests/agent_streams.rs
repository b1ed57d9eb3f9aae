//! The agents' streams, as recorded from the real programs and as broken on purpose.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    missing_docs,
    reason = "tests read fixtures and may fail loudly"
)]

use drive_core::agent::stream::{
    AcpJob, AgentStream, Phase, Source, StreamSetup, acp_stream, claude_stream, codex_stream,
    gemini_stream, program_stream,
};
use drive_core::agent::{
    AgentEvent, AgentOutcome, Budget, Cost, Decision, Ending, Failure, Ignored, Overrun,
    PermissionRequest, PermissionRules, Role, Session, SessionTotals, Usage, Wait,
};
use drive_core::process::{End, TimeBound};
use proptest::prelude::*;
use serde_json::{Value, json};

type Reader = fn(StreamSetup) -> Box<dyn AgentStream>;

fn setup() -> StreamSetup {
    StreamSetup {
        role: Role::Coder,
        permissions: PermissionRules::default(),
        max_escalations: 5,
        budget: Budget::default(),
        resume: None,
    }
}

fn play(stream: &mut dyn AgentStream, bytes: &[u8], end: End) -> (Vec<AgentEvent>, AgentOutcome) {
    let mut events = stream.push(Source::Stdout, bytes);
    let (last, outcome) = stream.finish(&end);
    events.extend(last);
    (events, outcome)
}

fn outcome(reader: Reader, text: &str, code: i32) -> AgentOutcome {
    play(&mut *reader(setup()), text.as_bytes(), End::Exited { code }).1
}

fn failed(reason: Failure, message: &str) -> Ending {
    Ending::Failed {
        reason,
        message: message.to_owned(),
    }
}

fn usage(input: u64, cached: u64, output: u64) -> Usage {
    Usage {
        input,
        cached,
        output,
    }
}

fn text(text: &str) -> AgentEvent {
    AgentEvent::Text {
        text: text.to_owned(),
    }
}

const CLAUDE_OK: &str = include_str!("agent/claude-ok.jsonl");
const CLAUDE_429: &str = include_str!("agent/claude-429.jsonl");
const CLAUDE_401: &str = include_str!("agent/claude-401.jsonl");
const GEMINI_OK: &str = include_str!("agent/gemini-ok.jsonl");
const GEMINI_401: &str = include_str!("agent/gemini-401.jsonl");
const CODEX_OK: &str = include_str!("agent/codex-ok.jsonl");
const CODEX_401: &str = include_str!("agent/codex-401.jsonl");
const CODEX_DROPPED: &str = include_str!("agent/codex-dropped.jsonl");

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
            AgentEvent::ToolUse {
                name: "Write".to_owned(),
                summary: "/sandbox/a.txt".to_owned(),
            },
            AgentEvent::FileChange {
                path: "/sandbox/a.txt".to_owned(),
            },
            AgentEvent::Command {
                command: "echo hello > b.txt".to_owned(),
                exit_code: None,
            },
            spent(2),
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
            AgentEvent::ToolUse {
                name: "write_file".to_owned(),
                summary: "a.txt".to_owned(),
            },
            AgentEvent::FileChange {
                path: "a.txt".to_owned(),
            },
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
    let command = |exit_code| AgentEvent::Command {
        command: "/bin/bash -lc 'echo hello > b.txt; echo out'".to_owned(),
        exit_code,
    };
    assert_eq!(
        events[2..],
        [
            text("I will write."),
            command(None),
            command(Some(0)),
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
    let events = claude_stream(setup()).push(Source::Stdout, stream.as_bytes());
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
        Source::Stderr,
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
            "the model does not answer, try 3"
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
fn exit_code_zero_without_a_terminal_event_is_no_success() {
    let no_verdict = |exit_code| Failure::NoVerdict {
        exit_code: Some(exit_code),
        signal: None,
    };
    let table: [(Reader, &str); 3] = [
        (claude_stream, r#"{"type":"system","subtype":"init"}"#),
        (gemini_stream, r#"{"type":"init"}"#),
        (codex_stream, r#"{"type":"thread.started"}"#),
    ];
    for (reader, only_a_start) in table {
        assert_eq!(
            outcome(reader, only_a_start, 0).ending,
            failed(no_verdict(0), "")
        );
    }
}

#[test]
fn a_terminal_event_with_its_error_flag_set_or_missing_is_no_success() {
    let table: [(Reader, &str); 6] = [
        (
            claude_stream,
            r#"{"type":"result","subtype":"success","is_error":true,"result":"no"}"#,
        ),
        (
            claude_stream,
            r#"{"type":"result","subtype":"success","result":"no"}"#,
        ),
        (
            claude_stream,
            r#"{"type":"result","subtype":"error_max_turns","is_error":false}"#,
        ),
        (
            gemini_stream,
            r#"{"type":"result","status":"error","error":{"message":"no"}}"#,
        ),
        (gemini_stream, r#"{"type":"result"}"#),
        (
            codex_stream,
            r#"{"type":"turn.failed","error":{"message":"no"}}"#,
        ),
    ];
    for (reader, terminal) in table {
        match outcome(reader, terminal, 0).ending {
            Ending::Failed { reason, .. } => assert_eq!(reason, Failure::Reported, "{terminal}"),
            Ending::Succeeded => panic!("success read from {terminal}"),
        }
    }
}

#[test]
fn success_stands_whatever_the_exit_code_says() {
    assert_eq!(
        outcome(claude_stream, CLAUDE_OK, 143).ending,
        Ending::Succeeded
    );
}

#[test]
fn a_bound_wins_over_the_last_word_of_an_agent_that_was_stopped() {
    let said = r#"{"type":"result","subtype":"error_during_execution","is_error":true}"#;
    let (_, outcome) = play(&mut *claude_stream(setup()), said.as_bytes(), End::Aborted);
    assert_eq!(outcome.ending, failed(Failure::Cancelled, ""));
}

#[test]
fn gemini_that_never_asked_its_model_did_not_succeed() {
    let said = concat!(
        r#"{"type":"init","session_id":"s","model":"m"}"#,
        "\n",
        r#"{"type":"result","status":"success","stats":{"total_tokens":0,"input_tokens":0,"output_tokens":0,"cached":0}}"#,
        "\n"
    );
    assert_eq!(
        outcome(gemini_stream, said, 0).ending,
        failed(
            Failure::Reported,
            "it finished without having asked its model anything"
        )
    );
}

#[test]
fn key_order_does_not_matter() {
    let forth = r#"{"type":"result","subtype":"success","is_error":false,"result":"x"}"#;
    let back = r#"{"result":"x","is_error":false,"subtype":"success","type":"result"}"#;
    assert_eq!(
        outcome(claude_stream, forth, 0),
        outcome(claude_stream, back, 0)
    );
}

#[test]
fn unknown_events_and_garbage_lines_are_counted_and_tolerated() {
    let stream = format!("oops\n{{\"type\":\"brand_new\"}}\n[1]\n\n{CLAUDE_OK}");
    let outcome = outcome(claude_stream, &stream, 0);
    assert_eq!(outcome.ending, Ending::Succeeded);
    assert_eq!(
        outcome.ignored,
        Ignored {
            garbage_lines: 2,
            unknown_events: 1,
        }
    );
}

#[test]
fn too_much_garbage_abandons_the_run() {
    let mut stream = claude_stream(setup());
    let events = stream.push(Source::Stdout, "not json\n".repeat(200).as_bytes());
    assert_eq!(events.len(), 1, "one warning, not two hundred");
    assert_eq!(stream.phase(), Phase::Working);
    stream.push(Source::Stdout, b"the last straw\n");
    assert_eq!(stream.phase(), Phase::Abandoned);
    let (_, outcome) = stream.finish(&End::Aborted);
    assert_eq!(outcome.ending, failed(Failure::Garbage, "the last straw"));
}

#[test]
fn a_program_that_is_no_agent_is_called_one() {
    let mut stream = codex_stream(setup());
    stream.push(Source::Stderr, b"usage: cat [FILE]\n");
    let (_, outcome) = play(&mut *stream, b"hello\n", End::Exited { code: 2 });
    assert_eq!(
        outcome.ending,
        failed(Failure::Garbage, "usage: cat [FILE]")
    );
    assert_eq!(
        outcome.problem("mine").unwrap().hint.unwrap(),
        "check `kind` and `command` in `[agents.mine]`, then run `drive doctor`"
    );
}

#[test]
fn a_line_over_the_limit_is_dropped_and_the_stream_goes_on() {
    let mut stream = claude_stream(setup());
    let half = vec![b'x'; 9 * 1024 * 1024];
    stream.push(Source::Stdout, &half);
    stream.push(Source::Stdout, &half);
    stream.push(Source::Stdout, b"\n");
    let (_, outcome) = play(&mut *stream, CLAUDE_OK.as_bytes(), End::Exited { code: 0 });
    assert_eq!(outcome.ending, Ending::Succeeded);
    assert_eq!(outcome.ignored.garbage_lines, 1);
}

#[test]
fn invalid_utf8_inside_an_event_does_not_lose_the_event() {
    let mut line = br#"{"type":"result","subtype":"success","is_error":false,"result":"a"#.to_vec();
    line.extend_from_slice(b"\xff\xfe");
    line.extend_from_slice(b"b\"}\n");
    let (_, outcome) = play(&mut *claude_stream(setup()), &line, End::Exited { code: 0 });
    assert_eq!(outcome.ending, Ending::Succeeded);
    assert_eq!(outcome.text, "a\u{fffd}\u{fffd}b");
}

#[test]
fn a_resumed_conversation_is_not_billed_twice() {
    let before = SessionTotals {
        usage: usage(1000, 100, 50),
        cost: Cost::from_micro_usd(2_000_000),
    };
    let resumed = StreamSetup {
        resume: Some(Session {
            id: "s".to_owned(),
            totals: before,
        }),
        ..setup()
    };
    let claude = r#"{"type":"result","subtype":"success","is_error":false,"session_id":"s","result":"x","total_cost_usd":2.5,"usage":{"input_tokens":10,"cache_read_input_tokens":1,"output_tokens":2}}"#;
    let codex = r#"{"type":"turn.completed","usage":{"input_tokens":1213,"cached_input_tokens":103,"output_tokens":57}}"#;
    let of_run = |reader: Reader, line: &str| {
        let mut stream = reader(resumed.clone());
        let outcome = play(&mut *stream, line.as_bytes(), End::Exited { code: 0 }).1;
        (outcome.usage, outcome.cost, outcome.session.unwrap().totals)
    };
    assert_eq!(
        of_run(claude_stream, claude),
        (
            usage(10, 1, 2),
            Some(Cost::from_micro_usd(500_000)),
            SessionTotals {
                usage: usage(1010, 101, 52),
                cost: Cost::from_micro_usd(2_500_000),
            }
        )
    );
    assert_eq!(
        of_run(codex_stream, codex),
        (
            usage(110, 3, 7),
            None,
            SessionTotals {
                usage: usage(1110, 103, 57),
                cost: Cost::from_micro_usd(2_000_000),
            }
        )
    );
}

#[test]
fn a_run_that_passes_its_budget_is_stopped_in_the_middle() {
    let mut stream = claude_stream(StreamSetup {
        budget: Budget {
            tokens: Some(200),
            cost: None,
        },
        ..setup()
    });
    for line in CLAUDE_OK.split_inclusive('\n') {
        stream.push(Source::Stdout, line.as_bytes());
        if stream.phase() != Phase::Working {
            break;
        }
    }
    assert_eq!(stream.phase(), Phase::Abandoned);
    let (_, outcome) = stream.finish(&End::Aborted);
    let overrun = Overrun::Tokens {
        allowed: 200,
        used: 222,
    };
    assert_eq!(outcome.ending, failed(Failure::Budget { overrun }, ""));
    assert_eq!(
        outcome.problem("claude-code").unwrap().message,
        "agent `claude-code` used 222 tokens where `200` are allowed"
    );
}

fn ask_claude(id: &str, tool: &str, input: Value) -> Vec<u8> {
    let request = json!({
        "type": "control_request",
        "request_id": id,
        "request": {"subtype": "can_use_tool", "tool_name": tool, "input": input},
    });
    format!("{request}\n").into_bytes()
}

fn sent(stream: &mut dyn AgentStream) -> Vec<Value> {
    let frames = stream.outgoing();
    frames
        .iter()
        .map(|frame| serde_json::from_slice(frame).unwrap())
        .collect()
}

#[test]
fn claude_is_answered_by_the_rules_and_each_answer_is_an_event() {
    let mut stream = claude_stream(StreamSetup {
        permissions: PermissionRules {
            allow: vec!["Bash(cargo *)".to_owned()],
            deny: Vec::new(),
        },
        max_escalations: 2,
        ..setup()
    });
    let input = json!({"command": "cargo test"});
    let events = stream.push(Source::Stdout, &ask_claude("1", "Bash", input.clone()));
    let request = PermissionRequest {
        tool: "Bash".to_owned(),
        detail: "cargo test".to_owned(),
    };
    assert_eq!(
        events,
        [
            AgentEvent::PermissionAsked {
                request: request.clone()
            },
            AgentEvent::PermissionAnswered {
                request,
                decision: Decision::Grant
            },
        ]
    );
    stream.push(
        Source::Stdout,
        &ask_claude("2", "WebFetch", json!({"url": "http://x"})),
    );
    stream.push(Source::Stdout, &ask_claude("3", "Bash", input.clone()));
    let answer = |id: &str, response: Value| {
        json!({
            "type": "control_response",
            "response": {"subtype": "success", "request_id": id, "response": response},
        })
    };
    assert_eq!(
        sent(&mut *stream),
        [
            answer("1", json!({"behavior": "allow", "updatedInput": input})),
            answer(
                "2",
                json!({"behavior": "deny", "message": "no rule in the settings allows it"})
            ),
            answer(
                "3",
                json!({"behavior": "deny", "message": "no more permissions are given in this run", "interrupt": true})
            ),
        ]
    );
    assert_eq!(stream.phase(), Phase::Abandoned);
    let (_, outcome) = stream.finish(&End::Aborted);
    assert_eq!(
        outcome.ending,
        failed(Failure::Escalations { allowed: 2 }, "")
    );
    assert_eq!(outcome.escalations, 3);
}

fn acp(role: Role) -> Box<dyn AgentStream> {
    acp_stream(
        StreamSetup { role, ..setup() },
        AcpJob {
            cwd: "/sandbox".to_owned(),
            prompt: "please".to_owned(),
            model: None,
        },
    )
}

fn tell(stream: &mut dyn AgentStream, message: &Value) -> Vec<AgentEvent> {
    stream.push(Source::Stdout, format!("{message}\n").as_bytes())
}

/// Answers the opening calls, up to the prompt.
fn opened(role: Role) -> Box<dyn AgentStream> {
    let mut stream = acp(role);
    tell(
        &mut *stream,
        &json!({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1}}),
    );
    tell(
        &mut *stream,
        &json!({"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s1"}}),
    );
    stream
}

#[test]
fn acp_opens_with_three_calls_and_offers_no_files_and_no_terminal() {
    let mut stream = opened(Role::Coder);
    let calls = sent(&mut *stream);
    let methods: Vec<&str> = calls
        .iter()
        .map(|c| c["method"].as_str().unwrap())
        .collect();
    assert_eq!(methods, ["initialize", "session/new", "session/prompt"]);
    assert_eq!(
        calls[0]["params"]["clientCapabilities"],
        json!({"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false})
    );
    assert_eq!(
        calls[1]["params"],
        json!({"cwd": "/sandbox", "mcpServers": []})
    );
    assert_eq!(
        calls[2]["params"],
        json!({"sessionId": "s1", "prompt": [{"type": "text", "text": "please"}]})
    );
}

#[test]
fn acp_text_tools_and_changes_become_events_and_the_stop_reason_decides() {
    let mut stream = opened(Role::Coder);
    let update = |update: Value| json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": update}});
    let chunk = |text: &str| {
        update(
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}),
        )
    };
    let mut events = Vec::new();
    for message in [
        chunk("he"),
        chunk("llo"),
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "write a.txt", "kind": "edit", "status": "pending"}),
        ),
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed", "content": [{"type": "diff", "path": "a.txt", "newText": "x"}]}),
        ),
        json!({"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "end_turn", "usage": {"inputTokens": 5, "outputTokens": 3}}}),
    ] {
        events.extend(tell(&mut *stream, &message));
    }
    assert_eq!(
        events,
        [
            text("he"),
            text("llo"),
            AgentEvent::ToolUse {
                name: "edit".to_owned(),
                summary: "write a.txt".to_owned()
            },
            AgentEvent::FileChange {
                path: "a.txt".to_owned()
            },
            AgentEvent::Finished { success: true },
            AgentEvent::Usage {
                usage: usage(5, 0, 3),
                cost: None
            },
        ]
    );
    assert_eq!(stream.phase(), Phase::Done);
    let (_, outcome) = stream.finish(&End::Aborted);
    assert_eq!(
        (outcome.ending, outcome.text),
        (Ending::Succeeded, "hello".to_owned())
    );
}

#[test]
fn acp_permissions_follow_the_role() {
    let ask = |kind: &str| {
        json!({"jsonrpc": "2.0", "id": 77, "method": "session/request_permission", "params": {
            "sessionId": "s1",
            "toolCall": {"toolCallId": "t", "title": "do it", "kind": kind},
            "options": [
                {"optionId": "always", "kind": "allow_always"},
                {"optionId": "yes", "kind": "allow_once"},
                {"optionId": "no", "kind": "reject_once"},
            ],
        }})
    };
    let table = [
        (Role::Coder, "edit", "yes"),
        (Role::Coder, "execute", "yes"),
        (Role::Coder, "read", "yes"),
        (Role::Coder, "switch_mode", "no"),
        (Role::Coder, "other", "no"),
        (Role::Reviewer, "read", "yes"),
        (Role::Reviewer, "edit", "no"),
        (Role::Reviewer, "execute", "no"),
        (Role::Reviewer, "delete", "no"),
    ];
    for (role, kind, option) in table {
        let mut stream = opened(role);
        stream.outgoing();
        tell(&mut *stream, &ask(kind));
        assert_eq!(
            sent(&mut *stream),
            [
                json!({"jsonrpc": "2.0", "id": 77, "result": {"outcome": {"outcome": "selected", "optionId": option}}})
            ],
            "{role} asks for {kind}"
        );
    }
}

#[test]
fn acp_agents_that_want_a_login_or_another_version_are_told_apart() {
    let mut stream = acp(Role::Coder);
    tell(
        &mut *stream,
        &json!({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1}}),
    );
    tell(
        &mut *stream,
        &json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "log in"}}),
    );
    assert_eq!(
        stream.finish(&End::Exited { code: 0 }).1.ending,
        failed(Failure::LoginExpired, "authentication required: log in")
    );
    let mut stream = acp(Role::Coder);
    tell(
        &mut *stream,
        &json!({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 9}}),
    );
    assert_eq!(
        stream.finish(&End::Aborted).1.ending,
        failed(
            Failure::Garbage,
            "it speaks version 9 of the protocol, not 1"
        )
    );
}

#[test]
fn an_acp_call_that_is_not_offered_is_refused_not_ignored() {
    let mut stream = opened(Role::Coder);
    stream.outgoing();
    tell(
        &mut *stream,
        &json!({"jsonrpc": "2.0", "id": "x", "method": "fs/read_text_file", "params": {"path": "/etc/passwd"}}),
    );
    assert_eq!(
        sent(&mut *stream),
        [
            json!({"jsonrpc": "2.0", "id": "x", "error": {"code": -32601, "message": "`fs/read_text_file` is not offered"}})
        ]
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
        stream.push(Source::Stdout, line.as_bytes());
    }
    stream.push(Source::Stdout, b"the answer\n");
    let (_, outcome) = stream.finish(&End::Exited { code: 0 });
    assert!(outcome.text.len() <= 256 * 1024, "{}", outcome.text.len());
    assert!(outcome.text.ends_with("é\nthe answer\n"));
}

fn readers() -> Vec<Box<dyn AgentStream>> {
    vec![
        claude_stream(setup()),
        gemini_stream(setup()),
        codex_stream(setup()),
        program_stream(setup()),
        opened(Role::Coder),
    ]
}

fn chunked(bytes: &[u8], sizes: &[usize]) -> Vec<Vec<u8>> {
    let mut chunks = Vec::new();
    let mut rest = bytes;
    let mut sizes = sizes.iter().copied().cycle();
    while !rest.is_empty() {
        let take = sizes.next().unwrap_or(1).clamp(1, rest.len());
        chunks.push(rest[..take].to_vec());
        rest = &rest[take..];
    }
    chunks
}

proptest! {
    #[test]
    fn chunk_boundaries_do_not_change_events_or_outcome(
        sizes in proptest::collection::vec(1usize..400, 1..20),
        which in 0usize..8,
    ) {
        let recorded: [(Reader, &str); 8] = [
            (claude_stream, CLAUDE_OK),
            (claude_stream, CLAUDE_429),
            (claude_stream, CLAUDE_401),
            (gemini_stream, GEMINI_OK),
            (gemini_stream, GEMINI_401),
            (codex_stream, CODEX_OK),
            (codex_stream, CODEX_DROPPED),
            (program_stream, CODEX_OK),
        ];
        let (reader, text) = recorded[which];
        let end = End::Exited { code: 0 };
        let whole = play(&mut *reader(setup()), text.as_bytes(), end.clone());
        let mut stream = reader(setup());
        let mut events = Vec::new();
        for chunk in chunked(text.as_bytes(), &sizes) {
            events.extend(stream.push(Source::Stdout, &chunk));
        }
        let (last, outcome) = stream.finish(&end);
        events.extend(last);
        prop_assert_eq!((events, outcome), whole);
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        chunks in proptest::collection::vec((any::<bool>(), proptest::collection::vec(any::<u8>(), 0..60)), 0..20),
    ) {
        for mut stream in readers() {
            for (is_stderr, bytes) in &chunks {
                let source = if *is_stderr { Source::Stderr } else { Source::Stdout };
                stream.push(source, bytes);
            }
            stream.finish(&End::Exited { code: 0 });
        }
    }

    #[test]
    fn events_with_fields_of_any_shape_never_panic(
        kind in prop_oneof![
            Just("system"), Just("assistant"), Just("user"), Just("result"), Just("message"), Just("init"),
            Just("control_request"), Just("rate_limit_event"), Just("tool_use"), Just("tool_result"),
            Just("error"), Just("item.completed"), Just("turn.completed"), Just("turn.failed"),
        ],
        key in prop_oneof![
            Just("message"), Just("subtype"), Just("usage"), Just("item"), Just("request"), Just("stats"),
            Just("result"), Just("error"), Just("rate_limit_info"), Just("total_cost_usd"), Just("params"),
        ],
        shape in 0usize..8,
    ) {
        let shapes = [
            json!(null), json!(-1), json!(1e300), json!("text"), json!([[]]), json!({"content": [{"type": "text"}]}),
            json!({"content": {"a": []}, "usage": [], "id": 3}), json!({"input_tokens": u64::MAX, "output_tokens": u64::MAX}),
        ];
        let mut event = json!({"type": kind, "subtype": "init", "method": "session/update", "id": 2});
        event[key] = shapes[shape].clone();
        for mut stream in readers() {
            play(&mut *stream, event.to_string().as_bytes(), End::Exited { code: 0 });
        }
    }
}
