//! The answer of a command: one JSON document for scripts and one text for people.

use crate::documents::{Document, ErrorDocument};
use crate::exit::Exit;
use drive_core::problem::{Kind, Problem};
use serde::Serialize;
use serde_json::{Map, Value};

/// What every command returns. An `Err` becomes a `drive.error/1` document.
pub(crate) type Outcome = Result<Answer, Problem>;

/// The answer of one command.
#[derive(Debug)]
pub(crate) struct Answer {
    document: PrintedDocument,
    text: String,
    failure: Option<Problem>,
}

/// A document as it is printed: an object whose first field is its schema.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PrintedDocument {
    schema: &'static str,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

impl PrintedDocument {
    fn new<D: Document>(document: &D) -> Result<Self, Problem> {
        let unfit = |reason: String| {
            let message = format!("cannot print the document `{}`", D::SCHEMA);
            Problem::new(Kind::AnswerUnfit, message).cause(reason)
        };
        let value = serde_json::to_value(document).map_err(|error| unfit(error.to_string()))?;
        let Value::Object(mut fields) = value else {
            return Err(unfit("it is not an object".to_owned()));
        };
        // A verification holds the name itself, because it is stored as it is printed.
        fields.remove("schema");
        Ok(Self {
            schema: D::SCHEMA,
            fields,
        })
    }
}

impl Answer {
    /// An answer with this document, and with a text that goes to standard output without `--json`.
    /// An empty text prints nothing.
    pub(crate) fn new<D: Document>(document: &D, text: impl Into<String>) -> Outcome {
        Ok(Self {
            document: PrintedDocument::new(document)?,
            text: text.into(),
            failure: None,
        })
    }

    /// The document that stands for a problem.
    pub(crate) fn from_problem(problem: Problem) -> Self {
        let document = PrintedDocument::new(&ErrorDocument::from(&problem));
        Self {
            // Plain strings always serialise; the fallback keeps the promise of one document.
            document: document.unwrap_or_else(|_| PrintedDocument {
                schema: ErrorDocument::SCHEMA,
                fields: Map::new(),
            }),
            text: String::new(),
            failure: Some(problem),
        }
    }

    /// Marks the command as failed: the problem is printed on standard error, and its class decides
    /// the exit code. The document already contains the failure.
    pub(crate) fn failed(mut self, problem: Problem) -> Self {
        self.failure = Some(problem);
        self
    }

    /// [`failed`](Self::failed) where there is a problem.
    pub(crate) fn failed_if(self, problem: Option<Problem>) -> Self {
        match problem {
            Some(problem) => self.failed(problem),
            None => self,
        }
    }

    /// The document for scripts.
    pub(crate) fn document(&self) -> &PrintedDocument {
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

    pub(crate) fn exit(&self) -> Exit {
        self.failure
            .as_ref()
            .map_or(Exit::Done, |problem| Exit::from(problem.class()))
    }
}
