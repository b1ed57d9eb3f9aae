use super::files::write_private;
use super::locate::{self, Program};
use super::prompt::fitted;
use super::recipe::{FormOption, Input, Job, Launch, Recipe, args};
use drive_core::Problem;
use drive_core::agent::stream::codex_stream;
use drive_core::agent::{Access, AgentKind};
use drive_core::process::LayerName;
use std::path::PathBuf;

/// Codex. In its own sandbox it cannot commit, because `.git` is read-only there; drive commits for it.
pub(super) struct Codex;

/// With more than 1,048,576 characters it exits with 1; no character is shorter than a byte.
const MAX_PROMPT: usize = 1_000_000;

/// Its option for a file with the schema, which it passes to the model's API.
const FORM: FormOption = FormOption {
    help: &["exec", "--help"],
    name: "--output-schema",
};

impl Recipe for Codex {
    fn kind(&self) -> AgentKind {
        AgentKind::Codex
    }

    fn instructions(&self) -> Option<&'static str> {
        Some(".codex/AGENTS.md")
    }

    fn login_command(&self) -> Option<&'static str> {
        Some("codex login")
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

    fn form_option(&self) -> Option<FormOption> {
        Some(FORM)
    }

    fn launch(&self, job: &Job<'_>) -> Result<Launch, Problem> {
        let prompt = fitted(job.name, &job.prompt(), MAX_PROMPT, job.folders)?;
        // Its own sandbox does not work inside ours, and without one every command fails. So if the
        // kernel already confines the role, its own sandbox is disabled.
        let held = job.is_held_by_kernel();
        let sandbox = match (held, job.request.role.access()) {
            (true, _) => "danger-full-access",
            (false, Access::ReadOnly) => "read-only",
            (false, Access::Write) => "workspace-write",
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
        // In an untrusted folder it ignores the folder's settings and hooks.
        let folder = job.request.sandbox.display().to_string();
        arguments.push("-c".into());
        arguments.push(
            format!(
                "projects={{{}={{trust_level=\"untrusted\"}}}}",
                quoted(&folder)
            )
            .into(),
        );
        let mut readable: Vec<PathBuf> = prompt.folder.into_iter().collect();
        if let Some(schema) = job.answer.schema() {
            let file = job.folders.scratch.join("answer.schema.json");
            write_private(&file, schema.to_string().as_bytes())?;
            arguments.push(FORM.name.into());
            arguments.push(file.clone().into());
            readable.push(file);
        }
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
            readable,
            relies_on: held.then_some(LayerName::WriteScope),
            stream: codex_stream(job.setup.clone()),
        })
    }
}

/// A text as a TOML string.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
