//! A forge behind the remote `origin` of a fake repository.

use super::clock::FakeClock;
use super::forge_state::{ForgeState, person};
use super::lock::lock;
use super::machine::DriveProcess;
use super::repository::FakeRepository;
use crate::ports::{
    CheckReport, CommitStatus, Forge, GoAhead, MergeOutcome, NewPullRequest, NewReview, Polled,
    Post, Posted, PostedReview, PullRequests, Reaction, Reported, Since, StatusState,
};
use drive_core::forge::text::compose;
use drive_core::forge::{
    Check, Checks, Comment, CommentRef, Opinions, Permission, PrState, PullRequest, RequestBudget,
    ReviewState, Surface, approval,
};
use drive_core::ids::{BranchName, CommitSha, PrNumber};
use drive_core::problem::{Kind, Problem};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// The remote whose branches the pull requests show.
const REMOTE: &str = "origin";
/// The account that drive posts under, which is a person's own.
const ACCOUNT: &str = "me";

type BeforeMerge = Box<dyn FnOnce() + Send>;

/// A fake forge with pull requests and comments. [`FakeForge::of`] gives a handle that works while
/// its process is alive; people can always act on it.
#[derive(Clone)]
pub struct FakeForge {
    state: Arc<Mutex<ForgeState>>,
    before_merge: Arc<Mutex<Option<BeforeMerge>>>,
    repository: FakeRepository,
    clock: FakeClock,
    process: DriveProcess,
}

impl FakeForge {
    /// A forge without pull requests, on which `me` and `ann` may write.
    pub fn new(repository: FakeRepository, clock: FakeClock, process: DriveProcess) -> Self {
        let write = |login: &str| (login.to_owned(), Permission::Write);
        let state = ForgeState {
            permissions: BTreeMap::from([write(ACCOUNT), write("ann")]),
            ..ForgeState::default()
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            before_merge: Arc::default(),
            repository,
            clock,
            process,
        }
    }

    /// The same forge, as used by another process.
    pub fn of(&self, process: DriveProcess) -> Self {
        Self {
            process,
            ..self.clone()
        }
    }

    /// Runs this once, right before the next merge, after its base was read.
    pub fn before_merge(&self, act: impl FnOnce() + Send + 'static) {
        *lock(&self.before_merge) = Some(Box::new(act));
    }

