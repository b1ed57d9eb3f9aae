use drive_core::forge::{Comment, CommentRef, Permission, PullRequest, ReviewState};
use drive_core::ids::{BranchName, PrNumber};
use drive_engine::ports::{Forge, NewPullRequest, Polled, Post, Reaction, Since, StatusState};

/// The base branch of every pull request in the suite. It has one commit, with a file `README.md`.
pub const BASE: &str = "main";

/// A forge with an empty repository, and actions of its users.
///
/// The forge's own account may write. An action of a user is visible on the forge when the call returns.
pub trait ForgeFixture {
    /// The adapter under test.
    fn forge(&self) -> &dyn Forge;
    /// Commits `content` as `path` on top of `branch` (created from the base if it is new) and
    /// pushes it. Returns the new head.
    fn push(&self, branch: &str, path: &str, content: &str) -> String;
    /// Adds a person with a permission.
    fn add_person(&self, login: &str, permission: Permission);
    /// Posts a person's comment in the conversation.
    fn comment(&self, by: &str, pr: PrNumber, body: &str) -> CommentRef;
    /// Posts a person's comment on a line of the newest head.
    fn comment_on_line(
        &self,
        by: &str,
        pr: PrNumber,
        path: &str,
        line: u64,
        body: &str,
    ) -> CommentRef;
    /// Posts a person's review.
    fn review(&self, by: &str, pr: PrNumber, state: ReviewState, body: &str) -> CommentRef;
    /// Edits a comment as its author.
    fn edit(&self, pr: PrNumber, comment: CommentRef, body: &str);
    /// Deletes a comment as its author.
    fn delete(&self, pr: PrNumber, comment: CommentRef);
    /// Advances the forge's time, by more than the overlap between polls.
    fn pass_time(&self);
    /// Applies the next write, and loses its answer. A forge that cannot lose answers does nothing.
    fn lose_next_answer(&self);
    /// The statuses of a commit: context and state, the newest of each context, sorted by context.
    fn statuses(&self, sha: &str) -> Vec<(String, StatusState)>;
    /// The reactions to a comment.
    fn reactions(&self, pr: PrNumber, comment: CommentRef) -> Vec<Reaction>;
    /// Whether the thread of an inline comment is resolved.
    fn is_resolved(&self, pr: PrNumber, comment: CommentRef) -> bool;
}

/// Opens a pull request for `branch` that adds `src/lib.rs` with five lines.
pub(super) fn open(fixture: &dyn ForgeFixture, branch: &str) -> PullRequest {
    fixture.push(branch, "src/lib.rs", "one\ntwo\nthree\nfour\nfive\n");
    fixture.forge().open(&new_pull_request(branch)).unwrap()
}

/// A pull request for `branch` that is ready for review.
pub(super) fn new_pull_request(branch: &str) -> NewPullRequest {
    NewPullRequest {
        title: format!("Work on {branch}"),
        body: "What it does.".to_owned(),
        branch: BranchName::parse(branch).unwrap(),
        base: BranchName::parse(BASE).unwrap(),
        draft: false,
    }
}

/// All comments that were ever written on one pull request.
pub(super) fn all_comments(fixture: &dyn ForgeFixture, pr: PrNumber) -> Vec<Comment> {
    poll(fixture, &[pr], Since(None)).comments
}

/// Polls once.
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
