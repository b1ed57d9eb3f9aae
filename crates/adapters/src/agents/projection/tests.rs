#![expect(clippy::disallowed_methods, reason = "tests write their own fixtures")]

use super::*;
use drive_core::agent::{AgentConfig, AgentKind};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

fn home(files: &[(&str, &str)]) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    home
}

fn projected(kind: AgentKind, mcp: &[&str], files: &[(&str, &str)]) -> Projection {
    let home = home(files);
    let config = AgentConfig {
        mcp: mcp.iter().map(|name| (*name).to_owned()).collect(),
        ..AgentConfig::of_kind(kind)
    };
    project("mine", &config, Some(home.path()), None).unwrap()
}

fn json_of(projection: &Projection) -> BTreeMap<&str, Value> {
    let files = projection.files.iter();
    files
        .map(|(name, text)| (*name, serde_json::from_str(text).unwrap()))
        .collect()
}

#[test]
fn claude_gets_the_model_and_an_access_token_and_nothing_that_runs() {
    let projection = projected(
        AgentKind::ClaudeCode,
        &["files"],
        &[
            (
                ".claude/settings.json",
                r#"{"model": "opus", "apiKeyHelper": "evil", "hooks": {"SessionStart": []},
                    "statusLine": {"type": "command", "command": "evil"}, "enabledPlugins": {"x": true},
                    "permissions": {"defaultMode": "bypassPermissions"},
                    "env": {"ANTHROPIC_BASE_URL": "http://gateway", "NODE_OPTIONS": "--require evil"}}"#,
            ),
            (
                ".claude/.credentials.json",
                r#"{"claudeAiOauth": {"accessToken": "at-1", "refreshToken": "rt-1", "expiresAt": 1794830400000,
                    "scopes": ["user:inference"], "subscriptionType": "max", "rateLimitTier": "x"}}"#,
            ),
            (
                ".claude.json",
                r#"{"userID": "u", "projects": {"/x": {}}, "mcpServers": {"files": {"command": "f"}, "other": {"command": "o"}}}"#,
            ),
            (".claude/CLAUDE.md", "be brief"),
            (".claude/hooks/a.sh", "evil"),
        ],
    );
    assert_eq!(
        json_of(&projection),
        BTreeMap::from([
            (".claude/settings.json", json!({"model": "opus"})),
            (
                ".claude/.credentials.json",
                json!({"claudeAiOauth": {"accessToken": "at-1", "expiresAt": 1_794_830_400_000_i64,
                    "scopes": ["user:inference"], "subscriptionType": "max"}})
            ),
            (".claude.json", json!({"hasCompletedOnboarding": true})),
            (
                ".claude/drive-mcp.json",
                json!({"mcpServers": {"files": {"command": "f"}}})
            ),
        ])
    );
    assert_eq!(projection.secrets, ["at-1"]);
    assert_eq!(projection.instructions.as_deref(), Some("be brief"));
    assert_eq!(
        projection.login_ends,
        Some("2026-11-16T12:00:00Z".parse().unwrap())
    );
}

#[test]
fn codex_gets_the_provider_and_an_access_token_and_nothing_that_runs() {
    let projection = projected(
        AgentKind::Codex,
        &["files"],
        &[
            (
                ".codex/config.toml",
                r#"
model = "big"
model_provider = "gateway"
notify = ["evil"]
sandbox_mode = "danger-full-access"
approval_policy = "never"
[model_providers.gateway]
name = "gateway"
base_url = "http://gateway"
query_params = { v = "1" }
[model_providers.gateway.auth]
command = "evil"
[mcp_servers.files]
command = "f"
[mcp_servers.other]
command = "o"
[projects."/x"]
trust_level = "trusted"
[shell_environment_policy]
set = { A = "b" }
[features]
plugins = true
[plugins."p@q"]
enabled = true
"#,
            ),
            (
                ".codex/auth.json",
                r#"{"OPENAI_API_KEY": null, "tokens": {"id_token": "id-1", "access_token": "at-1", "refresh_token": "rt-1", "account_id": "a"}, "last_refresh": "2020-01-01T00:00:00Z"}"#,
            ),
            (".codex/AGENTS.md", "be brief"),
        ],
    );
    let files: BTreeMap<&str, &str> = projection
        .files
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    let config: toml::Table = files[".codex/config.toml"].parse().unwrap();
    let expected: toml::Table = r#"
model = "big"
model_provider = "gateway"
model_providers = { gateway = { name = "gateway", base_url = "http://gateway", query_params = { v = "1" } } }
mcp_servers = { files = { command = "f" } }
"#
    .parse()
    .unwrap();
    assert_eq!(config, expected);
    let mut login: Value = serde_json::from_str(files[".codex/auth.json"]).unwrap();
    let refreshed: Timestamp = login["last_refresh"].as_str().unwrap().parse().unwrap();
    assert!(refreshed > "2026-01-01T00:00:00Z".parse().unwrap());
    login["last_refresh"] = json!("");
    assert_eq!(
        login,
        json!({"auth_mode": null, "last_refresh": "",
            "tokens": {"id_token": "id-1", "access_token": "at-1", "refresh_token": "", "account_id": "a"}})
    );
    assert_eq!(projection.secrets, ["at-1", "id-1"]);
    assert_eq!(projection.instructions.as_deref(), Some("be brief"));
}

