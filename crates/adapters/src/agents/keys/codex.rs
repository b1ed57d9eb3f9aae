use super::held::Keys;
use crate::entropy::random_token;
use drive_core::Problem;
use serde_json::{Value, json};
use toml::{Table, Value as Setting};

const CONFIG: &str = ".codex/config.toml";
const LOGIN: &str = ".codex/auth.json";

const API: &str = "https://api.openai.com/v1";
const CHATGPT: &str = "https://chatgpt.com/backend-api/codex";

/// Its own provider under another name: only a provider from the settings can have an address
/// without websockets, which the broker does not support.
const OWN_PROVIDER: &str = "drive";

/// A dummy token from which it reads who is logged in, until 2100. The header and claims are
/// `{"alg":"none"}` and
/// `{"email":"agent@localhost","exp":4102444800,"https://api.openai.com/auth":{"chatgpt_plan_type":"plus"}}`.
const UNSIGNED: &str = "eyJhbGciOiJub25lIn0.eyJlbWFpbCI6ImFnZW50QGxvY2FsaG9zdCIsImV4cCI6NDEwMjQ0NDgwMCwiaHR0cHM6Ly9hcGkub3BlbmFpLmNvbS9hdXRoIjp7ImNoYXRncHRfcGxhbl90eXBlIjoicGx1cyJ9fQ";

/// Variables of its own provider, with the headers they set.
const OWN_HEADERS: [(&str, &str); 2] = [
    ("OPENAI_ORGANIZATION", "openai-organization"),
    ("OPENAI_PROJECT", "openai-project"),
];

pub(super) fn place(keys: &mut Keys) -> Result<(), Problem> {
    let mut config: Table = keys
        .file(CONFIG)
        .and_then(|text| text.parse().ok())
        .unwrap_or_default();
    let name = text(&config, "model_provider").unwrap_or_else(|| "openai".to_owned());
    let own = config
        .get("model_providers")
        .and_then(|all| all.get(&name))
        .and_then(Setting::as_table)
        .cloned();
    let placed = match own {
        Some(provider) => {
            let asks = asks_for_login(&provider);
            let placed = of_settings(keys, provider)?;
            keys.lacks_login = asks && placed.is_none();
            placed.map(|provider| (name, provider))
        }
        None if name == "openai" => {
            let placed = builtin(keys, &config)?;
            keys.lacks_login = placed.is_none();
            placed.map(|provider| (OWN_PROVIDER.to_owned(), provider))
        }
        // Another built-in provider, such as for a model on this machine.
        None => None,
    };
    let Some((name, mut provider)) = placed else {
        forget_headers(&mut config);
        keys.write(CONFIG, config.to_string());
        return Ok(());
    };
    provider.insert("base_url".to_owned(), Setting::String(keys.url.clone()));
    provider.insert("supports_websockets".to_owned(), Setting::Boolean(false));
    let providers = Table::from_iter([(name.clone(), Setting::Table(provider))]);
    config.insert("model_providers".to_owned(), Setting::Table(providers));
    config.insert("model_provider".to_owned(), Setting::String(name));
    // A dummy belongs to no workspace; the user's own program already checked the real login.
    config.remove("forced_chatgpt_workspace_id");
    config.remove("openai_base_url");
    keys.remove("OPENAI_BASE_URL");
    keys.write(CONFIG, config.to_string());
    Ok(())
}

/// Its built-in provider, with the login that it would use first.
fn builtin(keys: &mut Keys, config: &Table) -> Result<Option<Table>, Problem> {
    let set = keys.variable("OPENAI_BASE_URL").map(str::to_owned);
    let address = set.or_else(|| text(config, "openai_base_url"));
    let mut provider = Table::from_iter([
        (
            "name".to_owned(),
            Setting::String("OpenAI by drive".to_owned()),
        ),
        (
            "wire_api".to_owned(),
            Setting::String("responses".to_owned()),
        ),
    ]);
    let has_login = keys.file(LOGIN).is_some();
    let by_variable = if keys.variable("CODEX_API_KEY").is_some() {
        Some("CODEX_API_KEY")
    } else {
        Some("OPENAI_API_KEY").filter(|name| !has_login && keys.variable(name).is_some())
    };
    if let Some(name) = by_variable {
        keys.take_variable(name, address.as_deref().unwrap_or(API))?;
        provider.insert("env_key".to_owned(), Setting::String(name.to_owned()));
        keys.files.retain(|(file, _)| *file != LOGIN);
    } else if has_login {
        take_login(keys, address.as_deref())?;
        provider.insert("requires_openai_auth".to_owned(), Setting::Boolean(true));
    } else {
        return Ok(None);
    }
    for unused in ["CODEX_API_KEY", "OPENAI_API_KEY"] {
        if by_variable != Some(unused) {
            keys.remove(unused);
        }
    }
    let headers: Vec<(String, String)> = OWN_HEADERS
        .iter()
        .filter_map(|(variable, header)| {
            Some(((*header).to_owned(), keys.variable(variable)?.to_owned()))
        })
        .collect();
    for grant in &mut keys.grants {
        grant.headers.extend(headers.iter().cloned());
    }
    Ok(Some(provider))
}

