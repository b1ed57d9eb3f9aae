//! Tests of the settings from a user's view: a text goes in, values or errors come out.

mod mistakes;
mod properties;
mod repository;

use super::*;
use crate::agent::{AgentKind, AgentLimits};
use serde_json::json;
use std::time::Duration;

/// The example of the contract, with all of its keys.
pub(super) const CONTRACT: &str = include_str!("contract.toml");

fn file(text: &str) -> Layer {
    Layer::file("drive.toml", text)
}

fn effective(text: &str) -> Effective {
    resolve(&[file(text)]).unwrap()
}

#[test]
fn a_total_timeout_by_flag_alone_lowers_the_idle_timeout_with_it() {
    let total = |value: &str| Layer::flag("--total-timeout", "spawn.total_timeout", value);
    let idle = |value: &str| Layer::flag("--idle-timeout", "spawn.idle_timeout", value);
    let file = Layer::file("drive.toml", "[spawn]\nidle_timeout = \"3m\"\n");
    let of = |layers: &[Layer]| {
        let settings = resolve(layers).unwrap().settings;
        settings.spawn.idle_timeout.get().as_millis()
    };
    assert_eq!(of(&[total("1m")]), 54_000);
    assert_eq!(of(&[file.clone(), total("90s")]), 81_000);
    assert_eq!(of(&[total("1s")]), 900);
    assert_eq!(of(&[total("1h")]), 120_000);
    assert_eq!(of(&[total("1m"), idle("30s")]), 30_000);
    assert!(resolve(&[total("1m"), idle("2m")]).is_err());
    let short = Layer::file("drive.toml", "[spawn]\ntotal_timeout = \"1m\"\n");
    assert!(resolve(&[short]).is_err());
}

#[test]
fn the_defaults_alone_are_settings() {
    let settings = resolve(&[]).unwrap().settings;
    assert_eq!(settings.spawn.agent, "claude-code");
    assert_eq!(settings.spawn.idle_timeout.get(), Duration::from_secs(120));
    assert_eq!(settings.spawn_team.mode, TeamMode::Github);
    assert_eq!(settings.verify.limits.memory, ByteSize::new(4 << 30));
    let kinds: Vec<_> = settings
        .agents
        .iter()
        .map(|(name, agent)| (name.as_str(), agent.kind))
        .collect();
    assert_eq!(
        kinds,
        [
            ("claude-code", AgentKind::ClaudeCode),
            ("codex", AgentKind::Codex),
            ("gemini-cli", AgentKind::GeminiCli),
        ]
    );
}

#[test]
fn built_in_agents_are_what_the_agents_think_they_are() {
    let settings = resolve(&[]).unwrap().settings;
    for agent in settings.agents.values() {
        let usual = crate::agent::AgentConfig::of_kind(agent.kind);
        assert_eq!(agent.command_line(), usual.command_line());
        assert_eq!(agent.env, usual.env);
    }
}

#[test]
fn the_contracts_example_is_accepted_whole() {
    let settings = effective(CONTRACT).settings;
    assert_eq!(settings.forge.repo.as_deref(), Some("owner/name"));
    let [route] = settings.verify.routes.as_slice() else {
        panic!("one route expected: {:?}", settings.verify.routes);
    };
    assert_eq!(route.paths, ["crates/api/**"]);
    assert_eq!(
        route.timeout.startup_smoke.map(Period::get),
        Some(Duration::from_secs(30))
    );
}

