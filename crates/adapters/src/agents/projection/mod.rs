//! Agent configuration: the parts of the user's own files that an agent gets in its private home.
//!
//! The files themselves are neither shown nor copied: their hooks, helpers, plugins and servers
//! would run, and a refresh token would let an agent log the user out. Of each file, only the part
//! that a model call needs is written into the private home.

mod claude;
mod codex;
mod dotenv;
mod gemini;
mod own_files;
mod project;

use drive_core::problem::{Kind, Problem};
use drive_core::time::Timestamp;
use std::collections::BTreeMap;

pub(super) use own_files::OwnFiles;
pub(super) use project::project;

/// The part of one program's own files that an agent gets.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Projection {
    /// Files for the private home, by their path in it.
    pub(super) files: Vec<(&'static str, String)>,
    /// Variables that the files set.
    pub(super) variables: BTreeMap<String, String>,
    /// Values that no log may contain.
    pub(super) secrets: Vec<String>,
    /// The expiry of the login, if its file contains one.
    pub(super) login_ends: Option<Timestamp>,
    /// The user's own instructions to the agent.
    pub(super) instructions: Option<String>,
}

/// The file from which claude reads its servers.
pub(super) const CLAUDE_SERVERS: &str = ".claude/drive-mcp.json";

/// The MCP servers that the user passes on.
struct Servers<'a> {
    agent: &'a str,
    names: &'a [String],
}

impl Servers<'_> {
    /// The selected servers, found with `find` in the program's settings.
    fn take<T>(
        &self,
        place: &str,
        find: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<(String, T)>, Problem> {
        let all = self.names.iter();
        all.map(|name| match find(name) {
            Some(server) => Ok((name.clone(), server)),
            None => Err(Problem::new(
                Kind::AgentMcp,
                format!(
                    "`mcp` of agent `{}` names `{name}`, which `{place}` does not have",
                    self.agent
                ),
            )
            .hint(format!(
                "add the server to `{place}`, or remove it from `mcp` in `[agents.{}]`",
                self.agent
            ))),
        })
        .collect()
    }
}

#[cfg(test)]
mod tests;