/// Whether a provider in the user's settings needs a login.
fn asks_for_login(provider: &Table) -> bool {
    let asks = provider.get("requires_openai_auth") == Some(&Setting::Boolean(true));
    asks || text(provider, "env_key").is_some()
}

/// A provider from the user's settings; `None` if it has no key.
fn of_settings(keys: &mut Keys, mut provider: Table) -> Result<Option<Table>, Problem> {
    let Some(address) = text(&provider, "base_url") else {
        return Ok(None);
    };
    let headers = headers(keys, &mut provider);
    let variable = text(&provider, "env_key");
    if let Some(name) = &variable {
        keys.take_variable(name, &address)?;
    } else if provider.get("requires_openai_auth") == Some(&Setting::Boolean(true)) {
        take_login(keys, Some(&address))?;
    }
    if keys.grants.is_empty() && !headers.is_empty() {
        let dummy = keys.grant("", &address)?;
        if let Some(name) = &variable {
            keys.set(name, &dummy);
        }
        let shown = Setting::String(format!("Bearer {dummy}"));
        let shown = Table::from_iter([("authorization".to_owned(), shown)]);
        provider.insert("http_headers".to_owned(), Setting::Table(shown));
    }
    for grant in &mut keys.grants {
        grant.headers.extend(headers.iter().cloned());
    }
    Ok((!keys.grants.is_empty()).then_some(provider))
}

/// Removes the headers of all providers: they may be keys, and no broker holds them.
fn forget_headers(config: &mut Table) {
    let providers = config.get_mut("model_providers");
    let providers = providers.and_then(Setting::as_table_mut);
    for (_, provider) in providers.into_iter().flatten() {
        if let Some(provider) = provider.as_table_mut() {
            provider.remove("http_headers");
            provider.remove("env_http_headers");
        }
    }
}

/// The headers that the user's settings add. They are removed from the settings, with the variables
/// that contain them.
fn headers(keys: &mut Keys, provider: &mut Table) -> Vec<(String, String)> {
    let mut take = |name: &str| match provider.remove(name) {
        Some(Setting::Table(table)) => table,
        Some(_) | None => Table::new(),
    };
    let plain = strings(take("http_headers"));
    let by_variable = strings(take("env_http_headers"));
    let of_variables: Vec<(String, String)> = by_variable
        .iter()
        .filter_map(|(header, variable)| {
            Some((header.clone(), keys.variable(variable)?.to_owned()))
        })
        .collect();
    for (_, variable) in &by_variable {
        keys.remove(variable);
    }
    plain.into_iter().chain(of_variables).collect()
}

/// Puts dummies into the file that stores its login.
fn take_login(keys: &mut Keys, address: Option<&str>) -> Result<(), Problem> {
    let Some(mut login) = keys.json(LOGIN) else {
        return Ok(());
    };
    if let Some(key) = login["OPENAI_API_KEY"].as_str() {
        let dummy = keys.grant(key, address.unwrap_or(API))?;
        login["OPENAI_API_KEY"] = json!(dummy);
    }
    if let Some(token) = login["tokens"]["access_token"].as_str() {
        let dummy = format!("{UNSIGNED}.{}", random_token()?);
        let account = login["tokens"]["account_id"].as_str();
        let account = account.map(|id| ("chatgpt-account-id".to_owned(), id.to_owned()));
        let upstream = address.unwrap_or(CHATGPT);
        let headers = account.into_iter().collect();
        keys.by_login = keys.grants.is_empty();
        keys.grant_as(dummy.clone(), token, upstream, headers);
        login["tokens"]["access_token"] = json!(dummy);
        login["tokens"]["id_token"] = Value::String(format!("{UNSIGNED}.c2ln"));
    }
    keys.write(LOGIN, login.to_string());
    Ok(())
}

fn strings(table: Table) -> Vec<(String, String)> {
    table
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.as_str()?.to_owned())))
        .collect()
}

fn text(table: &Table, name: &str) -> Option<String> {
    Some(table.get(name)?.as_str()?.to_owned())
}
