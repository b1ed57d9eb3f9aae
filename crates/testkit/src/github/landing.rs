//! Checks, the rules of a base, and what they make of an attempt to merge.

use super::actions::Done;
use super::git::Merge;
use super::http::Refusal;
use super::state::{Pull, World};
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
    /// Path, line, level and message.
    pub(crate) annotations: Vec<(String, u64, String, String)>,
    /// The failed step of its job.
    pub(crate) failed_step: Option<String>,
    pub(crate) log: Option<String>,
    pub(crate) at: Timestamp,
}

/// What a repository has of checks and rules.
#[derive(Clone, Debug)]
pub(crate) struct Landing {
    pub(crate) runs: Vec<Run>,
    /// Contexts that the protection of every branch requires.
    pub(crate) protected: Vec<String>,
    /// Contexts that a ruleset requires.
    pub(crate) ruled: Vec<String>,
    pub(crate) linear_history: bool,
    pub(crate) merge_queue: bool,
    /// The merge methods that are switched on.
    pub(crate) methods: BTreeSet<String>,
    /// Pull requests in the merge queue, with the head that was put there.
    pub(crate) queue: BTreeMap<u64, String>,
    /// Accounts that are apps, and so may write check runs.
    pub(crate) apps: BTreeSet<String>,
    /// Nobody may read the logs of jobs.
    pub(crate) hides_logs: bool,
    /// Its plan has no rulesets.
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
    /// Every required context, once.
    fn required(&self) -> BTreeSet<&String> {
        self.protected.iter().chain(&self.ruled).collect()
    }
}

impl World {
    /// The way of a merge, unless the repository or its rules refuse it.
    pub(crate) fn permit_merge(&self, repo: &str, pr: u64, method: &str) -> Done<Merge> {
        let rules = &self.repo(repo)?.landing;
        if rules.merge_queue {
            let text =
                "Repository rule violations found\n\nChanges must be made through the merge queue";
            return Err(Refusal::new(405, text));
        }
        if !rules.methods.contains(method) {
            let what = match method {
                "merge" => "Merge commits",
                "squash" => "Squash merges",
                _ => "Rebase merges",
            };
            let text = format!("{what} are not allowed on this repository.");
            return Err(Refusal::new(405, &text));
        }
        if rules.linear_history && method == "merge" {
            let text = "This branch must not contain merge commits.";
            return Err(Refusal::new(405, text));
        }
        let pull = self.pull(repo, pr)?;
        self.require_checks(repo, pull)?;
        Ok(if method == "merge" {
            Merge::Commit
        } else {
            Merge::Squash
        })
    }

    fn require_checks(&self, repo: &str, pull: &Pull) -> Done<()> {
        let state = self.repo(repo)?;
        for name in state.landing.required() {
            let runs = state.landing.runs.iter().rev();
            let mut runs = runs.filter(|run| run.sha == pull.head_sha && run.name == *name);
            let mut statuses = state.statuses.iter().rev();
            let status = statuses.find(|s| s.sha == pull.head_sha && s.context == *name);
            let passed = runs.next().is_some_and(|run| {
                matches!(
                    run.conclusion.as_deref(),
                    Some("success" | "neutral" | "skipped")
                )
            });
            if !passed && status.is_none_or(|status| status.state != "success") {
                let text = format!("Required status check \"{name}\" is expected.");
                return Err(Refusal::new(405, &text));
            }
        }
        Ok(())
    }

    /// Puts a pull request into the merge queue.
    pub(crate) fn enqueue(&mut self, repo: &str, pr: u64, expected: Option<&str>) -> Done<()> {
        let pull = self.pull(repo, pr)?.clone();
        if !self.repo(repo)?.landing.merge_queue {
            let text = "Merge queue is not enabled for this branch";
            return Err(Refusal::new(422, text));
        }
        if pull.closed_at.is_some() || pull.draft {
            let text = "Pull request is not in a state that can be queued";
            return Err(Refusal::new(422, text));
        }
        if expected.is_some_and(|sha| sha != pull.head_sha) {
            return Err(Refusal::new(422, "Head sha does not match expected head"));
        }
        let queue = &mut self.repo_mut(repo)?.landing.queue;
        if queue.insert(pr, pull.head_sha.clone()).is_some() {
            return Err(Refusal::new(422, "Pull request is already in the queue"));
        }
        Ok(())
    }

    /// Whether a pull request is in the queue with the head it has.
    pub(crate) fn is_queued(&self, repo: &str, pull: &Pull) -> bool {
        let repo = self.repos.get(repo);
        let head = repo.and_then(|repo| repo.landing.queue.get(&pull.number));
        head == Some(&pull.head_sha)
    }
}
