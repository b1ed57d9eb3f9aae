use super::locate::{self, Program};
use super::prompt::fitted;
use super::recipe::{Input, Job, Launch, Recipe, args};
use drive_core::Problem;
use drive_core::agent::stream::codex_stream;
use drive_core::agent::{Access, AgentKind};

/// Codex. It cannot commit: its own sandbox keeps `.git` read-only, so drive commits for it.
pub(super) struct Codex;

/// Over 1,048,576 characters it exits with 1; no character is shorter than a byte.
const MAX_PROMPT: usize = 1_000_000;

impl Recipe for Codex {
    fn kind(&self) -> AgentKind {
        AgentKind::Codex
    }

    fn own_home(&self) -> &'static [&'static str] {
        &[".codex"]
    }

    fn own_settings(&self) -> &'static [&'static str] {
        &[
            ".codex/config.toml",
            ".codex/AGENTS.md",
            ".codex/hooks.json",
            ".codex/prompts",
            ".codex/rules",
            ".codex/skills",
        ]
    }

    fn native(&self, found: Program) -> Program {
        let (package, file) = match std::env::consts::ARCH {
            "aarch64" => (
                "@openai/codex-linux-arm64",
                "@openai/codex-linux-arm64/vendor/aarch64-unknown-linux-musl/bin/codex",
            ),
            _ => (
                "@openai/codex-linux-x64",
                "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
            ),
        };
        locate::native(found, package, &[file])
    }

    fn version_args(&self) -> Option<&'static [&'static str]> {
        Some(&["--version"])
    }

    fn verified(&self) -> &'static [&'static str] {
        &["0.166.0"]
    }

    fn recognises(&self, version_text: &str) -> bool {
        version_text.contains("codex")
    }

    fn launch(&self, job: &Job<'_>) -> Result<Launch, Problem> {
        let prompt = fitted(job.name, &job.request.prompt, MAX_PROMPT, job.folders)?;
        let sandbox = match job.request.role.access() {
            Access::ReadOnly => "read-only",
            Access::Write => "workspace-write",
        };
        let mut arguments = args(&[
            "exec",
            "--json",
            "-s",
            sandbox,
            "--skip-git-repo-check",
            "--ignore-rules",
            "-c",
            "features.plugins=false",
            "-c",
            "features.apps=false",
            "-c",
            "check_for_update_on_startup=false",
        ]);
        // A folder that is not trusted keeps its own settings and hooks to itself.
        let folder = job.request.sandbox.display().to_string();
        arguments.push("-c".into());
        arguments.push(
            format!(
                "projects={{{}={{trust_level=\"untrusted\"}}}}",
                quoted(&folder)
            )
            .into(),
        );
        if let Some(model) = job.model {
            arguments.extend(args(&["-m", model]));
        }
        if let Some(session) = &job.request.resume {
            arguments.extend(args(&["resume", &session.id]));
        }
        arguments.push("-".into());
        Ok(Launch {
            args: arguments,
            env: Vec::new(),
            input: Input::Once(prompt.text.into_bytes()),
            readable: prompt.folder.into_iter().collect(),
            stream: codex_stream(job.setup.clone()),
        })
    }
}

/// A TOML string.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
