//! The merge rules of a base: required checks, the merge queue, permitted methods.

use super::actions::Done;
use super::git::Merge;
use super::http::Refusal;
use super::state::{Pull, World};

impl World {
    /// The merge method, unless the repository or its rules refuse it.
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

    /// Adds a pull request to the merge queue.
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

    /// Whether a pull request is in the queue with its current head.
    pub(crate) fn is_queued(&self, repo: &str, pull: &Pull) -> bool {
        let repo = self.repos.get(repo);
        let head = repo.and_then(|repo| repo.landing.queue.get(&pull.number));
        head == Some(&pull.head_sha)
    }
}
