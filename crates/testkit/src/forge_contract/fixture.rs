use drive_core::forge::{Comment, CommentRef, Permission, PullRequest, ReviewState};
use drive_core::ids::{BranchName, PrNumber};
use drive_engine::ports::{Forge, NewPullRequest, Polled, Post, Reaction, Since, StatusState};

/// The branch every pull request of the suite goes to. It has one commit, with a file `README.md`.
pub const BASE: &str = "main";

/// A forge with an empty repository, and hands for the people who use it.
///
/// The forge's own account may write. Whatever a person does here is on the forge when the call
/// returns.
pub trait ForgeFixture {
    /// The adapter under test.
    fn forge(&self) -> &dyn Forge;
    /// Commits `content` as `path` on top of `branch` (made from the base when new) and pushes it.
    /// Returns the new head.
    fn push(&self, branch: &str, path: &str, content: &str) -> String;
    /// A person with a permission.
    fn add_person(&self, login: &str, permission: Permission);
    /// A person comments in the conversation.
    fn comment(&self, by: &str, pr: PrNumber, body: &str) -> CommentRef;
    /// A person comments on a line of the newest head.
    fn comment_on_line(
        &self,
        by: &str,
        pr: PrNumber,
        path: &str,
        line: u64,
        body: &str,
    ) -> CommentRef;
    /// A person reviews.
    fn review(&self, by: &str, pr: PrNumber, state: ReviewState, body: &str) -> CommentRef;
    /// The author changes a comment.
    fn edit(&self, pr: PrNumber, comment: CommentRef, body: &str);
    /// The author deletes a comment.
    fn delete(&self, pr: PrNumber, comment: CommentRef);
    /// The forge's time moves on, far enough to be past any overlap between polls.
    fn pass_time(&self);
    /// The next write is applied, and its answer lost. A forge that cannot lose one does nothing.
    fn lose_next_answer(&self);
    /// What stands on a commit: context and state, the newest of each context, sorted by context.
    fn statuses(&self, sha: &str) -> Vec<(String, StatusState)>;
    /// What stands on a comment.
    fn reactions(&self, pr: PrNumber, comment: CommentRef) -> Vec<Reaction>;
    /// Whether the thread of an inline comment is resolved.
    fn is_resolved(&self, pr: PrNumber, comment: CommentRef) -> bool;
}

/// Opens a pull request of `branch` that adds `src/lib.rs` with five lines.
pub(super) fn open(fixture: &dyn ForgeFixture, branch: &str) -> PullRequest {
    fixture.push(branch, "src/lib.rs", "one\ntwo\nthree\nfour\nfive\n");
    fixture.forge().open(&new_pull_request(branch)).unwrap()
}

/// A pull request of `branch`, ready for review.
pub(super) fn new_pull_request(branch: &str) -> NewPullRequest {
    NewPullRequest {
        title: format!("Work on {branch}"),
        body: "What it does.".to_owned(),
        branch: BranchName::parse(branch).unwrap(),
        base: BranchName::parse(BASE).unwrap(),
        draft: false,
    }
}

/// Everything that ever happened on one pull request.
pub(super) fn all_comments(fixture: &dyn ForgeFixture, pr: PrNumber) -> Vec<Comment> {
    poll(fixture, &[pr], Since(None)).comments
}

/// One poll.
pub(super) fn poll(fixture: &dyn ForgeFixture, watched: &[PrNumber], since: Since) -> Polled {
    fixture.forge().poll(watched, since).unwrap()
}

/// The comments whose text contains `needle`.
pub(super) fn containing(comments: &[Comment], needle: &str) -> Vec<CommentRef> {
    comments
        .iter()
        .filter(|comment| comment.body.contains(needle))
        .map(|comment| comment.key.comment())
        .collect()
}

/// A post.
pub(super) fn post<'a>(body: &'a str, marker: &'a str) -> Post<'a> {
    Post { body, marker }
}
