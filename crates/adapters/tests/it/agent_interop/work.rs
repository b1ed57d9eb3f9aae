use crate::agent_interop::lab::Lab;
use drive_core::agent::{AgentEvent, Decision, Ending, PermissionRequest, Role};
use drive_engine::CancelToken;
use drive_engine::ports::{Agent, IsolationMode};
use drive_testkit::interop::Cli;
use drive_testkit::model_server::{Script, Turn, Usage};

fn answer() -> &'static str {
    "It is done.\n```json\n{\"verdict\": \"approved\", \"suggestions\": []}\n```"
}

fn write_run_finish(cli: Cli) {
    let usage = Usage {
        input: 100,
        cached: 20,
        output: 10,
    };
    let Some(lab) = Lab::new(cli, |home| {
        Script::new([
            Turn::write(home.work().join("a.txt").display().to_string(), "hi\n").usage(usage),
            Turn::run("echo hello > b.txt").usage(usage),
            Turn::text(answer()).usage(usage),
        ])
    }) else {
        return;
    };
    let played = lab.play(Role::Coder);
    let outcome = played.outcome();
    assert_eq!(outcome.ending, Ending::Succeeded, "{:#?}", played.events);
    assert_eq!(
        lab.work_files(),
        ["a.txt", "b.txt"],
        "{:#?}\n{}",
        played.events,
        lab.log()
    );
    assert!(outcome.text.ends_with(answer()), "{}", outcome.text);
    assert_eq!(outcome.usage.output, 30, "{:?}", outcome.usage);
    assert_eq!(outcome.ignored.garbage_lines, 0);
    assert_eq!(outcome.ignored.unknown_events, 0, "{:#?}", played.events);
    let changed = played
        .events
        .iter()
        .any(|event| matches!(event, AgentEvent::FileChange { path } if path.ends_with("a.txt")));
    assert!(changed, "{:#?}", played.events);
    let ran = played.events.iter().any(
        |event| matches!(event, AgentEvent::Command { command, .. } if command.contains("echo hello")),
    );
    assert!(ran, "{:#?}", played.events);
    assert!(
        matches!(
            played.events.as_slice(),
            [
                AgentEvent::Launched { .. },
                AgentEvent::Started {
                    session: Some(_),
                    ..
                },
                ..
            ]
        ),
        "{:#?}",
        played.events
    );
}

#[test]
fn claude_writes_a_file_runs_a_command_and_finishes() {
    write_run_finish(Cli::Claude);
}

#[test]
fn gemini_writes_a_file_runs_a_command_and_finishes() {
    write_run_finish(Cli::Gemini);
}

#[test]
fn codex_writes_a_file_runs_a_command_and_finishes() {
    write_run_finish(Cli::Codex);
}

#[test]
fn the_installed_versions_are_the_verified_ones() {
    for cli in Cli::ALL {
        let Some(lab) = Lab::new(cli, |_| Script::default()) else {
            return;
        };
        let checked = lab
            .agent(&lab.config())
            .check(IsolationMode::Auto, &CancelToken::new())
            .unwrap();
        assert_eq!(checked.warning, None);
        assert!(checked.version.is_some());
    }
}

fn huge_prompt(cli: Cli) {
    let Some(lab) = Lab::new(cli, |_| Script::new([Turn::text("I have read it")])) else {
        return;
    };
    let mut request = lab.request(Role::Coder);
    request.prompt = format!("please {}", "all of it ".repeat(500_000));
    let played = lab.play_request(&request);
    assert_eq!(
        played.outcome().ending,
        Ending::Succeeded,
        "{:#?}",
        played.events
    );
    assert!(!lab.server.turns().is_empty(), "the model was never asked");
}

#[test]
fn claude_survives_a_prompt_of_five_megabytes() {
    huge_prompt(Cli::Claude);
}

#[test]
fn gemini_survives_a_prompt_of_five_megabytes() {
    huge_prompt(Cli::Gemini);
}

