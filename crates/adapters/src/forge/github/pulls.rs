//! Pull requests: open, find, update, merge, close.

use super::client::{Act, Client, Written};
use super::endpoint::encode;
use super::read::{self, PullDetails};
use super::refusal::{message, refused, unreadable};
use super::transport::Reply;
use drive_core::forge::{PrState, PullRequest, text};
use drive_core::ids::{BranchName, PrNumber};
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::NewPullRequest;
use serde_json::{Value, json};
use ureq::http::Method;

/// How often a pull request is read until GitHub has computed whether it can be merged.
const MERGEABLE_ASKS: u32 = 3;

/// Whether GitHub refused a draft because the plan does not support drafts.
fn has_no_drafts(reply: &Reply) -> bool {
    reply.status == 422 && message(reply).contains("Draft pull requests are not supported")
}

impl Client {
    /// Opens a pull request. If the plan does not support drafts, it is opened as ready for review.
    pub(super) fn open(&self, new: &NewPullRequest) -> Result<PullRequest, Problem> {
        let body = |draft| {
            json!({
                "title": new.title, "body": text::fit(&new.body, text::BODY_CHARS),
                "head": new.branch, "base": new.base, "draft": draft,
            })
        };
        let url = self.endpoint.rest("pulls");
        let write = || match self.write(Method::POST, &url, &body(new.draft))? {
            Written::Answered(reply) if new.draft && has_no_drafts(&reply) => {
                self.write(Method::POST, &url, &body(false))
            }
            written @ (Written::Answered(_) | Written::Unknown(_)) => Ok(written),
        };
        let opened = self.once(
            || self.find_open(&new.branch),
            || match write()? {
                Written::Answered(reply) if reply.status == 201 => {
                    Ok(readable(read::pull(&reply.body), &self.repo()))
                }
                // Another process was faster; the next look finds its pull request.
                Written::Answered(reply)
                    if reply.status == 422 && message(&reply).contains("already exists") =>
                {
                    Ok(Act::Unknown(refused(&reply, &self.repo())))
                }
                Written::Answered(reply) => Err(refused(&reply, &self.repo())),
                Written::Unknown(problem) => Ok(Act::Unknown(problem)),
            },
        )?;
        Ok(opened.pull_request)
    }

    fn find_open(&self, branch: &BranchName) -> Result<Option<PullDetails>, Problem> {
        let found = self.find(branch)?;
        let open = found.filter(|pr| pr.state == PrState::Open);
        Ok(open.map(|pull_request| PullDetails {
            pull_request,
            node_id: None,
            merge_commit_sha: None,
        }))
    }

    pub(super) fn find(&self, branch: &BranchName) -> Result<Option<PullRequest>, Problem> {
        let head = encode(&format!("{}:{branch}", self.endpoint.owner()));
        let url = self.endpoint.rest(&format!(
            "pulls?head={head}&state=all&sort=created&direction=desc&per_page=10"
        ));
        let page = self.get(&url, read::pulls)?;
        // A server that does not understand the filter returns everything.
        Ok(page.value.into_iter().find(|pr| pr.branch == *branch))
    }

    pub(super) fn details(&self, pr: PrNumber) -> Result<PullDetails, Problem> {
        let url = self.endpoint.rest(&format!("pulls/{pr}"));
        let page = self.get_optional(&url, read::pull)?;
        page.map(|page| page.value).ok_or_else(|| self.no_pull(pr))
    }

    /// The problem of an unknown pull request.
    pub(super) fn no_pull(&self, pr: PrNumber) -> Problem {
        Problem::new(
            Kind::ForgeNotFound,
            format!("pull request `#{pr}` does not exist in `{}`", self.repo()),
        )
        .hint("check the number, and that the token can see the repository")
    }

    /// Reads a pull request. GitHub only computes whether it can be merged when somebody reads it.
    pub(super) fn fetch(&self, pr: PrNumber) -> Result<PullRequest, Problem> {
        let mut asks = 1;
        loop {
            let found = self.details(pr)?.pull_request;
            let open = found.state == PrState::Open;
            let is_known = !open || found.mergeable.is_some();
            if is_known || asks >= MERGEABLE_ASKS || self.settle(asks).is_err() {
                return Ok(found);
            }
            asks += 1;
        }
    }

    pub(super) fn update_body(&self, pr: PrNumber, body: &str) -> Result<(), Problem> {
        let body = json!({ "body": text::fit(body, text::BODY_CHARS) });
        self.change(pr, &body)
    }

    pub(super) fn close(&self, pr: PrNumber) -> Result<(), Problem> {
        if self.details(pr)?.pull_request.state != PrState::Open {
            return Ok(());
        }
        self.change(pr, &json!({"state": "closed"}))
    }

    /// Changes fields of a pull request. Repeating this has no further effect, so it may be retried.
    fn change(&self, pr: PrNumber, body: &Value) -> Result<(), Problem> {
        let url = self.endpoint.rest(&format!("pulls/{pr}"));
        self.set(Method::PATCH, &url, body)
    }

    /// A write that has the same effect however often it is done.
    pub(super) fn set(&self, method: Method, url: &str, body: &Value) -> Result<(), Problem> {
        self.once(
            || Ok(None),
            || match self.write(method.clone(), url, body)? {
                Written::Answered(reply) if reply.status < 300 => Ok(Act::Done(())),
                Written::Answered(reply) => Err(refused(&reply, &self.repo())),
                Written::Unknown(problem) => Ok(Act::Unknown(problem)),
            },
        )
    }

    pub(super) fn mark_ready(&self, pr: PrNumber) -> Result<(), Problem> {
        let mutation = "mutation($input: MarkPullRequestReadyForReviewInput!) { \
            markPullRequestReadyForReview(input: $input) { pullRequest { id } } }";
        self.once(
            || Ok((!self.details(pr)?.pull_request.draft).then_some(())),
            || {
                let id = self.details(pr)?.node_id;
                match self.mutate(mutation, &json!({ "pullRequestId": id }))? {
                    Written::Answered(_) => Ok(Act::Done(())),
                    Written::Unknown(problem) => Ok(Act::Unknown(problem)),
                }
            },
        )
    }
}

/// The result of a parsed answer to a write. An unreadable answer leaves the outcome unknown.
pub(super) fn readable<T>(read: Result<T, serde_json::Error>, repo: &str) -> Act<T> {
    match read {
        Ok(value) => Act::Done(value),
        Err(error) => Act::Unknown(unreadable(repo, error)),
    }
}
