use crate::agent::answer::Verdict;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a review looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Domain {
    /// Whether it can be abused.
    Security,
    /// Whether it can work.
    TechnicalFeasibility,
    /// Whether its parts have the right size.
    TaskGranularity,
    /// Whether everything it needs is there.
    DependencyCompleteness,
    /// Everything else that a careful reader sees.
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
                "Look for what an attacker could use: input that is trusted, secrets in code or logs, missing \
                 checks of permission, injection into commands, queries, paths or pages, unsafe defaults, \
                 dependencies with known holes."
            }
            Domain::TechnicalFeasibility => {
                "Ask whether this can work as written: wrong assumptions about libraries, protocols or data, \
                 races, missing error handling, performance that will not hold, steps that contradict each other."
            }
            Domain::TaskGranularity => {
                "Ask whether each piece has the right size: does one thing, can be reviewed and tested alone, is \
                 neither a whole project nor a single line; whether acceptance is stated so that it can be checked."
            }
            Domain::DependencyCompleteness => {
                "Ask whether everything it relies on is there: earlier steps, modules, settings, migrations, \
                 documentation, tests; whether the order respects what depends on what."
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
