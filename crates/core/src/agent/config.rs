use super::limits::AgentLimits;
use super::permission::PermissionRules;
use super::redact::MIN_SECRET;
use super::role::Role;
use crate::network::{CERTIFICATE_VARIABLES, MOST_HOSTS, PROXY_VARIABLES, parse_host};
use crate::problem::{Kind, Problem};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;

/// The kind of an agent, which selects its adapter.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum AgentKind {
    /// Claude Code.
    ClaudeCode,
    /// Gemini CLI.
    GeminiCli,
    /// The Codex CLI.
    Codex,
    /// Any agent that speaks the Agent Client Protocol.
    Acp,
    /// Any program.
    Command,
}

impl AgentKind {
    /// The name used in the settings.
    pub fn name(self) -> &'static str {
        match self {
            AgentKind::ClaudeCode => "claude-code",
            AgentKind::GeminiCli => "gemini-cli",
            AgentKind::Codex => "codex",
            AgentKind::Acp => "acp",
            AgentKind::Command => "command",
        }
    }

    /// Whether drive can enforce permission rules on an agent of this kind: the agent asks drive,
    /// or accepts the rules as its own.
    pub fn keeps_permissions(self) -> bool {
        match self {
            AgentKind::ClaudeCode | AgentKind::Acp => true,
            AgentKind::GeminiCli | AgentKind::Codex | AgentKind::Command => false,
        }
    }

    /// Whether MCP servers from the user's own settings can be passed on. Gemini CLI starts none in
    /// a folder that it does not trust, and in a trusted folder it also starts the repository's.
    pub fn takes_servers(self) -> bool {
        match self {
            AgentKind::ClaudeCode | AgentKind::Codex => true,
            AgentKind::GeminiCli | AgentKind::Acp | AgentKind::Command => false,
        }
    }

    /// The default command.
    pub fn default_command(self) -> Option<&'static str> {
        match self {
            AgentKind::ClaudeCode => Some("claude"),
            AgentKind::GeminiCli => Some("gemini"),
            AgentKind::Codex => Some("codex"),
            AgentKind::Acp | AgentKind::Command => None,
        }
    }
}

impl fmt::Display for AgentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The network access of an agent.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum AgentNetwork {
    /// Nothing but its own servers on loopback.
    Off,
    /// Its model's hosts, package registries and `allow_hosts`.
    #[default]
    Allow,
    /// Everything that the machine reaches, and the machine itself.
    Open,
}

impl AgentNetwork {
    /// A rank of strictness: the higher one lets an agent reach less.
    pub(crate) fn strictness(self) -> u8 {
        match self {
            Self::Open => 0,
            Self::Allow => 1,
            Self::Off => 2,
        }
    }
}

/// An agent in the settings, `[agents.NAME]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// The kind of its program, which selects the adapter.
    pub kind: AgentKind,
    /// The program and its first arguments; empty for the kind's usual one.
    #[serde(default)]
    pub command: Vec<String>,
    /// The model to use; the program's own default if omitted.
    #[serde(default)]
    pub model: Option<String>,
    /// A different model for some roles.
    #[serde(default)]
    pub models: BTreeMap<Role, String>,
    /// Variables let through besides those of the kind; everything else is withheld.
    #[serde(default)]
    pub env: Vec<String>,
    /// Files and folders of the user's home that it may use. Never taken from a repository's settings.
    #[serde(default)]
    pub home: Vec<String>,
    /// Its network access.
    #[serde(default)]
    pub network: AgentNetwork,
    /// Hosts it may reach besides its model's and the package registries: `host`, `host:port` or
    /// `*.example.com`.
    #[serde(default)]
    pub allow_hosts: Vec<String>,
    /// Whether a repository's settings list them. A name in there must lead to a public address.
    #[serde(skip)]
    pub hosts_are_of_repository: bool,
    /// MCP servers in the program's own settings that it may use, by name. Never taken from a
    /// repository's settings.
    #[serde(default)]
    pub mcp: Vec<String>,
    /// Permissions that it may get while it runs.
    #[serde(default)]
    pub permissions: PermissionRules,
    /// Its resource limits.
    #[serde(default)]
    pub limits: AgentLimits,
}

impl AgentConfig {
    /// The default configuration of a kind.
    pub fn of_kind(kind: AgentKind) -> Self {
        Self {
            kind,
            command: Vec::new(),
            model: None,
            models: BTreeMap::new(),
            env: Vec::new(),
            home: Vec::new(),
            network: AgentNetwork::default(),
            allow_hosts: Vec::new(),
            hosts_are_of_repository: false,
            mcp: Vec::new(),
            permissions: PermissionRules::default(),
            limits: AgentLimits::default(),
        }
    }

