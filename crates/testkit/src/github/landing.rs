//! Checks of commits, and the rules for merging, as plain data.

use drive_core::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// A check run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) id: u64,
    pub(crate) sha: String,
    pub(crate) name: String,
    pub(crate) status: String,
    pub(crate) conclusion: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) summary: Option<String>,
    pub(crate) external_id: Option<String>,
    pub(crate) details_url: Option<String>,
    /// The app that wrote it.
    pub(crate) app: String,
    /// Path, line, level and message of each annotation.
    pub(crate) annotations: Vec<(String, u64, String, String)>,
    /// The failed step of its job.
    pub(crate) failed_step: Option<String>,
    pub(crate) log: Option<String>,
    pub(crate) at: Timestamp,
}

/// The checks and rules of a repository.
#[derive(Clone, Debug)]
pub(crate) struct Landing {
    pub(crate) runs: Vec<Run>,
    /// Checks that the protection of every branch requires.
    pub(crate) protected: Vec<String>,
    /// Checks that a ruleset requires.
    pub(crate) ruled: Vec<String>,
    pub(crate) linear_history: bool,
    pub(crate) merge_queue: bool,
    /// The enabled merge methods.
    pub(crate) methods: BTreeSet<String>,
    /// Pull requests in the merge queue, each with its head at that time.
    pub(crate) queue: BTreeMap<u64, String>,
    /// Accounts that are apps, and so may write check runs.
    pub(crate) apps: BTreeSet<String>,
    /// Whether reading the logs of jobs is forbidden.
    pub(crate) hides_logs: bool,
    /// Whether its plan lacks rulesets.
    pub(crate) lacks_rulesets: bool,
}

impl Default for Landing {
    fn default() -> Self {
        let methods = ["merge", "squash", "rebase"];
        Self {
            runs: Vec::new(),
            protected: Vec::new(),
            ruled: Vec::new(),
            linear_history: false,
            merge_queue: false,
            methods: methods.map(str::to_owned).into(),
            queue: BTreeMap::new(),
            apps: BTreeSet::new(),
            hides_logs: false,
            lacks_rulesets: false,
        }
    }
}

impl Landing {
    /// Every required check, once.
    pub(crate) fn required(&self) -> BTreeSet<&String> {
        self.protected.iter().chain(&self.ruled).collect()
    }
}
