//! The settings' JSON Schema, for editors and for the check of every file.

use super::layer::DEFAULTS;
use super::model::Settings;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The schema of a settings file. Every key is optional, because a file is one layer of several,
/// and each default is included.
pub fn published() -> Value {
    let mut schema = complete();
    strip_required(&mut schema);
    if let Ok(defaults) = toml::from_str::<Value>(DEFAULTS) {
        add_defaults(&mut schema, &defaults);
    }
    if let Value::Object(fields) = &mut schema {
        fields.insert("title".to_owned(), json!("drive.toml"));
    }
    schema
}

/// The schema of all layers combined.
pub(super) fn complete() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<Settings>();
    schema.to_value()
}

/// Keywords whose values are objects of schemas and not schemas themselves.
const NAMED: [&str; 2] = ["properties", "$defs"];

fn strip_required(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove("required");
            for (keyword, value) in fields {
                let named = NAMED.contains(&keyword.as_str());
                match value.as_object_mut() {
                    Some(schemas) if named => schemas.values_mut().for_each(strip_required),
                    Some(_) | None => strip_required(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(strip_required),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn add_defaults(schema: &mut Value, defaults: &Value) {
    let Value::Object(defaults) = defaults else {
        return;
    };
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for (name, property) in properties {
        match (defaults.get(name), property) {
            (Some(below @ Value::Object(_)), property) => add_defaults(property, below),
            (Some(default), Value::Object(fields)) => insert_default(fields, default),
            (Some(_) | None, _) => {}
        }
    }
}

fn insert_default(fields: &mut Map<String, Value>, default: &Value) {
    fields.insert("default".to_owned(), default.clone());
}