    fn alive(&self) -> Result<MutexGuard<'_, ForgeState>, Problem> {
        let state = lock(&self.state);
        self.process.check()?;
        Ok(state)
    }

    /// All pull requests that were ever opened.
    pub fn pull_requests(&self) -> Vec<PullRequest> {
        let state = lock(&self.state);
        let all = state.pull_requests.iter();
        all.map(|pr| self.with_head(pr.clone())).collect()
    }

    /// All comments on the pull requests, oldest first.
    pub fn comments(&self) -> Vec<Comment> {
        lock(&self.state).comments.clone()
    }

    /// Our replies to a comment.
    pub fn replies_to(&self, comment: CommentRef) -> Vec<Comment> {
        let state = lock(&self.state);
        let posts = state.replies.iter().filter(|(to, _)| *to == comment);
        let found = posts.filter_map(|(_, post)| state.find(*post));
        found.cloned().collect()
    }

    /// Whether the thread of a comment is resolved.
    pub fn is_resolved(&self, comment: CommentRef) -> bool {
        lock(&self.state).resolved.contains(&comment)
    }

    /// How often drive reacted to a comment.
    pub fn reactions_to(&self, comment: CommentRef) -> usize {
        let state = lock(&self.state);
        state
            .reactions
            .iter()
            .filter(|one| **one == comment)
            .count()
    }

    /// The newest status of a commit.
    pub fn status_of(&self, sha: &str) -> Option<StatusState> {
        let state = lock(&self.state);
        let mut statuses = state.statuses.iter().rev();
        statuses.find(|(of, _)| of == sha).map(|(_, state)| *state)
    }

    /// Adds a person's comment to the conversation.
    pub fn person_comments(&self, login: &str, pr: PrNumber, body: &str) -> CommentRef {
        let mut state = lock(&self.state);
        let at = state.tick(&self.clock);
        let comment = state.new_comment(pr, Surface::Conversation, person(login), body, at);
        state.insert(comment)
    }

    /// Lets a person approve the current head of a pull request.
    pub fn person_approves(&self, login: &str, pr: PrNumber) {
        let head = self
            .pull_requests()
            .into_iter()
            .find(|one| one.number == pr);
        let mut state = lock(&self.state);
        let at = state.tick(&self.clock);
        let mut review = state.new_comment(pr, Surface::Review, person(login), "", at);
        review.review = Some(ReviewState::Approved);
        review.commit = head.map(|pr| pr.head_sha);
        state.insert(review);
    }

    /// Lets a person close a pull request.
    pub fn person_closes(&self, pr: PrNumber) {
        let mut state = lock(&self.state);
        let at = state.tick(&self.clock);
        if let Ok(pr) = state.require_mut(pr) {
            pr.state = PrState::Closed;
            pr.updated_at = at;
        }
    }

    /// Sets a person's permission.
    pub fn set_permission(&self, login: &str, permission: Permission) {
        let mut state = lock(&self.state);
        state.permissions.insert(login.to_owned(), permission);
    }

    /// The state of drive's newest report with this name on a commit.
    pub fn report_of(&self, sha: &str, name: &str) -> Option<StatusState> {
        let state = lock(&self.state);
        let mut reports = state.reports.iter().rev();
        let found = reports.find(|(of, under, _)| of == sha && under == name);
        found.map(|(_, _, state)| *state)
    }

    /// Sets the checks of a commit.
    pub fn set_checks(&self, head: &CommitSha, checks: Vec<Check>) {
        let mut state = lock(&self.state);
        state.checks.insert(head.to_string(), checks);
    }

    /// Sets the names of the checks that every base requires.
    pub fn require_checks(&self, names: &[&str]) {
        lock(&self.state).required_checks = names.iter().map(|&name| name.to_owned()).collect();
    }

    /// Makes reading checks fail, or work again.
    pub fn fail_checks(&self, down: bool) {
        lock(&self.state).checks_down = down;
    }

    fn with_head(&self, mut pr: PullRequest) -> PullRequest {
        if let Some(head) = self.repository.remote_branch(REMOTE, &pr.branch) {
            pr.head_sha = CommitSha::new(head);
        }
        pr
    }

    /// Posts, unless a post with this marker exists.
    fn post_once(
        &self,
        state: &mut ForgeState,
        (pr, surface): (PrNumber, Surface),
        post: Post<'_>,
        shape: impl FnOnce(&mut Comment),
    ) -> CommentRef {
        if let Some(standing) = state.markers.get(post.marker) {
            return *standing;
        }
        let at = state.tick(&self.clock);
        let body = compose(post.body, post.marker);
        let mut comment = state.new_comment(pr, surface, person(ACCOUNT), &body, at);
        shape(&mut comment);
        let posted = state.insert(comment);
        if !post.marker.is_empty() {
            state.markers.insert(post.marker.to_owned(), posted);
        }
        posted
    }
}

impl Forge for FakeForge {
    fn open(&self, new: &NewPullRequest) -> Result<PullRequest, Problem> {
        let mut state = self.alive()?;
        let mut open = state.pull_requests.iter();
        let is_open = |pr: &&PullRequest| pr.branch == new.branch && pr.state == PrState::Open;
        if let Some(open) = open.find(is_open) {
            return Ok(self.with_head(open.clone()));
        }
        let head = self.repository.remote_branch(REMOTE, &new.branch);
        let head_sha = head.ok_or_else(|| {
            Problem::new(
                Kind::BranchNotFound,
                format!("there is no branch `{}`", new.branch),
            )
        })?;
        let at = state.tick(&self.clock);
        let number = state.pull_requests.len() as u64 + 1;
        let opened = PullRequest {
            number: PrNumber::new(number),
            title: new.title.clone(),
            body: new.body.clone(),
            state: PrState::Open,
            draft: new.draft,
            branch: new.branch.clone(),
            base: new.base.clone(),
            head_sha: CommitSha::new(head_sha),
            mergeable: None,
            merged_sha: None,
            updated_at: at,
            url: format!("fake:{number}"),
        };
        state.pull_requests.push(opened.clone());
        Ok(opened)
    }

