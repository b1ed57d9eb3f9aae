use crate::agent_adapters::stage::{Stage, of_kind};
use drive_adapters::agents::agent;
use drive_core::agent::{AgentConfig, AgentKind, Ending, Failure, Role};
use drive_core::problem::Kind;
use drive_engine::CancelToken;
use drive_engine::ports::{Agent, IsolationMode};

#[test]
fn an_agent_that_is_not_installed_is_an_environment_problem_that_names_it() {
    let stage = Stage::new();
    let played = stage.play(
        &AgentConfig::of_kind(AgentKind::Codex),
        &stage.request(Role::Coder),
    );
    let problem = played.result.unwrap_err();
    assert_eq!(problem.kind, Kind::AgentNotInstalled);
    assert_eq!(problem.exit_code(), 3);
    assert_eq!(
        problem.message,
        "agent `mine` is not installed: command `codex` not found"
    );
}

#[test]
fn a_file_that_is_not_executable_is_named_with_what_to_do() {
    let stage = Stage::new();
    let path = stage.root.join("bin/gemini");
    std::fs::write(&path, "text").unwrap();
    let played = stage.play(
        &of_kind(AgentKind::GeminiCli, "gemini"),
        &stage.request(Role::Coder),
    );
    let problem = played.result.unwrap_err();
    assert_eq!(problem.kind, Kind::AgentNotExecutable);
    assert!(
        problem
            .hint
            .unwrap()
            .starts_with(&format!("run `chmod +x {}`", path.display()))
    );
}

#[test]
fn another_program_under_an_agents_name_is_found_out_by_its_version() {
    let stage = Stage::new();
    stage.program("claude", "#!/bin/sh\necho 'cat (GNU coreutils) 9.7'\n");
    for kind in [
        AgentKind::ClaudeCode,
        AgentKind::GeminiCli,
        AgentKind::Codex,
    ] {
        let checked = stage
            .agent(&of_kind(kind, "claude"))
            .check(IsolationMode::Auto, &CancelToken::new());
        let problem = checked.unwrap_err();
        assert_eq!(problem.kind, Kind::AgentWrongProgram, "{kind}");
        assert_eq!(
            problem.causes,
            ["`--version` prints `cat (GNU coreutils) 9.7`"]
        );
    }
}

/// A repository can name the program, and it is asked for its version first of all.
#[test]
fn a_program_that_is_asked_for_its_version_is_confined_and_holds_no_secret() {
    let mut stage = Stage::new();
    let key = (
        "ANTHROPIC_API_KEY".to_owned(),
        "sk-ant-1234567890".to_owned(),
    );
    stage.variables.push(key);
    let root = stage.root.display();
    let script = format!(
        "#!/bin/sh\nleak() {{ echo \"$1\"; exit 1; }}\n\
         [ -z \"$ANTHROPIC_API_KEY\" ] || leak key\n\
         ! echo x > {root}/written || leak \"wrote, read $(cat {root}/home/.ssh/id)\"\n\
         ! cat {root}/home/.ssh/id || leak\n\
         echo '2.1.325 (Claude Code)'\n"
    );
    stage.program("claude", &script);
    let claude = of_kind(AgentKind::ClaudeCode, "claude");
    let check = |mode| stage.agent(&claude).check(mode, &CancelToken::new());
    for mode in [IsolationMode::Auto, IsolationMode::Require] {
        assert_eq!(check(mode).unwrap().version.as_deref(), Some("2.1.325"));
    }
    // Unconfined it can do anything, but the key is not available to it.
    let control = check(IsolationMode::Off).unwrap_err();
    assert_eq!(
        control.causes,
        ["`--version` prints `wrote, read private key`"]
    );
}

#[test]
fn a_known_version_passes_and_an_unknown_one_warns_with_what_was_verified() {
    let stage = Stage::new();
    let table = [
        (
            AgentKind::ClaudeCode,
            "2.1.325 (Claude Code)",
            "2.1.325",
            None,
        ),
        (
            AgentKind::ClaudeCode,
            "3.0.0 (Claude Code)",
            "3.0.0",
            Some("agent `mine` has version `3.0.0`; tested with `2.1.325`"),
        ),
        (AgentKind::GeminiCli, "0.61.0", "0.61.0", None),
        (AgentKind::Codex, "codex-cli 0.166.0", "0.166.0", None),
    ];
    for (kind, says, version, warning) in table {
        stage.program("tool", &format!("#!/bin/sh\necho '{says}'\n"));
        let checked = stage
            .agent(&of_kind(kind, "tool"))
            .check(IsolationMode::Auto, &CancelToken::new())
            .unwrap();
        assert_eq!(checked.version.as_deref(), Some(version));
        assert_eq!(checked.warning.as_deref(), warning);
        assert_eq!(checked.program, stage.root.join("bin/tool"));
    }
}

#[test]
fn a_program_that_prints_garbage_for_events_is_told_from_an_agent_that_failed() {
    let stage = Stage::new();
    stage.program("robot", "#!/bin/sh\necho hello\necho 'it broke' >&2\n");
    for kind in [
        AgentKind::ClaudeCode,
        AgentKind::GeminiCli,
        AgentKind::Codex,
        AgentKind::Acp,
    ] {
        let played = stage.play(&of_kind(kind, "robot"), &stage.request(Role::Coder));
        assert_eq!(
            played.outcome().ending,
            Ending::Failed {
                reason: Failure::Garbage,
                message: "it broke".to_owned()
            },
            "{kind}"
        );
    }
}

#[test]
fn garbage_without_end_is_cut_off() {
    let stage = Stage::new();
    stage.program("robot", "#!/bin/sh\nexec yes 'this is no event'\n");
    let played = stage.play(
        &of_kind(AgentKind::Codex, "robot"),
        &stage.request(Role::Coder),
    );
    assert_eq!(
        played.outcome().ending,
        Ending::Failed {
            reason: Failure::Garbage,
            message: "this is no event".to_owned()
        }
    );
}

#[test]
fn settings_that_hand_over_the_forge_token_make_no_agent() {
    let stage = Stage::new();
    let config = AgentConfig {
        env: vec!["GITHUB_TOKEN".to_owned()],
        ..of_kind(AgentKind::ClaudeCode, "claude")
    };
    let problem = agent("mine", &config, &stage.host()).err().unwrap();
    assert_eq!(problem.kind, Kind::ForgeTokenForAgent);
}

#[test]
fn a_command_that_is_a_path_starts_at_the_callers_checkout_not_in_the_sandbox() {
    let stage = Stage::new();
    stage.program("robot", "#!/bin/sh\necho the callers\n");
    let planted = stage.sandbox().join("bin");
    std::fs::create_dir_all(&planted).unwrap();
    std::fs::copy("/bin/false", planted.join("robot")).unwrap();
    let played = stage.play(
        &of_kind(AgentKind::Command, "./bin/robot"),
        &stage.request(Role::Coder),
    );
    assert_eq!(played.outcome().text, "the callers\n");
}

#[test]
fn an_empty_prompt_is_refused_before_anything_starts() {
    let stage = Stage::new();
    stage.program("claude", "#!/bin/sh\ntouch started\n");
    let mut request = stage.request(Role::Coder);
    request.prompt = "  ".to_owned();
    let played = stage.play(&of_kind(AgentKind::ClaudeCode, "claude"), &request);
    assert_eq!(played.result.unwrap_err().kind, Kind::EmptyPrompt);
    assert!(stage.files(&stage.sandbox()).is_empty());
}
