//! Costs of earlier tasks, as the basis of an estimate.

use crate::agent::Cost;
use serde::{Deserialize, Serialize};

/// The cost of earlier tasks that landed: half of them lie between these two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskCosts {
    /// How many tasks that is known of.
    pub tasks: u32,
    /// A quarter of them cost no more than this.
    pub low: Cost,
    /// A quarter of them cost no less than this.
    pub high: Cost,
}
