//! Checks one file against the schema: unknown keys, wrong types, invalid values.
//!
//! It implements only the part of JSON Schema that our own types produce. A key of [`NOT_YET`] is
//! refused although it exists: nothing reads it yet.

use super::finding::Finding;
use super::key_path::KeyPath;
use super::layer::{Layer, Place};
use super::tree::{Node, NodeKind};
use super::units::{self, UNIT_KEYWORD};
use crate::did_you_mean::{nearest, suggestion};
use serde_json::{Map, Value};

/// Keys that are planned and that no code reads yet. Accepting one would promise an effect it does
/// not have; a key leaves this list when its field joins the settings.
const NOT_YET: [&str; 4] = [
    "cruise.max_parallel",
    "cruise.merge",
    "cruise.pr_strategy",
    "forge.post_via",
];

/// Whether keys may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// One layer of several.
    Layer,
    /// All layers together.
    Whole,
}

/// Everything wrong with the tree's shape.
pub(super) fn check(layers: &[Layer], tree: &Node, schema: &Value, extent: Extent) -> Vec<Finding> {
    let mut checker = Checker {
        layers,
        root: schema,
        extent,
        findings: Vec::new(),
    };
    checker.visit(tree, schema, &KeyPath::default());
    checker.findings
}

struct Checker<'a> {
    layers: &'a [Layer],
    root: &'a Value,
    extent: Extent,
    findings: Vec<Finding>,
}

impl<'a> Checker<'a> {
    fn visit(&mut self, node: &Node, schema: &'a Value, path: &KeyPath) {
        let schema = without_null(schema);
        if let Some(choices) = choices(schema) {
            return self.visit_choice(node, &choices, path);
        }
        match type_of(schema) {
            "object" => self.visit_table(node, schema, path),
            "array" => self.visit_list(node, schema, path),
            "string" => self.visit_text(node, schema, path),
            "integer" => self.visit_integer(node, schema, path),
            "number" => match node.kind {
                NodeKind::Float(_) | NodeKind::Integer(_) => {}
                NodeKind::Table(_)
                | NodeKind::List(_)
                | NodeKind::Text(_)
                | NodeKind::Bool(_)
                | NodeKind::Foreign(_) => {
                    self.wrong_type(node, path, "a number");
                }
            },
            "boolean" if !matches!(node.kind, NodeKind::Bool(_)) => {
                self.wrong_type(node, path, "true or false");
            }
            _ => {}
        }
    }

    fn visit_table(&mut self, node: &Node, schema: &'a Value, path: &KeyPath) {
        let NodeKind::Table(entries) = &node.kind else {
            return self.wrong_type(node, path, "a table");
        };
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        let known = properties.unwrap_or(&none);
        let other = schema
            .get("additionalProperties")
            .filter(|other| other.is_object());
        for (name, below) in entries {
            let path = path.join(name);
            match properties.and_then(|known| known.get(name)).or(other) {
                Some(schema) => self.visit(below, schema, &path),
                None => self.unknown_key(below, name, &path, known),
            }
        }
        if self.extent == Extent::Whole {
            self.require(node, entries, schema, path);
        }
    }

