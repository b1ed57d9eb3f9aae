use super::files::write_private;
use super::prompt::fitted;
use super::recipe::{Input, Job, Launch, Recipe, args, variable};
use drive_core::Problem;
use drive_core::agent::stream::gemini_stream;
use drive_core::agent::{Access, AgentKind};

/// Gemini CLI.
pub(super) struct Gemini;

/// Over 8 MiB it drops the prompt, calls no model, and reports success.
const MAX_PROMPT: usize = 7 * 1024 * 1024;

/// What a reader may not use. Plan mode is no help: it is left without asking anybody.
const READ_ONLY: &str = r#"[[rule]]
toolName = ["write_file", "replace", "run_shell_command", "invoke_agent", "enter_plan_mode", "exit_plan_mode"]
decision = "deny"
priority = 999
denyMessage = "this role may not change anything"
"#;

/// Wins over the settings of the repository under work, whose hooks, servers and commands are
/// foreign code.
const SETTINGS: &str = r#"{
  "hooksConfig": {"enabled": false},
  "mcp": {"allowed": ["none"]},
  "tools": {"discoveryCommand": "", "callCommand": ""},
  "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
  "advanced": {"autoConfigureMemory": false}
}
"#;

impl Recipe for Gemini {
    fn kind(&self) -> AgentKind {
        AgentKind::GeminiCli
    }

    fn own_home(&self) -> &'static [&'static str] {
        &[".gemini"]
    }

    fn own_settings(&self) -> &'static [&'static str] {
        &[
            ".gemini/settings.json",
            ".gemini/GEMINI.md",
            ".gemini/commands",
            ".gemini/extensions",
            ".gemini/policies",
            ".gemini/trustedFolders.json",
        ]
    }

    fn version_args(&self) -> Option<&'static [&'static str]> {
        Some(&["--version"])
    }

    fn verified(&self) -> &'static [&'static str] {
        &["0.61.0"]
    }

    fn recognises(&self, version_text: &str) -> bool {
        // It prints the bare number.
        let mut lines = version_text.lines().filter(|line| !line.trim().is_empty());
        lines.next().is_some_and(|line| {
            super::version::find_version(line).is_some_and(|version| version == line.trim())
        })
    }

    fn launch(&self, job: &Job<'_>) -> Result<Launch, Problem> {
        let prompt = fitted(job.name, &job.request.prompt, MAX_PROMPT, job.folders)?;
        let settings = job.folders.scratch.join("gemini-settings.json");
        write_private(&settings, SETTINGS.as_bytes())?;
        let mut readable = vec![settings.clone()];
        let mut arguments = args(&["--skip-trust", "-o", "stream-json", "-e", "none"]);
        arguments.extend(args(&["--allowed-mcp-server-names", "none"]));
        match job.request.role.access() {
            Access::ReadOnly => {
                let policy = job.folders.scratch.join("read-only.toml");
                write_private(&policy, READ_ONLY.as_bytes())?;
                arguments.extend(args(&["--approval-mode", "default", "--policy"]));
                arguments.push(policy.clone().into());
                readable.push(policy);
            }
            Access::Write => arguments.extend(args(&["--approval-mode", "yolo"])),
        }
        if let Some(model) = job.model {
            arguments.extend(args(&["-m", model]));
        }
        if let Some(session) = &job.request.resume {
            arguments.extend(args(&["--resume", &session.id]));
        }
        if let Some(folder) = prompt.folder {
            arguments.push("--include-directories".into());
            arguments.push(folder.clone().into());
            readable.push(folder);
        }
        Ok(Launch {
            args: arguments,
            env: vec![
                // Without, it starts itself again as a child that no signal reaches.
                variable("GEMINI_CLI_NO_RELAUNCH", "true"),
                variable("GEMINI_CLI_SYSTEM_SETTINGS_PATH", settings),
            ],
            input: Input::Once(prompt.text.into_bytes()),
            readable,
            stream: gemini_stream(job.setup.clone()),
        })
    }
}
