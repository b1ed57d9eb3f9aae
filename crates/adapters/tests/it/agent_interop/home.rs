//! Tests what an agent takes from the user's home and the repository: instructions, login and
//! model, but nothing that runs.

use crate::agent_interop::lab::{Lab, Played};
use drive_core::agent::{AgentEvent, Ending, Failure, Role};
use drive_core::problem::Kind;
use drive_core::prompts::RULE_FILES;
use drive_engine::CancelToken;
use drive_engine::ports::{Agent, INSTRUCTION_FILES, InstructionFile, IsolationMode};
use drive_testkit::interop::Cli;
use drive_testkit::model_server::{Fault, Script, Turn};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Every file below a folder, with its content.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                all.insert(path.clone(), Vec::new());
                open.push(path);
            } else {
                all.insert(path.clone(), std::fs::read(&path).unwrap_or_default());
            }
        }
    }
    all
}

/// A server that leaves a mark and ends.
fn server(mark: &str) -> serde_json::Value {
    serde_json::json!({"command": "sh", "args": ["-c", format!("touch {mark}")]})
}

/// Writes settings into the user's home that leave the marks `MARK-hook` and `MARK-server` as soon
/// as the program starts with them.
fn plant(cli: Cli, home: &Path, mark: &str) {
    let command = format!("touch {mark}-hook");
    let server = server(&format!("{mark}-server"));
    match cli {
        Cli::Claude => {
            let hook = serde_json::json!([{"matcher": "", "hooks": [{"type": "command", "command": command}]}]);
            let settings = serde_json::json!({
                "hooks": {"SessionStart": hook, "UserPromptSubmit": hook},
                "apiKeyHelper": format!("{command}; echo dummy"),
            });
            write(&home.join(".claude/settings.json"), &settings.to_string());
            let state =
                serde_json::json!({"hasCompletedOnboarding": true, "mcpServers": {"mine": server}});
            write(&home.join(".claude.json"), &state.to_string());
        }
        Cli::Gemini => {
            let path = home.join(".gemini/settings.json");
            let text = std::fs::read_to_string(&path).unwrap();
            let mut settings: serde_json::Value = serde_json::from_str(&text).unwrap();
            let hook = serde_json::json!([{"matcher": "*", "hooks": [{"type": "command", "name": "t", "command": command}]}]);
            settings["hooksConfig"] = serde_json::json!({"enabled": true});
            settings["hooks"] =
                serde_json::json!({"SessionStart": hook, "BeforeAgent": hook, "BeforeModel": hook});
            settings["mcpServers"] = serde_json::json!({"mine": server});
            write(&path, &settings.to_string());
        }
        Cli::Codex => {
            let path = home.join(".codex/config.toml");
            let text = std::fs::read_to_string(&path).unwrap();
            write(
                &path,
                &format!(
                    "notify = [\"sh\", \"-c\", \"{command}\"]\n{text}\n\
                     [mcp_servers.mine]\ncommand = \"sh\"\nargs = [\"-c\", \"touch {mark}-server\"]\n"
                ),
            );
        }
    }
}

fn assert_succeeded(lab: &Lab, played: &Played) {
    assert_eq!(
        played.outcome().ending,
        Ending::Succeeded,
        "{:#?}\n{}",
        played.events,
        lab.log()
    );
}

fn lab(cli: Cli) -> Option<Lab> {
    Lab::new(cli, |_| {
        Script::new([Turn::text("done"), Turn::text("done")])
    })
}

