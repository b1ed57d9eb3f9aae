//! The answer of a command: one JSON document for scripts and one text for people.

use crate::documents::{Document, ErrorDocument};
use crate::exit::Exit;
use drive_core::problem::{Kind, Problem};
use serde::Serialize;
use serde_json::{Map, Value};

/// The result of every command. An `Err` becomes a `drive.error/1` document.
pub(crate) type Outcome = Result<Answer, Problem>;

/// The answer of one command.
#[derive(Debug)]
pub(crate) struct Answer {
    document: PrintedDocument,
    text: String,
    failure: Option<Problem>,
    /// Whether the text already contains the failure, which is then not printed again.
    says_failure: bool,
    /// Commands for the runner of a workflow. The text beside them cannot add further ones.
    workflow_commands: Option<String>,
    /// Whether the text may be long, and is shown by a pager on a terminal.
    is_long: bool,
}

/// A document in its printed form: an object whose first field is its schema.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PrintedDocument {
    schema: &'static str,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

impl PrintedDocument {
    pub(crate) fn new<D: Document>(document: &D) -> Result<Self, Problem> {
        let unfit = |reason: String| {
            let message = format!("cannot print the document `{}`", D::SCHEMA);
            Problem::new(Kind::AnswerUnfit, message).cause(reason)
        };
        let value = serde_json::to_value(document).map_err(|error| unfit(error.to_string()))?;
        let Value::Object(mut fields) = value else {
            return Err(unfit("it is not an object".to_owned()));
        };
        // A verification contains the schema's name itself, because it is stored as it is printed.
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
            says_failure: false,
            workflow_commands: None,
            is_long: false,
        })
    }

    /// The answer for a problem.
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
            says_failure: false,
            workflow_commands: None,
            is_long: false,
        }
    }

    /// Lets a pager show the text on a terminal.
    pub(crate) fn paged(mut self) -> Self {
        self.is_long = true;
        self
    }

    /// Whether a pager shows the text on a terminal.
    pub(crate) fn is_paged(&self) -> bool {
        self.is_long
    }

    /// Marks the command as failed: the problem is printed on standard error, and its class decides
    /// the exit code. The document already contains the failure.
    pub(crate) fn failed(mut self, problem: Problem) -> Self {
        self.failure = Some(problem);
        self
    }

    /// [`failed`](Self::failed) if there is a problem.
    pub(crate) fn failed_if(self, problem: Option<Problem>) -> Self {
        match problem {
            Some(problem) => self.failed(problem),
            None => self,
        }
    }

    /// Marks the text as containing the failure: without `--json`, only the exit code repeats it.
    pub(crate) fn says_failure(mut self) -> Self {
        self.says_failure = true;
        self
    }

    /// Prints these commands for the runner of a workflow before the text, or on standard error
    /// with `--json`. The caller ensures that the text contains no other command.
    pub(crate) fn with_workflow_commands(mut self, commands: String) -> Self {
        self.workflow_commands = Some(commands);
        self
    }

    /// Commands for the runner of a workflow, if the command was asked for them.
    pub(crate) fn workflow_commands(&self) -> Option<&str> {
        self.workflow_commands.as_deref()
    }

    /// Whether the text already contains the failure.
    pub(crate) fn is_failure_said(&self) -> bool {
        self.says_failure
    }

    /// The document for scripts.
    pub(crate) fn document(&self) -> &PrintedDocument {
        &self.document
    }

    /// The text for people.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Why the command did not succeed, if it failed.
    pub(crate) fn failure(&self) -> Option<&Problem> {
        self.failure.as_ref()
    }

    pub(crate) fn exit(&self) -> Exit {
        self.failure
            .as_ref()
            .map_or(Exit::Done, |problem| Exit::from(problem.class()))
    }
}
