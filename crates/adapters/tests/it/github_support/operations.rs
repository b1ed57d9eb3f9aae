//! Which of GitHub's operations the adapter uses. Every test of the adapter holds it to this list, and
//! one test uses them all.

/// Operations of the REST API that are asked for, as GitHub's description names them.
pub(crate) const CALLED: [&str; 22] = [
    "issues/create-comment",
    "issues/list-comments",
    "issues/list-comments-for-repo",
    "issues/update-comment",
    "pulls/create",
    "pulls/create-reply-for-review-comment",
    "pulls/create-review",
    "pulls/get",
    "pulls/list",
    "pulls/list-comments-for-review",
    "pulls/list-review-comments",
    "pulls/list-review-comments-for-repo",
    "pulls/list-reviews",
    "pulls/merge",
    "pulls/update",
    "pulls/update-review-comment",
    "reactions/create-for-issue-comment",
    "reactions/create-for-pull-request-review-comment",
    "repos/create-commit-status",
    "repos/get",
    "repos/get-collaborator-permission-level",
    "repos/get-combined-status-for-ref",
];
