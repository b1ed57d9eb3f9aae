use super::{OwnFiles, Projection, Servers, claude, codex, gemini};
use drive_core::agent::{AgentConfig, AgentKind};
use drive_core::problem::Problem;
use std::path::Path;

/// The part of the user's own files that an agent with these settings gets.
pub(in crate::agents) fn project(
    agent: &str,
    config: &AgentConfig,
    home: Option<&Path>,
    settings_folder: Option<&Path>,
) -> Result<Projection, Problem> {
    let files = |folder| OwnFiles::new(home, folder, settings_folder);
    let wanted = Servers {
        agent,
        names: &config.mcp,
    };
    match config.kind {
        AgentKind::ClaudeCode => claude::project(&files(".claude"), &wanted),
        AgentKind::Codex => codex::project(&files(".codex"), &wanted),
        AgentKind::GeminiCli => gemini::project(&files(".gemini")),
        AgentKind::Acp | AgentKind::Command => Ok(Projection::default()),
    }
}
