use crate::agent_adapters::stage::{Stage, of_kind};
use drive_core::agent::answer::AnswerForm;
use drive_core::agent::{
    AgentEvent, AgentKind, Budget, Decision, Ending, Failure, Overrun, PermissionRequest, Role,
};

/// Asks for a permission, then prints the answer.
const ASKING_CLAUDE: &str = r#"#!/bin/sh
read -r prompt
echo '{"type":"system","subtype":"init","session_id":"s1","model":"m"}'
echo '{"type":"control_request","request_id":"q1","request":{"subtype":"can_use_tool","tool_name":"WebFetch","input":{"url":"https://example.org/"}}}'
read -r answer
case "$answer" in
  *'"behavior":"allow"'*) said=allowed;;
  *) said=denied;;
esac
case "$prompt" in
  *'please do it'*) ;;
  *) said=unasked;;
esac
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"'$said'"}'
while read -r more; do :; done
"#;

#[test]
fn a_permission_is_answered_over_the_open_input_and_recorded() {
    let stage = Stage::new();
    stage.program("claude", ASKING_CLAUDE);
    let mut config = of_kind(AgentKind::ClaudeCode, "claude");
    config.permissions.allow = vec!["WebFetch(https://example.org/*)".to_owned()];
    let played = stage.play(&config, &stage.request(Role::Coder));
    let request = PermissionRequest {
        tool: "WebFetch".to_owned(),
        detail: "https://example.org/".to_owned(),
    };
    let [launched, events @ .., isolation] = &played.events[..] else {
        panic!("{:?}", played.events);
    };
    assert!(
        matches!(launched, AgentEvent::Launched { .. }),
        "{launched:?}"
    );
    assert!(
        matches!(isolation, AgentEvent::Isolation { .. }),
        "{isolation:?}"
    );
    assert_eq!(
        events,
        [
            AgentEvent::Started {
                session: Some("s1".to_owned()),
                model: Some("m".to_owned()),
            },
            AgentEvent::PermissionAsked {
                request: request.clone()
            },
            AgentEvent::PermissionAnswered {
                request,
                decision: Decision::Grant
            },
            AgentEvent::Text {
                text: "allowed".to_owned()
            },
            AgentEvent::Finished { success: true },
        ]
    );
    assert_eq!(played.outcome().ending, Ending::Succeeded);
}

#[test]
fn without_a_rule_the_same_request_is_denied_and_the_run_goes_on() {
    let stage = Stage::new();
    stage.program("claude", ASKING_CLAUDE);
    let config = of_kind(AgentKind::ClaudeCode, "claude");
    let played = stage.play(&config, &stage.request(Role::Coder));
    assert_eq!(played.outcome().text, "denied");
    assert_eq!(played.outcome().ending, Ending::Succeeded);
}

#[test]
fn an_agent_that_asks_too_often_is_ended() {
    let stage = Stage::new();
    stage.program("claude", ASKING_CLAUDE);
    let mut request = stage.request(Role::Coder);
    request.max_escalations = 0;
    let played = stage.play(&of_kind(AgentKind::ClaudeCode, "claude"), &request);
    assert_eq!(
        played.outcome().ending,
        Ending::Failed {
            reason: Failure::Escalations { allowed: 0 },
            message: String::new()
        }
    );
}

#[test]
fn an_agent_that_passes_its_budget_is_ended_in_the_middle() {
    let stage = Stage::new();
    stage.program(
        "claude",
        "#!/bin/sh\n\
         echo '{\"type\":\"assistant\",\"message\":{\"id\":\"m1\",\"content\":[],\"usage\":{\"input_tokens\":900,\"output_tokens\":200}}}'\n\
         exec sleep 100\n",
    );
    let mut request = stage.request(Role::Coder);
    request.budget = Budget {
        tokens: Some(1000),
        cost: None,
    };
    let played = stage.play(&of_kind(AgentKind::ClaudeCode, "claude"), &request);
    let overrun = Overrun::Tokens {
        allowed: 1000,
        used: 1100,
    };
    assert_eq!(
        played.outcome().ending,
        Ending::Failed {
            reason: Failure::Budget { overrun },
            message: String::new()
        }
    );
}

