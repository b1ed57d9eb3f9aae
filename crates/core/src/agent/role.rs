use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What an agent is asked to be.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "AgentRole")]
pub enum Role {
    /// Finds a title and a branch name.
    Namer,
    /// Writes the plan.
    Planner,
    /// Writes the code.
    Coder,
    /// Reviews what was written.
    Reviewer,
    /// Answers comments with changes.
    Fixer,
    /// Compares the result with the plan.
    Validator,
}

/// The access of a role to the working tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Access {
    /// The role may read, but not change or run anything.
    ReadOnly,
    /// The role may change the sandbox and nothing else.
    Write,
}

impl Role {
    /// The role's access to the working tree.
    pub fn access(self) -> Access {
        match self {
            Role::Planner | Role::Coder | Role::Fixer => Access::Write,
            Role::Namer | Role::Reviewer | Role::Validator => Access::ReadOnly,
        }
    }

    /// The name an agent sees in `DRIVE_ROLE`.
    pub fn name(self) -> &'static str {
        match self {
            Role::Namer => "namer",
            Role::Planner => "planner",
            Role::Coder => "coder",
            Role::Reviewer => "reviewer",
            Role::Fixer => "fixer",
            Role::Validator => "validator",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
