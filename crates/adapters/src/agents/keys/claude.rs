use super::held::{FAR, Keys};
use drive_core::Problem;
use serde_json::json;

/// Its variables that may contain a key or a token.
const VARIABLES: [&str; 3] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
];

/// Cloud services for which it signs calls itself, so that it needs their credentials.
const CLOUDS: [(&str, &str); 3] = [
    (
        "CLAUDE_CODE_USE_BEDROCK",
        "credentials of Bedrock are given to it",
    ),
    (
        "CLAUDE_CODE_USE_VERTEX",
        "credentials of Vertex AI are given to it",
    ),
    (
        "CLAUDE_CODE_USE_FOUNDRY",
        "credentials of Foundry are given to it",
    ),
];

const LOGIN: &str = ".claude/.credentials.json";
const STATE: &str = ".claude.json";

pub(super) fn place(keys: &mut Keys) -> Result<(), Problem> {
    let is_on = |value: &str| !matches!(value, "0" | "false");
    let cloud = CLOUDS
        .iter()
        .find(|(name, _)| keys.variable(name).is_some_and(is_on));
    keys.held = cloud.map(|(_, held)| (*held).into());
    let upstream = keys
        .variable("ANTHROPIC_BASE_URL")
        .unwrap_or("https://api.anthropic.com")
        .to_owned();
    for name in VARIABLES {
        keys.take_variable(name, &upstream)?;
    }
    keys.by_login = keys.grants.is_empty() && keys.held.is_none();
    if let Some(mut login) = keys.json(LOGIN)
        && let Some(token) = login["claudeAiOauth"]["accessToken"].as_str()
    {
        let dummy = keys.grant(token, &upstream)?;
        login["claudeAiOauth"]["accessToken"] = json!(dummy);
        login["claudeAiOauth"]["expiresAt"] = json!(FAR);
        keys.write(LOGIN, login.to_string());
    }
    if let Some(mut state) = keys.json(STATE)
        && let Some(key) = state["primaryApiKey"].as_str()
    {
        state["primaryApiKey"] = json!(keys.grant(key, &upstream)?);
        keys.write(STATE, state.to_string());
    }
    keys.by_login &= !keys.grants.is_empty();
    // A gateway may want an additional key here, or only this one.
    let lines = keys.variable("ANTHROPIC_CUSTOM_HEADERS").unwrap_or("");
    let headers: Vec<(String, String)> = lines
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .collect();
    if keys.grants.is_empty() && keys.held.is_none() && !headers.is_empty() {
        let dummy = keys.grant("", &upstream)?;
        keys.set("ANTHROPIC_AUTH_TOKEN", &dummy);
    }
    if keys.grants.is_empty() {
        keys.lacks_login = keys.held.is_none();
        return Ok(());
    }
    for grant in &mut keys.grants {
        grant.headers.clone_from(&headers);
    }
    keys.remove("ANTHROPIC_CUSTOM_HEADERS");
    let url = keys.url.clone();
    keys.set("ANTHROPIC_BASE_URL", &url);
    Ok(())
}
