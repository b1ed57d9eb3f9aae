//! Checks the programs that drive calls.

use super::program::{Version, version, version_text};
use super::{Check, Doctor};
use crate::SystemClock;
use crate::agents::{AgentHost, LoginState};
use drive_core::agent::AgentKind;
use drive_core::process::LayerState;
use drive_core::settings::IsolationMode;
use drive_core::time::Timestamp;
use drive_engine::ports::Clock;

/// The first git version with all features that drive uses: `worktree list -z` and `merge-tree --write-tree`.
const OLDEST_GIT: Version = Version(2, 38);

/// Checks that git is installed and new enough.
pub(super) fn git(doctor: &Doctor<'_>) -> Check {
    const NAME: &str = "git";
    let newest = format!("install git {}.{} or newer", OLDEST_GIT.0, OLDEST_GIT.1);
    let check = match doctor.find("git") {
        None => Check::missing(NAME, "not found in `PATH`", newest),
        Some(path) => {
            let said = doctor.ask(&path, &["--version"]).unwrap_or_default();
            let at = path.display();
            match version_text(&said).map(|text| (text, version(text))) {
                Some((text, Some(found))) if found >= OLDEST_GIT => {
                    Check::ok(NAME, format!("{text} at `{at}`"))
                }
                Some((text, _)) => {
                    Check::missing(NAME, format!("{text} at `{at}` is too old"), newest)
                }
                None => Check::missing(NAME, format!("`{at} --version` prints no version"), newest),
            }
        }
    };
    check.required()
}

/// Checks of all agents in the settings.
pub(super) fn agents(doctor: &Doctor<'_>) -> Vec<Check> {
    let agents = doctor.settings.agents.iter();
    agents
        .map(|(name, agent)| {
            let check = format!("agent.{name}");
            let Some((program, _)) = agent.command_line() else {
                return Check::missing(check, "it has no command", "set its `command`");
            };
            let Some(path) = doctor.find(&program) else {
                let detail = format!("`{program}` not found");
                return Check::missing(check, detail, agent_hint(name, agent.kind));
            };
            match agent.kind {
                AgentKind::ClaudeCode | AgentKind::GeminiCli | AgentKind::Codex => {
                    versioned(doctor, check, &program)
                }
                // Any program may be such an agent, and not every program knows `--version`.
                AgentKind::Acp | AgentKind::Command => {
                    Check::ok(check, format!("found at `{}`", path.display()))
                }
            }
        })
        .collect()
}

/// Advice about a variable that the settings pass on by name.
const NAMED: &str = "use a key that can do little, or remove the variable from `env`";

/// Whether each agent that is installed has a login or a key. Their values are not read out.
pub(super) fn logins(doctor: &Doctor<'_>) -> Vec<Check> {
    let host = host(doctor);
    let agents = doctor.settings.agents.iter();
    agents
        .filter_map(|(name, agent)| {
            let (program, arguments) = agent.command_line()?;
            doctor.find(&program)?;
            let found = host.login(agent)?;
            // A command of the user's may be a wrapper that brings a key.
            let own = agent.kind.default_command();
            let is_wrapped = Some(program.as_str()) != own || !arguments.is_empty();
            let is_missing = matches!(found, LoginState::Missing);
            let check = format!("agent.{name}.login");
            (!(is_missing && is_wrapped))
                .then(|| login(check, agent.kind, found, SystemClock.now()))
        })
        .collect()
}

fn login(check: String, kind: AgentKind, found: LoginState, now: Timestamp) -> Check {
    let how = match kind {
        AgentKind::ClaudeCode => "run `claude auth login`, or set `ANTHROPIC_API_KEY`",
        AgentKind::GeminiCli => "start `gemini` and log in, or set `GEMINI_API_KEY`",
        AgentKind::Codex => "run `codex login`, or set `OPENAI_API_KEY`",
        AgentKind::Acp | AgentKind::Command => "log in with its own command",
    };
    match found {
        LoginState::Missing => Check::missing(check, "it has neither a login nor an API key", how),
        LoginState::Key => Check::ok(check, "an API key"),
        LoginState::Login { ends: Some(ends) } if ends <= now => {
            Check::missing(check, format!("its login expired at {ends}"), how)
        }
        LoginState::Login { ends: Some(ends) } => {
            Check::ok(check, format!("a login, which holds until {ends}"))
        }
        LoginState::Login { ends: None } => Check::ok(check, "a login"),
    }
}