    fn find(&self, branch: &BranchName) -> Result<Option<PullRequest>, Problem> {
        let state = self.alive()?;
        let mut newest = state.pull_requests.iter().rev();
        let found = newest.find(|pr| pr.branch == *branch);
        Ok(found.map(|pr| self.with_head(pr.clone())))
    }

    fn fetch(&self, pr: PrNumber) -> Result<PullRequest, Problem> {
        let state = self.alive()?;
        let found = state.require(pr)?.clone();
        Ok(PullRequest {
            mergeable: Some(found.state == PrState::Open),
            ..self.with_head(found)
        })
    }

    fn poll(&self, watched: &[PrNumber], since: Since) -> Result<Polled, Problem> {
        let state = self.alive()?;
        let is_new = |comment: &&Comment| {
            let is_watched = watched.contains(&comment.pr);
            is_watched && since.0.is_none_or(|since| comment.key.updated_at > since)
        };
        // A branch can move without the forge's knowledge, so a pull request always counts as changed.
        let pull_requests = state.pull_requests.iter();
        let pull_requests = pull_requests.filter(|pr| watched.contains(&pr.number));
        Ok(Polled {
            comments: state.comments.iter().filter(is_new).cloned().collect(),
            pull_requests: pull_requests.map(|pr| self.with_head(pr.clone())).collect(),
            next: Since(state.last_change.max(since.0)),
            missing: None,
        })
    }

    fn opinions(&self, pr: PrNumber) -> Result<Opinions, Problem> {
        let state = self.alive()?;
        state.require(pr)?;
        let reviews = state.comments.iter().filter(|one| one.pr == pr);
        let reviews: Vec<Comment> = reviews.cloned().collect();
        Ok(approval::standing(&reviews))
    }

    fn checks(&self, pr: PrNumber, head: &CommitSha) -> Result<Checks, Problem> {
        let state = self.alive()?;
        state.require(pr)?;
        state.checks_of(head)
    }

    fn permission(&self, login: &str) -> Result<Permission, Problem> {
        let state = self.alive()?;
        let known = state.permissions.get(login).copied();
        Ok(known.unwrap_or(Permission::None))
    }

    fn post(&self, pr: PrNumber, post: Post<'_>) -> Result<Posted, Problem> {
        let mut state = self.alive()?;
        state.require(pr)?;
        let comment = self.post_once(&mut state, (pr, Surface::Conversation), post, |_| {});
        Ok(Posted { comment, url: None })
    }

    fn review(&self, pr: PrNumber, review: &NewReview<'_>) -> Result<PostedReview, Problem> {
        let mut state = self.alive()?;
        state.require(pr)?;
        let head = review.head.to_owned();
        let comment = self.post_once(&mut state, (pr, Surface::Review), review.post, |own| {
            own.review = Some(ReviewState::Commented);
            own.commit = Some(head.clone());
        });
        let mut lines = Vec::new();
        for line in review.lines {
            let posted = self.post_once(&mut state, (pr, Surface::Inline), line.post, |own| {
                own.path = Some(line.path.to_owned());
                own.line = Some(line.line);
                own.commit = Some(head.clone());
            });
            lines.push(posted);
        }
        Ok(PostedReview {
            review: Posted { comment, url: None },
            lines,
        })
    }

    fn reply(&self, pr: PrNumber, to: CommentRef, post: Post<'_>) -> Result<Posted, Problem> {
        let mut state = self.alive()?;
        let thread = state.require_comment(to)?.in_reply_to.unwrap_or(to.id);
        let surface = match to.surface {
            Surface::Inline => Surface::Inline,
            Surface::Conversation | Surface::Review => Surface::Conversation,
        };
        let before = state.comments.len();
        let comment = self.post_once(&mut state, (pr, surface), post, |own| {
            own.in_reply_to = (surface == Surface::Inline).then_some(thread);
        });
        if state.comments.len() > before {
            state.replies.push((to, comment));
        }
        Ok(Posted { comment, url: None })
    }

    fn resolve(&self, _: PrNumber, comment: CommentRef) -> Result<(), Problem> {
        let mut state = self.alive()?;
        state.require_comment(comment)?;
        if comment.surface == Surface::Inline && !state.resolved.contains(&comment) {
            state.resolved.push(comment);
        }
        Ok(())
    }

