//! Checks one file against the schema: unknown keys, wrong types, invalid values.
//!
//! It implements only the part of JSON Schema that our own types use.

use super::finding::Finding;
use super::key_path::KeyPath;
use super::layer::{Layer, Place};
use super::tree::{Node, NodeKind};
use crate::did_you_mean::{nearest, suggestion};
use crate::review::Domain;
use crate::units::{self, UNIT_KEYWORD};
use serde_json::Value;

/// Keys that were planned once and dropped, with advice.
const REMOVED: [(&str, &str); 1] = [(
    "forge.post_via",
    "remove it; drive posts with its own token, which no agent sees",
)];

/// Whether keys may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// One layer of several.
    Layer,
    /// All layers combined.
    Whole,
}

/// All errors in the structure of a tree.
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
            "number" if !matches!(node.kind, NodeKind::Float(_) | NodeKind::Integer(_)) => {
                self.wrong_type(node, path, "a number");
            }
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
        let known = &schema["properties"];
        let other = &schema["additionalProperties"];
        for (name, below) in entries {
            let path = path.join(name);
            match known.get(name).or(other.is_object().then_some(other)) {
                Some(schema) => self.visit(below, schema, &path),
                None => self.unknown_key(below, name, &path, known),
            }
        }
        if self.extent == Extent::Whole {
            self.require(node, entries, schema, path);
        }
    }

    fn require(&mut self, node: &Node, entries: &[(String, Node)], schema: &Value, path: &KeyPath) {
        for name in texts(&schema["required"]) {
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
            // No other layer completes an item of a list.
            let extent = std::mem::replace(&mut self.extent, Extent::Whole);
            for (at, item) in items.iter().enumerate() {
                self.visit(item, schema, &path.join(&at.to_string()));
            }
            self.extent = extent;
        }
    }

    fn visit_text(&mut self, node: &Node, schema: &Value, path: &KeyPath) {
        let unit = schema[UNIT_KEYWORD].as_str();
        match (&node.kind, unit) {
            (NodeKind::Text(text), None) => {
                let is_domain = schema["pattern"] == Domain::PATTERN;
                if is_domain && Domain::parse(text).is_none() {
                    let message = format!(
                        "`{path}` must be a letter, then letters and digits, 40 at most, not `{text}`"
                    );
                    self.report(&node.value, path, message, None);
                }
            }
            (NodeKind::Text(text), Some(unit)) => {
                if let Err(error) = units::check(unit, text) {
                    self.report(&node.value, path, format!("`{path}`: {error}"), None);
                }
            }
            (_, None) => self.wrong_type(node, path, "a string"),
            (NodeKind::Foreign(_), Some(unit)) => {
                self.wrong_type(node, path, &format!("a {unit} in quotes"));
            }
            (_, Some(unit)) => self.wrong_type(node, path, &format!("a {unit} string")),
        }
    }

    fn visit_integer(&mut self, node: &Node, schema: &Value, path: &KeyPath) {
        let NodeKind::Integer(number) = node.kind else {
            return self.wrong_type(node, path, "a whole number");
        };
        let least = schema["minimum"].as_i64().unwrap_or(i64::MIN);
        let format_most = match schema["format"].as_str() {
            Some("uint32") => i64::from(u32::MAX),
            Some("uint16") => i64::from(u16::MAX),
            Some(_) | None => i64::MAX,
        };
        let most = schema["maximum"].as_i64().unwrap_or(format_most);
        let bound = if number < least {
            format!("at least {least}")
        } else if number > most {
            format!("at most {most}")
        } else {
            return;
        };
        let message = format!("`{path}` must be {bound}, not {number}");
        self.report(&node.value, path, message, None);
    }

    fn visit_choice(&mut self, node: &Node, choices: &[&str], path: &KeyPath) {
        let NodeKind::Text(text) = &node.kind else {
            return self.wrong_type(node, path, "a string");
        };
        if !choices.contains(&text.as_str()) {
            let hint = suggestion(text, choices.iter().copied());
            let message = format!("`{path}` cannot be `{text}`");
            self.report(&node.value, path, message, hint);
        }
    }

    fn unknown_key(&mut self, node: &Node, name: &str, path: &KeyPath, known: &Value) {
        let table = table_name(&path.parent());
        let names = keys(known);
        let removed = REMOVED.iter().find(|(key, _)| *key == path.to_string());
        if let Some((_, instead)) = removed {
            let message = format!("unknown key `{name}` in {table}");
            return self.report(&node.key, path, message, Some((*instead).to_owned()));
        }
        let hint = match nearest(name, names.clone()) {
            Some(name) => Some(format!("did you mean `{name}`?")),
            None => home_of(self.root, name).or_else(|| suggestion(name, names)),
        };
        let message = format!("unknown key `{name}` in {table}");
        self.report(&node.key, path, message, hint);
    }

    fn wrong_type(&mut self, node: &Node, path: &KeyPath, wanted: &str) {
        let found = node.kind_name();
        let message = format!("`{path}` must be {wanted}, not {found}");
        self.report(&node.value, path, message, None);
    }

    fn report(&mut self, place: &Place, path: &KeyPath, message: String, hint: Option<String>) {
        let finding = Finding::new(self.layers, place, path, message).hint(hint);
        self.findings.push(finding);
    }
}

/// A hint that names the right table of a key that is only in the wrong place.
fn home_of(root: &Value, name: &str) -> Option<String> {
    let sections = &root["properties"];
    let section = keys(sections).find(|one| sections[*one]["properties"].get(name).is_some())?;
    Some(format!("`{name}` belongs in `[{section}]`"))
}

/// The schema of an optional value without null, which TOML cannot express.
fn without_null(schema: &Value) -> &Value {
    let alternatives = schema["anyOf"].as_array();
    let some = alternatives.and_then(|all| all.iter().find(|one| type_of(one) != "null"));
    some.unwrap_or(schema)
}

fn type_of(schema: &Value) -> &str {
    let names = &schema["type"];
    let some = || texts(names).find(|name| *name != "null");
    names.as_str().or_else(some).unwrap_or_default()
}

/// The allowed texts of a choice: a plain `enum`, or one `const` for each documented variant.
fn choices(schema: &Value) -> Option<Vec<&str>> {
    if schema["enum"].is_array() {
        return Some(texts(&schema["enum"]).collect());
    }
    let variants = schema["oneOf"].as_array()?.iter();
    let all = variants.flat_map(|one| texts(&one["enum"]).chain(one["const"].as_str()));
    Some(all.collect())
}

/// The texts of a list.
fn texts(list: &Value) -> impl Iterator<Item = &str> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(Value::as_str)
}

/// The keys of an object.
fn keys(object: &Value) -> impl Iterator<Item = &str> + Clone {
    let entries = object.as_object().into_iter().flatten();
    entries.map(|(key, _)| key.as_str())
}

fn table_name(path: &KeyPath) -> String {
    if path.is_root() {
        "the settings".to_owned()
    } else {
        format!("`[{path}]`")
    }
}
