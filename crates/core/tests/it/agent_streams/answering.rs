use crate::agent_streams::support::*;
use drive_core::agent::stream::{
    AcpJob, AgentStream, Phase, StreamSetup, acp_stream, claude_stream,
};
use drive_core::agent::{
    AgentEvent, Budget, Cost, Decision, Ending, Failure, PermissionRequest, PermissionRules, Role,
};
use drive_core::problem::Kind;
use drive_core::process::End;
use drive_core::process::Stream;
use serde_json::{Value, json};

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
fn requests_that_are_too_long_to_be_judged_count_like_any_other() {
    let mut stream = claude_stream(StreamSetup {
        max_escalations: 1,
        ..setup()
    });
    let long = json!({"command": "x".repeat(3000)});
    for id in ["1", "2"] {
        stream.push(Stream::Stdout, &ask_claude(id, "Bash", long.clone()));
    }
    let answers = sent(&mut *stream);
    let messages = answers
        .iter()
        .map(|a| &a["response"]["response"]["message"]);
    assert_eq!(
        messages.collect::<Vec<_>>(),
        [
            "the request is too long to check",
            "no more permissions are granted in this run"
        ]
    );
    assert_eq!(stream.phase(), Phase::Abandoned);
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
    let events = stream.push(Stream::Stdout, &ask_claude("1", "Bash", input.clone()));
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
        Stream::Stdout,
        &ask_claude("2", "WebFetch", json!({"url": "http://x"})),
    );
    stream.push(Stream::Stdout, &ask_claude("3", "Bash", input.clone()));
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
                json!({"behavior": "deny", "message": "no more permissions are granted in this \
                                                       run", "interrupt": true})
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
    acp_with(StreamSetup { role, ..setup() })
}

pub(crate) fn acp_with(setup: StreamSetup) -> Box<dyn AgentStream> {
    acp_stream(
        setup,
        AcpJob {
            cwd: "/sandbox".to_owned(),
            prompt: "please".to_owned(),
            model: None,
        },
    )
}

fn tell(stream: &mut dyn AgentStream, message: &Value) -> Vec<AgentEvent> {
    stream.push(Stream::Stdout, format!("{message}\n").as_bytes())
}

/// Answers the opening calls, up to the prompt.
pub(crate) fn opened(role: Role) -> Box<dyn AgentStream> {
    greeted(acp(role))
}

/// Completes the opening, so that the agent is working.
pub(crate) fn greeted(mut stream: Box<dyn AgentStream>) -> Box<dyn AgentStream> {
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
fn an_agent_whose_cost_passes_its_budget_is_stopped_in_the_middle() {
    let budget = Budget {
        tokens: None,
        cost: Cost::from_usd(0.5),
    };
    let mut stream = greeted(acp_with(StreamSetup { budget, ..setup() }));
    let mut spend = |usd: f64| {
        let update = json!({"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": usd, "currency": "USD"}});
        let params = json!({"sessionId": "s1", "update": update});
        tell(
            &mut *stream,
            &json!({"jsonrpc": "2.0", "method": "session/update", "params": params}),
        );
        stream.phase()
    };
    assert_eq!([0.3, 0.5].map(&mut spend), [Phase::Working, Phase::Working]);
    assert_eq!(spend(0.6), Phase::Abandoned);
    let (_, outcome) = stream.finish(&End::Aborted);
    assert_eq!(outcome.cost, Cost::from_usd(0.6));
    let told = outcome.problem("robot").unwrap();
    assert_eq!(
        (told.kind, told.message.as_str()),
        (
            Kind::BudgetExceeded,
            "agent `robot` spent $0.60 (limit $0.50)"
        )
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
        failed(Failure::Garbage, "protocol version 9 instead of 1")
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
