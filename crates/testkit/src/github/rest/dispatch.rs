//! Maps a request to the function of its operation.

use super::super::http::{Answer, Refusal};
use super::{Call, Outcome, checks, comments, pulls, repos, reviews};

/// Handles one request.
pub(crate) fn answer(mut call: Call<'_>) -> Answer {
    let outcome = dispatch(&mut call);
    outcome.unwrap_or_else(|refusal| refusal.answer())
}

fn dispatch(call: &mut Call<'_>) -> Outcome {
    match call.matched.operation.id.as_str() {
        "users/get-authenticated" => repos::viewer(call),
        "repos/get" => repos::get(call),
        "git/get-ref" => repos::get_ref(call),
        "git/delete-ref" => repos::delete_ref(call),
        "repos/get-collaborator-permission-level" => repos::permission(call),
        "repos/create-webhook" => repos::create_hook(call),
        "repos/create-commit-status" => repos::create_status(call),
        "repos/get-combined-status-for-ref" => repos::combined_status(call),
        "repos/get-branch" => checks::branch(call),
        "repos/get-branch-rules" => checks::branch_rules(call),
        "checks/list-for-ref" => checks::list_runs(call),
        "checks/create" => checks::create_run(call),
        "checks/update" => checks::update_run(call),
        "checks/list-annotations" => checks::annotations(call),
        "actions/get-job-for-workflow-run" => checks::job(call),
        "actions/download-job-logs-for-workflow-run" => checks::logs(call),
        "pulls/list" => pulls::list(call),
        "pulls/create" => pulls::create(call),
        "pulls/get" => pulls::get(call),
        "pulls/update" => pulls::update(call),
        "pulls/merge" => pulls::merge(call),
        "pulls/check-if-merged" => pulls::is_merged(call),
        "issues/list-comments-for-repo" => comments::list_for_repo(call),
        "issues/list-comments" => comments::list(call),
        "issues/create-comment" => comments::create(call),
        "issues/update-comment" => comments::update(call),
        "issues/delete-comment" => comments::delete(call),
        "pulls/list-review-comments-for-repo" => comments::list_lines_for_repo(call),
        "pulls/list-review-comments" => comments::list_lines(call),
        "pulls/create-review-comment" => comments::create_line(call),
        "pulls/update-review-comment" => comments::update_line(call),
        "pulls/create-reply-for-review-comment" => comments::reply(call),
        "reactions/create-for-issue-comment"
        | "reactions/create-for-pull-request-review-comment" => comments::react(call),
        "pulls/list-reviews" => reviews::list(call),
        "pulls/create-review" => reviews::create(call),
        "pulls/list-comments-for-review" => reviews::list_lines(call),
        "issues/list-labels-on-issue" | "issues/add-labels" => pulls::labels(call),
        _ => Err(Refusal::new(
            501,
            "the simulator does not know this operation",
        )),
    }
}
