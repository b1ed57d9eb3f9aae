use drive_core::Problem;
use drive_core::forge::checks::Annotation;
use drive_core::forge::readiness::{Intent, Readiness};
use drive_core::forge::{
    Checks, Comment, CommentRef, Opinions, Permission, PullRequest, RequestBudget,
};
use drive_core::ids::{BranchName, CommitSha, PrNumber};
use drive_core::time::Timestamp;
use drive_core::verify::Overall;

/// A pull request to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPullRequest {
    /// The title.
    pub title: String,
    /// The description.
    pub body: String,
    /// The branch with the work, already pushed.
    pub branch: BranchName,
    /// The base branch.
    pub base: BranchName,
    /// Whether it opens as a draft.
    pub draft: bool,
}

/// Text to post, with its hidden marker.
///
/// The marker is hidden in the posted text and unique to the post: a repeated request with the same
/// marker posts only once, even if its answer was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Post<'a> {
    /// The visible text.
    pub body: &'a str,
    /// The complete hidden comment, such as `<!-- drive:… -->`.
    pub marker: &'a str,
}

/// A remark on one line of the diff, or on several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineComment<'a> {
    /// The file, relative to the root.
    pub path: &'a str,
    /// Line in the new version of the file, counted from one; the last one if there are several.
    pub line: u64,
    /// The first line, if the remark covers several. A forge without multi-line comments puts the
    /// comment on it.
    pub start_line: Option<u64>,
    /// The comment.
    pub post: Post<'a>,
}

/// A review without the forge's own verdict: a body and remarks on lines.
///
/// The account that opened a pull request cannot request changes on it, so a verdict is text plus a
/// [`CommitStatus`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewReview<'a> {
    /// The reviewed commit.
    pub head: &'a CommitSha,
    /// The body; its marker identifies the whole review.
    pub post: Post<'a>,
    /// Remarks on lines. A remark on a line outside of the diff goes into the body.
    pub lines: &'a [LineComment<'a>],
}

/// A post of ours on the forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    /// The comment, with its surface and the forge's id.
    pub comment: CommentRef,
    /// A link for people.
    pub url: Option<String>,
}

/// A review of ours on the forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostedReview {
    /// The body of the review.
    pub review: Posted,
    /// Its remarks on lines, without those that went into the body.
    pub lines: Vec<CommentRef>,
}

/// The time from which changes are wanted, by the forge's clock; `None` reads from the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since(pub Option<Timestamp>);

/// The changes that a poll found. They may repeat changes of an earlier poll: the ledger removes
/// duplicates by key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Polled {
    /// Comments of the watched pull requests, all three surfaces, oldest change first.
    pub comments: Vec<Comment>,
    /// Watched pull requests that changed; `mergeable` is not filled in.
    pub pull_requests: Vec<PullRequest>,
    /// The start of the next poll. Store it only after the changes are stored.
    pub next: Since,
    /// The part that could not be read this time; the next poll reads it.
    pub missing: Option<String>,
}

/// A commit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusState {
    /// The result is pending.
    Pending,
    /// The commit passed.
    Success,
    /// The commit failed.
    Failure,
    /// The result could not be determined.
    Error,
}

impl StatusState {
    /// The state of a verification.
    pub fn of_verification(overall: Overall) -> Self {
        match overall {
            Overall::Pass => StatusState::Success,
            Overall::Fail | Overall::Timeout => StatusState::Failure,
            Overall::Error => StatusState::Error,
        }
    }
}

/// A commit status. The newest one of each context counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitStatus<'a> {
    /// The context of the status, such as `drive/review`.
    pub context: &'a str,
    /// The state.
    pub state: StatusState,
    /// A short description; a forge may truncate it.
    pub description: &'a str,
    /// An address with more details, for people.
    pub url: Option<&'a str>,
}

/// A report of drive about a commit: a check run if the forge permits it, else a status. Name,
/// commit and id identify it: posting it again updates it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckReport<'a> {
    /// The name of the check, such as `drive/verify`.
    pub name: &'a str,
    /// Identifies this report among others of the same name, such as the id of a run.
    pub id: &'a str,
    /// The state. A pending one is updated when the result is known.
    pub state: StatusState,
    /// The result in one line; a forge may truncate it.
    pub title: &'a str,
    /// The complete report in Markdown. A status cannot contain it.
    pub body: &'a str,
    /// Places in files. A status cannot contain them.
    pub annotations: &'a [Annotation],
    /// A link to more details, for people.
    pub url: Option<&'a str>,
}

impl<'a> CheckReport<'a> {
    /// The report as a commit status.
    pub fn as_status(&self) -> CommitStatus<'a> {
        CommitStatus {
            context: self.name,
            state: self.state,
            description: self.title,
            url: self.url,
        }
    }
}

/// The form of a report on the forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reported {
    /// As a check run with its annotations.
    CheckRun,
    /// As a commit status.
    Status,
}

/// A reaction to a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// 👀: drive saw the comment and begins work.
    Eyes,
    /// The 👍 reaction.
    ThumbsUp,
    /// The 😕 reaction.
    Confused,
}

