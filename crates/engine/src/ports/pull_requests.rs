use drive_core::Problem;
use drive_core::forge::{Comment, PullRequest};
use drive_core::ids::PrNumber;

/// Read-only access to pull requests.
pub trait PullRequests: Send + Sync {
    /// All of them, oldest first.
    fn list(&self) -> Result<Vec<PullRequest>, Problem>;
    /// One with everything that was said on it, oldest first; `None` where there is none.
    fn show(&self, number: PrNumber) -> Result<Option<(PullRequest, Vec<Comment>)>, Problem>;
}