#[test]
fn gemini_gets_the_way_to_log_in_and_an_access_token_and_nothing_that_runs() {
    let files = [
        (
            ".gemini/settings.json",
            r#"{ // mine
                "security": {"auth": {"selectedType": "oauth-personal"}, "folderTrust": {"enabled": true}},
                "model": {"name": "pro", "maxSessionTurns": 3}, "hooks": {"SessionStart": []},
                "tools": {"discoveryCommand": "evil"}, "extensions": {}, "telemetry": {"outfile": "/x"},
                "mcpServers": {"files": {"command": "f"}, "other": {"command": "o"}}}"#,
        ),
        (
            ".gemini/oauth_creds.json",
            r#"{"access_token": "at-1", "refresh_token": "rt-1", "expiry_date": 1794830400000, "token_type": "Bearer", "scope": "s", "id_token": "id-1"}"#,
        ),
        (
            ".gemini/.env",
            "GEMINI_MODEL=pro\nNODE_OPTIONS=--require=evil\n",
        ),
        (".gemini/GEMINI.md", "be brief"),
    ];
    let projection = projected(AgentKind::GeminiCli, &[], &files);
    assert_eq!(
        json_of(&projection),
        BTreeMap::from([
            (
                ".gemini/settings.json",
                json!({"security": {"auth": {"selectedType": "oauth-personal"}, "folderTrust": {"enabled": false}},
                    "general": {"enableAutoUpdate": false}, "model": {"name": "pro"}})
            ),
            (
                ".gemini/oauth_creds.json",
                json!({"access_token": "at-1", "expiry_date": 1_794_830_400_000_i64, "token_type": "Bearer", "scope": "s", "id_token": "id-1"})
            ),
        ])
    );
    assert_eq!(projection.secrets, ["at-1", "id-1"]);
    assert_eq!(projection.variables["GEMINI_MODEL"], "pro");
    assert_eq!(projection.instructions.as_deref(), Some("be brief"));
    let by_key = r#"{"security": {"auth": {"selectedType": "gemini-api-key"}}}"#;
    let other = projected(
        AgentKind::GeminiCli,
        &[],
        &[(".gemini/settings.json", by_key), files[1]],
    );
    assert_eq!((other.login_ends, other.files.len()), (None, 1));
}

#[test]
fn a_server_that_the_program_does_not_know_is_refused() {
    let home = home(&[(".codex/config.toml", "")]);
    let config = AgentConfig {
        mcp: vec!["files".to_owned()],
        ..AgentConfig::of_kind(AgentKind::Codex)
    };
    let problem = project("mine", &config, Some(home.path()), None).unwrap_err();
    assert_eq!(problem.kind, Kind::AgentMcp);
    assert_eq!(
        problem.message,
        "`mcp` of agent `mine` names `files`, which `~/.codex/config.toml` does not have"
    );
}

#[test]
fn settings_are_read_in_the_folder_that_the_user_has_set_for_them_and_through_links() {
    let home = home(&[
        ("elsewhere/settings.json", r#"{"model": "far"}"#),
        ("elsewhere/.claude.json", r#"{"primaryApiKey": "sk-1"}"#),
        ("dotfiles/settings.json", r#"{"model": "linked"}"#),
    ]);
    std::os::unix::fs::symlink("dotfiles", home.path().join(".claude")).unwrap();
    let config = AgentConfig::of_kind(AgentKind::ClaudeCode);
    let model = |set: Option<&Path>| {
        let projection = project("mine", &config, Some(home.path()), set).unwrap();
        let text = json_of(&projection)[".claude/settings.json"].clone();
        (text["model"].clone(), projection.secrets)
    };
    assert_eq!(model(None), (json!("linked"), vec![]));
    let far = home.path().join("elsewhere");
    assert_eq!(model(Some(&far)), (json!("far"), vec!["sk-1".to_owned()]));
}

#[test]
fn a_file_that_cannot_be_understood_is_named() {
    for (kind, file) in [
        (AgentKind::ClaudeCode, ".claude/settings.json"),
        (AgentKind::GeminiCli, ".gemini/settings.json"),
        (AgentKind::Codex, ".codex/config.toml"),
    ] {
        let home = home(&[(file, "{{")]);
        let config = AgentConfig::of_kind(kind);
        let problem = project("mine", &config, Some(home.path()), None).unwrap_err();
        assert_eq!(problem.kind, Kind::AgentSettings);
        assert_eq!(problem.message, format!("cannot read `~/{file}`"));
    }
}
