//! GitHub's own description: finds the operation of a request, and checks both sides against it.

use super::http::{Answer, Request, decode};
use jsonschema::Validator;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

static SUBSET: LazyLock<Value> = LazyLock::new(|| {
    let read = |text: &str| -> Value {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("subset.json: {error}"))
    };
    let mut all = read(include_str!("../../data/github/subset.json"));
    let mut more = read(include_str!("../../data/github/rules.json"));
    if let (Value::Array(ops), Value::Array(new)) = (&mut all["ops"], more["ops"].take()) {
        ops.extend(new);
    }
    if let (Value::Object(defs), Value::Object(new)) = (&mut all["$defs"], more["$defs"].take()) {
        defs.extend(new);
    }
    all
});

/// Statuses that any operation may return, although the description does not repeat them.
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

/// A request that matches the description.
pub(crate) struct Matched {
    pub(crate) operation: Arc<Operation>,
    pub(crate) params: BTreeMap<String, String>,
}

/// All operations, with validators that are compiled on demand.
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

    /// The operation of a request: if several match, the one with the fewest wildcards.
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

    /// The violations of a request, in words.
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

    /// The violations of an answer, in words.
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

    /// Compiles every validator, and returns their number.
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
    let mut defs = Map::new();
    collect_defs(schema, &mut defs);
    whole["$defs"] = Value::Object(defs);
    jsonschema::draft202012::options()
        .should_validate_formats(true)
        .build(&whole)
        .unwrap_or_else(|error| panic!("{key}: {error}"))
}

/// Collects the definitions that a schema needs, directly or indirectly.
fn collect_defs(schema: &Value, defs: &mut Map<String, Value>) {
    match schema {
        Value::Object(object) => {
            let name = object.get("$ref").and_then(Value::as_str);
            let name = name.and_then(|name| name.strip_prefix("#/$defs/"));
            if let Some(name) = name.filter(|name| !defs.contains_key(*name)) {
                let found = &SUBSET["$defs"][name];
                defs.insert(name.to_owned(), found.clone());
                collect_defs(found, defs);
            }
            object.values().for_each(|inner| collect_defs(inner, defs));
        }
        Value::Array(items) => items.iter().for_each(|inner| collect_defs(inner, defs)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_validator_compiles() {
        assert_eq!(Schema::load().compile_all(), COMPILED);
    }

    /// Bodies and answers of the 50 operations.
    const COMPILED: usize = 141;

    fn request(method: &str, path: &str, query: &str, body: &str) -> Request {
        Request {
            method: method.to_owned(),
            path: path.to_owned(),
            raw_query: query.to_owned(),
            headers: BTreeMap::new(),
            body: body.as_bytes().to_vec(),
            api: String::new(),
            html: String::new(),
        }
    }

    #[test]
    fn the_most_literal_operation_wins_and_refs_may_have_slashes() {
        let schema = Schema::load();
        let find = |method, path| {
            let found = schema.find(&request(method, path, "", ""))?;
            Some((found.operation.id.clone(), found.params))
        };
        let (id, _) = find("GET", "/repos/o/r/pulls/comments").unwrap();
        assert_eq!(id, "pulls/list-review-comments-for-repo");
        let (id, params) = find("GET", "/repos/o/r/commits/heads%2Ffeat/status").unwrap();
        assert_eq!(
            (id.as_str(), params["ref"].as_str()),
            ("repos/get-combined-status-for-ref", "heads/feat")
        );
        let (_, params) = find("DELETE", "/repos/o/r/git/refs/heads/feat/x").unwrap();
        assert_eq!(params["ref"], "heads/feat/x");
        assert!(find("GET", "/repos/o/r/nonsense").is_none());
    }

    #[test]
    fn wrong_requests_and_wrong_answers_are_noticed() {
        let schema = Schema::load();
        let wrong = |query, body| {
            let request = request("POST", "/repos/o/r/issues/1/comments", query, body);
            let found = schema.find(&request).unwrap();
            schema.check_request(&found.operation, &request).len()
        };
        assert_eq!(wrong("", r#"{"body": "x"}"#), 0);
        assert_eq!(wrong("", r#"{"text": "x"}"#), 2);
        assert_eq!(wrong("page=1", r#"{"body": "x"}"#), 1);
        assert_eq!(wrong("", ""), 1);
        let request = request("GET", "/repos/o/r/issues/comments", "", "");
        let found = schema.find(&request).unwrap();
        let answer = |status, body: &Value| {
            let answer = Answer::json(status, body);
            schema.check_answer(&found.operation, &answer).len()
        };
        assert_eq!(answer(200, &json!([])), 0);
        assert!(answer(200, &json!([{"id": 1}])) > 0);
        assert_eq!(answer(201, &json!([])), 1);
    }
}