    fn require(&mut self, node: &Node, entries: &[(String, Node)], schema: &Value, path: &KeyPath) {
        let required = schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !entries.iter().any(|(known, _)| known == name) {
                let message = format!("{} needs `{name}`", table_name(path));
                self.report(&node.key, &path.join(name), message, None);
            }
        }
    }

    fn visit_list(&mut self, node: &Node, schema: &'a Value, path: &KeyPath) {
        let NodeKind::List(items) = &node.kind else {
            return self.wrong_type(node, path, "a list");
        };
        if let Some(schema) = schema.get("items") {
            for (at, item) in items.iter().enumerate() {
                self.visit(item, schema, &path.join(&at.to_string()));
            }
        }
    }

    fn visit_text(&mut self, node: &Node, schema: &Value, path: &KeyPath) {
        let unit = schema.get(UNIT_KEYWORD).and_then(Value::as_str);
        match (&node.kind, unit) {
            (NodeKind::Text(_), None) => {}
            (NodeKind::Text(text), Some(unit)) => {
                if let Err(error) = units::check(unit, text) {
                    self.report(&node.value, path, format!("`{path}`: {error}"), None);
                }
            }
            (_, None) => self.wrong_type(node, path, "a string"),
            (_, Some(unit)) => self.wrong_type(node, path, &format!("a {unit} string")),
        }
    }

    fn visit_integer(&mut self, node: &Node, schema: &Value, path: &KeyPath) {
        let NodeKind::Integer(number) = node.kind else {
            return self.wrong_type(node, path, "a whole number");
        };
        let least = schema
            .get("minimum")
            .and_then(Value::as_i64)
            .unwrap_or(i64::MIN);
        let format_most = match schema.get("format").and_then(Value::as_str) {
            Some("uint32") => i64::from(u32::MAX),
            Some("uint16") => i64::from(u16::MAX),
            Some(_) | None => i64::MAX,
        };
        let most = schema
            .get("maximum")
            .and_then(Value::as_i64)
            .unwrap_or(format_most);
        if number < least {
            self.report(
                &node.value,
                path,
                format!("`{path}` must be at least {least}, not {number}"),
                None,
            );
        } else if number > most {
            self.report(
                &node.value,
                path,
                format!("`{path}` must be at most {most}, not {number}"),
                None,
            );
        }
    }

    fn visit_choice(&mut self, node: &Node, choices: &[&str], path: &KeyPath) {
        let NodeKind::Text(text) = &node.kind else {
            return self.wrong_type(node, path, "a string");
        };
        if !choices.contains(&text.as_str()) {
            let hint = suggestion(text, choices.iter().copied());
            self.report(
                &node.value,
                path,
                format!("`{path}` cannot be `{text}`"),
                hint,
            );
        }
    }

    fn unknown_key(&mut self, node: &Node, name: &str, path: &KeyPath, known: &Map<String, Value>) {
        if NOT_YET.contains(&path.to_string().as_str()) {
            let message = format!("`{path}` does nothing yet");
            return self.report(&node.key, path, message, Some("remove it".to_owned()));
        }
        let table = table_name(&path.parent());
        let names = known.keys().map(String::as_str);
        let hint = match nearest(name, names.clone()) {
            Some(name) => Some(format!("did you mean `{name}`?")),
            None => home_of(self.root, name).or_else(|| suggestion(name, names)),
        };
        self.report(
            &node.key,
            path,
            format!("unknown key `{name}` in {table}"),
            hint,
        );
    }

    fn wrong_type(&mut self, node: &Node, path: &KeyPath, wanted: &str) {
        let found = node.kind_name();
        self.report(
            &node.value,
            path,
            format!("`{path}` must be {wanted}, not {found}"),
            None,
        );
    }

    fn report(&mut self, place: &Place, path: &KeyPath, message: String, hint: Option<String>) {
        let finding = Finding::new(self.layers, place, path, message).hint(hint);
        self.findings.push(finding);
    }
}

/// Names the table that does have such a key, when a key is only in the wrong place.
fn home_of(root: &Value, name: &str) -> Option<String> {
    let sections = root.get("properties").and_then(Value::as_object)?;
    let (section, _) = sections.iter().find(|(_, schema)| {
        let keys = schema.get("properties").and_then(Value::as_object);
        keys.is_some_and(|keys| keys.contains_key(name))
    })?;
    Some(format!("`{name}` belongs in `[{section}]`"))
}

/// An optional value's schema allows null, which TOML cannot write.
fn without_null(schema: &Value) -> &Value {
    let alternatives = schema.get("anyOf").and_then(Value::as_array);
    let is_null = |schema: &&Value| type_of(schema) != "null";
    alternatives
        .and_then(|alternatives| alternatives.iter().find(is_null))
        .unwrap_or(schema)
}

fn type_of(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(name)) => name,
        Some(Value::Array(names)) => {
            let mut names = names.iter().filter_map(Value::as_str);
            names.find(|name| *name != "null").unwrap_or_default()
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => "",
    }
}

/// The texts a choice allows: a plain `enum`, or one `const` for each documented variant.
fn choices(schema: &Value) -> Option<Vec<&str>> {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return Some(values.iter().filter_map(Value::as_str).collect());
    }
    let variants = schema.get("oneOf").and_then(Value::as_array)?;
    let texts = variants.iter().flat_map(|variant| {
        let several = variant.get("enum").and_then(Value::as_array);
        let one = variant.get("const").and_then(Value::as_str);
        let several = several.into_iter().flatten().filter_map(Value::as_str);
        several.chain(one)
    });
    Some(texts.collect())
}

fn table_name(path: &KeyPath) -> String {
    match path.is_root() {
        true => "the settings".to_owned(),
        false => format!("`[{path}]`"),
    }
}
