//! Closing and reopening of pull requests.

use super::actions::Done;
use super::http::Refusal;
use super::state::{EventKind, World};
use serde_json::json;

impl World {
    pub(crate) fn close(&mut self, repo: &str, pr: u64, by: &str) -> Done<()> {
        let now = self.now();
        let pulls = &mut self.repo_mut(repo)?.pulls;
        let pull = pulls.get_mut(&pr).ok_or_else(Refusal::not_found)?;
        if pull.closed_at.is_none() {
            pull.closed_at = Some(now);
            pull.updated_at = now;
            self.tell(repo, EventKind::PullRequest, "closed", pr, pr, by);
        }
        Ok(())
    }

    /// Reopens a pull request. GitHub refuses that if its branch was deleted.
    pub(crate) fn reopen(&mut self, repo_name: &str, pr: u64, by: &str) -> Done<()> {
        let now = self.now();
        let repo = self.repo_mut(repo_name)?;
        let pull = repo.pulls.get_mut(&pr).ok_or_else(Refusal::not_found)?;
        if pull.merged.is_some() || !repo.branches.contains_key(&pull.branch) {
            let text = format!(
                "state cannot be changed. The {} branch was deleted.",
                pull.branch
            );
            return Err(Refusal::invalid(
                json!({"resource": "PullRequest", "field": "state", "code": "invalid", "message": text}),
            ));
        }
        if pull.closed_at.take().is_some() {
            pull.updated_at = now;
            self.tell(repo_name, EventKind::PullRequest, "reopened", pr, pr, by);
        }
        self.refresh_branches(repo_name);
        Ok(())
    }
}
