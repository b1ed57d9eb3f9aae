use super::held::Keys;
use drive_core::Problem;

const LOGIN: &str = ".gemini/oauth_creds.json";

pub(super) fn place(keys: &mut Keys) -> Result<(), Problem> {
    let settings = keys.json(".gemini/settings.json").unwrap_or_default();
    let selected = settings.pointer("/security/auth/selectedType");
    let has_key = keys.variable("GEMINI_API_KEY").is_some();
    let wants_vertex = keys.variable("GOOGLE_GENAI_USE_VERTEXAI") == Some("true");
    // This is how the program itself decides.
    let way = match selected.and_then(|selected| selected.as_str()) {
        Some(way) => way,
        None if wants_vertex => "vertex-ai",
        None if has_key => "gemini-api-key",
        None => "oauth-personal",
    };
    match way {
        "gemini-api-key" => {
            let upstream = keys
                .variable("GOOGLE_GEMINI_BASE_URL")
                .unwrap_or("https://generativelanguage.googleapis.com")
                .to_owned();
            keys.take_variable("GEMINI_API_KEY", &upstream)?;
            keys.lacks_login = !has_key;
            if has_key {
                let url = keys.url.clone();
                keys.set("GOOGLE_GEMINI_BASE_URL", &url);
            }
            keys.remove("GOOGLE_API_KEY");
            keys.files.retain(|(name, _)| *name != LOGIN);
        }
        // It asks Google over TLS who is logged in before it calls the model, so no broker can hold
        // this login.
        "oauth-personal" => {
            keys.remove("GEMINI_API_KEY");
            keys.remove("GOOGLE_API_KEY");
            let has_login = keys.file(LOGIN).is_some();
            (keys.by_login, keys.lacks_login) = (has_login, !has_login);
            keys.held = has_login.then_some("a Google login is given to it".into());
        }
        _ => keys.held = Some("credentials of Google Cloud are given to it".into()),
    }
    Ok(())
}