#[test]
fn codex_survives_a_prompt_of_five_megabytes() {
    huge_prompt(Cli::Codex);
}

#[test]
fn claude_runs_no_command_that_a_rule_denies_however_it_is_written() {
    let bash = |command: &str| {
        Turn::call(drive_testkit::model_server::Call::tool(
            "Bash",
            serde_json::json!({"command": command, "description": "d"}),
        ))
    };
    let Some(mut lab) = Lab::new(Cli::Claude, |_| {
        Script::new([
            bash("touch bad1"),
            bash("true && touch bad2"),
            bash("true; touch bad3 && true"),
            bash("true\ntouch bad4"),
            bash("touch good"),
            Turn::text("done"),
        ])
    }) else {
        return;
    };
    lab.permissions.deny = vec!["bash(touch bad*)".to_owned()];
    let played = lab.play(Role::Coder);
    assert_eq!(
        lab.work_files(),
        ["good"],
        "{:#?}\n{}",
        played.events,
        lab.log()
    );
    assert_eq!(played.outcome().ending, Ending::Succeeded);
    let refused = played.events.iter().filter(|event| {
        matches!(
            event,
            AgentEvent::PermissionAnswered {
                decision: Decision::Deny { .. },
                ..
            }
        )
    });
    assert_eq!(refused.count(), 4, "{:#?}", played.events);
}

#[test]
fn claude_asks_for_what_its_mode_does_not_allow_and_is_answered_by_the_rules() {
    let fetch = |url: &str| {
        Turn::call(drive_testkit::model_server::Call::tool(
            "Write",
            serde_json::json!({"file_path": url, "content": "x"}),
        ))
    };
    let Some(mut lab) = Lab::new(Cli::Claude, |home| {
        let outside = home.home().join("elsewhere");
        Script::new([
            fetch(&outside.join("yes.txt").display().to_string()),
            fetch(&outside.join("no.txt").display().to_string()),
            Turn::text("done"),
        ])
    }) else {
        return;
    };
    let outside = lab.home.home().join("elsewhere").display().to_string();
    lab.permissions.allow = vec![format!("Write({outside}/yes*)")];
    let played = lab.play(Role::Coder);
    let answers: Vec<(PermissionRequest, Decision)> = played
        .events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::PermissionAnswered { request, decision } => {
                Some((request.clone(), decision.clone()))
            }
            _ => None,
        })
        .collect();
    let request = |name: &str| PermissionRequest {
        tool: "Write".to_owned(),
        detail: format!("{outside}/{name}"),
    };
    assert_eq!(
        answers,
        [
            (request("yes.txt"), Decision::Grant),
            (
                request("no.txt"),
                Decision::Deny {
                    reason: "no rule in the settings allows it".to_owned()
                }
            ),
        ]
    );
    assert_eq!(played.outcome().ending, Ending::Succeeded);
    assert_eq!(played.outcome().escalations, 2);
}

fn resumed(cli: Cli) {
    let Some(lab) = Lab::new(cli, |_| Script::new([Turn::text("one"), Turn::text("two")])) else {
        return;
    };
    let first = lab.play(Role::Coder);
    let first = first.outcome();
    assert_eq!(first.ending, Ending::Succeeded);
    let mut again = lab.request(Role::Coder);
    again.resume = first.session.clone();
    again.prompt = "and now the rest".to_owned();
    let second = lab.play_request(&again);
    let second = second.outcome();
    assert_eq!(second.ending, Ending::Succeeded);
    assert_eq!(
        second.usage, first.usage,
        "the second run is billed by itself"
    );
    assert_eq!(
        second.cost, first.cost,
        "the second run is billed by itself"
    );
    assert_eq!(second.text, "two");
}

#[test]
fn a_resumed_claude_is_billed_for_its_own_run() {
    resumed(Cli::Claude);
}

#[test]
fn a_resumed_codex_is_billed_for_its_own_run() {
    resumed(Cli::Codex);
}

#[test]
fn a_resumed_gemini_is_billed_for_its_own_run() {
    resumed(Cli::Gemini);
}
