//! Costs of earlier tasks, as the basis of an estimate.

use crate::agent::Cost;
use serde::{Deserialize, Serialize};

/// The costs of earlier tasks that landed: half of them lie between `low` and `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskCosts {
    /// The number of tasks with a known cost.
    pub tasks: u32,
    /// The lower quartile: a quarter of the tasks cost no more.
    pub low: Cost,
    /// The upper quartile: a quarter of the tasks cost no less.
    pub high: Cost,
}