    /// Refuses settings that cannot work or are not allowed: no command, a forge token that is
    /// passed on, a home entry outside the home, a permission rule that nothing enforces.
    pub fn check(&self, name: &str, forge_token_env: &str) -> Result<(), Problem> {
        if self.command_line().is_none() {
            return Err(Problem::new(
                Kind::AgentWithoutCommand,
                format!("agent `{name}` has no command"),
            )
            .hint(format!(
                "set `command` in `[agents.{name}]`: kind `{}` has no default",
                self.kind
            )));
        }
        if let Some(variable) = self.env.iter().find(|v| is_withheld(v, forge_token_env)) {
            return Err(Problem::new(
                Kind::ForgeTokenForAgent,
                format!("agent `{name}` would receive a secret of the forge in `{variable}`"),
            )
            .hint(format!(
                "remove `{variable}` from `env` in `[agents.{name}]`: drive itself pushes and posts"
            )));
        }
        if let Some(entry) = self.home.iter().find(|e| !is_home_entry(e)) {
            return Err(Problem::new(
                Kind::AgentHomeEntry,
                format!(
                    "`home` of agent `{name}` has `{entry}`, which is not a path inside the \
                         home folder"
                ),
            )
            .hint(format!(
                "use relative paths such as `.config/tool` in `home` of `[agents.{name}]`"
            )));
        }
        self.check_network(name)?;
        if !self.mcp.is_empty() && !self.kind.takes_servers() {
            return Err(Problem::new(
                Kind::AgentMcp,
                format!(
                    "`mcp` of agent `{name}` has no effect: kind `{}` takes no servers",
                    self.kind
                ),
            )
            .hint("remove it; kinds `claude-code` and `codex` take servers"));
        }
        self.check_permissions(name)
    }

    fn check_network(&self, name: &str) -> Result<(), Problem> {
        let wrong = |message: String| Err(Problem::new(Kind::AgentNetwork, message));
        for entry in &self.allow_hosts {
            if let Err(why) = parse_host(entry) {
                let message =
                    format!("`allow_hosts` of agent `{name}` has the invalid entry `{entry}`");
                return wrong(message).map_err(|problem| problem.hint(why));
            }
        }
        let hosts = self.allow_hosts.len();
        if hosts > MOST_HOSTS {
            let message = format!("`allow_hosts` of agent `{name}` has {hosts} entries");
            let hint =
                format!("at most {MOST_HOSTS} are possible: use patterns such as `*.example.com`");
            return wrong(message).map_err(|problem| problem.hint(hint));
        }
        if hosts > 0 && self.network != AgentNetwork::Allow {
            let message = format!("`allow_hosts` of agent `{name}` has no effect");
            let hint = format!("remove it, or set `network = \"allow\"` in `[agents.{name}]`");
            return wrong(message).map_err(|problem| problem.hint(hint));
        }
        Ok(())
    }

    fn check_permissions(&self, name: &str) -> Result<(), Problem> {
        let rules = &self.permissions;
        if let Some(rule) = rules.malformed() {
            return Err(Problem::new(
                Kind::AgentPermissions,
                format!("malformed permission rule `{rule}` of agent `{name}`"),
            )
            .hint("write `Tool`, or `Tool(pattern)` with both brackets"));
        }
        let has_rules = !rules.allow.is_empty() || !rules.deny.is_empty();
        if has_rules && !self.kind.keeps_permissions() {
            return Err(Problem::new(
                Kind::AgentPermissions,
                format!(
                    "permission rules of agent `{name}` have no effect: kind `{}` does not ask \
                     for permission",
                    self.kind
                ),
            )
            .hint("remove them; its sandbox limits it, see `sandbox.isolation`"));
        }
        Ok(())
    }

    /// The variables that this agent gets besides those that every agent gets.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let own = kind_env(self.kind);
        let more = self.env.iter().map(String::as_str);
        own.iter()
            .copied()
            .chain(more.filter(|name| !own.contains(name)))
    }

    /// The model for a role.
    pub fn model_for(&self, role: Role) -> Option<&str> {
        let of_role = self.models.get(&role).or(self.model.as_ref());
        of_role.map(String::as_str)
    }

    /// Whether its command is the kind's own program, found by name. Any other command may be a
    /// wrapper that has its own key.
    pub fn is_kinds_own(&self) -> bool {
        match self.command.as_slice() {
            [] => true,
            [program] => self.kind.default_command() == Some(program),
            _ => false,
        }
    }

    /// The program and its first arguments; `None` if there is none.
    pub fn command_line(&self) -> Option<(String, Vec<String>)> {
        match self.command.split_first() {
            Some((program, args)) if !program.is_empty() => Some((program.clone(), args.to_vec())),
            Some(_) => None,
            None => self
                .kind
                .default_command()
                .map(|program| (program.to_owned(), Vec::new())),
        }
    }
}

