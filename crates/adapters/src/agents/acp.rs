use super::prompt::fitted;
use super::recipe::{Input, Job, Launch, Recipe};
use drive_core::Problem;
use drive_core::agent::AgentKind;
use drive_core::agent::stream::{AcpJob, acp_stream};
use std::path::Path;

/// Any agent that supports the Agent Client Protocol on its standard streams.
///
/// A small reader in the core conducts the conversation instead of the protocol's own crate: that crate is
/// asynchronous, and its types refuse unknown values, although agents of newer versions should still work.
pub(super) struct Acp;

/// No limit is documented; the prompt is one frame, whose size a reader may limit.
const MAX_PROMPT: usize = 8 * 1024 * 1024;

/// Files in which a repository names hooks, plugins and servers for agents. The protocol cannot
/// disable them; claude-agent-acp, opencode and qwen execute them.
const EXECUTED: [&str; 10] = [
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".mcp.json",
    ".codex",
    ".gemini/settings.json",
    ".qwen/settings.json",
    "opencode.json",
    "opencode.jsonc",
    ".opencode",
    ".cursor/mcp.json",
];

impl Recipe for Acp {
    fn kind(&self) -> AgentKind {
        AgentKind::Acp
    }

    fn warning(&self, agent: &str, sandbox: &Path) -> Option<String> {
        let is_there = |name: &&&str| sandbox.join(name).symlink_metadata().is_ok();
        let found: Vec<String> = EXECUTED
            .iter()
            .filter(is_there)
            .map(|name| format!("`{name}`"))
            .collect();
        (!found.is_empty()).then(|| {
            format!(
                "agent `{agent}` may execute what the repository names in {}: drive cannot switch \
                 that off for kind `acp`",
                found.join(", ")
            )
        })
    }

    fn version_args(&self) -> Option<&'static [&'static str]> {
        None
    }

    fn verified(&self) -> &'static [&'static str] {
        &[]
    }

    fn recognises(&self, _version_text: &str) -> bool {
        true
    }

    fn launch(&self, job: &Job<'_>) -> Result<Launch, Problem> {
        let prompt = fitted(job.name, &job.request.prompt, MAX_PROMPT, job.folders)?;
        let mut stream = acp_stream(
            job.setup.clone(),
            AcpJob {
                cwd: job.request.sandbox.display().to_string(),
                prompt: prompt.text,
                model: job.model.map(str::to_owned),
            },
        );
        let opening = stream.outgoing().concat();
        Ok(Launch {
            args: Vec::new(),
            env: Vec::new(),
            input: Input::Dialogue(opening),
            readable: prompt.folder.into_iter().collect(),
            relies_on: None,
            stream,
        })
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write their own fixtures")]
mod tests {
    use super::*;

    #[test]
    fn a_repository_with_settings_that_may_be_executed_is_named() {
        let sandbox = tempfile::tempdir().unwrap();
        assert_eq!(Acp.warning("mine", sandbox.path()), None);
        std::fs::write(sandbox.path().join(".mcp.json"), "{}").unwrap();
        std::fs::create_dir(sandbox.path().join(".opencode")).unwrap();
        assert_eq!(
            Acp.warning("mine", sandbox.path()).unwrap(),
            "agent `mine` may execute what the repository names in `.mcp.json`, `.opencode`: drive \
             cannot switch that off for kind `acp`"
        );
    }
}
