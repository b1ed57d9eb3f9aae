use super::{LONGEST_ID, LONGEST_PLAN, LONGEST_TITLE, MOST_ENTRIES, MOST_TASKS};
use crate::markdown::code;
use std::fmt;

/// The most errors that are listed.
const MOST_TOLD: usize = 50;
/// How much of the plan's own words a message repeats, in characters.
const QUOTED: usize = 80;

/// Everything that is wrong with a plan: at least one thing.
///
/// Shown, it is a list in plain Markdown that can stand in a prompt and in a comment: what it
/// repeats of the plan is code within its line, and its length is bounded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanErrors {
    list: Vec<PlanError>,
    more: usize,
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// The line of the plan, from 1, where it can be told.
    pub line: Option<usize>,
    /// The error.
    pub mistake: PlanMistake,
}

/// What can be wrong with a plan. `task` is the id, or `#3` for the third task when it has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanMistake {
    /// The whole text is longer than is taken.
    TooLong {
        /// The length in bytes.
        bytes: usize,
    },
    /// The plan has no task block. The line, if given, is of a JSON block that is not tagged
    /// `tasks`.
    NoBlock,
    /// The plan has a second task block.
    TwoBlocks {
        /// The line of the first.
        first: usize,
    },
    /// Nothing closes the fence on this line.
    UnclosedFence,
    /// The block is not JSON.
    BadJson {
        /// What the parser says, without its place.
        why: String,
    },
    /// The block is JSON and no list.
    NotAList,
    /// The list is empty.
    NoTasks,
    /// The list is longer than is taken.
    TooManyTasks {
        /// The number of tasks.
        tasks: usize,
    },
    /// An entry of the list is not an object.
    NotATask {
        /// The task.
        task: String,
    },
    /// A key stands twice in one task.
    RepeatedKey {
        /// The task.
        task: String,
        /// The key.
        key: String,
    },
    /// A key that is nearly a known one.
    MisspeltKey {
        /// The task.
        task: String,
        /// The text in the plan.
        key: String,
        /// The similar known key.
        known: &'static str,
    },
    /// A field that must be there is missing or empty.
    Missing {
        /// The task.
        task: String,
        /// The field.
        field: &'static str,
    },
    /// A field, or an entry of it, is not what it must be.
    WrongType {
        /// The task.
        task: String,
        /// The field.
        field: &'static str,
        /// The expected type.
        wanted: &'static str,
    },
    /// A list has more entries than are taken.
    TooManyEntries {
        /// The task.
        task: String,
        /// The field.
        field: &'static str,
        /// The number of entries.
        entries: usize,
    },
    /// An id that could not be part of a branch or of a folder's name.
    BadId {
        /// The text in the plan.
        id: String,
    },
    /// Two tasks whose ids are the same, or differ only in case.
    DuplicateId {
        /// The repeated id.
        id: String,
        /// The line of the earlier one, where it is known.
        first: Option<usize>,
    },
    /// A title that is too long.
    LongTitle {
        /// The task.
        task: String,
        /// Its length in characters.
        chars: usize,
    },
    /// A dependency that does not exist.
    UnknownDependency {
        /// The task.
        task: String,
        /// The text in the plan.
        dependency: String,
        /// The task with the most similar id.
        nearest: Option<String>,
    },
    /// A task that depends on itself.
    SelfDependency {
        /// The task.
        task: String,
    },
    /// Tasks that wait for each other.
    Cycle {
        /// Each depends on the next, the last on the first.
        tasks: Vec<String>,
    },
    /// A path that is not one inside the repository.
    BadPath {
        /// The task.
        task: String,
        /// The text in the plan.
        path: String,
        /// The reason.
        why: &'static str,
    },
}

