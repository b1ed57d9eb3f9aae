use drive_core::Problem;
use drive_core::forge::{Comment, Permission, PullRequest};
use drive_core::time::Timestamp;

/// A pull request to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPullRequest {
    /// Title.
    pub title: String,
    /// Description.
    pub body: String,
    /// The branch with the work, already pushed.
    pub branch: String,
    /// The branch it goes to.
    pub base: String,
    /// Whether it opens as a draft.
    pub draft: bool,
}

/// Something of ours that now stands on the forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    /// The forge's id.
    pub id: u64,
    /// A link for people.
    pub url: Option<String>,
}

/// From when comments are wanted. The forge overlaps; the ledger dedupes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since(pub Option<Timestamp>);

/// A commit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusState {
    /// Still being worked out.
    Pending,
    /// Good.
    Success,
    /// Not good.
    Failure,
    /// Could not be told.
    Error,
}

/// A place where pull requests live.
pub trait Forge: Send + Sync {
    /// Opens a pull request, or returns the open one of that branch.
    fn open(&self, new: &NewPullRequest) -> Result<PullRequest, Problem>;
    /// The newest pull request of a branch.
    fn find(&self, branch: &str) -> Result<Option<PullRequest>, Problem>;
    /// One pull request.
    fn fetch(&self, pr: u64) -> Result<PullRequest, Problem>;
    /// Comments of all three surfaces, of every pull request named, changed since then.
    fn comments(&self, prs: &[u64], since: Since) -> Result<Vec<Comment>, Problem>;
    /// What a login may do here. Fails closed.
    fn permission(&self, login: &str) -> Result<Permission, Problem>;
    /// Posts in the conversation. `marker` is the hidden proof that this very post happened.
    fn post(&self, pr: u64, body: &str, marker: &str) -> Result<Posted, Problem>;
}
