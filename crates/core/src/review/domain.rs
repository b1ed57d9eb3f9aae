use crate::agent::answer::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a review looks at.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[schemars(rename = "ReviewDomain")]
pub enum Domain {
    /// Whether it can be abused.
    Security,
    /// Whether it can work.
    TechnicalFeasibility,
    /// Whether its tasks have the right size.
    TaskGranularity,
    /// Whether everything it needs is there.
    DependencyCompleteness,
    /// Everything else.
    GeneralPolish,
}

impl Domain {
    /// All of them, in the order in which they are reviewed.
    pub const ALL: [Domain; 5] = [
        Domain::Security,
        Domain::TechnicalFeasibility,
        Domain::TaskGranularity,
        Domain::DependencyCompleteness,
        Domain::GeneralPolish,
    ];

    /// The name in prompts, in `DRIVE_DOMAIN` and in state files.
    pub fn name(self) -> &'static str {
        match self {
            Domain::Security => "Security",
            Domain::TechnicalFeasibility => "TechnicalFeasibility",
            Domain::TaskGranularity => "TaskGranularity",
            Domain::DependencyCompleteness => "DependencyCompleteness",
            Domain::GeneralPolish => "GeneralPolish",
        }
    }

    /// The name as people read it.
    pub fn title(self) -> &'static str {
        match self {
            Domain::Security => "SECURITY",
            Domain::TechnicalFeasibility => "TECHNICAL FEASIBILITY",
            Domain::TaskGranularity => "TASK GRANULARITY",
            Domain::DependencyCompleteness => "DEPENDENCY COMPLETENESS",
            Domain::GeneralPolish => "GENERAL POLISH",
        }
    }

    /// What a reviewer of this domain is asked to look for.
    pub fn instructions(self) -> &'static str {
        match self {
            Domain::Security => {
                "Look for vulnerabilities: input that is trusted without a check, secrets in \
                 code or logs, missing permission checks, injection into commands, queries, \
                 paths or pages, unsafe defaults, \
                 dependencies with known vulnerabilities."
            }
            Domain::TechnicalFeasibility => {
                "Check whether this can work as written: wrong assumptions about libraries, \
                 protocols or data, \
                 races, missing error handling, performance that will not hold, steps that contradict each other."
            }
            Domain::TaskGranularity => {
                "Check whether each task has the right size: it does one thing, can be reviewed \
                 and tested alone, and is neither a whole project nor a single line; and whether \
                 its acceptance criteria can be checked."
            }
            Domain::DependencyCompleteness => {
                "Check whether all dependencies are covered: earlier steps, modules, settings, \
                 migrations, documentation, tests; and whether the order respects them."
            }
            Domain::GeneralPolish => {
                "Read it as the next maintainer: names, structure, duplication, comments that are no longer true, \
                 messages a user will see, tests that cannot fail, documents that were not updated."
            }
        }
    }

    /// The first line of what is posted, such as `[SECURITY REVIEW - APPROVED]`.
    pub fn heading(self, verdict: Verdict) -> String {
        let word = match verdict {
            Verdict::Approved => "APPROVED",
            Verdict::NeedsChanges => "NEEDS CHANGES",
        };
        format!("[{} REVIEW - {word}]", self.title())
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