/// The outcome of an attempt to merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeOutcome {
    /// Merged, by this or an earlier attempt.
    Merged {
        /// The merge commit, if the forge reports it.
        sha: Option<CommitSha>,
    },
    /// The head is not the expected one, so it is not the verified commit.
    HeadMoved,
    /// The base is not the expected one, so the commit was verified with another base.
    BaseMoved,
    /// It waits in the forge's merge queue, which later merges it into the base of that time.
    Queued,
    /// The caller withdrew the request before it was sent.
    Stopped,
    /// The forge does not allow it now.
    Refused {
        /// The reason given by the forge.
        reason: String,
    },
}

/// Decides right before a merge is sent whether it still may be.
pub type GoAhead<'a> = dyn FnMut() -> Result<bool, Problem> + 'a;

/// A forge with pull requests. One value serves one repository.
///
/// Every call may be repeated: an existing object is found and returned, never created twice.
pub trait Forge: Send + Sync {
    /// Opens a pull request, or returns the branch's open one.
    fn open(&self, new: &NewPullRequest) -> Result<PullRequest, Problem>;
    /// The newest pull request of a branch, in any state.
    fn find(&self, branch: &BranchName) -> Result<Option<PullRequest>, Problem>;
    /// One pull request, with `mergeable` if the forge knows it.
    fn fetch(&self, pr: PrNumber) -> Result<PullRequest, Problem>;
    /// Reads the changes of the watched pull requests. Reading a hundred takes as many requests as
    /// reading one.
    fn poll(&self, watched: &[PrNumber], since: Since) -> Result<Polled, Problem>;
    /// The standing approvals and requests for changes.
    fn opinions(&self, pr: PrNumber) -> Result<Opinions, Problem>;
    /// The checks of `head`, the newest commit of `pr`, with those that its base requires. Returns
    /// an error if a part could not be read, so that a missing check was really not reported.
    fn checks(&self, pr: PrNumber, head: &CommitSha) -> Result<Checks, Problem>;
    /// Reads the permission of a login. Unknown people have none; an error is not an answer.
    fn permission(&self, login: &str) -> Result<Permission, Problem>;
    /// Posts in the conversation.
    fn post(&self, pr: PrNumber, post: Post<'_>) -> Result<Posted, Problem>;
    /// Posts a review with remarks on lines.
    fn review(&self, pr: PrNumber, review: &NewReview<'_>) -> Result<PostedReview, Problem>;
    /// Replies to a comment: in its thread if it has one, else in the conversation.
    fn reply(&self, pr: PrNumber, to: CommentRef, post: Post<'_>) -> Result<Posted, Problem>;
    /// Resolves the thread of an inline comment. Does nothing on other surfaces, which have no threads.
    fn resolve(&self, pr: PrNumber, comment: CommentRef) -> Result<(), Problem>;
    /// Replaces the text of our own comment, including its marker.
    fn edit(&self, pr: PrNumber, comment: CommentRef, post: Post<'_>) -> Result<(), Problem>;
    /// Sets a status of a commit.
    fn set_status(&self, sha: &CommitSha, status: &CommitStatus<'_>) -> Result<(), Problem>;
    /// Reports a result of drive on a commit.
    fn report_check(&self, sha: &CommitSha, report: &CheckReport<'_>) -> Result<Reported, Problem>;
    /// Reacts to a comment.
    fn react(&self, pr: PrNumber, comment: CommentRef, reaction: Reaction) -> Result<(), Problem>;
    /// Merges exactly the expected head, into the expected base if one is given, or does not merge.
    /// A forge that cannot check the base ignores it; its caller reads the base right before.
    ///
    /// `go_ahead` is called right before each attempt, after every wait and every read.
    fn merge_if(
        &self,
        pr: PrNumber,
        expected_head: &CommitSha,
        expected_base: Option<&CommitSha>,
        go_ahead: &mut GoAhead<'_>,
    ) -> Result<MergeOutcome, Problem>;
    /// Merges as [`merge_if`](Self::merge_if) does, without a last check.
    fn merge(
        &self,
        pr: PrNumber,
        expected_head: &CommitSha,
        expected_base: Option<&CommitSha>,
    ) -> Result<MergeOutcome, Problem> {
        self.merge_if(pr, expected_head, expected_base, &mut || Ok(true))
    }
    /// Whether this head waits in the forge's merge queue. A forge without one says no.
    fn is_queued(&self, pr: PrNumber, head: &CommitSha) -> Result<bool, Problem> {
        let _ = (pr, head);
        Ok(false)
    }
    /// Ends the draft state. A pull request that is ready stays ready.
    fn mark_ready(&self, pr: PrNumber) -> Result<(), Problem>;
    /// Replaces the description.
    fn update_body(&self, pr: PrNumber, body: &str) -> Result<(), Problem>;
    /// Closes without a merge. A closed pull request stays closed.
    fn close(&self, pr: PrNumber) -> Result<(), Problem>;
    /// Whether a run could publish here, determined with real requests. A forge without accounts is
    /// always ready.
    fn preflight(&self, _intent: Option<&Intent>) -> Result<Readiness, Problem> {
        Ok(Readiness::default())
    }
    /// When a write would be sent that is requested now, if the rate limit delays it.
    fn writes_wait_until(&self) -> Option<Timestamp> {
        None
    }
    /// The remaining requests; `None` if the forge does not limit them.
    fn budget(&self) -> Result<Option<RequestBudget>, Problem>;
}