/// Checks whether the keys and logins of agents stay with drive.
pub(super) fn keys(doctor: &Doctor<'_>) -> Vec<Check> {
    let settings = doctor.settings;
    let host = host(doctor);
    let agents = settings.agents.iter();
    agents
        .filter_map(|(name, agent)| {
            let check = format!("agent.{name}.keys");
            let hint = "give the agent an API key";
            let (layer, is_refused) = host.keys(agent)?;
            Some(match layer.state {
                LayerState::Active => Check::ok(check, "stay with drive"),
                LayerState::Missing(why) if !is_refused => Check::degraded(check, why, NAMED),
                LayerState::Missing(why) => match settings.sandbox.isolation {
                    IsolationMode::Require => Check::missing(check, why, hint),
                    IsolationMode::Auto | IsolationMode::Off => Check::degraded(check, why, hint),
                },
            })
        })
        .collect()
}

fn agent_hint(name: &str, kind: AgentKind) -> String {
    let package = match kind {
        AgentKind::ClaudeCode => "@anthropic-ai/claude-code",
        AgentKind::GeminiCli => "@google/gemini-cli",
        AgentKind::Codex => "@openai/codex",
        AgentKind::Acp | AgentKind::Command => {
            return format!("install it, or set `command` in `[agents.{name}]`");
        }
    };
    format!("run `npm install -g {package}`, or set `command` in `[agents.{name}]`")
}

/// Checks of tools that only some set-ups need.
pub(super) fn helpers(doctor: &Doctor<'_>) -> Vec<Check> {
    let table = [
        (
            "gh",
            "only needed to find a GitHub token: install GitHub's CLI, or set the token's variable",
        ),
        (
            "node",
            "only needed for agents installed with npm: install Node.js 20 or newer",
        ),
        ("npm", "only needed to install such agents: install Node.js"),
    ];
    table
        .into_iter()
        .map(|(program, hint)| match doctor.find(program) {
            None => Check::missing(program, "not found in `PATH`", hint),
            Some(_) => versioned(doctor, program.to_owned(), program),
        })
        .collect()
}

fn versioned(doctor: &Doctor<'_>, name: String, program: &str) -> Check {
    let Some(path) = doctor.find(program) else {
        return Check::missing(name, format!("`{program}` not found"), "install it");
    };
    let at = path.display();
    let said = doctor.ask(&path, &["--version"]).unwrap_or_default();
    match version_text(&said) {
        Some(version) => Check::ok(name, format!("{version} at `{at}`")),
        None => Check::degraded(
            name,
            format!("found at `{at}`, but `--version` prints no version"),
            format!("run `{at} --version` to see what is wrong with it"),
        ),
    }
}

fn host(doctor: &Doctor<'_>) -> AgentHost {
    let settings = doctor.settings;
    AgentHost {
        runner: doctor.runner.clone(),
        environment: doctor.environment.clone(),
        base: doctor.folder.to_owned(),
        scratch: doctor.folder.to_owned(),
        state: doctor.folder.to_owned(),
        forge_token_env: settings.forge.token_env.clone(),
        hidden: Vec::new(),
        secrets: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

    #[test]
    fn a_login_that_is_missing_or_over_is_told_with_the_way_to_get_one() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let login = |found| login("agent.x.login".into(), AgentKind::Codex, found, at(100));
        let until = |second| LoginState::Login {
            ends: Some(at(second)),
        };
        for (found, status) in [
            (LoginState::Missing, Status::Missing),
            (LoginState::Key, Status::Ok),
            (until(99), Status::Missing),
            (until(101), Status::Ok),
            (LoginState::Login { ends: None }, Status::Ok),
        ] {
            let check = login(found);
            assert_eq!(check.status, status, "{found:?}");
            let hint = check.hint.unwrap_or_default();
            let is_named = hint.contains("`codex login`");
            assert_eq!(is_named, status == Status::Missing, "{hint}");
        }
    }
}
