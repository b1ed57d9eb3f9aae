//! The forms of answers that programs read, for agents whose CLI accepts a schema.

use crate::agent::outcome::AgentOutcome;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The form of an agent's last message.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum AnswerForm {
    /// Any text.
    #[default]
    Free,
    /// A review: a verdict and findings.
    Review,
    /// For each of the findings in the input, whether it holds.
    Refutations,
}

impl AnswerForm {
    /// Whether the message may have any form.
    pub fn is_free(&self) -> bool {
        match self {
            AnswerForm::Free => true,
            AnswerForm::Review | AnswerForm::Refutations => false,
        }
    }

    /// The JSON Schema of the answer, in the strict dialect of OpenAI's API, which Anthropic's accepts too:
    /// every field is required, and no other is allowed. Fields are in alphabetical order, because JSON
    /// libraries sort them, and a model writes them in that order: `analysis` comes first.
    pub fn schema(self) -> Option<Value> {
        match self {
            AnswerForm::Free => None,
            AnswerForm::Review => Some(strict::<ReviewAnswer>()),
            AnswerForm::Refutations => Some(strict::<RefutationsAnswer>()),
        }
    }

    /// The note for an agent whose CLI asks for the form itself, because its prompt asks for a JSON block.
    pub fn note(self) -> Option<&'static str> {
        match self {
            AnswerForm::Free => None,
            AnswerForm::Review => Some(
                "Give this answer in the form that your program asks you for, not as a JSON block, \
                 and without `[REVIEW COMPLETE]`. Its first field is `analysis`: what a correct \
                 change must do and how it could go wrong, written down before you judge this one. \
                 A field without a value is null, and so is `commit` unless you were told what to \
                 put there.",
            ),
            AnswerForm::Refutations => Some(
                "Give this answer in the form that your program asks you for, not as a JSON block, \
                 and without `[REVIEW COMPLETE]`. Its first field is `analysis`: how you tried to \
                 refute the findings.",
            ),
        }
    }
}

/// The messages of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said<'t> {
    /// All its messages.
    pub text: &'t str,
    /// Its last message, if the CLI returned it in the requested form.
    pub document: Option<&'t str>,
}

impl<'t> From<&'t str> for Said<'t> {
    fn from(text: &'t str) -> Self {
        let document = None;
        Self { text, document }
    }
}

impl<'t> From<&'t String> for Said<'t> {
    fn from(text: &'t String) -> Self {
        Self::from(text.as_str())
    }
}

impl<'t> From<&'t AgentOutcome> for Said<'t> {
    fn from(outcome: &'t AgentOutcome) -> Self {
        Self {
            text: &outcome.text,
            document: outcome.document.as_deref(),
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct ReviewAnswer {
    /// Written first: what a correct change must do, how it could go wrong, and how this change does
    /// against that list.
    analysis: String,
    /// The commit under review if you were asked to name it, else null.
    commit: Option<String>,
    /// The findings. None is a good answer to a good change.
    suggestions: Vec<FindingAnswer>,
    /// What follows from the findings.
    verdict: VerdictWord,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FindingAnswer {
    /// How sure you are, from 0 to 100.
    confidence: i64,
    /// The last line, if the finding is about several.
    end_line: Option<i64>,
    /// The input or path that fails, or the line that shows it, quoted.
    evidence: Option<String>,
    /// The file, if the finding is about one.
    file: Option<String>,
    /// What is wrong.
    issue: String,
    /// The line in the new version of the file.
    line: Option<i64>,
    /// Whether it was wrong before this change already.
    pre_existing: bool,
    /// Code that replaces exactly these lines, if you suggest code.
    replacement: Option<String>,
    /// blocker: data is lost, a secret leaks, the task is not done. major: must be fixed before the
    /// merge. minor: can be merged as it is.
    severity: SeverityWord,
    /// What to do about it.
    suggestion: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum VerdictWord {
    Approved,
    NeedsChanges,
    NotApplicable,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SeverityWord {
    Blocker,
    Major,
    Minor,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct RefutationsAnswer {
    /// Written first: how you tried to refute the findings, and what you read for it.
    analysis: String,
    /// Each of the findings once.
    findings: Vec<RefutationAnswer>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct RefutationAnswer {
    /// True if the finding stands or you are not sure.
    holds: bool,
    /// The finding's id.
    id: String,
    /// The file and line that show it.
    why: String,
}

/// The schema of a type with all fields required; an optional field is null instead of missing.
fn strict<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(close).transform(&mut schema);
    schema.remove("title");
    schema.to_value()
}

fn close(schema: &mut Schema) {
    // The dialect supports few string formats and no number formats.
    schema.remove("format");
    let properties = schema.get("properties").and_then(Value::as_object);
    let Some(names) = properties.map(|all| all.keys().cloned().collect::<Vec<String>>()) else {
        return;
    };
    schema.insert("required".to_owned(), names.into());
    schema.insert("additionalProperties".to_owned(), false.into());
}

#[cfg(test)]
mod tests;
