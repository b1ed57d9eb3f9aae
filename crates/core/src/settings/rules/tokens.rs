//! Rules about the source of the forge's token.

use super::rule::Broken;
use crate::settings::model::ForgeSettings;

const APP_KEYS: [&str; 3] = [
    "forge.app_id",
    "forge.installation_id",
    "forge.private_key_file",
];

pub(super) fn broken(forge: &ForgeSettings) -> Vec<Broken> {
    let mut broken = Vec::new();
    broken.extend(half_an_app(forge));
    if let Some(path) = &forge.private_key_file
        && !(path.starts_with('/') || path.starts_with("~/"))
    {
        let message = format!("`forge.private_key_file` is not an absolute path: `{path}`");
        broken.push(
            Broken::new(&["forge.private_key_file"], message)
                .hint("start it with `/` or `~/`; keep the key outside of repositories"),
        );
    }
    if forge.token_command.first().is_some_and(String::is_empty) {
        let message = "`forge.token_command` names no program";
        broken.push(Broken::new(&["forge.token_command"], message));
    }
    broken
}

/// The error of a GitHub App that lacks some of its three keys.
fn half_an_app(forge: &ForgeSettings) -> Option<Broken> {
    let given = [
        forge.app_id.is_some(),
        forge.installation_id.is_some(),
        forge.private_key_file.is_some(),
    ];
    let of = |wanted: bool| {
        let keys = APP_KEYS.iter().zip(given);
        let keys = keys.filter(move |(_, is_given)| *is_given == wanted);
        keys.map(|(key, _)| *key).collect::<Vec<_>>()
    };
    let (set, missing) = (of(true), of(false));
    if set.is_empty() || missing.is_empty() {
        return None;
    }
    let names: Vec<String> = missing.iter().map(|key| format!("`{key}`")).collect();
    let names = names.join(" and ");
    let message = format!("`{}` needs {names} as well", set[0]);
    Some(Broken::new(&set, message).hint("set all three keys of the GitHub App, or none"))
}