/// Settings in the home run when the program is started by hand, but not when drive starts it, and
/// the home stays unchanged. A server that the user's drive settings name does run.
fn gets_nothing_that_runs(cli: Cli) {
    let Some(lab) = lab(cli) else { return };
    plant(cli, &lab.home.home(), &lab.in_work("mark"));
    let before = contents(&lab.home.home());
    let played = lab.play(Role::Coder);
    assert_succeeded(&lab, &played);
    assert_eq!(
        lab.work_files(),
        Vec::<String>::new(),
        "the user's settings ran"
    );
    assert_eq!(contents(&lab.home.home()), before, "the home was changed");

    if lab.config().kind.takes_servers() {
        let Some(lab) = self::lab(cli) else { return };
        plant(cli, &lab.home.home(), &lab.in_work("mark"));
        let mut config = lab.config();
        config.mcp = vec!["mine".to_owned()];
        lab.play_as(&config, &lab.request(Role::Coder));
        assert_eq!(
            lab.work_files(),
            ["mark-server"],
            "the named server did not run"
        );
    }

    let Some(lab) = self::lab(cli) else { return };
    plant(cli, &lab.home.home(), &lab.in_work("mark"));
    lab.by_hand();
    assert_eq!(
        lab.work_files(),
        ["mark-hook", "mark-server"],
        "the control did not run what was planted"
    );
}

#[test]
fn claude_gets_nothing_of_the_home_that_runs_but_a_named_server() {
    gets_nothing_that_runs(Cli::Claude);
}

#[test]
fn gemini_gets_nothing_of_the_home_that_runs() {
    gets_nothing_that_runs(Cli::Gemini);
}

#[test]
fn codex_gets_nothing_of_the_home_that_runs_but_a_named_server() {
    gets_nothing_that_runs(Cli::Codex);
}

/// The model gets the user's instructions and those of the repository at the base; not those of the
/// tree in which an agent works, and no file that they would import.
fn is_told_as_text(cli: Cli) {
    let Some(lab) = lab(cli) else { return };
    let (folder, own) = match cli {
        Cli::Claude => (".claude", "CLAUDE.md"),
        Cli::Gemini => (".gemini", "GEMINI.md"),
        Cli::Codex => (".codex", "AGENTS.md"),
    };
    write(&lab.home.home().join(folder).join(own), "words-of-the-user");
    for name in ["CLAUDE.md", "AGENTS.md", "GEMINI.md"] {
        write(&lab.home.work().join(name), "words-of-the-tree");
    }
    let imported = lab.in_work("imported.md");
    write(Path::new(&imported), "words-of-an-import");
    let mut request = lab.request(Role::Coder);
    let text = format!("words-of-the-base\n@{imported}\n@./imported.md\n");
    request.instructions = vec![InstructionFile {
        name: own.to_owned(),
        text,
    }];
    let played = lab.play_request(&request);
    assert_succeeded(&lab, &played);
    let asked = || -> String {
        let turns = lab.server.turns();
        turns.iter().map(|turn| turn.body.to_string()).collect()
    };
    let told = asked();
    for (words, expected) in [
        ("words-of-the-user", true),
        ("words-of-the-base", true),
        ("words-of-the-tree", false),
        ("words-of-an-import", false),
    ] {
        assert_eq!(told.contains(words), expected, "{words}");
    }
    // The program itself would read those of the tree.
    lab.by_hand();
    assert!(asked().contains("words-of-the-tree"));
}

#[test]
fn claude_reads_instructions_as_text() {
    is_told_as_text(Cli::Claude);
}

#[test]
fn gemini_reads_instructions_as_text() {
    is_told_as_text(Cli::Gemini);
}

#[test]
fn codex_reads_instructions_as_text() {
    is_told_as_text(Cli::Codex);
}

/// Reviewers of every kind get the same rules.
fn reviews_by_all_rules(cli: Cli) {
    let Some(lab) = lab(cli) else { return };
    let mut request = lab.request(Role::Reviewer);
    for name in INSTRUCTION_FILES {
        request.instructions.push(InstructionFile {
            name: name.to_owned(),
            text: format!("words-of-{name}"),
        });
    }
    let played = lab.play_request(&request);
    assert_succeeded(&lab, &played);
    let turns = lab.server.turns();
    let told: String = turns.iter().map(|turn| turn.body.to_string()).collect();
    for name in RULE_FILES {
        assert!(told.contains(&format!("words-of-{name}")), "{name}");
        assert!(
            told.contains(&format!("{name} of the repository")),
            "{name}"
        );
    }
}

#[test]
fn claude_reviews_by_all_rules_of_the_repository() {
    reviews_by_all_rules(Cli::Claude);
}

