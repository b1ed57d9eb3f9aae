//! GitHub's own description: which operation a request is, and whether both sides keep to it.

use super::http::{Answer, Request, decode};
use jsonschema::Validator;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

static SUBSET: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../data/github/subset.json");
    serde_json::from_str(text).unwrap_or_else(|error| panic!("subset.json: {error}"))
});

/// Statuses that any operation may answer with, though the description does not repeat them.
const ALWAYS: &[u16] = &[304, 401, 403, 404, 429, 500, 502, 503];

/// One operation of the description.
pub(crate) struct Operation {
    pub(crate) id: String,
    method: String,
    segments: Vec<String>,
    query: Map<String, Value>,
    request: Value,
    responses: Map<String, Value>,
}

/// A request that the description knows.
pub(crate) struct Matched {
    pub(crate) operation: Arc<Operation>,
    pub(crate) params: BTreeMap<String, String>,
}

/// All operations, with validators compiled when first needed.
pub(crate) struct Schema {
    operations: Vec<Arc<Operation>>,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

impl Schema {
    pub(crate) fn load() -> Self {
        let operations = SUBSET["ops"].as_array().cloned().unwrap_or_default();
        Self {
            operations: operations.iter().map(operation).map(Arc::new).collect(),
            validators: Mutex::default(),
        }
    }

    /// The operation of a request: of several, the one with the fewest wildcards.
    pub(crate) fn find(&self, request: &Request) -> Option<Matched> {
        self.operations
            .iter()
            .filter(|op| op.method == request.method)
            .filter_map(|op| {
                let params = params(&op.segments, &request.path)?;
                Some(Matched {
                    operation: Arc::clone(op),
                    params,
                })
            })
            .min_by_key(|matched| matched.params.len())
    }

    /// What is wrong with a request, in words.
    pub(crate) fn check_request(&self, op: &Operation, request: &Request) -> Vec<String> {
        let mut wrong = Vec::new();
        for (name, value) in request.query() {
            let Some(known) = op.query.get(&name) else {
                wrong.push(format!("{}: query `{name}` does not exist", op.id));
                continue;
            };
            let schema = &known["schema"];
            let value = match value.parse::<i64>() {
                Ok(number) if schema["type"] == "integer" => json!(number),
                _ => json!(value),
            };
            let key = format!("{} query {name}", op.id);
            wrong.extend(self.check(&key, schema, &value));
        }
        let has_body = !request.body.is_empty();
        if op.request.is_null() {
            if has_body {
                wrong.push(format!("{}: takes no body", op.id));
            }
        } else if has_body {
            let key = format!("{} request", op.id);
            wrong.extend(self.check(&key, &op.request["schema"], &request.json()));
        } else if op.request["required"] == true {
            wrong.push(format!("{}: needs a body", op.id));
        }
        wrong
    }

    /// What is wrong with an answer, in words.
    pub(crate) fn check_answer(&self, op: &Operation, answer: &Answer) -> Vec<String> {
        let Some(response) = op.responses.get(&answer.status.to_string()) else {
            if ALWAYS.contains(&answer.status) {
                return Vec::new();
            }
            return vec![format!("{}: never answers {}", op.id, answer.status)];
        };
        let schema = &response["schema"];
        if schema.is_null() {
            return Vec::new();
        }
        let key = format!("{} answer {}", op.id, answer.status);
        match serde_json::from_slice(&answer.body) {
            Ok(value) => self.check(&key, schema, &value),
            Err(error) => vec![format!("{key}: not JSON: {error}")],
        }
    }

    fn check(&self, key: &str, schema: &Value, value: &Value) -> Vec<String> {
        let validator = {
            let mut known = self
                .validators
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let found = known.get(key).cloned();
            found.unwrap_or_else(|| {
                let validator = Arc::new(compile(key, schema));
                known.insert(key.to_owned(), Arc::clone(&validator));
                validator
            })
        };
        validator
            .iter_errors(value)
            .take(5)
            .map(|error| format!("{key}: {} {error}", error.instance_path()))
            .collect()
    }

    /// Compiles every validator there is, and says how many.
    pub(crate) fn compile_all(&self) -> usize {
        let mut count = 0;
        for op in &self.operations {
            let answers = op.responses.iter().map(|(status, response)| {
                (format!("{} answer {status}", op.id), &response["schema"])
            });
            let request = (format!("{} request", op.id), &op.request["schema"]);
            for (key, schema) in answers.chain([request]) {
                if !schema.is_null() {
                    compile(&key, schema);
                    count += 1;
                }
            }
        }
        count
    }
}

fn compile(key: &str, schema: &Value) -> Validator {
    let mut whole = schema.clone();
    whole["$defs"] = SUBSET["$defs"].clone();
    jsonschema::draft202012::options()
        .should_validate_formats(true)
        .build(&whole)
        .unwrap_or_else(|error| panic!("{key}: {error}"))
}

fn operation(value: &Value) -> Operation {
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let object = |name: &str| value[name].as_object().cloned().unwrap_or_default();
    Operation {
        id: text("id"),
        method: text("method"),
        segments: text("path").split('/').map(str::to_owned).collect(),
        query: object("query"),
        request: value["request"].clone(),
        responses: object("responses"),
    }
}

/// The values of `{…}` in a path. A `{ref}` may span several segments.
fn params(segments: &[String], path: &str) -> Option<BTreeMap<String, String>> {
    let given: Vec<&str> = path.split('/').collect();
    let mut out = BTreeMap::new();
    let mut at = 0;
    for (i, segment) in segments.iter().enumerate() {
        let rest = segments.len() - i - 1;
        let name = segment.strip_prefix('{').and_then(|s| s.strip_suffix('}'));
        match name {
            Some("ref") => {
                let end = given.len().checked_sub(rest)?;
                let value = given.get(at..end)?.join("/");
                out.insert("ref".to_owned(), decode(&value));
                at = end;
            }
            Some(name) => {
                out.insert(name.to_owned(), decode(given.get(at)?));
                at += 1;
            }
            None => {
                (*given.get(at)? == segment.as_str()).then_some(())?;
                at += 1;
            }
        }
    }
    (at == given.len()).then_some(out)
}