/// Implements just enough of the protocol, and asks before it writes.
const ACP_AGENT: &str = r#"#!/bin/sh
read -r initialize
echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
read -r new_session
echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}'
read -r prompt
echo '{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t","title":"write a.txt","kind":"edit"},"options":[{"optionId":"yes","kind":"allow_once"},{"optionId":"no","kind":"reject_once"}]}}'
read -r answer
case "$answer" in *'"optionId":"yes"'*) echo x > a.txt;; esac
echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"done"}}}}'
echo '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}'
cat > /dev/null
"#;

#[test]
fn an_acp_agent_is_led_from_initialize_to_its_stop_reason() {
    for (role, files) in [(Role::Coder, vec!["a.txt"]), (Role::Reviewer, vec![])] {
        let stage = Stage::new();
        stage.program("robot", ACP_AGENT);
        let played = stage.play(&of_kind(AgentKind::Acp, "robot"), &stage.request(role));
        assert_eq!(
            played.outcome().ending,
            Ending::Succeeded,
            "{played:?}",
            played = played.events
        );
        assert_eq!(played.outcome().text, "done");
        assert_eq!(stage.files(&stage.sandbox()), files, "{role}");
    }
}

#[test]
fn a_prompt_of_five_megabytes_reaches_an_agent_that_is_spoken_to() {
    let stage = Stage::new();
    stage.program(
        "claude",
        "#!/bin/sh\nsize=$(head -n 1 | wc -c)\n\
         echo '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"'$size'\"}'\n",
    );
    let mut request = stage.request(Role::Coder);
    request.prompt = "x".repeat(5_000_000);
    let played = stage.play(&of_kind(AgentKind::ClaudeCode, "claude"), &request);
    let size: usize = played.outcome().text.trim().parse().unwrap();
    assert!(size > 5_000_000, "{size}");
}

/// An agent whose help lists one option.
const FORMED_CLAUDE: &str = r#"#!/bin/sh
case "$*" in
  *--help*) echo 'Options: HELP <schema>'; exit 0;;
  *--json-schema*) said='"result":"","structured_output":{"verdict":"approved"}';;
  *) said='"result":"free"';;
esac
read -r prompt
echo '{"type":"system","subtype":"init","session_id":"s1","model":"m"}'
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s1",'"$said"'}'
while read -r more; do :; done
"#;

#[test]
fn the_form_of_an_answer_is_asked_for_only_where_the_help_names_the_option() {
    for (help, document, text) in [
        ("--json-schema", Some(r#"{"verdict":"approved"}"#), ""),
        ("--json-schemas", None, "free"),
        ("--output-format", None, "free"),
    ] {
        let stage = Stage::new();
        stage.program("claude", &FORMED_CLAUDE.replace("HELP", help));
        let config = of_kind(AgentKind::ClaudeCode, "claude");
        let mut request = stage.request(Role::Reviewer);
        request.answer = AnswerForm::Review;
        let played = stage.play(&config, &request);
        let outcome = played.outcome();
        assert_eq!(outcome.ending, Ending::Succeeded, "{help}");
        assert_eq!(outcome.document.as_deref(), document, "{help}");
        assert_eq!(outcome.text, text, "{help}");
        let warned = |event: &AgentEvent| matches!(event, AgentEvent::Warning { .. });
        assert!(!played.events.iter().any(warned), "{:?}", played.events);
        let left = stage.files(&stage.root.join("run"));
        assert!(!left.contains(&"help".to_owned()), "{left:?}");
    }
}

#[test]
fn a_job_without_a_form_asks_no_help() {
    let stage = Stage::new();
    stage.program("claude", &FORMED_CLAUDE.replace("HELP", "--json-schema"));
    let config = of_kind(AgentKind::ClaudeCode, "claude");
    let played = stage.play(&config, &stage.request(Role::Coder));
    assert_eq!(played.outcome().text, "free");
    assert_eq!(played.outcome().document, None);
}