#[test]
fn gemini_reviews_by_all_rules_of_the_repository() {
    reviews_by_all_rules(Cli::Gemini);
}

#[test]
fn codex_reviews_by_all_rules_of_the_repository() {
    reviews_by_all_rules(Cli::Codex);
}

/// Three parts in base64, like the tokens of ChatGPT: `{"alg":"none"}`, the account, a signature.
const ID_TOKEN: &str = "eyJhbGciOiJub25lIn0.eyJlbWFpbCI6Im1lQGV4YW1wbGUub3JnIiwiaHR0cHM6Ly9hcGkub3BlbmFpLmNvbS9hdXRoIjp7ImNoYXRncHRfcGxhbl90eXBlIjoicHJvIiwiY2hhdGdwdF9hY2NvdW50X2lkIjoiYWNjIn19.c2ln";

fn log_in(cli: Cli, lab: &mut Lab) {
    let home = lab.home.home();
    match cli {
        Cli::Claude => {
            lab.unset("ANTHROPIC_API_KEY");
            let login = serde_json::json!({"claudeAiOauth": {
                "accessToken": "sk-ant-oat01-access", "refreshToken": "the-refresh-token",
                "expiresAt": 4_102_444_800_000_i64,
                "scopes": ["user:inference", "user:profile"], "subscriptionType": "max",
            }});
            write(&home.join(".claude/.credentials.json"), &login.to_string());
        }
        Cli::Codex => {
            lab.unset("SCRIPTED_API_KEY");
            let path = home.join(".codex/config.toml");
            let text = std::fs::read_to_string(&path).unwrap();
            let text = text.replace(
                "env_key = \"SCRIPTED_API_KEY\"",
                "requires_openai_auth = true",
            );
            write(&path, &text);
            let login = serde_json::json!({
                "auth_mode": "chatgpt", "OPENAI_API_KEY": null,
                "tokens": {"id_token": ID_TOKEN, "access_token": ID_TOKEN, "refresh_token": "the-refresh-token", "account_id": "acc"},
                "last_refresh": "2020-01-01T00:00:00Z",
            });
            write(&home.join(".codex/auth.json"), &login.to_string());
        }
        Cli::Gemini => unreachable!("it talks to Google before it talks to the model"),
    }
}

fn access_token(cli: Cli) -> &'static str {
    match cli {
        Cli::Claude => "sk-ant-oat01-access",
        Cli::Codex => ID_TOKEN,
        Cli::Gemini => unreachable!("it talks to Google before it talks to the model"),
    }
}

/// A subscription login works without its tokens, which the agent never sees.
fn works_without_its_tokens(cli: Cli) {
    let script = |_: &drive_testkit::interop::AgentHome| {
        Script::new([
            Turn::run("cat ~/.claude/.credentials.json ~/.codex/auth.json 2> /dev/null; true"),
            Turn::text("done"),
        ])
        .only_with_key(access_token(cli))
    };
    let Some(mut lab) = Lab::new(cli, script) else {
        return;
    };
    log_in(cli, &mut lab);
    let before = contents(&lab.home.home());
    let played = lab.play(Role::Coder);
    assert_succeeded(&lab, &played);
    let results: Vec<String> = lab
        .server
        .turns()
        .iter()
        .map(|turn| format!("{:?}", turn.tool_results))
        .collect();
    let shown = results.concat();
    assert!(
        shown.contains("okens") || shown.contains("accessToken"),
        "{shown}"
    );
    for token in ["the-refresh-token", access_token(cli)] {
        assert!(!shown.contains(token), "{shown}");
    }
    assert!(
        !lab.log().contains("oat01-access"),
        "the token is in the log"
    );
    assert_eq!(contents(&lab.home.home()), before, "the home was changed");
}

#[test]
fn claude_works_with_a_login_whose_tokens_it_does_not_have() {
    works_without_its_tokens(Cli::Claude);
}

#[test]
fn codex_works_with_a_login_whose_tokens_it_does_not_have() {
    works_without_its_tokens(Cli::Codex);
}

