use super::files::write_private;
use super::prompt::fitted;
use super::recipe::{Input, Job, Launch, Recipe, args, variable};
use drive_core::Problem;
use drive_core::agent::stream::gemini_stream;
use drive_core::agent::{Access, AgentKind};

/// Gemini CLI.
pub(super) struct Gemini;

/// With more than 8 MiB it drops the prompt, calls no model, and reports success; with more than
/// its model's window it ends silently.
const MAX_PROMPT: usize = 1024 * 1024;

/// The policy of a writer: every tool without asking, within the limits of the kernel.
const WRITER: &str = r#"[[rule]]
toolName = "*"
decision = "allow"
priority = 900

[[rule]]
toolName = "run_shell_command"
decision = "allow"
allowRedirection = true
priority = 901
"#;

/// The policy of a reader. Plan mode does not help, because the agent can leave it without asking.
const READER: &str = r#"[[rule]]
toolName = "*"
decision = "deny"
priority = 900

[[rule]]
toolName = ["read_file", "read_many_files", "list_directory", "glob", "grep_search"]
decision = "allow"
priority = 901

[[rule]]
toolName = ["write_file", "replace", "run_shell_command", "invoke_agent", "enter_plan_mode", "exit_plan_mode"]
decision = "deny"
priority = 902
"#;

impl Recipe for Gemini {
    fn kind(&self) -> AgentKind {
        AgentKind::GeminiCli
    }

    fn instructions(&self) -> Option<&'static str> {
        Some(".gemini/GEMINI.md")
    }

    fn login_command(&self) -> Option<&'static str> {
        Some("gemini")
    }

    fn version_args(&self) -> Option<&'static [&'static str]> {
        Some(&["--version"])
    }

    fn verified(&self) -> &'static [&'static str] {
        &["0.61.0"]
    }

    fn recognises(&self, version_text: &str) -> bool {
        // It prints only the number.
        let mut lines = version_text.lines().filter(|line| !line.trim().is_empty());
        lines.next().is_some_and(|line| {
            super::version::find_version(line).is_some_and(|version| version == line.trim())
        })
    }

    fn launch(&self, job: &Job<'_>) -> Result<Launch, Problem> {
        let prompt = fitted(job.name, &job.request.prompt, MAX_PROMPT, job.folders)?;
        let policy = job.folders.scratch.join("gemini-policy.toml");
        let rules = match job.request.role.access() {
            Access::ReadOnly => READER,
            Access::Write => WRITER,
        };
        write_private(&policy, rules.as_bytes())?;
        let mut arguments = args(&[
            "-o",
            "stream-json",
            "--approval-mode",
            "default",
            "--policy",
        ]);
        arguments.push(policy.clone().into());
        let mut readable = vec![policy];
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
                // Otherwise it restarts itself as a child that receives no signals.
                variable("GEMINI_CLI_NO_RELAUNCH", "true"),
                // In an untrusted folder it ignores the folder's settings, hooks, servers and variables.
                variable("GEMINI_RESTRICTED_MODE", "true"),
            ],
            input: Input::Once(prompt.text.into_bytes()),
            readable,
            relies_on: None,
            stream: gemini_stream(job.setup.clone()),
        })
    }
}
