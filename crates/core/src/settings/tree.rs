//! Settings as a tree with the line of every value.

use super::layer::Place;
use serde_json::{Value, json};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and its place in the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    /// The place of its key; for an item of a list, of the item itself.
    pub(super) key: Place,
    /// The place of its value; for a table, of the header.
    pub(super) value: Place,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum NodeKind {
    /// A table, in the order of the text.
    Table(Vec<(String, Node)>),
    /// A list.
    List(Vec<Node>),
    /// A text.
    Text(String),
    /// A whole number within range.
    Integer(i64),
    /// A finite number.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A TOML value that no setting accepts.
    Foreign(&'static str),
}

impl Node {
    /// The tree of one layer's text.
    pub(super) fn from_document(document: &Spanned<DeTable<'_>>, layer: usize) -> Self {
        let place = place(layer, 0..0);
        Self {
            kind: table(document.get_ref(), layer),
            key: place.clone(),
            value: place,
        }
    }

    /// The node at a path, or the last existing one on the way.
    pub(super) fn nearest(&self, path: &[String]) -> &Node {
        let Some((first, rest)) = path.split_first() else {
            return self;
        };
        self.below(first).map_or(self, |node| node.nearest(rest))
    }

    /// The node at a path.
    pub(super) fn find(&self, path: &[String]) -> Option<&Node> {
        match path.split_first() {
            Some((first, rest)) => self.below(first)?.find(rest),
            None => Some(self),
        }
    }

    fn below(&self, name: &str) -> Option<&Node> {
        match &self.kind {
            NodeKind::Table(entries) => entries
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, node)| node),
            NodeKind::List(items) => name.parse::<usize>().ok().and_then(|at| items.get(at)),
            NodeKind::Text(_)
            | NodeKind::Integer(_)
            | NodeKind::Float(_)
            | NodeKind::Bool(_)
            | NodeKind::Foreign(_) => None,
        }
    }

    /// Removes the value at a path, or the table that lacks it. In a list, the whole list is
    /// removed, because its items have no names.
    pub(super) fn prune(&mut self, path: &[String]) {
        let (NodeKind::Table(entries), Some((first, rest))) = (&mut self.kind, path.split_first())
        else {
            return;
        };
        let Some(at) = entries.iter().position(|(name, _)| name == first) else {
            return;
        };
        let below = &mut entries[at].1;
        match (&below.kind, rest) {
            (NodeKind::Table(known), [next, ..]) if known.iter().any(|(name, _)| name == next) => {
                below.prune(rest);
            }
            (_, _) => drop(entries.remove(at)),
        }
    }

    /// Puts another tree on top of this one: tables are merged, everything else is replaced.
    pub(super) fn overlay(&mut self, over: Node) {
        match (&mut self.kind, over.kind) {
            (NodeKind::Table(mine), NodeKind::Table(theirs)) => {
                for (name, node) in theirs {
                    match mine.iter_mut().find(|(known, _)| *known == name) {
                        Some((_, below)) => below.overlay(node),
                        None => mine.push((name, node)),
                    }
                }
            }
            (mine, theirs) => {
                *mine = theirs;
                self.key = over.key;
                self.value = over.value;
            }
        }
    }

    /// The value as JSON, for decoding.
    pub(super) fn to_json(&self) -> Value {
        match &self.kind {
            NodeKind::Table(entries) => entries
                .iter()
                .map(|(name, node)| (name.clone(), node.to_json()))
                .collect(),
            NodeKind::List(items) => items.iter().map(Node::to_json).collect(),
            NodeKind::Text(text) => json!(text),
            NodeKind::Integer(number) => json!(number),
            NodeKind::Float(number) => json!(number),
            NodeKind::Bool(truth) => json!(truth),
            NodeKind::Foreign(_) => Value::Null,
        }
    }

    /// The kind of value, in words.
    pub(super) fn kind_name(&self) -> &'static str {
        match &self.kind {
            NodeKind::Table(_) => "a table",
            NodeKind::List(_) => "a list",
            NodeKind::Text(_) => "a string",
            NodeKind::Integer(_) => "a whole number",
            NodeKind::Float(_) => "a number",
            NodeKind::Bool(_) => "true or false",
            NodeKind::Foreign(what) => what,
        }
    }
}

fn node(key: Range<usize>, value: &Spanned<DeValue<'_>>, layer: usize) -> Node {
    Node {
        kind: kind(value.get_ref(), layer),
        key: place(layer, key),
        value: place(layer, value.span()),
    }
}

fn kind(value: &DeValue<'_>, layer: usize) -> NodeKind {
    match value {
        DeValue::String(text) => NodeKind::Text(text.clone().into_owned()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => NodeKind::Integer(number),
            Err(_) => NodeKind::Foreign("a number that is too large"),
        },
        DeValue::Float(number) => match number.as_str().parse::<f64>() {
            Ok(number) if number.is_finite() => NodeKind::Float(number),
            Ok(_) | Err(_) => NodeKind::Foreign("not a finite number"),
        },
        DeValue::Boolean(truth) => NodeKind::Bool(*truth),
        DeValue::Datetime(_) => NodeKind::Foreign("a date"),
        DeValue::Array(items) => {
            let items = items.iter();
            NodeKind::List(items.map(|item| node(item.span(), item, layer)).collect())
        }
        DeValue::Table(entries) => table(entries, layer),
    }
}

fn table(entries: &DeTable<'_>, layer: usize) -> NodeKind {
    let mut entries: Vec<(String, Node)> = entries
        .iter()
        .map(|(name, value)| {
            let text = name.get_ref().clone().into_owned();
            (text, node(name.span(), value, layer))
        })
        .collect();
    entries.sort_by_key(|(_, node)| node.key.span.start);
    NodeKind::Table(entries)
}

fn place(layer: usize, span: Range<usize>) -> Place {
    Place { layer, span }
}
