//! The GraphQL that `gh` and drive use: executes exactly the selection.

mod mutations;
mod objects;
mod parse;

use super::http::{Answer, Request};
use super::state::World;
use parse::{Argument, Document, Field, Selection};
use serde_json::{Map, Value, json};

/// Answers one document.
pub(crate) fn answer(world: &mut World, request: &Request, viewer: &str) -> Answer {
    let body = request.json();
    let text = body["query"].as_str().unwrap_or_default();
    let outcome = parse::parse(text).and_then(|document| {
        let mut variables = document.defaults.clone();
        let given = body["variables"].as_object().cloned().unwrap_or_default();
        variables.extend(given);
        let mut execution = Execution {
            world,
            request,
            viewer,
            document: &document,
            variables,
        };
        execution.run()
    });
    Answer::json(
        200,
        &match outcome {
            Ok(data) => json!({ "data": data }),
            Err(message) => json!({"data": null, "errors": [{"message": message}]}),
        },
    )
}

/// Types that can stand for several types.
const INTERFACES: &[&str] = &["Actor", "Node", "Comment", "RepositoryOwner", "Reactable"];

struct Execution<'a> {
    world: &'a mut World,
    request: &'a Request,
    viewer: &'a str,
    document: &'a Document,
    variables: Map<String, Value>,
}

impl Execution<'_> {
    fn run(&mut self) -> Result<Value, String> {
        let selection = self.document.selection.clone();
        let mut out = Map::new();
        for selected in &selection {
            let Selection::Field(field) = selected else {
                return Err("fragments on the root are not supported".to_owned());
            };
            let arguments = self.arguments(field);
            let value = if self.document.is_mutation {
                self.mutate(&field.name, &arguments["input"])?
            } else {
                self.root(&field.name, &arguments)?
            };
            out.insert(field.alias.clone(), self.project(&value, &field.selection)?);
        }
        Ok(Value::Object(out))
    }

    fn root(&mut self, name: &str, arguments: &Value) -> Result<Value, String> {
        let text = |name: &str| arguments[name].as_str().unwrap_or_default();
        match name {
            "viewer" => Ok(self.actor(Some(self.viewer))),
            "repository" => {
                let full_name = format!("{}/{}", text("owner"), text("name"));
                let full_name = self.world.current_name(&full_name);
                if !self.world.repos.contains_key(&full_name) {
                    return Err(format!(
                        "Could not resolve to a Repository with the name '{full_name}'."
                    ));
                }
                Ok(self.repository(&full_name))
            }
            "node" => self.node(text("id")),
            "__type" => Ok(self.type_named(text("name"))),
            "search" => Ok(json!({
                "__typename": "SearchResultItemConnection", "issueCount": 0, "edges": [],
                "nodes": [],
            })),
            _ => Err(no_field(name, "Query")),
        }
    }

    /// The selected part of a value.
    fn project(&mut self, value: &Value, selection: &[Selection]) -> Result<Value, String> {
        match value {
            Value::Array(items) => items
                .iter()
                .map(|item| self.project(item, selection))
                .collect(),
            Value::Object(_) if selection.is_empty() => {
                Err("an object needs a selection of its fields".to_owned())
            }
            Value::Object(_) => {
                let mut out = Map::new();
                self.project_object(value, selection, &mut out)?;
                Ok(Value::Object(out))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(value.clone()),
        }
    }

    fn project_object(
        &mut self,
        value: &Value,
        selection: &[Selection],
        out: &mut Map<String, Value>,
    ) -> Result<(), String> {
        let kind = value["__typename"].as_str().unwrap_or_default();
        for selected in selection {
            match selected {
                Selection::Field(field) => {
                    let arguments = self.arguments(field);
                    let found = self.field(value, kind, &field.name, &arguments)?;
                    out.insert(field.alias.clone(), self.project(&found, &field.selection)?);
                }
                Selection::Spread(name) => {
                    let fragment = self.document.fragments.get(name).cloned();
                    let fragment = fragment.ok_or_else(|| format!("no fragment `{name}`"))?;
                    if applies(&fragment.on, kind) {
                        self.project_object(value, &fragment.selection, out)?;
                    }
                }
                Selection::Inline(on, inner) => {
                    if on.as_ref().is_none_or(|on| applies(on, kind)) {
                        self.project_object(value, inner, out)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn field(
        &mut self,
        parent: &Value,
        kind: &str,
        name: &str,
        arguments: &Value,
    ) -> Result<Value, String> {
        if kind == "Repository" && matches!(name, "pullRequest" | "pullRequests" | "label") {
            let full_name = parent["nameWithOwner"].as_str().unwrap_or_default();
            return self.of_repository(full_name, name, arguments);
        }
        let value = parent.get(name).ok_or_else(|| no_field(name, kind))?;
        match value.get("__connection").and_then(Value::as_array) {
            Some(nodes) => connection(nodes, arguments),
            None => Ok(value.clone()),
        }
    }

    fn arguments(&self, field: &Field) -> Value {
        let pairs = field.arguments.iter();
        Value::Object(
            pairs
                .map(|(name, value)| (name.clone(), self.value(value)))
                .collect(),
        )
    }

    fn value(&self, argument: &Argument) -> Value {
        match argument {
            Argument::Variable(name) => self.variables.get(name).cloned().unwrap_or(Value::Null),
            Argument::Literal(value) => value.clone(),
            Argument::List(items) => items.iter().map(|item| self.value(item)).collect(),
            Argument::Object(pairs) => Value::Object(
                pairs
                    .iter()
                    .map(|(name, value)| (name.clone(), self.value(value)))
                    .collect(),
            ),
        }
    }
}

/// A page of nodes; cursors are positions.
fn connection(nodes: &[Value], arguments: &Value) -> Result<Value, String> {
    let cursor = |name: &str| -> Option<usize> { arguments[name].as_str()?.parse().ok() };
    let count = |name: &str| {
        arguments[name]
            .as_u64()
            .map(|n| usize::try_from(n).unwrap_or(100))
    };
    if count("first").max(count("last")).is_some_and(|n| n > 100) {
        return Err("Requesting more than 100 records is not allowed.".to_owned());
    }
    let mut from = cursor("after").map_or(0, |at| at + 1).min(nodes.len());
    let mut to = cursor("before")
        .unwrap_or(nodes.len())
        .clamp(from, nodes.len());
    if let Some(first) = count("first") {
        to = to.min(from + first);
    } else if let Some(last) = count("last") {
        from = from.max(to.saturating_sub(last));
    }
    let page: Vec<Value> = nodes[from..to].to_vec();
    let edges: Vec<Value> = (from..to)
        .map(|at| json!({"__typename": "Edge", "cursor": at.to_string(), "node": nodes[at]}))
        .collect();
    Ok(json!({
        "__typename": "Connection", "nodes": page, "edges": edges, "totalCount": nodes.len(),
        "pageInfo": {
            "__typename": "PageInfo", "hasNextPage": to < nodes.len(),
            "hasPreviousPage": from > 0, "startCursor": from.to_string(),
            "endCursor": to.checked_sub(1).map(|at| at.to_string()),
        },
    }))
}

fn applies(on: &str, kind: &str) -> bool {
    let connection = kind == "Connection" && on.ends_with("Connection");
    on == kind || connection || INTERFACES.contains(&on)
}

fn no_field(name: &str, kind: &str) -> String {
    format!("Field '{name}' doesn't exist on type '{kind}'")
}
