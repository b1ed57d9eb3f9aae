use super::{OwnFiles, Projection, Servers};
use crate::base64;
use drive_core::problem::Problem;
use drive_core::time::Timestamp;
use serde_json::{Value, json};
use toml::{Table, Value as Setting};

/// Settings about the model, its address and the login.
const SETTINGS: [&str; 12] = [
    "model",
    "model_provider",
    "model_reasoning_effort",
    "model_reasoning_summary",
    "model_verbosity",
    "model_context_window",
    "service_tier",
    "preferred_auth_method",
    "forced_login_method",
    "forced_chatgpt_workspace_id",
    "chatgpt_base_url",
    "openai_base_url",
];

/// The settings of one provider. `auth` is left out, because it names a command.
const PROVIDER: [&str; 13] = [
    "name",
    "base_url",
    "env_key",
    "env_key_instructions",
    "wire_api",
    "query_params",
    "http_headers",
    "env_http_headers",
    "request_max_retries",
    "stream_max_retries",
    "stream_idle_timeout_ms",
    "requires_openai_auth",
    "supports_websockets",
];

pub(super) fn project(own: &OwnFiles, servers: &Servers<'_>) -> Result<Projection, Problem> {
    let mut projection = Projection {
        instructions: own
            .text("AGENTS.override.md")
            .or_else(|| own.text("AGENTS.md")),
        ..Projection::default()
    };
    let settings = own.toml("config.toml")?;
    let mut kept = picked(&settings, &SETTINGS);
    let providers = providers(&settings);
    let headers = providers.values().filter_map(|one| one.get("http_headers"));
    let values = headers.filter_map(Setting::as_table).flatten();
    let values = values.filter_map(|(_, value)| Some(value.as_str()?.to_owned()));
    projection.secrets.extend(values);
    insert_table(&mut kept, "model_providers", providers);
    if let Some(analytics) = settings.get("analytics").and_then(Setting::as_table) {
        insert_table(&mut kept, "analytics", picked(analytics, &["enabled"]));
    }
    let known = settings.get("mcp_servers");
    let servers = servers.take(&own.label("config.toml"), |name| {
        known.and_then(|known| known.get(name)).cloned()
    })?;
    insert_table(&mut kept, "mcp_servers", servers.into_iter().collect());
    projection
        .files
        .push((".codex/config.toml", kept.to_string()));
    login(&own.json("auth.json")?, &mut projection);
    Ok(projection)
}

/// Copies the login. The program refreshes a login that it considers old, which needs a token that
/// it does not get.
fn login(found: &Value, projection: &mut Projection) {
    let mut kept = json!({});
    if let Some(key) = found["OPENAI_API_KEY"].as_str() {
        projection.secrets.push(key.to_owned());
        kept["OPENAI_API_KEY"] = json!(key);
    }
    let tokens = &found["tokens"];
    if let Some(access) = tokens["access_token"].as_str() {
        let id = tokens["id_token"].as_str();
        projection.login_ends = ends_of(access);
        projection.secrets.push(access.to_owned());
        projection.secrets.extend(id.map(str::to_owned));
        kept["tokens"] = json!({
            "id_token": tokens["id_token"],
            "access_token": access,
            "refresh_token": "",
            "account_id": tokens["account_id"],
        });
        kept["last_refresh"] = json!(Timestamp::now().to_string());
    }
    if kept != json!({}) {
        kept["auth_mode"] = found["auth_mode"].clone();
        projection
            .files
            .push((".codex/auth.json", kept.to_string()));
    }
}

/// The expiry of a token, if it contains one.
fn ends_of(token: &str) -> Option<Timestamp> {
    let claims = token.split('.').nth(1)?;
    let claims = base64::decode(claims, base64::URL)?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    Timestamp::from_second(claims["exp"].as_i64()?).ok()
}

fn providers(settings: &Table) -> Table {
    let all = settings.get("model_providers").and_then(Setting::as_table);
    all.into_iter()
        .flatten()
        .filter_map(|(name, provider)| {
            let kept = picked(provider.as_table()?, &PROVIDER);
            Some((name.clone(), Setting::Table(kept)))
        })
        .collect()
}

/// The named settings, and of tables only those with plain values: a nested table could contain a command.
fn picked(table: &Table, names: &[&str]) -> Table {
    let plain = |value: &Setting| match value {
        Setting::Table(below) => below
            .values()
            .all(|value| !value.is_table() && !value.is_array()),
        Setting::Array(_) => false,
        Setting::String(_)
        | Setting::Integer(_)
        | Setting::Float(_)
        | Setting::Boolean(_)
        | Setting::Datetime(_) => true,
    };
    names
        .iter()
        .filter_map(|name| {
            let value = table.get(*name).filter(|value| plain(value))?;
            Some(((*name).to_owned(), value.clone()))
        })
        .collect()
}

fn insert_table(into: &mut Table, name: &str, table: Table) {
    if !table.is_empty() {
        into.insert(name.to_owned(), Setting::Table(table));
    }
}
