use super::{OwnFiles, Projection, dotenv};
use drive_core::problem::Problem;
use drive_core::time::Timestamp;
use serde_json::{Map, Value, json};

/// Settings about the model, the login and telemetry.
const SETTINGS: [&str; 5] = [
    "/security/auth/selectedType",
    "/security/auth/enforcedType",
    "/model/name",
    "/privacy/usageStatisticsEnabled",
    "/general/maxAttempts",
];

/// The parts of a Google login that a call needs.
const LOGIN: [&str; 5] = [
    "access_token",
    "expiry_date",
    "token_type",
    "scope",
    "id_token",
];

pub(super) fn project(own: &OwnFiles) -> Result<Projection, Problem> {
    let mut projection = Projection {
        instructions: own.text("GEMINI.md"),
        variables: own
            .text(".env")
            .iter()
            .flat_map(|text| dotenv::variables(text))
            .collect(),
        ..Projection::default()
    };
    let found = own.json("settings.json")?;
    // The program's check for trusted folders would refuse to start, because no folder is trusted.
    let mut kept = json!({
        "security": {"folderTrust": {"enabled": false}},
        "general": {"enableAutoUpdate": false},
    });
    for path in SETTINGS {
        if let Some(value) = found.pointer(path) {
            put(&mut kept, path, value.clone());
        }
    }
    // The setting's name in earlier versions.
    if let Some(value) = found.get("selectedAuthType") {
        put(&mut kept, "/security/auth/selectedType", value.clone());
    }
    projection
        .files
        .push((".gemini/settings.json", kept.to_string()));
    // An unused login may be old.
    let selected = kept.pointer("/security/auth/selectedType");
    let is_used = selected.is_none_or(|selected| selected == "oauth-personal");
    let login = own.json("oauth_creds.json")?;
    if let Some(token) = login["access_token"].as_str().filter(|_| is_used) {
        projection.secrets.push(token.to_owned());
        let id = login["id_token"].as_str();
        projection.secrets.extend(id.map(str::to_owned));
        let ends = login["expiry_date"].as_i64();
        projection.login_ends = ends.and_then(|at| Timestamp::from_millisecond(at).ok());
        let members = LOGIN.iter().filter_map(|name| {
            let value = login.get(name)?;
            Some(((*name).to_owned(), value.clone()))
        });
        let file = Value::Object(members.collect::<Map<String, Value>>());
        projection
            .files
            .push((".gemini/oauth_creds.json", file.to_string()));
    }
    Ok(projection)
}

/// Sets a value, and creates the objects above it.
fn put(into: &mut Value, path: &str, value: Value) {
    let mut place = into;
    for name in path.split('/').filter(|name| !name.is_empty()) {
        place = &mut place[name];
    }
    *place = value;
}
