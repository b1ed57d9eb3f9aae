use crate::markdown::code;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How many errors are listed at most.
const MOST_TOLD: usize = 50;
/// How many characters of the plan's text a message quotes.
const QUOTED: usize = 80;

/// The errors of a plan; there is at least one.
///
/// They display as a Markdown list for prompts and comments: quotes of the plan are inline code,
/// and the length is limited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanErrors {
    list: Vec<PlanError>,
    #[serde(default, skip_serializing_if = "is_zero")]
    more: usize,
}

/// One error, with its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanError {
    /// The line of the plan, from 1, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The error message.
    pub message: String,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl PlanErrors {
    /// A single error.
    pub(crate) fn one(line: Option<usize>, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            list: vec![PlanError { line, message }],
            more: 0,
        }
    }

    /// The listed errors, in the order of the plan.
    pub fn list(&self) -> &[PlanError] {
        &self.list
    }

    /// How many errors are not listed.
    pub fn more(&self) -> usize {
        self.more
    }

    /// Adds an error; beyond the limit it is only counted. `message` is only called if the error is
    /// listed, because suggestions cost time.
    pub(super) fn add(&mut self, line: Option<usize>, message: impl FnOnce() -> String) {
        if self.list.len() < MOST_TOLD {
            let message = message();
            self.list.push(PlanError { line, message });
        } else {
            self.more += 1;
        }
    }

    /// The value, if there are no errors.
    pub(super) fn or<T>(mut self, value: T) -> Result<T, PlanErrors> {
        if self.list.is_empty() {
            return Ok(value);
        }
        self.list.sort_by_key(|error| error.line);
        Err(self)
    }
}

impl fmt::Display for PlanErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the plan is not valid:")?;
        for PlanError { line, message } in &self.list {
            match line {
                Some(line) => write!(f, "\n- line {line}: {message}")?,
                None => write!(f, "\n- {message}")?,
            }
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\n- and {more} more mistakes"),
        }
    }
}

impl std::error::Error for PlanErrors {}

/// The plan's text, as messages quote it.
pub(super) fn quote(text: &str) -> String {
    let quoted = code(text, QUOTED);
    if quoted.is_empty() {
        "(nothing)".to_owned()
    } else {
        quoted
    }
}
