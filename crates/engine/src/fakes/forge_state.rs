//! The state of the fake forge: pull requests, comments, and actions on them.

use super::clock::FakeClock;
use crate::ports::{Clock, StatusState};
use drive_core::forge::{
    Author, Check, Checks, Comment, CommentKey, CommentRef, Permission, PullRequest, Surface,
};
use drive_core::ids::{CommentId, CommitSha, PrNumber};
use drive_core::problem::{Kind, Problem};
use drive_core::time::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Default)]
pub(super) struct ForgeState {
    pub(super) last_id: u64,
    pub(super) last_change: Option<Timestamp>,
    pub(super) pull_requests: Vec<PullRequest>,
    pub(super) comments: Vec<Comment>,
    /// The comment that contains each marker.
    pub(super) markers: BTreeMap<String, CommentRef>,
    /// The comments that our posts reply to, in the order of the posts.
    pub(super) replies: Vec<(CommentRef, CommentRef)>,
    pub(super) resolved: Vec<CommentRef>,
    pub(super) reactions: Vec<CommentRef>,
    pub(super) statuses: Vec<(String, StatusState)>,
    /// Drive's reports on commits: the commit, the name, and the state.
    pub(super) reports: Vec<(String, String, StatusState)>,
    /// The checks of commits, by their ids.
    pub(super) checks: BTreeMap<String, Vec<Check>>,
    /// The names of the checks that every base requires.
    pub(super) required_checks: Vec<String>,
    /// Whether the checks cannot be read.
    pub(super) checks_down: bool,
    pub(super) permissions: BTreeMap<String, Permission>,
}

impl ForgeState {
    /// The time of a change, which is later than every earlier one.
    pub(super) fn tick(&mut self, clock: &FakeClock) -> Timestamp {
        let step = Duration::from_micros(1);
        let next = self
            .last_change
            .and_then(|last| last.checked_add(step).ok());
        let now = clock.now();
        let at = next.map_or(now, |next| next.max(now));
        self.last_change = Some(at);
        at
    }

    pub(super) fn new_comment(
        &mut self,
        pr: PrNumber,
        surface: Surface,
        author: Author,
        body: &str,
        at: Timestamp,
    ) -> Comment {
        self.last_id += 1;
        Comment {
            key: CommentKey {
                surface,
                id: CommentId::new(self.last_id),
                updated_at: at,
            },
            pr,
            author,
            body: body.to_owned(),
            path: None,
            line: None,
            origin: None,
            commit: None,
            in_reply_to: None,
            review: None,
            created_at: at,
            url: None,
            aside: None,
        }
    }

    pub(super) fn insert(&mut self, comment: Comment) -> CommentRef {
        let reference = comment.key.comment();
        self.comments.push(comment);
        reference
    }

    pub(super) fn find(&self, comment: CommentRef) -> Option<&Comment> {
        let mut all = self.comments.iter();
        all.find(|one| one.key.comment() == comment)
    }

    pub(super) fn require_comment(&self, comment: CommentRef) -> Result<&Comment, Problem> {
        self.find(comment).ok_or_else(|| {
            Problem::new(
                Kind::CommentNotFound,
                format!("there is no comment {}", comment.id),
            )
        })
    }

    pub(super) fn checks_of(&self, head: &CommitSha) -> Result<Checks, Problem> {
        if self.checks_down {
            let message = "the checks cannot be read";
            return Err(Problem::new(Kind::ForgeUnreachable, message));
        }
        let checks = self.checks.get(head.as_str()).cloned().unwrap_or_default();
        let required = self.required_checks.clone();
        Ok(Checks::new(head.clone(), checks, required))
    }

    pub(super) fn require(&self, pr: PrNumber) -> Result<&PullRequest, Problem> {
        let found = self.pull_requests.iter().find(|one| one.number == pr);
        found.ok_or_else(|| no_pull_request(pr))
    }

    pub(super) fn require_mut(&mut self, pr: PrNumber) -> Result<&mut PullRequest, Problem> {
        let found = self.pull_requests.iter_mut().find(|one| one.number == pr);
        found.ok_or_else(|| no_pull_request(pr))
    }
}

pub(super) fn person(login: &str) -> Author {
    Author {
        login: Some(login.to_owned()),
        is_bot: false,
    }
}

fn no_pull_request(pr: PrNumber) -> Problem {
    Problem::new(
        Kind::PullRequestNotFound,
        format!("there is no pull request {pr}"),
    )
}