impl PlanErrors {
    pub(super) fn one(line: Option<usize>, mistake: PlanMistake) -> Self {
        Self {
            list: vec![PlanError { line, mistake }],
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
}

/// Collects mistakes; from a certain number on it only counts them.
#[derive(Default)]
pub(super) struct Collector {
    list: Vec<PlanError>,
    more: usize,
}

impl Collector {
    /// `mistake` is only made when it will be told: suggestions cost time.
    pub(super) fn add(&mut self, line: Option<usize>, mistake: impl FnOnce() -> PlanMistake) {
        if self.list.len() < MOST_TOLD {
            let mistake = mistake();
            self.list.push(PlanError { line, mistake });
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
        Err(PlanErrors {
            list: self.list,
            more: self.more,
        })
    }
}

impl fmt::Display for PlanErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the plan is not valid:")?;
        for error in &self.list {
            write!(f, "\n- {error}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\n- and {more} more mistakes"),
        }
    }
}

impl std::error::Error for PlanErrors {}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        self.mistake.fmt(f)
    }
}

impl fmt::Display for PlanMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes } => {
                write!(f, "it has {bytes} bytes; the limit is {LONGEST_PLAN}")
            }
            Self::NoBlock => f.write_str(
                "no task block: add a fence that starts with three backticks and `json tasks` \
                 and contains a list of tasks",
            ),
            Self::TwoBlocks { first } => write!(
                f,
                "second task block (the first is on line {first}): keep one"
            ),
            Self::UnclosedFence => f.write_str("the fence that opens here is never closed"),
            Self::BadJson { why } => write!(f, "the task block is not JSON: {}", code(why, 200)),
            Self::NotAList => f.write_str("the task block must be a list: `[{\"id\": …}, …]`"),
            Self::NoTasks => f.write_str("the list of tasks is empty"),
            Self::TooManyTasks { tasks } => write!(
                f,
                "the plan has {tasks} tasks; the limit is {MOST_TASKS}: make them larger, or \
                 plan less"
            ),
            Self::NotATask { task } => write!(f, "task {} is not an object", quote(task)),
            Self::RepeatedKey { task, key } => {
                write!(f, "task {} has the key {} twice", quote(task), quote(key))
            }
            Self::MisspeltKey { task, key, known } => write!(
                f,
                "task {} has the unknown key {}; did you mean `{known}`?",
                quote(task),
                quote(key)
            ),
            Self::Missing { task, field } => {
                write!(f, "task {} has no `{field}`", quote(task))
            }
            Self::WrongType {
                task,
                field,
                wanted,
            } => write!(f, "`{field}` of task {} must be {wanted}", quote(task)),
            Self::TooManyEntries {
                task,
                field,
                entries,
            } => write!(
                f,
                "`{field}` of task {} has {entries} entries; the limit is {MOST_ENTRIES}",
                quote(task)
            ),
            Self::BadId { id } => write!(
                f,
                "{} is not a valid id: use at most {LONGEST_ID} letters, digits, `-`, `_` and \
                 `.`, starting with a letter or digit",
                quote(id)
            ),
            Self::DuplicateId { id, first } => {
                write!(f, "the id {} is taken", quote(id))?;
                match first {
                    Some(line) => write!(f, " by the task on line {line}"),
                    None => f.write_str(" by an earlier task"),
                }
            }
            Self::LongTitle { task, chars } => write!(
                f,
                "the title of task {} has {chars} characters; the limit is {LONGEST_TITLE}",
                quote(task)
            ),
            Self::UnknownDependency {
                task,
                dependency,
                nearest,
            } => {
                write!(
                    f,
                    "task {} depends on {}, which does not exist",
                    quote(task),
                    quote(dependency)
                )?;
                match nearest {
                    Some(name) => write!(f, "; did you mean {}?", quote(name)),
                    None => Ok(()),
                }
            }
            Self::SelfDependency { task } => write!(f, "task {} depends on itself", quote(task)),
            Self::Cycle { tasks } => {
                let circle: Vec<&str> = tasks
                    .iter()
                    .chain(tasks.first())
                    .map(String::as_str)
                    .collect();
                write!(
                    f,
                    "circular dependency: {}",
                    code(&circle.join(" -> "), 2000)
                )
            }
            Self::BadPath { task, path, why } => {
                write!(f, "the path {} of task {} {why}", quote(path), quote(task))
            }
        }
    }
}

fn quote(text: &str) -> String {
    let quoted = code(text, QUOTED);
    if quoted.is_empty() {
        "(nothing)".to_owned()
    } else {
        quoted
    }
}
