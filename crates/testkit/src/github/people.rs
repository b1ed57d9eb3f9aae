//! Actions of people, which take effect immediately and without a request.

use super::Simulator;
use super::actions::{Proposal, Remark};
use super::git::{GitStore, Merge};
use super::http::Refusal;
use super::interjections::Interjection;
use super::state::Hook;
use super::state::Pull;
use drive_core::forge::marker::visible;
use drive_core::forge::{CommentRef, Permission, ReviewState, Surface};
use drive_core::ids::CommentId;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// A pull request as a person sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullSeen {
    /// The pull request's number.
    pub number: u64,
    /// The pull request's title.
    pub title: String,
    /// The pull request's description.
    pub body: String,
    /// The branch with the work.
    pub branch: String,
    /// The head commit of the branch.
    pub head_sha: String,
    /// The base branch.
    pub base: String,
}

impl Simulator {
    /// Commits one file on top of a branch, like a push. Returns the new head.
    pub fn push_file(&self, repo: &str, branch: &str, path: &str, content: &str) -> String {
        let mut service = self.lock();
        let git = &service.world.repos.get(repo).map(|repo| &repo.git);
        let commit = git.and_then(|git| git.commit_file(branch, "main", path, content));
        service.world.refresh_branches(repo);
        commit.unwrap_or_else(|| panic!("could not commit to {repo}"))
    }

    /// Commits a file to the base at the moment of the next merge, after all checks of it.
    pub fn overtake_next_merge(&self, repo: &str, path: &str, content: &str) {
        if let Some(repo) = self.lock().world.repos.get_mut(repo) {
            repo.overtakes = Some((path.to_owned(), content.to_owned()));
        }
    }

