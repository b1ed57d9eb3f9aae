#![allow(
    clippy::disallowed_methods,
    reason = "the test writes the published files when asked to"
)]

use super::*;
use drive_core::problem::Kind;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The schema of a document in its printed form: its struct's, with the field that names it.
pub(super) fn derived_schema<D: Document>() -> String {
    let generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let mut schema = generator.into_root_schema_for::<D>();
    schema.insert("title".to_owned(), json!(D::SCHEMA));
    schema.insert("type".to_owned(), json!("object"));
    let object = schema.ensure_object();
    let properties = object.entry("properties").or_insert_with(|| json!({}));
    properties["schema"] = json!({ "type": "string", "const": D::SCHEMA });
    let required = object.entry("required").or_insert_with(|| json!([]));
    let names = required.as_array_mut().unwrap();
    names.insert(0, json!("schema"));
    let mut text = serde_json::to_string_pretty(&schema).unwrap();
    text.push('\n');
    text
}

/// The file that `DRIVE_INPUT` names. Agents read it; it is not printed and has no schema field.
const AGENT_INPUT: &str = "drive.agentInput/1";

fn agent_input_schema() -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let generator = settings.into_generator();
    let mut schema = generator.into_root_schema_for::<drive_core::run::JobInput>();
    schema.insert("title".to_owned(), json!(AGENT_INPUT));
    let mut text = serde_json::to_string_pretty(&schema).unwrap();
    text.push('\n');
    text
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas")
}

/// The file name of a schema: `drive.run/1` is published as `run.schema.json`.
fn file_name(schema: &str) -> String {
    let name = schema.strip_prefix("drive.").unwrap();
    format!("{}.schema.json", name.strip_suffix("/1").unwrap())
}

#[test]
fn the_schema_of_a_failure_lists_every_kind() {
    for document in ["error", "run"] {
        let text = fs::read_to_string(folder().join(format!("{document}.schema.json"))).unwrap();
        let schema: Value = serde_json::from_str(&text).unwrap();
        let listed = schema["$defs"]["ErrorKind"]["enum"].as_array().unwrap();
        let listed: Vec<&str> = listed.iter().filter_map(Value::as_str).collect();
        let all: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
        assert_eq!(listed, all, "{document}");
    }
}

#[test]
fn the_published_schemas_are_those_of_the_structs() {
    let update = std::env::var_os("DRIVE_UPDATE_DOCS").is_some();
    let mut expected = BTreeSet::from([file_name(Verification::SCHEMA)]);
    let input = [(AGENT_INPUT, agent_input_schema())];
    for (schema, derived) in derived_schemas().into_iter().chain(input) {
        let path = folder().join(file_name(schema));
        if update {
            fs::write(&path, &derived).unwrap();
        }
        let published = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            published == derived,
            "{} is out of date; run this test with DRIVE_UPDATE_DOCS=1",
            path.display()
        );
        let is_new = expected.insert(file_name(schema));
        assert!(is_new, "{schema} names two documents");
    }
    let published: BTreeSet<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(published, expected, "a schema without a document");
}

#[test]
fn every_derived_schema_is_a_valid_one_and_demands_the_name() {
    for (schema, derived) in derived_schemas() {
        let derived: Value = serde_json::from_str(&derived).unwrap();
        let validator =
            jsonschema::validator_for(&derived).unwrap_or_else(|error| panic!("{schema}: {error}"));
        assert!(!validator.is_valid(&json!({})), "{schema}");
        assert_eq!(derived["properties"]["schema"]["const"], schema);
    }
}
