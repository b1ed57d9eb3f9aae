use drive_core::Problem;
use drive_core::forge::{Comment, PullRequest};
use drive_core::ids::PrNumber;

/// Read-only access to pull requests.
pub trait PullRequests: Send + Sync {
    /// All pull requests, oldest first.
    fn list(&self) -> Result<Vec<PullRequest>, Problem>;
    /// A pull request with all its comments, oldest first; `None` if it does not exist.
    fn show(&self, number: PrNumber) -> Result<Option<(PullRequest, Vec<Comment>)>, Problem>;
}