    /// Posts a person's comment when the next request with this method and path ending arrives,
    /// before it is handled.
    pub fn comment_before(
        &self,
        (method, path): (&'static str, &str),
        (repo, by, pr): (&str, &str, u64),
        body: &str,
    ) {
        self.lock().interjections.push(Interjection {
            method,
            path: path.to_owned(),
            repo: repo.to_owned(),
            by: by.to_owned(),
            pr,
            body: body.to_owned(),
        });
    }

    /// Adds a person with a permission.
    pub fn add_person(&self, repo: &str, login: &str, permission: Permission) {
        let mut service = self.lock();
        service.world.ensure_user(login);
        let word = match permission {
            Permission::Admin => "admin",
            Permission::Write => "write",
            Permission::Read => "read",
            Permission::None => return,
        };
        if let Some(repo) = service.world.repos.get_mut(repo) {
            repo.permissions.insert(login.to_owned(), word);
        }
    }

    /// Posts a person's comment in the conversation.
    pub fn comment(&self, repo: &str, by: &str, pr: u64, body: &str) -> CommentRef {
        let id = ok(self.lock().world.comment(repo, pr, by, body));
        CommentRef {
            surface: Surface::Conversation,
            id: CommentId::new(id),
        }
    }

    /// Posts a person's comment on a line.
    pub fn comment_on_line(
        &self,
        repo: &str,
        by: &str,
        pr: u64,
        path: &str,
        line: u64,
        body: &str,
    ) -> CommentRef {
        self.comment_on_lines(repo, by, pr, path, line..=line, body)
    }

    /// Posts a person's comment on several lines.
    pub fn comment_on_lines(
        &self,
        repo: &str,
        by: &str,
        pr: u64,
        path: &str,
        lines: RangeInclusive<u64>,
        body: &str,
    ) -> CommentRef {
        let (start, line) = lines.into_inner();
        let remark = Remark {
            path: path.to_owned(),
            line,
            start: Some(start).filter(|start| *start < line),
            body: body.to_owned(),
        };
        let id = ok(self.lock().world.comment_on_line(repo, pr, by, &remark));
        CommentRef {
            surface: Surface::Inline,
            id: CommentId::new(id),
        }
    }

    /// Posts a person's review.
    pub fn review(
        &self,
        repo: &str,
        by: &str,
        pr: u64,
        state: ReviewState,
        body: &str,
    ) -> CommentRef {
        let event = match state {
            ReviewState::Approved => "APPROVE",
            ReviewState::ChangesRequested => "REQUEST_CHANGES",
            ReviewState::Commented | ReviewState::Dismissed => "COMMENT",
        };
        let id = ok(self.lock().world.review(repo, pr, by, event, body, &[]));
        CommentRef {
            surface: Surface::Review,
            id: CommentId::new(id),
        }
    }

    /// Dismisses a review as a maintainer.
    pub fn dismiss(&self, repo: &str, review: CommentRef) {
        let mut service = self.lock();
        let now = service.world.now();
        let repo = ok(service.world.repo_mut(repo));
        let pr = repo.reviews.get_mut(&review.id.get()).map(|review| {
            review.state = "DISMISSED";
            review.note.updated_at = now;
            review.note.pr
        });
        if let Some(pull) = pr.and_then(|pr| repo.pulls.get_mut(&pr)) {
            pull.updated_at = now;
        }
    }

    /// Hides a comment anywhere as a maintainer, without changing any time.
    pub fn minimize(&self, repo: &str, comment: CommentRef) {
        let mut service = self.lock();
        let repo = ok(service.world.repo_mut(repo));
        repo.minimized.insert(comment.id.get());
    }

    /// Resolves or reopens the thread of an inline comment, without changing any time.
    pub fn set_resolved(&self, repo: &str, comment: CommentRef, is_resolved: bool) {
        let mut service = self.lock();
        let repo = ok(service.world.repo_mut(repo));
        let first = repo.thread_of(comment.id.get());
        if is_resolved {
            repo.resolved.insert(first);
        } else {
            repo.resolved.remove(&first);
        }
    }

    /// Changes the update time of a comment, but not its text.
    pub fn touch(&self, repo: &str, comment: CommentRef) {
        let mut service = self.lock();
        let now = service.world.now();
        let repo = ok(service.world.repo_mut(repo));
        let pr = repo.note_mut(comment.id.get()).map(|note| {
            note.updated_at = now;
            note.pr
        });
        if let Some(pull) = pr.and_then(|pr| repo.pulls.get_mut(&pr)) {
            pull.updated_at = now;
        }
    }

    /// Deletes a comment in the conversation or on a line as its author.
    pub fn delete(&self, repo: &str, comment: CommentRef) {
        let mut service = self.lock();
        let repo = ok(service.world.repo_mut(repo));
        repo.notes.remove(&comment.id.get());
        repo.line_notes.remove(&comment.id.get());
    }

    /// Edits a comment as its author.
    pub fn edit(&self, repo: &str, comment: CommentRef, body: &str) {
        ok(self.lock().world.edit(repo, comment.id.get(), body));
    }

    /// All pull requests, oldest first.
    pub fn pull_requests(&self, repo: &str) -> Vec<PullSeen> {
        let service = self.lock();
        let repo = service.world.repos.get(repo);
        let pulls = repo.into_iter().flat_map(|repo| repo.pulls.values());
        pulls
            .map(|pull| PullSeen {
                number: pull.number,
                title: pull.title.clone(),
                body: pull.body.clone(),
                branch: pull.branch.clone(),
                head_sha: pull.head_sha.clone(),
                base: pull.base.clone(),
            })
            .collect()
    }

    /// The texts in the conversation of a pull request, oldest first, without hidden lines.
    pub fn conversation(&self, repo: &str, pr: u64) -> Vec<String> {
        let service = self.lock();
        let repo = service.world.repos.get(repo);
        let notes = repo.into_iter().flat_map(|repo| repo.notes.values());
        notes
            .filter(|note| note.pr == pr)
            .map(|note| visible(&note.body).to_owned())
            .collect()
    }

    /// The texts on the lines of a pull request, oldest first, without hidden lines.
    pub fn line_texts(&self, repo: &str, pr: u64) -> Vec<String> {
        let service = self.lock();
        let repo = service.world.repos.get(repo);
        let lines = repo.into_iter().flat_map(|repo| repo.line_notes.values());
        lines
            .filter(|line| line.note.pr == pr)
            .map(|line| visible(&line.note.body).to_owned())
            .collect()
    }

    /// Refuses every push from now on, with this message.
    pub fn refuse_pushes(&self, repo: &str, why: &str) {
        let service = self.lock();
        let git = service.world.repos.get(repo).map(|repo| &repo.git);
        if !git.is_some_and(|git| git.refuse_pushes(why)) {
            panic!("could not refuse pushes to {repo}");
        }
    }

    /// Removes drafts from the repository's plan.
    pub fn forbid_drafts(&self, repo: &str) {
        let mut service = self.lock();
        ok(service.world.repo_mut(repo)).has_drafts = false;
    }

    /// Refuses new pull requests from now on, with this message.
    pub fn forbid_pulls(&self, repo: &str, why: &str) {
        let mut service = self.lock();
        ok(service.world.repo_mut(repo)).no_pulls = Some(why.to_owned());
    }

    /// Deletes an account: its comments stay, without an author.
    pub fn delete_account(&self, login: &str) {
        let mut service = self.lock();
        service.world.users.remove(login);
        for repo in service.world.repos.values_mut() {
            let lines = repo.line_notes.values_mut().map(|line| &mut line.note);
            let reviews = repo.reviews.values_mut().map(|review| &mut review.note);
            for note in repo.notes.values_mut().chain(lines).chain(reviews) {
                if note.author.as_deref() == Some(login) {
                    note.author = None;
                }
            }
        }
    }

    /// Closes a pull request as a person.
    pub fn close_pull(&self, repo: &str, by: &str, pr: u64) {
        ok(self.lock().world.close(repo, pr, by));
    }

    /// Merges a pull request as a person.
    pub fn merge_pull(&self, repo: &str, by: &str, pr: u64) {
        let mut service = self.lock();
        ok(service.world.merge(repo, pr, by, None, Merge::Commit));
    }

    /// Reopens a closed pull request as a person.
    pub fn reopen_pull(&self, repo: &str, by: &str, pr: u64) {
        ok(self.lock().world.reopen(repo, pr, by));
    }

    /// Reopens a pull request although its branch was deleted, like forges that leave it open.
    pub fn reopen_branchless(&self, repo: &str, pr: u64) {
        let mut service = self.lock();
        let now = service.world.now();
        let pulls = &mut ok(service.world.repo_mut(repo)).pulls;
        if let Some(pull) = pulls.get_mut(&pr) {
            (pull.closed_at, pull.updated_at) = (None, now);
        }
    }

    /// Adds a repository without git, with `pulls` open pull requests.
    pub fn add_quiet_repo(&self, owner: &str, name: &str, pulls: u64) {
        let mut service = self.lock();
        service.world.add_repo(owner, name, GitStore::None);
        let now = service.world.now();
        for number in 1..=pulls {
            let pull = Pull {
                id: service.world.fresh_id(),
                number,
                title: format!("Pull request {number}"),
                body: "What it does, in a sentence or two.".to_owned(),
                author: super::LOGIN.to_owned(),
                draft: false,
                branch: format!("feat/{number}"),
                base: "main".to_owned(),
                head_sha: format!("{number:040x}"),
                base_sha: "0".repeat(40),
                commits: Vec::new(),
                labels: BTreeSet::new(),
                created_at: now,
                updated_at: now,
                closed_at: None,
                merged: None,
                mergeable: None,
                asked: None,
            };
            if let Some(repo) = service.world.repos.get_mut(&format!("{owner}/{name}")) {
                repo.pulls.insert(number, pull);
            }
        }
    }

    /// Opens a pull request as a person.
    pub fn open_pull(&self, repo: &str, by: &str, branch: &str) -> u64 {
        let ask = Proposal {
            by,
            title: "By hand",
            body: "By hand.",
            branch,
            base: "main",
            draft: false,
        };
        self.lock().world.ensure_user(by);
        ok(self.lock().world.open_pull(repo, &ask))
    }

    /// Adds a webhook for all later events.
    pub fn add_hook(&self, repo: &str, url: &str, secret: &str) {
        let mut service = self.lock();
        service.world.events.clear();
        if let Some(repo) = service.world.repos.get_mut(repo) {
            repo.hooks.push(Hook {
                url: url.to_owned(),
                secret: secret.to_owned(),
            });
        }
    }

    /// GitHub's names of the reactions to a comment.
    pub fn reactions(&self, repo: &str, comment: CommentRef) -> Vec<String> {
        let mut service = self.lock();
        let repo = service.world.repos.get_mut(repo);
        let note = repo.and_then(|repo| repo.note_mut(comment.id.get()));
        note.into_iter()
            .flat_map(|note| note.reactions.iter().map(|(content, _)| content.clone()))
            .collect()
    }

    /// Whether the thread of an inline comment is resolved.
    pub fn is_resolved(&self, repo: &str, comment: CommentRef) -> bool {
        let service = self.lock();
        let repo = service.world.repos.get(repo);
        repo.is_some_and(|repo| repo.resolved.contains(&repo.thread_of(comment.id.get())))
    }

    /// Context and state of the newest statuses of a commit, sorted by context.
    pub fn statuses(&self, repo: &str, sha: &str) -> Vec<(String, String)> {
        let service = self.lock();
        let mut newest = std::collections::BTreeMap::new();
        if let Some(repo) = service.world.repos.get(repo) {
            for status in repo.statuses.iter().filter(|status| status.sha == sha) {
                newest.insert(status.context.clone(), status.state.clone());
            }
        }
        newest.into_iter().collect()
    }
}

fn ok<T>(outcome: Result<T, Refusal>) -> T {
    outcome.unwrap_or_else(|refusal| panic!("a person was refused: {refusal:?}"))
}
