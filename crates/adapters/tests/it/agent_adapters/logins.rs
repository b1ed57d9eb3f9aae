//! Tests that a missing or expired login is reported before an agent starts.

use crate::agent_adapters::stage::{Stage, of_kind};
use drive_core::agent::{AgentConfig, AgentKind, Ending, Failure, Role};
use drive_core::problem::Kind;
use drive_core::settings::IsolationMode;
use drive_engine::CancelToken;
use drive_engine::ports::Agent;

const PROGRAMS: [(AgentKind, &str, &str); 3] = [
    (AgentKind::ClaudeCode, "claude", "claude auth login"),
    (AgentKind::Codex, "codex", "codex login"),
    (AgentKind::GeminiCli, "gemini", "gemini"),
];

/// Expired at 2020-01-01T00:00:00Z: `{"alg":"none"}` and `{"exp":1577836800}`.
const OLD_TOKEN: &str = "eyJhbGciOiJub25lIn0.eyJleHAiOjE1Nzc4MzY4MDB9.c2ln";
const OLD: [(AgentKind, &str, &str, &str); 3] = [
    (
        AgentKind::ClaudeCode,
        "claude",
        ".claude/.credentials.json",
        r#"{"claudeAiOauth": {"accessToken": "at", "expiresAt": 1577836800000}}"#,
    ),
    (
        AgentKind::Codex,
        "codex",
        ".codex/auth.json",
        r#"{"OPENAI_API_KEY": null, "tokens": {"id_token": "OLD", "access_token": "OLD", "account_id": "a"}}"#,
    ),
    (
        AgentKind::GeminiCli,
        "gemini",
        ".gemini/oauth_creds.json",
        r#"{"access_token": "at", "expiry_date": 1577836800000}"#,
    ),
];

/// A user with this file in the home, and a program that reports when it was started for work.
fn stage(program: &str, file: Option<(&str, &str)>) -> Stage {
    let stage = Stage::new();
    if let Some((name, text)) = file {
        let path = stage.root.join("home").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text.replace("OLD", OLD_TOKEN)).unwrap();
    }
    stage.program(program, "#!/bin/sh\necho started > started\n");
    stage
}

/// The problems that the check and the run of an agent report before it starts.
fn told(stage: &Stage, config: &AgentConfig) -> [String; 2] {
    let refused = stage
        .agent(config)
        .check(IsolationMode::Auto, &CancelToken::new());
    let problem = refused.unwrap_err();
    assert_eq!(problem.kind, Kind::AgentLoginExpired, "{problem:?}");
    let request = stage.request(Role::Coder);
    let played = stage.play(config, &request);
    let Ending::Failed {
        reason: Failure::LoginExpired,
        message,
    } = played.result.unwrap().ending
    else {
        panic!("{:?}", played.events);
    };
    assert_eq!(played.events, [], "it was started");
    assert!(!request.sandbox.join("started").exists());
    [problem.causes.concat(), message]
}

#[test]
fn an_agent_without_a_login_or_key_is_told_how_to_log_in() {
    for (kind, program, command) in PROGRAMS {
        let stage = stage(program, None);
        let says = format!("it has neither a login nor an API key; log in with `{command}`");
        // The default command is the same.
        for command in [Vec::new(), vec![program.to_owned()]] {
            let config = AgentConfig {
                command,
                ..AgentConfig::of_kind(kind)
            };
            assert_eq!(told(&stage, &config), [says.clone(), says.clone()]);
        }
        // A program of the settings may have its own key.
        let played = stage.play(&of_kind(kind, program), &stage.request(Role::Coder));
        assert_ne!(played.events, [], "{program}");
    }
}

#[test]
fn an_expired_login_is_told_also_beside_a_token_of_something_else() {
    for (kind, program, file, text) in OLD {
        let mut stage = stage(program, Some((file, text)));
        stage
            .variables
            .push(("FOO_TOKEN".to_owned(), "something-else".to_owned()));
        let mut config = of_kind(kind, program);
        config.env = vec!["FOO_TOKEN".to_owned()];
        let command = PROGRAMS.iter().find(|one| one.0 == kind).unwrap().2;
        let says = format!("its login expired at 2020-01-01T00:00:00Z; log in with `{command}`");
        assert_eq!(told(&stage, &config), [says.clone(), says]);
    }
}

#[test]
fn an_expired_login_beside_a_key_keeps_nobody_from_work() {
    for ((kind, program, file, text), key) in
        OLD.into_iter()
            .zip(["ANTHROPIC_API_KEY", "CODEX_API_KEY", "GEMINI_API_KEY"])
    {
        let mut stage = stage(program, Some((file, text)));
        stage
            .variables
            .push((key.to_owned(), "sk-of-mine".to_owned()));
        let mut config = of_kind(kind, program);
        config.env = vec![key.to_owned()];
        let played = stage.play(&config, &stage.request(Role::Coder));
        assert_ne!(played.events, [], "{program}");
    }
}