/// If the user's own program renews the login while the agent works, the new login is used.
fn works_with_a_login_renewed_meanwhile(cli: Cli) {
    let script = |_: &drive_testkit::interop::AgentHome| {
        Script::new([Turn::run("true"), Turn::text("done")]).only_with_key(access_token(cli))
    };
    let Some(mut lab) = Lab::new(cli, script) else {
        return;
    };
    log_in(cli, &mut lab);
    let file = lab.home.home().join(match cli {
        Cli::Claude => ".claude/.credentials.json",
        Cli::Codex => ".codex/auth.json",
        Cli::Gemini => unreachable!("it talks to Google before it talks to the model"),
    });
    let renewed = std::fs::read_to_string(&file).unwrap();
    write(
        &file,
        &renewed.replace(access_token(cli), "a-token-of-before"),
    );
    let mut events = Vec::new();
    let result = lab.agent(&lab.config()).run(
        &lab.request(Role::Coder),
        &CancelToken::new(),
        &mut |_| Ok(()),
        &mut |event| {
            if matches!(event, AgentEvent::Launched { .. }) {
                write(&file, &renewed);
            }
            events.push(event);
        },
    );
    assert_succeeded(&lab, &Played { events, result });
}

#[test]
fn claude_works_with_a_login_that_was_renewed_meanwhile() {
    works_with_a_login_renewed_meanwhile(Cli::Claude);
}

#[test]
fn codex_works_with_a_login_that_was_renewed_meanwhile() {
    works_with_a_login_renewed_meanwhile(Cli::Codex);
}

/// For every program, a missing login is distinguished from a failure, and reported with the
/// command that logs in.
fn names_its_login(cli: Cli, command: &str) {
    let fault = Turn::fault(Fault::status(401));
    let Some(mut lab) = Lab::new(cli, |_| Script::new([fault])) else {
        return;
    };
    match cli {
        Cli::Claude => lab.unset("ANTHROPIC_API_KEY"),
        Cli::Gemini => lab.unset("GEMINI_API_KEY"),
        Cli::Codex => {
            log_in(cli, &mut lab);
            std::fs::remove_file(lab.home.home().join(".codex/auth.json")).unwrap();
        }
    }
    let played = lab.play(Role::Coder);
    match &played.outcome().ending {
        Ending::Failed {
            reason: Failure::LoginExpired,
            message,
        } => assert!(
            message.ends_with(&format!("log in with `{command}`")),
            "{message}"
        ),
        other => panic!("{other:?}\n{}", lab.log()),
    }
}

#[test]
fn claude_without_a_login_names_the_command_that_logs_in() {
    names_its_login(Cli::Claude, "claude auth login");
}

#[test]
fn gemini_without_a_login_names_the_command_that_logs_in() {
    names_its_login(Cli::Gemini, "gemini");
}

#[test]
fn codex_without_a_login_names_the_command_that_logs_in() {
    names_its_login(Cli::Codex, "codex login");
}

/// If the login's file shows that it expired, nothing is started.
#[test]
fn an_expired_login_is_told_before_the_agent_starts() {
    let Some(mut lab) = lab(Cli::Claude) else {
        return;
    };
    log_in(Cli::Claude, &mut lab);
    let path = lab.home.home().join(".claude/.credentials.json");
    let text = std::fs::read_to_string(&path).unwrap();
    write(&path, &text.replace("4102444800000", "1577836800000"));
    let refused = lab
        .agent(&lab.config())
        .check(IsolationMode::Auto, &CancelToken::new());
    let problem = refused.unwrap_err();
    assert_eq!(problem.kind, Kind::AgentLoginExpired);
    assert_eq!(
        problem.causes,
        ["its login expired at 2020-01-01T00:00:00Z; log in with `claude auth login`"]
    );
    let played = lab.play(Role::Coder);
    assert_eq!(
        played.outcome().ending,
        Ending::Failed {
            reason: Failure::LoginExpired,
            message: "its login expired at 2020-01-01T00:00:00Z; log in with `claude auth login`"
                .to_owned(),
        }
    );
    assert_eq!(played.events, []);
    assert_eq!(lab.server.requests().len(), 0);
}
