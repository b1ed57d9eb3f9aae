use crate::markdown::code;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The most errors that are listed.
const MOST_TOLD: usize = 50;
/// How much of the plan's own words a message repeats, in characters.
const QUOTED: usize = 80;

/// Everything that is wrong with a plan: at least one thing.
///
/// Shown, it is a list in plain Markdown that can stand in a prompt and in a comment: what it
/// repeats of the plan is code within its line, and its length is bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanErrors {
    list: Vec<PlanError>,
    #[serde(default, skip_serializing_if = "is_zero")]
    more: usize,
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanError {
    /// The line of the plan, from 1, where it can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl PlanErrors {
    /// One mistake.
    pub(crate) fn one(line: Option<usize>, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            list: vec![PlanError { line, message }],
            more: 0,
        }
    }

    /// What is wrong, in the order of the plan.
    pub fn list(&self) -> &[PlanError] {
        &self.list
    }

    /// How many more mistakes there are than the list tells.
    pub fn more(&self) -> usize {
        self.more
    }

    /// Adds an error; from a certain number on it only counts. `message` is only made when it will
    /// be told: suggestions cost time.
    pub(super) fn add(&mut self, line: Option<usize>, message: impl FnOnce() -> String) {
        if self.list.len() < MOST_TOLD {
            let message = message();
            self.list.push(PlanError { line, message });
        } else {
            self.more += 1;
        }
    }

    /// The value, unless something was wrong.
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

/// The plan's own words as a message repeats them.
pub(super) fn quote(text: &str) -> String {
    let quoted = code(text, QUOTED);
    if quoted.is_empty() {
        "(nothing)".to_owned()
    } else {
        quoted
    }
}
