//! Tests that the schema for editors agrees with what the program accepts.

use crate::cli::support::World;
use jsonschema::Validator;
use serde_json::Value;

fn validator() -> Validator {
    let ended = World::new().drive(&["config", "schema"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let schema: Value = serde_json::from_str(&ended.stdout).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

fn parsed(text: &str) -> Value {
    toml::from_str(text).unwrap()
}

#[test]
fn the_default_file_and_the_contracts_example_are_valid() {
    let validator = validator();
    let defaults = World::new().drive(&["config", "default"]).stdout;
    let contract = include_str!("../../../../core/src/settings/tests/contract.toml");
    for text in [defaults.as_str(), contract] {
        let document = parsed(text);
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|e| e.to_string())
            .collect();
        assert_eq!(errors, [""; 0]);
    }
}

#[test]
fn the_contracts_example_is_accepted_as_it_stands() {
    let world = World::new();
    world.settings(include_str!(
        "../../../../core/src/settings/tests/contract.toml"
    ));
    let ended = world.drive(&["config", "check"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn schema_and_check_agree() {
    let validator = validator();
    let world = World::new();
    let table = [
        ("[spawn]\nagent = \"codex\"", true),
        (
            "[spawn]\nidle_timeout = \"1h30m\"\ntotal_timeout = \"3h\"",
            true,
        ),
        ("[agents.x]\nkind = \"acp\"\ncommand = [\"x\"]", true),
        ("[budget]\ncost_usd = 3", true),
        ("[spawn]\nidle_timout = \"2m\"", false),
        ("[spwan]", false),
        ("[spawn]\nagent = 3", false),
        ("[spawn]\nidle_timeout = \"2 minutes\"", false),
        ("[spawn-team]\nmode = \"solo\"", false),
        ("[cruise]\nmax_rounds = -1", false),
        ("[verify.limits]\nmemory = \"4G\"", false),
        ("[agents.x]\nkindd = \"acp\"", false),
        ("[[verify.routes]]\npath = [\"x\"]", false),
    ];
    for (text, good) in table {
        assert_eq!(validator.is_valid(&parsed(text)), good, "schema: {text}");
        world.settings(text);
        let code = world.drive(&["config", "check"]).code;
        assert_eq!(code, Some(if good { 0 } else { 2 }), "check: {text}");
    }
}

#[test]
fn every_default_is_in_the_schema() {
    let ended = World::new().drive(&["config", "schema"]);
    let schema: Value = serde_json::from_str(&ended.stdout).unwrap();
    let spawn = &schema["properties"]["spawn"]["properties"];
    assert_eq!(spawn["idle_timeout"]["default"], "2m");
    assert!(spawn["idle_timeout"]["description"].is_string());
    let limits = &schema["properties"]["verify"]["properties"]["limits"]["properties"];
    assert_eq!(limits["processes"]["default"], 512);
}
