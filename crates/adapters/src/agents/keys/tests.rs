use super::held::FAR;
use super::*;
use serde_json::json;

const URL: &str = "http://127.0.0.1:4711";

fn placed(kind: AgentKind, variables: &[(&str, &str)], files: &[(&'static str, &str)]) -> Keys {
    let env = variables
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)))
        .collect();
    let projection = Projection {
        files: files
            .iter()
            .map(|(name, text)| (*name, (*text).to_owned()))
            .collect(),
        ..Projection::default()
    };
    let keys = Keys::placed(kind, env, &projection, 4711).unwrap();
    let all = format!("{:?} {:?}", keys.env, keys.files);
    assert!(!all.contains("real"), "a key is in {all}");
    keys
}

/// Each key, the address to which it is sent, and the number of its headers.
fn held(keys: &Keys) -> Vec<(&str, &str, usize)> {
    let grants = keys.grants.iter();
    grants
        .map(|grant| (&*grant.real, &*grant.upstream, grant.headers.len()))
        .collect()
}

#[test]
fn claude_gets_a_dummy_for_every_key_and_the_brokers_address() {
    let keys = placed(
        AgentKind::ClaudeCode,
        &[
            ("ANTHROPIC_API_KEY", "real-1"),
            ("ANTHROPIC_BASE_URL", "https://gateway.corp/x/"),
            ("ANTHROPIC_CUSTOM_HEADERS", "X-Gateway-Key: real-2\nX-B: c"),
            ("ANTHROPIC_AUTH_TOKEN", ""),
            ("HTTPS_PROXY", "http://proxy:1"),
            ("NO_PROXY", "corp"),
        ],
        &[
            (
                ".claude/.credentials.json",
                r#"{"claudeAiOauth": {"accessToken": "real-3", "expiresAt": 1, "scopes": ["a"]}}"#,
            ),
            (".claude.json", r#"{"primaryApiKey": "real-4", "a": 1}"#),
        ],
    );
    let gateway = "https://gateway.corp/x";
    assert_eq!(
        held(&keys),
        [
            ("real-1", gateway, 2),
            ("real-3", gateway, 2),
            ("real-4", gateway, 2)
        ]
    );
    assert_eq!(
        keys.grants[0].headers[0],
        ("X-Gateway-Key".to_owned(), "real-2".to_owned())
    );
    assert_eq!(keys.variable("ANTHROPIC_BASE_URL"), Some(URL));
    assert_eq!(
        keys.variable("ANTHROPIC_API_KEY"),
        Some(&*keys.grants[0].dummy)
    );
    assert_eq!(
        keys.json(".claude/.credentials.json"),
        Some(
            json!({"claudeAiOauth": {"accessToken": keys.grants[1].dummy, "expiresAt": FAR, "scopes": ["a"]}})
        )
    );
    assert_eq!(
        keys.json(".claude.json"),
        Some(json!({"primaryApiKey": keys.grants[2].dummy, "a": 1}))
    );
    assert_eq!(keys.variable("no_proxy"), Some("corp,127.0.0.1"));
    assert_eq!(keys.held, None);
}

#[test]
fn an_agent_without_a_key_keeps_its_address() {
    for kind in [
        AgentKind::ClaudeCode,
        AgentKind::GeminiCli,
        AgentKind::Codex,
    ] {
        let own = [
            ("ANTHROPIC_BASE_URL", "https://mine"),
            ("GOOGLE_GEMINI_BASE_URL", "https://mine"),
            ("OPENAI_BASE_URL", "https://mine"),
        ];
        let keys = placed(kind, &own, &[]);
        assert_eq!(held(&keys), []);
        for (name, value) in own {
            assert_eq!(keys.variable(name), Some(value));
        }
    }
}

fn config(keys: &Keys) -> Table {
    keys.file(".codex/config.toml").unwrap().parse().unwrap()
}

use toml::Table;

#[test]
fn codex_gets_a_provider_at_the_brokers_address_for_each_way_to_log_in() {
    let login = r#"{"OPENAI_API_KEY": null, "tokens": {"id_token": "real-id", "access_token": "real-at", "refresh_token": "", "account_id": "acc"}}"#;
    let by_key = r#"{"OPENAI_API_KEY": "real-key"}"#;
    let api = "https://api.openai.com/v1";
    let chatgpt = "https://chatgpt.com/backend-api/codex";
    let file = |login| (".codex/auth.json", login);
    type Case<'a> = (
        &'a [(&'a str, &'a str)],
        Option<(&'static str, &'a str)>,
        (&'a str, &'a str, usize),
    );
    let cases: [Case<'_>; 5] = [
        (&[("OPENAI_API_KEY", "real-1")], None, ("real-1", api, 0)),
        (
            &[("OPENAI_API_KEY", "real-1")],
            Some(file(login)),
            ("real-at", chatgpt, 1),
        ),
        (
            &[
                ("CODEX_API_KEY", "real-1"),
                ("OPENAI_API_KEY", "real-2"),
                ("OPENAI_PROJECT", "p"),
            ],
            Some(file(login)),
            ("real-1", api, 1),
        ),
        (&[], Some(file(by_key)), ("real-key", api, 0)),
        (
            &[("OPENAI_BASE_URL", "https://gateway/v1")],
            Some(file(login)),
            ("real-at", "https://gateway/v1", 1),
        ),
    ];
    for (variables, login, expected) in cases {
        let settings = (
            ".codex/config.toml",
            "model = \"big\"\nforced_chatgpt_workspace_id = \"w\"\n",
        );
        let files: Vec<(&'static str, &str)> = login.into_iter().chain([settings]).collect();
        let keys = placed(AgentKind::Codex, variables, &files);
        assert_eq!(held(&keys), [expected]);
        let config = config(&keys);
        assert_eq!(config["model"].as_str(), Some("big"));
        assert_eq!(config.get("forced_chatgpt_workspace_id"), None);
        assert_eq!(config["model_provider"].as_str(), Some("drive"));
        let provider = &config["model_providers"]["drive"];
        assert_eq!(provider["base_url"].as_str(), Some(URL));
        assert_eq!(provider["supports_websockets"].as_bool(), Some(false));
        match provider.get("env_key").and_then(|name| name.as_str()) {
            Some(name) => assert_eq!(keys.variable(name), Some(&*keys.grants[0].dummy)),
            None => {
                assert_eq!(provider["requires_openai_auth"].as_bool(), Some(true));
                let file = keys.file(".codex/auth.json").unwrap();
                assert!(file.contains(&keys.grants[0].dummy), "{file}");
            }
        }
    }
}

#[test]
fn a_key_that_is_in_a_header_alone_stays_outside() {
    let headers = ("ANTHROPIC_CUSTOM_HEADERS", "X-Api-Key: real-1");
    let keys = placed(AgentKind::ClaudeCode, &[headers], &[]);
    assert_eq!(held(&keys), [("", "https://api.anthropic.com", 1)]);
    let dummy = keys.variable("ANTHROPIC_AUTH_TOKEN");
    assert_eq!(dummy, Some(&*keys.grants[0].dummy));
    let settings = r#"
model_provider = "gateway"
[model_providers.gateway]
base_url = "https://gateway/v1"
env_key = "UNSET"
http_headers = { "x-a" = "real-1" }
"#;
    let keys = placed(AgentKind::Codex, &[], &[(".codex/config.toml", settings)]);
    assert_eq!(held(&keys), [("", "https://gateway/v1", 1)]);
    let others = settings.replace("\"gateway\"\n[", "\"ollama\"\n[");
    let keys = placed(AgentKind::Codex, &[], &[(".codex/config.toml", &others)]);
    assert_eq!(held(&keys), []);
}

#[test]
fn a_provider_of_the_users_settings_keeps_its_name_and_loses_its_keys() {
    let settings = r#"
model_provider = "gateway"
[model_providers.gateway]
name = "Gateway"
base_url = "https://gateway/v1"
query_params = { v = "1" }
http_headers = { "x-a" = "real-1" }
env_http_headers = { "x-b" = "MY_KEY" }
[model_providers.other]
http_headers = { "x-a" = "real-2" }
"#;
    let keys = placed(
        AgentKind::Codex,
        &[("MY_KEY", "real-3")],
        &[(".codex/config.toml", settings)],
    );
    assert_eq!(held(&keys), [("", "https://gateway/v1", 2)]);
    let shown = format!("Bearer {}", keys.grants[0].dummy);
    let expected: Table = format!(
        r#"
model_provider = "gateway"
[model_providers.gateway]
name = "Gateway"
base_url = "{URL}"
query_params = {{ v = "1" }}
supports_websockets = false
http_headers = {{ authorization = "{shown}" }}
"#
    )
    .parse()
    .unwrap();
    assert_eq!(config(&keys), expected);
}

#[test]
fn gemini_gets_a_dummy_key_and_a_google_login_is_named() {
    let login = (".gemini/oauth_creds.json", "{}");
    let by = |way: &str| format!(r#"{{"security": {{"auth": {{"selectedType": "{way}"}}}}}}"#);
    let key = ("GEMINI_API_KEY", "real-1");
    let google = "https://generativelanguage.googleapis.com";
    let keys = placed(
        AgentKind::GeminiCli,
        &[key, ("GOOGLE_API_KEY", "real-2")],
        &[login],
    );
    assert_eq!(held(&keys), [("real-1", google, 0)]);
    assert_eq!(keys.variable("GOOGLE_GEMINI_BASE_URL"), Some(URL));
    assert_eq!((keys.files.len(), keys.held.as_deref()), (0, None));
    let personal = by("oauth-personal");
    for (variables, settings, reason) in [
        (vec![key], &*personal, "a Google login is given to it"),
        (vec![], "{}", "a Google login is given to it"),
        (
            vec![("GOOGLE_GENAI_USE_VERTEXAI", "true")],
            "{}",
            "credentials of Google Cloud are given to it",
        ),
    ] {
        let settings = (".gemini/settings.json", settings);
        let keys = placed(AgentKind::GeminiCli, &variables, &[settings, login]);
        assert_eq!((held(&keys), keys.held.as_deref()), (vec![], Some(reason)));
    }
}

#[test]
fn claude_with_credentials_of_a_cloud_is_named() {
    let keys = placed(
        AgentKind::ClaudeCode,
        &[("CLAUDE_CODE_USE_BEDROCK", "1")],
        &[],
    );
    assert_eq!(
        keys.held.as_deref(),
        Some("credentials of Bedrock are given to it")
    );
    let keys = placed(
        AgentKind::ClaudeCode,
        &[("CLAUDE_CODE_USE_BEDROCK", "0")],
        &[],
    );
    assert_eq!(keys.held, None);
}

#[test]
fn a_variable_that_looks_secret_and_stays_as_it_is_is_named() {
    let own = [
        ("ANTHROPIC_API_KEY", "real-1"),
        ("MAX_THINKING_TOKENS", "16000000"),
        ("USE_AUTH", "1"),
    ];
    let keys = placed(AgentKind::ClaudeCode, &own, &[]);
    assert_eq!(keys.held.as_deref(), None);
    let of_a_tool = [own[0], ("LINEAR_TOKEN", "linear-1")];
    let keys = placed(AgentKind::ClaudeCode, &of_a_tool, &[]);
    assert_eq!(keys.held.as_deref(), Some("`LINEAR_TOKEN` is given to it"));
    assert!(keys.is_named);
    for kind in [AgentKind::Acp, AgentKind::Command] {
        let two = [
            ("A_TOKEN", "first-1"),
            ("MY_KEY", "second-2"),
            ("LANG", "C.UTF-8"),
        ];
        let keys = placed(kind, &two, &[]);
        let named = "`A_TOKEN`, `MY_KEY` are given to it";
        assert_eq!(keys.held.as_deref(), Some(named));
    }
}