#[test]
fn a_later_layer_wins_and_the_rest_stays() {
    let layers = [
        Layer::file(
            "~/config.toml",
            "[spawn]\nidle_timeout = \"1m\"\ntotal_timeout = \"9m\"\n",
        ),
        file("\n[spawn]\ntotal_timeout = \"10m\"\n"),
        Layer::flag("--agent", "spawn.agent", "codex"),
    ];
    let effective = resolve(&layers).unwrap();
    let spawn: Vec<_> = effective
        .entries
        .iter()
        .filter(|entry| entry.table == ["spawn"])
        .map(|entry| {
            (
                entry.key.as_str(),
                entry.value.clone(),
                entry.origin.to_string(),
            )
        })
        .collect();
    assert_eq!(
        spawn,
        [
            ("agent", json!("codex"), "--agent".to_owned()),
            ("idle_timeout", json!("1m"), "~/config.toml:2".to_owned()),
            ("total_timeout", json!("10m"), "drive.toml:3".to_owned()),
            ("max_escalations", json!(5), "default".to_owned()),
        ]
    );
}

#[test]
fn an_agent_can_be_changed_in_part_and_added() {
    let text = "[agents.codex]\nmodel = \"big\"\n[agents.mine]\nkind = \"command\"\ncommand = [\"./agent\"]\n";
    let agents = effective(text).settings.agents;
    assert_eq!(agents["codex"].model.as_deref(), Some("big"));
    assert_eq!(agents["codex"].command, ["codex"]);
    assert_eq!(agents["mine"].kind, AgentKind::Command);
}

#[test]
fn limits_of_an_agent_can_be_changed_in_part_and_every_agent_has_the_same_ones() {
    let text = "[agents.codex.limits]\nmemory = \"2GiB\"\n[agents.mine]\nkind = \"command\"\n\
                command = [\"./agent\"]\nlimits = { files = 7 }\n";
    let agents = effective(text).settings.agents;
    let usual = AgentLimits::default();
    assert_eq!(agents["claude-code"].limits, usual);
    assert_eq!(agents["gemini-cli"].limits, usual);
    let memory = ByteSize::new(2 << 30);
    assert_eq!(agents["codex"].limits, AgentLimits { memory, ..usual });
    assert_eq!(agents["mine"].limits, AgentLimits { files: 7, ..usual });
}

#[test]
fn a_list_replaces_the_list_below_it() {
    let settings = effective("[sandbox]\nseed = [\".venv\"]\n").settings;
    assert_eq!(settings.sandbox.seed, [".venv"]);
}

#[test]
fn a_flag_that_is_wrong_names_the_flag() {
    let layers = [Layer::flag("--idle-timeout", "spawn.idle_timeout", "soon")];
    let problem = resolve(&layers).unwrap_err().into_problem();
    assert_eq!(
        problem.message,
        "--idle-timeout: `spawn.idle_timeout`: `soon` is not a duration such as `2m`"
    );
}

#[test]
fn a_flags_value_cannot_smuggle_in_another_setting() {
    let text = "x\"\n[forge]\nkind = \"local\"\n#";
    let layers = [Layer::flag("--agent", "spawn.agent", text)];
    let findings = resolve(&layers).unwrap_err().0;
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].key.as_deref(), Some("spawn.agent"));
}

#[test]
fn every_key_of_the_schema_stands_in_the_default_file() {
    let schema = json_schema();
    let mut missing = Vec::new();
    missing_keys(&schema, &mut missing);
    assert_eq!(
        missing, [""; 0],
        "add them to default.toml, commented out if without a default"
    );
}

fn missing_keys(schema: &serde_json::Value, missing: &mut Vec<String>) {
    let below = ["additionalProperties", "items"];
    for schema in below.iter().filter_map(|keyword| schema.get(keyword)) {
        missing_keys(schema, missing);
    }
    for schema in schema
        .get("anyOf")
        .and_then(|any| any.as_array())
        .into_iter()
        .flatten()
    {
        missing_keys(schema, missing);
    }
    let properties = schema.get("properties").and_then(|known| known.as_object());
    for (name, schema) in properties.into_iter().flatten() {
        let written = [
            format!("{name} = "),
            format!("[{name}]"),
            format!("[{name}."),
            format!(".{name}]"),
        ];
        if !written.iter().any(|text| DEFAULTS.contains(text)) {
            missing.push(name.clone());
        }
        missing_keys(schema, missing);
    }
}
