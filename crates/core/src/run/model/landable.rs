//! Progress of a task's own pull request toward its merge.

use crate::ids::CommitSha;
use serde::{Deserialize, Serialize};

/// How near the commits of a task are to landing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "landable")]
pub enum Landable {
    /// They are being made, reviewed or fixed.
    #[default]
    NotYet,
    /// Only a person's approval is missing.
    Unapproved {
        /// The reviewed commit.
        head: CommitSha,
    },
    /// They can land.
    Ready {
        /// The commit.
        head: CommitSha,
    },
}

impl Landable {
    pub(super) fn is_not(&self) -> bool {
        *self == Self::NotYet
    }
}