/// The variables that a kind's program reads: its API key, its address, its settings.
fn kind_env(kind: AgentKind) -> &'static [&'static str] {
    match kind {
        AgentKind::ClaudeCode => &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_CUSTOM_HEADERS",
            "ANTHROPIC_MODEL",
            "ANTHROPIC_SMALL_FAST_MODEL",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CONFIG_DIR",
        ],
        AgentKind::GeminiCli => &[
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
            "GEMINI_MODEL",
            "GOOGLE_GEMINI_BASE_URL",
            "GOOGLE_VERTEX_BASE_URL",
            "GOOGLE_CLOUD_PROJECT",
            "GOOGLE_CLOUD_LOCATION",
            "GOOGLE_GENAI_USE_VERTEXAI",
        ],
        AgentKind::Codex => &[
            "OPENAI_API_KEY",
            "CODEX_API_KEY",
            "OPENAI_BASE_URL",
            "OPENAI_ORGANIZATION",
            "OPENAI_PROJECT",
            "CODEX_HOME",
        ],
        AgentKind::Acp | AgentKind::Command => &[],
    }
}

/// The variable that names the directory of a kind's settings.
pub fn config_dir_variable(kind: AgentKind) -> Option<&'static str> {
    match kind {
        AgentKind::ClaudeCode => Some("CLAUDE_CONFIG_DIR"),
        AgentKind::Codex => Some("CODEX_HOME"),
        AgentKind::GeminiCli | AgentKind::Acp | AgentKind::Command => None,
    }
}

/// Variables every agent gets if the caller has them. The proxy and certificate variables come on
/// top: behind a proxy nothing works without them.
const ALWAYS: [&str; 5] = ["PATH", "LANG", "LC_ALL", "TERM", "TZ"];

/// Variables no agent gets: with one of these, even a read-only role could write to the forge.
const NEVER: [&str; 5] = [
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "GH_ENTERPRISE_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
    "DRIVE_WEBHOOK_SECRET",
];

fn is_withheld(variable: &str, forge_token_env: &str) -> bool {
    NEVER.contains(&variable) || (!forge_token_env.is_empty() && variable == forge_token_env)
}

fn is_home_entry(entry: &str) -> bool {
    !entry.is_empty()
        && !entry.starts_with('/')
        && entry
            .split('/')
            .all(|part| !part.is_empty() && part != "." && part != "..")
}

/// The part of the caller's environment that an agent gets. `HOME` and `TMPDIR` are left out: they
/// are private to each run.
pub fn allowed_env(
    config: &AgentConfig,
    caller: &BTreeMap<OsString, OsString>,
    forge_token_env: &str,
) -> BTreeMap<OsString, OsString> {
    ALWAYS
        .into_iter()
        .chain(PROXY_VARIABLES)
        .chain(CERTIFICATE_VARIABLES)
        .chain(config.variables())
        .filter(|name| !is_withheld(name, forge_token_env))
        .filter_map(|name| caller.get_key_value(OsStr::new(name)))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The secret values in `env`: values of variables that are passed on and have a secret-like name,
/// and passwords in addresses. Ordinary settings such as a locale are none.
pub fn secret_values(config: &AgentConfig, env: &BTreeMap<OsString, OsString>) -> Vec<String> {
    let named = config
        .variables()
        .filter(|name| looks_secret(name))
        .filter_map(|name| env.get(OsStr::new(name))?.to_str());
    let passwords = env.values().filter_map(|value| password(value.to_str()?));
    let headers = config
        .variables()
        .filter(|name| name.contains("HEADERS"))
        .filter_map(|name| env.get(OsStr::new(name))?.to_str())
        .flat_map(str::lines)
        .filter_map(|line| Some(line.split_once(':')?.1.trim()));
    named
        .chain(passwords)
        .chain(headers)
        .map(str::to_owned)
        .collect()
}

/// The password in an address such as `http://me:password@proxy:8080`.
fn password(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once("://")?;
    let host = rest.split('/').next()?;
    let (user, _) = host.rsplit_once('@')?;
    user.split_once(':').map(|(_, password)| password)
}

/// The values that no agent gets, and that are redacted from agents' output as well.
pub fn withheld_values(
    caller: &BTreeMap<OsString, OsString>,
    forge_token_env: &str,
) -> Vec<String> {
    let names = NEVER.into_iter().chain([forge_token_env]);
    names
        .filter_map(|name| caller.get(OsStr::new(name))?.to_str())
        .map(str::to_owned)
        .collect()
}

/// The variable whose secret value `text` contains: one that the agent gets, or one that no agent gets.
pub fn secret_held_by<'a>(
    text: &str,
    config: &'a AgentConfig,
    caller: &BTreeMap<OsString, OsString>,
    forge_token_env: &'a str,
) -> Option<&'a str> {
    let listed = config.variables().filter(|name| looks_secret(name));
    let mut names = listed.chain(NEVER).chain([forge_token_env]);
    names.find(|name| {
        let value = caller
            .get(OsStr::new(name))
            .and_then(|value| value.to_str());
        value.is_some_and(|value| value.len() >= MIN_SECRET && text.contains(value))
    })
}

/// Whether a variable of this name is likely to hold a secret.
pub fn looks_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    [
        "KEY",
        "TOKEN",
        "SECRET",
        "PASS",
        "DSN",
        "CREDENTIAL",
        "AUTH",
        "COOKIE",
    ]
    .iter()
    .any(|word| upper.contains(word))
}

#[cfg(test)]
mod tests;
