use super::locate::{self, Program};
use super::projection::CLAUDE_SERVERS;
use super::prompt::fitted;
use super::recipe::{FormOption, Input, Job, Launch, Recipe, args, variable};
use drive_core::Problem;
use drive_core::agent::stream::{claude_stream, claude_user_message};
use drive_core::agent::{Access, AgentKind};
use std::ffi::OsString;

/// Claude Code.
pub(super) struct Claude;

/// With a prompt of more than 10 MB it exits with 1.
const MAX_PROMPT: usize = 8 * 1024 * 1024;

/// Tools that a writer must not use, because they lead out of the sandbox or outlive the run.
const NOT_FOR_WRITERS: &str =
    "EnterWorktree,ExitWorktree,CronCreate,CronDelete,CronList,ScheduleWakeup";

/// Its option for a schema. It offers the schema to the model as the tool `StructuredOutput`, and
/// insists once that the model calls it.
const FORM: FormOption = FormOption {
    help: &["--help"],
    name: "--json-schema",
};

/// Its tools that rules can name, in its own spelling.
const TOOLS: [&str; 12] = [
    "Bash",
    "Edit",
    "Glob",
    "Grep",
    "MultiEdit",
    "NotebookEdit",
    "Read",
    "Skill",
    "Task",
    "WebFetch",
    "WebSearch",
    "Write",
];

/// The rules that deny tools. It asks nobody about tools that a mode or a flag allows, so the rules
/// must be its own.
fn denied(job: &Job<'_>) -> Vec<OsString> {
    let own = match job.request.role.access() {
        Access::ReadOnly => None,
        Access::Write => Some(NOT_FOR_WRITERS.to_owned()),
    };
    let rules = job.setup.permissions.deny.iter().map(|rule| spelled(rule));
    let all: Vec<String> = own.into_iter().chain(rules).collect();
    if all.is_empty() {
        Vec::new()
    } else {
        std::iter::once("--disallowedTools".to_owned())
            .chain(all)
            .map(OsString::from)
            .collect()
    }
}

/// A rule with the tool's name in its own spelling: unlike the settings, it is case-sensitive.
fn spelled(rule: &str) -> String {
    let (tool, pattern) = rule.split_at(rule.find('(').unwrap_or(rule.len()));
    let known = TOOLS
        .iter()
        .find(|own| own.eq_ignore_ascii_case(tool.trim()));
    format!("{}{pattern}", known.copied().unwrap_or(tool.trim()))
}

impl Recipe for Claude {
    fn kind(&self) -> AgentKind {
        AgentKind::ClaudeCode
    }

    fn instructions(&self) -> Option<&'static str> {
        Some(".claude/CLAUDE.md")
    }

    fn login_command(&self) -> Option<&'static str> {
        Some("claude auth login")
    }

    fn native(&self, found: Program) -> Program {
        let files = [
            "@anthropic-ai/claude-code-linux-x64/claude",
            "@anthropic-ai/claude-code-linux-arm64/claude",
        ];
        let (package, file) = match std::env::consts::ARCH {
            "aarch64" => ("@anthropic-ai/claude-code-linux-arm64", files[1]),
            _ => ("@anthropic-ai/claude-code-linux-x64", files[0]),
        };
        locate::native(found, package, &[file])
    }

    fn version_args(&self) -> Option<&'static [&'static str]> {
        Some(&["--version"])
    }

    fn verified(&self) -> &'static [&'static str] {
        &["2.1.325"]
    }

    fn recognises(&self, version_text: &str) -> bool {
        version_text.contains("Claude Code")
    }

    fn form_option(&self) -> Option<FormOption> {
        Some(FORM)
    }

    fn launch(&self, job: &Job<'_>) -> Result<Launch, Problem> {
        let prompt = fitted(job.name, &job.prompt(), MAX_PROMPT, job.folders)?;
        // Only the settings in the private home count: a repository's hooks and servers are foreign code.
        let mut arguments = args(&[
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--input-format",
            "stream-json",
            "--permission-prompt-tool",
            "stdio",
            "--setting-sources",
            "user",
            "--strict-mcp-config",
        ]);
        arguments.extend(match job.request.role.access() {
            // Looser settings leak: plan mode accepts a new worktree, and a rule for `git log`
            // allows its `--output`.
            Access::ReadOnly => {
                args(&["--tools", "Read,Grep,Glob", "--permission-mode", "default"])
            }
            Access::Write => args(&["--permission-mode", "acceptEdits", "--allowedTools", "Bash"]),
        });
        arguments.extend(denied(job));
        let servers = job.folders.home.join(CLAUDE_SERVERS);
        if servers.exists() {
            arguments.push("--mcp-config".into());
            arguments.push(servers.into());
        }
        if let Some(schema) = job.answer.schema() {
            arguments.push(FORM.name.into());
            arguments.push(schema.to_string().into());
        }
        if let Some(model) = job.model {
            arguments.extend(args(&["--model", model]));
        }
        if let Some(session) = &job.request.resume {
            arguments.extend(args(&["--resume", &session.id]));
        }
        if let Some(folder) = &prompt.folder {
            arguments.push("--add-dir".into());
            arguments.push(folder.into());
        }
        Ok(Launch {
            args: arguments,
            env: vec![
                variable("CLAUDE_CODE_TMPDIR", &job.folders.tmp),
                variable("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                variable("DISABLE_AUTOUPDATER", "1"),
            ],
            input: Input::Dialogue(claude_user_message(&prompt.text)),
            readable: prompt.folder.into_iter().collect(),
            relies_on: None,
            stream: claude_stream(job.setup.clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_told_as_it_spells_its_tools() {
        for (rule, told) in [
            ("bash(git push*)", "Bash(git push*)"),
            (" webfetch ", "WebFetch"),
            ("Bash", "Bash"),
            ("mcp__x__y(a)", "mcp__x__y(a)"),
        ] {
            assert_eq!(spelled(rule), told);
        }
    }
}
