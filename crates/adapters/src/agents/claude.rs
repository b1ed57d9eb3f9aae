use super::home::Entry;
use super::locate::{self, Program};
use super::prompt::fitted;
use super::recipe::{Input, Job, Launch, Recipe, args, variable};
use drive_core::Problem;
use drive_core::agent::stream::{claude_stream, claude_user_message};
use drive_core::agent::{Access, AgentKind};

/// Claude Code.
pub(super) struct Claude;

/// Over 10 MB it exits with 1.
const MAX_PROMPT: usize = 8 * 1024 * 1024;

impl Recipe for Claude {
    fn kind(&self) -> AgentKind {
        AgentKind::ClaudeCode
    }

    fn own_home(&self) -> &'static [Entry<'static>] {
        &[Entry::Whole(".claude"), Entry::Whole(".claude.json")]
    }

    fn own_settings(&self) -> &'static [&'static str] {
        &[
            ".claude/settings.json",
            ".claude/settings.local.json",
            ".claude/CLAUDE.md",
            ".claude/agents",
            ".claude/commands",
            ".claude/hooks",
            ".claude/plugins",
            ".claude/skills",
        ]
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

    fn launch(&self, job: &Job<'_>) -> Result<Launch, Problem> {
        let prompt = fitted(job.name, &job.request.prompt, MAX_PROMPT, job.folders)?;
        // Only the user's own settings count: a repository's hooks and servers are foreign code.
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
            // Looser forms leak: plan mode accepts a new worktree, and a rule for `git log` allows
            // its `--output`.
            Access::ReadOnly => {
                args(&["--tools", "Read,Grep,Glob", "--permission-mode", "default"])
            }
            Access::Write => args(&[
                "--permission-mode",
                "acceptEdits",
                "--allowedTools",
                "Bash",
                "--disallowedTools",
                "EnterWorktree,ExitWorktree,CronCreate,CronDelete,CronList,ScheduleWakeup",
            ]),
        });
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
