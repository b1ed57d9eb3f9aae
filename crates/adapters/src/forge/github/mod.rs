//! GitHub and GitHub Enterprise Server.
//!
//! One file per noun: `transport` sends one request, `client` respects the limits and never repeats
//! a write blindly, and the others define the requests.

mod app;
mod budget;
mod cache;
mod check_details;
mod checks;
mod client;
mod credential;
mod endpoint;
mod lists;
mod merging;
mod paging;
mod poll;
mod posts;
mod preflight;
mod pulls;
mod queries;
mod read;
mod read_checks;
mod refusal;
mod reports;
mod review_query;
mod reviews;
mod sources;
mod surroundings;
mod token;
mod transport;
mod waiting;

pub use app::App;
pub use budget::{Budgets, MemoryBudgets};
pub use cache::{CACHE_ENTRIES, CacheKey, CachedAnswer, HttpCache, MemoryCache};
pub use credential::{Credential, Minted, TokenSource};
pub use endpoint::Endpoint;
pub use merging::WaysToMerge;
pub use sources::{find_credential, key_file};
pub use surroundings::{Pause, Surroundings, ThreadPause};
pub use token::{FoundToken, Token, find_token};
pub use transport::{Bounds, Route};

use crate::git::GitLogin;
use client::Client;
use drive_core::Problem;
use drive_core::forge::readiness::{Intent, Readiness};
use drive_core::forge::{
    Checks, CommentRef, Opinions, Permission, PullRequest, RequestBudget, Surface,
};
use drive_core::ids::{BranchName, CommitSha, PrNumber};
use drive_core::time::Timestamp;
use drive_engine::ports::{
    CheckReport, CommitStatus, Forge, GoAhead, MergeOutcome, NewPullRequest, NewReview, Polled,
    Post, Posted, PostedReview, Reaction, Reported, Since,
};
use std::sync::Arc;
use transport::Transport;

/// One repository on GitHub.
pub struct GitHub {
    client: Client,
}

impl GitHub {
    /// The repository at `endpoint`, with the access of `credential`.
    pub fn new(
        endpoint: Endpoint,
        credential: impl Into<Credential>,
        bounds: Bounds,
        route: Route,
        around: Surroundings,
    ) -> Self {
        let transport = Transport::new(bounds, route);
        Self {
            client: Client::new(endpoint, transport, credential.into(), around),
        }
    }
}

impl GitHub {
    /// How a branch takes pull requests, as far as the token may read that.
    pub fn ways_to_merge(&self, base: &BranchName) -> Result<WaysToMerge, Problem> {
        self.client.ways_to_merge(base)
    }

    /// The token for git, if git can only get it from drive.
    pub fn git_login(&self) -> Option<GitLogin> {
        let Client {
            credential, around, ..
        } = &self.client;
        if !credential.is_for_git() {
            return None;
        }
        let (credential, around) = (credential.clone(), around.clone());
        Some(GitLogin {
            server: self.client.endpoint.web_url(),
            password: Arc::new(move || Some(credential.token(&around).ok()?.git_password())),
        })
    }
}

impl Forge for GitHub {
    fn open(&self, new: &NewPullRequest) -> Result<PullRequest, Problem> {
        self.client.open(new)
    }

    fn find(&self, branch: &BranchName) -> Result<Option<PullRequest>, Problem> {
        self.client.find(branch)
    }

    fn fetch(&self, pr: PrNumber) -> Result<PullRequest, Problem> {
        self.client.fetch(pr)
    }

    fn poll(&self, watched: &[PrNumber], since: Since) -> Result<Polled, Problem> {
        self.client.poll(watched, since)
    }

    fn opinions(&self, pr: PrNumber) -> Result<Opinions, Problem> {
        self.client.opinions(pr)
    }

    fn checks(&self, pr: PrNumber, head: &CommitSha) -> Result<Checks, Problem> {
        self.client.checks(pr, head)
    }

    fn permission(&self, login: &str) -> Result<Permission, Problem> {
        self.client.permission(login)
    }

    fn post(&self, pr: PrNumber, post: Post<'_>) -> Result<Posted, Problem> {
        self.client.post(pr, post)
    }

    fn review(&self, pr: PrNumber, review: &NewReview<'_>) -> Result<PostedReview, Problem> {
        self.client.review(pr, review)
    }

    fn reply(&self, pr: PrNumber, to: CommentRef, post: Post<'_>) -> Result<Posted, Problem> {
        self.client.reply(pr, to, post)
    }

    fn resolve(&self, pr: PrNumber, comment: CommentRef) -> Result<(), Problem> {
        match comment.surface {
            Surface::Inline => self.client.resolve(pr, comment),
            Surface::Conversation | Surface::Review => Ok(()),
        }
    }

    fn edit(&self, pr: PrNumber, comment: CommentRef, post: Post<'_>) -> Result<(), Problem> {
        self.client.edit(pr, comment, post)
    }

    fn set_status(&self, sha: &CommitSha, status: &CommitStatus<'_>) -> Result<(), Problem> {
        self.client.set_status(sha, status)
    }

    fn report_check(&self, sha: &CommitSha, report: &CheckReport<'_>) -> Result<Reported, Problem> {
        self.client.report_check(sha, report)
    }

    fn react(&self, pr: PrNumber, comment: CommentRef, reaction: Reaction) -> Result<(), Problem> {
        self.client.react(pr, comment, reaction)
    }

    /// GitHub checks the expected head, but no expected base.
    fn merge_if(
        &self,
        pr: PrNumber,
        expected_head: &CommitSha,
        _: Option<&CommitSha>,
        go_ahead: &mut GoAhead<'_>,
    ) -> Result<MergeOutcome, Problem> {
        self.client.merge(pr, expected_head, go_ahead)
    }

    fn is_queued(&self, pr: PrNumber, head: &CommitSha) -> Result<bool, Problem> {
        self.client.is_queued(pr, head)
    }

    fn mark_ready(&self, pr: PrNumber) -> Result<(), Problem> {
        self.client.mark_ready(pr)
    }

    fn update_body(&self, pr: PrNumber, body: &str) -> Result<(), Problem> {
        self.client.update_body(pr, body)
    }

    fn close(&self, pr: PrNumber) -> Result<(), Problem> {
        self.client.close(pr)
    }

    fn writes_wait_until(&self) -> Option<Timestamp> {
        self.client.writes_wait_until()
    }

    fn preflight(&self, intent: Option<&Intent>) -> Result<Readiness, Problem> {
        self.client.preflight(intent)
    }

    fn budget(&self) -> Result<Option<RequestBudget>, Problem> {
        self.client.budget()
    }
}
