//! What a command gives back: one document for scripts and one text for people.

use crate::exit::Exit;
use drive_core::problem::{Kind, Problem};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// What every command returns. An `Err` becomes a `drive.error/1` document.
pub(crate) type Outcome = Result<Answer, Problem>;

/// The schema of the document that stands for a problem.
pub(crate) const ERROR_SCHEMA: &str = "drive.error/1";

/// The answer of one command.
#[derive(Debug)]
pub(crate) struct Answer {
    document: Document,
    text: String,
    failure: Option<Problem>,
}

/// The document: an object whose first field is its schema.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Document {
    schema: String,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

impl Answer {
    /// An answer whose document is `body` (an object) under `schema`, and whose text goes to
    /// standard output without `--json`. An empty text prints nothing.
    pub(crate) fn new(schema: &str, body: &impl Serialize, text: impl Into<String>) -> Outcome {
        let unfit = |reason: String| {
            Problem::new(
                Kind::AnswerUnfit,
                format!("the answer `{schema}` cannot be shown"),
            )
            .cause(reason)
        };
        let fields = match serde_json::to_value(body).map_err(|error| unfit(error.to_string()))? {
            Value::Object(fields) => fields,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => {
                return Err(unfit("it is not an object".to_owned()));
            }
        };
        let schema = schema.to_owned();
        Ok(Self {
            document: Document { schema, fields },
            text: text.into(),
            failure: None,
        })
    }

    /// The document that stands for a problem.
    pub(crate) fn from_problem(problem: Problem) -> Self {
        let schema = ERROR_SCHEMA.to_owned();
        let fields = Map::new();
        Self {
            document: Document { schema, fields },
            text: String::new(),
            failure: None,
        }
        .failed(problem)
    }

    /// The same answer, of a command that did not do what it was asked: the document's `failure`
    /// says why, and the problem's class decides the exit code.
    pub(crate) fn failed(mut self, problem: Problem) -> Self {
        self.document
            .fields
            .insert("failure".to_owned(), failure(&problem));
        self.failure = Some(problem);
        self
    }

    /// The same answer, of a command whose document already says in its own words what is wrong:
    /// the problem goes to standard error, and its class decides the exit code.
    pub(crate) fn ended(mut self, problem: Problem) -> Self {
        self.failure = Some(problem);
        self
    }

    /// The document for scripts.
    pub(crate) fn document(&self) -> &Document {
        &self.document
    }

    /// The text for people.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Why the command did not do what it was asked.
    pub(crate) fn failure(&self) -> Option<&Problem> {
        self.failure.as_ref()
    }

    /// What the program ends with.
    pub(crate) fn exit(&self) -> Exit {
        self.failure
            .as_ref()
            .map_or(Exit::Done, |problem| Exit::from(problem.class()))
    }
}

fn failure(problem: &Problem) -> Value {
    json!({
        "kind": problem.kind,
        "message": problem.message,
        "hint": problem.hint,
        "causes": problem.causes,
    })
}
