//! Tests the warning about a login that is passed to an agent as it is.

use crate::agent_adapters::stage::{Stage, command, of_kind, runner};
use drive_adapters::Environment;
use drive_adapters::doctor::{Doctor, Status};
use drive_core::agent::{AgentEvent, AgentKind, Role};
use drive_core::problem::Kind;
use drive_core::process::LayerName;
use drive_core::settings::{IsolationMode, resolve};
use drive_engine::CancelToken;
use drive_engine::ports::ProcessRunner;
use std::sync::Arc;

const REASON: &str = "a Google login is given to it; the agent holds a real login";

/// A user who is logged in with Google, and programs that end immediately.
fn stage() -> Stage {
    let stage = Stage::new();
    let folder = stage.root.join("home/.gemini");
    std::fs::create_dir_all(&folder).unwrap();
    let login = r#"{"access_token": "at-of-google", "expiry_date": 4102444800000}"#;
    std::fs::write(folder.join("oauth_creds.json"), login).unwrap();
    stage.program("tool", "#!/bin/sh\necho done\n");
    stage
}

fn warnings(events: &[AgentEvent]) -> Vec<&str> {
    let all = events.iter();
    all.filter_map(|event| match event {
        AgentEvent::Warning { message } if message.contains("`keys`") => Some(message.as_str()),
        _ => None,
    })
    .collect()
}

#[test]
fn an_agent_with_a_real_login_is_named_and_refused_where_isolation_is_required() {
    let stage = stage();
    let gemini = of_kind(AgentKind::GeminiCli, "tool");
    let mut request = stage.request(Role::Coder);
    let played = stage.play(&gemini, &request);
    let message = format!("isolation layer `keys` is missing for agent `mine`: {REASON}");
    assert_eq!(warnings(&played.events), [message.as_str()]);
    assert!(played.result.is_ok(), "{:?}", played.result);

    request.isolation = IsolationMode::Require;
    let refused = stage.play(&gemini, &request);
    let problem = refused.result.unwrap_err();
    assert_eq!(problem.kind, Kind::IsolationMissing);
    assert_eq!(problem.causes, [format!("agent `mine`: {REASON}")]);
    assert_eq!(refused.events, [], "it was started");
}

#[test]
fn a_key_that_stays_outside_is_not_named() {
    let mut stage = stage();
    stage
        .variables
        .push(("GEMINI_API_KEY".to_owned(), "sk-of-gemini".to_owned()));
    for config in [of_kind(AgentKind::GeminiCli, "tool"), command("tool")] {
        let played = stage.play(&config, &stage.request(Role::Coder));
        assert_eq!(warnings(&played.events), Vec::<&str>::new());
    }
}

#[test]
fn a_key_that_a_program_of_another_kind_is_given_is_named_and_never_refused() {
    let mut stage = stage();
    stage
        .variables
        .push(("MY_KEY".to_owned(), "sk-of-mine".to_owned()));
    let mut config = command("tool");
    config.env = vec!["MY_KEY".to_owned()];
    let mut request = stage.request(Role::Coder);
    for isolation in [IsolationMode::Auto, IsolationMode::Require] {
        request.isolation = isolation;
        let played = stage.play(&config, &request);
        assert_eq!(
            warnings(&played.events),
            [
                "isolation layer `keys` is missing for agent `mine`: `MY_KEY` is given to it; the \
              agent holds a real login"
            ]
        );
        assert!(played.result.is_ok(), "{:?}", played.result);
        let layers = played.events.iter().find_map(|event| match event {
            AgentEvent::Isolation { layers } => Some(layers),
            _ => None,
        });
        let keys = layers
            .unwrap()
            .iter()
            .find(|one| one.name == LayerName::Keys);
        assert!(!keys.unwrap().is_active(), "{keys:?}");
    }
}

#[test]
fn doctor_names_the_agents_whose_login_stays_outside_and_those_whose_does_not() {
    let mut stage = stage();
    stage
        .variables
        .push(("ANTHROPIC_API_KEY".to_owned(), "sk-of-claude".to_owned()));
    stage
        .variables
        .push(("MY_KEY".to_owned(), "sk-of-mine".to_owned()));
    let environment = Environment::from_pairs(stage.variables.clone());
    let runner: Arc<dyn ProcessRunner> = Arc::new(runner());
    let mut settings = resolve(&[]).unwrap().settings;
    settings.agents = [
        ("google", AgentKind::GeminiCli),
        ("key", AgentKind::ClaudeCode),
        ("none", AgentKind::Codex),
        ("other", AgentKind::Command),
        ("own", AgentKind::Command),
    ]
    .map(|(name, kind)| (name.to_owned(), of_kind(kind, "tool")))
    .into();
    settings.agents.get_mut("own").unwrap().env = vec!["MY_KEY".to_owned()];
    for (isolation, status) in [
        (IsolationMode::Auto, Status::Degraded),
        (IsolationMode::Require, Status::Missing),
    ] {
        settings.sandbox.isolation = isolation;
        let doctor = Doctor {
            environment: &environment,
            runner: &runner,
            cancel: &CancelToken::new(),
            settings: &settings,
            folder: &stage.root,
        };
        let checks = doctor.examine();
        let keys: Vec<(&str, Status, &str)> = checks
            .iter()
            .filter(|check| check.name.ends_with(".keys"))
            .map(|check| (&*check.name, check.status, &*check.detail))
            .collect();
        assert_eq!(
            keys,
            [
                ("agent.google.keys", status, REASON),
                ("agent.key.keys", Status::Ok, "stay with drive"),
                (
                    "agent.own.keys",
                    Status::Degraded,
                    "`MY_KEY` is given to it; the agent holds a real login"
                ),
            ]
        );
    }
}
