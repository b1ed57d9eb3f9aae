use super::{CLAUDE_SERVERS, OwnFiles, Projection, Servers};
use drive_core::problem::Problem;
use drive_core::time::Timestamp;
use serde_json::{Map, Value, json};

/// Settings about the model and the login.
const SETTINGS: [&str; 5] = [
    "model",
    "effortLevel",
    "alwaysThinkingEnabled",
    "forceLoginMethod",
    "forceLoginOrgUUID",
];

/// The parts of a subscription login that a call needs.
const LOGIN: [&str; 4] = ["accessToken", "expiresAt", "scopes", "subscriptionType"];

pub(super) fn project(own: &OwnFiles, servers: &Servers<'_>) -> Result<Projection, Problem> {
    let mut projection = Projection {
        instructions: own.text("CLAUDE.md"),
        ..Projection::default()
    };
    let settings = own.json("settings.json")?;
    let kept = picked(&settings, &SETTINGS);
    projection
        .files
        .push((".claude/settings.json", kept.to_string()));
    let variables = settings["env"].as_object().into_iter().flatten();
    projection.variables = variables
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect();
    let login = picked(&own.json(".credentials.json")?["claudeAiOauth"], &LOGIN);
    if let Some(token) = login["accessToken"].as_str() {
        projection.secrets.push(token.to_owned());
        let ends = login["expiresAt"].as_i64();
        projection.login_ends = ends.and_then(|at| Timestamp::from_millisecond(at).ok());
        let file = json!({ "claudeAiOauth": login });
        projection
            .files
            .push((".claude/.credentials.json", file.to_string()));
    }
    let state = own.json_beside(".claude.json");
    let mut kept = json!({ "hasCompletedOnboarding": true });
    if let Some(key) = state["primaryApiKey"].as_str() {
        projection.secrets.push(key.to_owned());
        projection.login_ends = None;
        kept["primaryApiKey"] = json!(key);
    }
    projection.files.push((".claude.json", kept.to_string()));
    let servers = servers.take("~/.claude.json", |name| {
        state["mcpServers"].get(name).cloned()
    })?;
    if !servers.is_empty() {
        let servers: Map<String, Value> = servers.into_iter().collect();
        let file = json!({ "mcpServers": servers });
        projection.files.push((CLAUDE_SERVERS, file.to_string()));
    }
    Ok(projection)
}

/// The named members of an object.
fn picked(object: &Value, names: &[&str]) -> Value {
    let members = names.iter().filter_map(|name| {
        let value = object.get(name)?;
        Some(((*name).to_owned(), value.clone()))
    });
    Value::Object(members.collect())
}