    fn edit(&self, _: PrNumber, comment: CommentRef, post: Post<'_>) -> Result<(), Problem> {
        let mut state = self.alive()?;
        state.require_comment(comment)?;
        let at = state.tick(&self.clock);
        let mut all = state.comments.iter_mut();
        if let Some(own) = all.find(|one| one.key.comment() == comment) {
            own.body = compose(post.body, post.marker);
            own.key.updated_at = at;
        }
        Ok(())
    }

    fn set_status(&self, sha: &CommitSha, status: &CommitStatus<'_>) -> Result<(), Problem> {
        let mut state = self.alive()?;
        state
            .statuses
            .push((sha.to_owned().to_string(), status.state));
        Ok(())
    }

    fn report_check(&self, sha: &CommitSha, report: &CheckReport<'_>) -> Result<Reported, Problem> {
        let mut state = self.alive()?;
        let report = (sha.to_string(), report.name.to_owned(), report.state);
        state.reports.push(report);
        Ok(Reported::CheckRun)
    }

    fn react(&self, _: PrNumber, comment: CommentRef, _: Reaction) -> Result<(), Problem> {
        let mut state = self.alive()?;
        state.require_comment(comment)?;
        if !state.reactions.contains(&comment) {
            state.reactions.push(comment);
        }
        Ok(())
    }

    fn merge_if(
        &self,
        pr: PrNumber,
        expected_head: &CommitSha,
        _: Option<&CommitSha>,
        go_ahead: &mut GoAhead<'_>,
    ) -> Result<MergeOutcome, Problem> {
        if !go_ahead()? {
            return Ok(MergeOutcome::Stopped);
        }
        let act = lock(&self.before_merge).take();
        if let Some(act) = act {
            act();
        }
        let mut state = self.alive()?;
        let found = self.with_head(state.require(pr)?.clone());
        let refused = |reason: &str| MergeOutcome::Refused {
            reason: reason.to_owned(),
        };
        match found.state {
            PrState::Merged => {
                return Ok(MergeOutcome::Merged {
                    sha: found.merged_sha,
                });
            }
            PrState::Closed => return Ok(refused("the pull request is closed")),
            PrState::Open if found.head_sha != *expected_head => {
                return Ok(MergeOutcome::HeadMoved);
            }
            PrState::Open => {}
        }
        let sha = self
            .repository
            .merge_on_remote(REMOTE, &found.base, expected_head);
        let Some(sha) = sha else {
            return Ok(refused("it conflicts with its base"));
        };
        let at = state.tick(&self.clock);
        let merged = state.require_mut(pr)?;
        merged.state = PrState::Merged;
        merged.merged_sha = Some(CommitSha::new(sha));
        merged.updated_at = at;
        Ok(MergeOutcome::Merged {
            sha: merged.merged_sha.clone(),
        })
    }

    fn mark_ready(&self, pr: PrNumber) -> Result<(), Problem> {
        self.alive()?.require_mut(pr)?.draft = false;
        Ok(())
    }

    fn update_body(&self, pr: PrNumber, body: &str) -> Result<(), Problem> {
        body.clone_into(&mut self.alive()?.require_mut(pr)?.body);
        Ok(())
    }

    fn close(&self, pr: PrNumber) -> Result<(), Problem> {
        let mut state = self.alive()?;
        let pr = state.require_mut(pr)?;
        if pr.state == PrState::Open {
            pr.state = PrState::Closed;
        }
        Ok(())
    }

    fn budget(&self) -> Result<Option<RequestBudget>, Problem> {
        self.process.check()?;
        Ok(None)
    }
}

impl PullRequests for FakeForge {
    fn list(&self) -> Result<Vec<PullRequest>, Problem> {
        self.process.check()?;
        Ok(self.pull_requests())
    }

    fn show(&self, number: PrNumber) -> Result<Option<(PullRequest, Vec<Comment>)>, Problem> {
        let all = self.list()?;
        let mut comments = self.comments();
        comments.retain(|comment| comment.pr == number);
        let found = all.into_iter().find(|pr| pr.number == number);
        Ok(found.map(|pr| (pr, comments)))
    }
}
