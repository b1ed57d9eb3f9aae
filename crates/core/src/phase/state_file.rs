//! `.cruise/phase-state.json`: the state of a phase, written into its sandbox for people and tools.
//!
//! An agent in the sandbox can write to it, so it is untrusted input: its size is limited, every
//! field is checked, and nothing uses it before [`PhaseState::check`] has compared it with git and
//! the forge.

mod model;
mod read;
#[cfg(test)]
mod tests;

pub use model::{LONGEST_STATE_FILE, MOST_PENDING, PhaseName, PhaseState, STATE_FILE_VERSION};

use crate::forge::PullRequest;
use crate::ids::BranchName;
use crate::problem::{Kind, Problem};
use crate::time::{Timestamp, after};
use std::path::{Component, Path};
use std::time::Duration;

/// The directory of the file in a sandbox.
pub const STATE_FOLDER: &str = ".cruise";
/// The file's name in its directory.
pub const STATE_FILE: &str = "phase-state.json";

/// How many bytes of a task are written, so that a written file can always be read: JSON may need
/// six bytes for one.
const MOST_TASK: usize = 100 * 1024;

/// How far in the future a file's time may be, because the clock may have been set back.
const CLOCK_SLACK: Duration = Duration::from_secs(24 * 3600);

/// Known facts about a sandbox with such a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence<'a> {
    /// The directory the file was read from, with links resolved.
    pub read_from: &'a Path,
    /// The directory of all sandboxes, with links resolved.
    pub sandboxes_root: &'a Path,
    /// The branch that is checked out in the sandbox, if any.
    pub sandbox_branch: Option<&'a BranchName>,
    /// The forge's pull request with the number in the file, if any.
    pub pull_request: Option<&'a PullRequest>,
    /// The current time.
    pub now: Timestamp,
}

impl PhaseState {
    /// Parses a file; the problem says why it is not valid.
    pub fn read(bytes: &[u8]) -> Result<PhaseState, Problem> {
        read::read(bytes)
    }

    /// Whether another state differs only in the next wait.
    pub fn differs_only_in_pace(&self, other: &PhaseState) -> bool {
        let at_its_pace = Self {
            backoff_interval_secs: other.backoff_interval_secs,
            ..self.clone()
        };
        self != other && at_its_pace == *other
    }

    /// The text of the file. A very long task is shortened.
    pub fn write(&self) -> Result<String, Problem> {
        let cut = (self.task.len() > MOST_TASK).then(|| Self {
            task: beginning(&self.task, MOST_TASK),
            ..self.clone()
        });
        let told = cut.as_ref().unwrap_or(self);
        let json = serde_json::to_string_pretty(told).map_err(|error| {
            Problem::new(
                Kind::PhaseStateUnwritable,
                "cannot write the state file of the phase",
            )
            .because(error)
        })?;
        Ok(json + "\n")
    }

    /// Refuses a state that contradicts git or the forge.
    pub fn check(&self, evidence: &Evidence<'_>) -> Result<(), Problem> {
        self.check_place(evidence)?;
        self.check_branch(evidence)?;
        self.check_pull_request(evidence)?;
        if self.last_activity > after(evidence.now, CLOCK_SLACK) {
            return Err(contradicted(
                Kind::PhaseStateFromTheFuture,
                format!("has a time in the future: `{}`", self.last_activity),
            ));
        }
        Ok(())
    }

    fn check_place(&self, evidence: &Evidence<'_>) -> Result<(), Problem> {
        let path = &self.sandbox_path;
        let is_plain = path
            .components()
            .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        let is_inside = is_plain && path.parent() == Some(evidence.sandboxes_root);
        if !is_inside {
            return Err(contradicted(
                Kind::PhaseStateOutside,
                format!(
                    "points at `{}`, which is not a sandbox in `{}`",
                    shown(path),
                    shown(evidence.sandboxes_root)
                ),
            ));
        }
        if path != evidence.read_from {
            return Err(contradicted(
                Kind::PhaseStateMoved,
                format!(
                    "belongs to sandbox `{}`, but was found in `{}`",
                    shown(path),
                    shown(evidence.read_from)
                ),
            ));
        }
        Ok(())
    }

    fn check_branch(&self, evidence: &Evidence<'_>) -> Result<(), Problem> {
        if evidence.sandbox_branch == Some(&self.branch_name) {
            return Ok(());
        }
        let there = evidence
            .sandbox_branch
            .map_or_else(|| "no branch".to_owned(), |name| format!("`{name}`"));
        Err(contradicted(
            Kind::PhaseStateBranch,
            format!(
                "names branch `{}`, but the sandbox is on {there}",
                self.branch_name
            ),
        ))
    }

    fn check_pull_request(&self, evidence: &Evidence<'_>) -> Result<(), Problem> {
        let Some(number) = self.pr_number else {
            return Ok(());
        };
        let Some(known) = evidence.pull_request.filter(|pr| pr.number == number) else {
            return Err(contradicted(
                Kind::PhaseStatePullRequest,
                format!("names pull request {number}, which does not exist on the forge"),
            ));
        };
        if known.branch != self.branch_name {
            return Err(contradicted(
                Kind::PhaseStatePullRequest,
                format!(
                    "names pull request {number} of branch `{}`, not `{}`",
                    known.branch, self.branch_name
                ),
            ));
        }
        if self.pr_url.as_ref().is_some_and(|url| *url != known.url) {
            return Err(contradicted(
                Kind::PhaseStatePullRequest,
                format!(
                    "has a URL of pull request {number} other than `{}`",
                    known.url
                ),
            ));
        }
        Ok(())
    }
}

fn beginning(text: &str, most: usize) -> String {
    format!("{}…", &text[..text.floor_char_boundary(most)])
}

fn contradicted(kind: Kind, what: String) -> Problem {
    Problem::new(kind, format!("the state file of the phase {what}")).hint(
        "an agent may have changed `.cruise/phase-state.json`; check it, or start a new cruise \
         with `drive cruise run`",
    )
}

/// A path for a message, with everything escaped that could control a terminal.
fn shown(path: &Path) -> String {
    path.to_string_lossy().escape_debug().to_string()
}
