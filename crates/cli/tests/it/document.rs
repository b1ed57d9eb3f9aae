//! Checks the one document of `--json` against its published schema.

use serde_json::Value;
use std::fs;
use std::path::Path;

/// Parses a document and asserts that it satisfies the schema that it names.
pub(crate) fn read(text: &str) -> Value {
    let document: Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(mistakes(&document), Vec::<String>::new(), "{document:#}");
    document
}

/// The violations of the schema that the document names.
fn mistakes(document: &Value) -> Vec<String> {
    let name = document["schema"].as_str().unwrap_or_default();
    let Some(name) = name
        .strip_prefix("drive.")
        .and_then(|name| name.strip_suffix("/1"))
    else {
        return vec![format!("`{name}` is not the name of a document")];
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let path = folder.join(format!("{name}.schema.json"));
    let schema = match fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).unwrap(),
        Err(error) => return vec![format!("{}: {error}", path.display())],
    };
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors = validator.iter_errors(document);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

#[test]
fn a_document_that_breaks_its_schema_is_found() {
    let good = serde_json::json!({ "schema": "drive.version/1", "version": "drive 1" });
    assert_eq!(mistakes(&good), Vec::<String>::new());
    for bad in [
        serde_json::json!({ "version": "drive 1" }),
        serde_json::json!({ "schema": "drive.nothing/1" }),
        serde_json::json!({ "schema": "drive.version/1" }),
        serde_json::json!({ "schema": "drive.version/1", "version": 1 }),
    ] {
        assert_eq!(mistakes(&bad).len(), 1, "{bad}");
    }
}
