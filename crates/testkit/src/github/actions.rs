//! Actions on the simulated GitHub, shared by REST, GraphQL and tests that act as a person.

use super::git::Merge;
use super::http::Refusal;
use super::state::{Event, EventKind, LineNote, Merged, Note, Pull, Repo, Review, Status, World};
use drive_core::forge::inline::hunk_up_to;
use serde_json::json;
use std::collections::BTreeSet;

/// The maximum length of a body on GitHub.
const BODY_CHARS: usize = 65_536;

pub(super) type Done<T> = Result<T, Refusal>;

/// A request to open a pull request.
pub(crate) struct Proposal<'a> {
    pub(crate) by: &'a str,
    pub(crate) title: &'a str,
    pub(crate) body: &'a str,
    pub(crate) branch: &'a str,
    pub(crate) base: &'a str,
    pub(crate) draft: bool,
}

/// An inline comment as part of a review.
pub(crate) struct Remark {
    pub(crate) path: String,
    pub(crate) line: u64,
    /// The first of several lines.
    pub(crate) start: Option<u64>,
    pub(crate) body: String,
}

impl World {
    pub(crate) fn repo(&self, full_name: &str) -> Done<&Repo> {
        self.repos.get(full_name).ok_or_else(Refusal::not_found)
    }

    pub(crate) fn repo_mut(&mut self, full_name: &str) -> Done<&mut Repo> {
        self.repos.get_mut(full_name).ok_or_else(Refusal::not_found)
    }

    pub(crate) fn pull(&self, repo: &str, number: u64) -> Done<&Pull> {
        let pulls = &self.repo(repo)?.pulls;
        pulls.get(&number).ok_or_else(Refusal::not_found)
    }

    pub(crate) fn open_pull(&mut self, repo_name: &str, ask: &Proposal<'_>) -> Done<u64> {
        check_body(ask.body)?;
        let (id, now) = (self.fresh_id(), self.now());
        let repo = self.repo_mut(repo_name)?;
        if let Some(why) = &repo.no_pulls {
            return Err(Refusal::new(403, why));
        }
        if ask.draft && !repo.has_drafts {
            let text = "Draft pull requests are not supported in this repository.";
            return Err(Refusal::new(422, text));
        }
        let sha = |branch: &str, field: &str| {
            let found = repo.branches.get(branch).cloned();
            found.ok_or_else(|| {
                Refusal::invalid(
                    json!({"resource": "PullRequest", "field": field, "code": "invalid"}),
                )
            })
        };
        let (head_sha, base_sha) = (sha(ask.branch, "head")?, sha(ask.base, "base")?);
        let taken = repo.pulls.values().any(|pull| {
            pull.closed_at.is_none() && pull.branch == ask.branch && pull.base == ask.base
        });
        if taken {
            let text = format!(
                "A pull request already exists for {}:{}.",
                repo.owner, ask.branch
            );
            return Err(Refusal::invalid(
                json!({"resource": "PullRequest", "code": "custom", "message": text}),
            ));
        }
        let commits = repo.git.commits(&base_sha, &head_sha);
        if commits.is_empty() {
            let text = format!("No commits between {} and {}", ask.base, ask.branch);
            return Err(Refusal::invalid(
                json!({"resource": "PullRequest", "code": "custom", "message": text}),
            ));
        }
        let number = repo.pulls.keys().next_back().copied().unwrap_or(0) + 1;
        let pull = Pull {
            id,
            number,
            title: ask.title.to_owned(),
            body: ask.body.to_owned(),
            author: ask.by.to_owned(),
            draft: ask.draft,
            branch: ask.branch.to_owned(),
            base: ask.base.to_owned(),
            head_sha,
            base_sha,
            commits,
            labels: BTreeSet::new(),
            created_at: now,
            updated_at: now,
            closed_at: None,
            merged: None,
            mergeable: None,
            asked: None,
        };
        repo.pulls.insert(number, pull);
        self.tell(
            repo_name,
            EventKind::PullRequest,
            "opened",
            number,
            number,
            ask.by,
        );
        Ok(number)
    }

    pub(crate) fn comment(&mut self, repo: &str, pr: u64, by: &str, body: &str) -> Done<u64> {
        check_text(body)?;
        self.pull(repo, pr)?;
        let note = self.note(pr, by, body);
        let id = note.id;
        self.repo_mut(repo)?.notes.insert(id, note);
        self.touch(repo, pr);
        self.tell(repo, EventKind::IssueComment, "created", pr, id, by);
        Ok(id)
    }

    /// Posts a review with its inline comments.
    pub(crate) fn review(
        &mut self,
        repo: &str,
        pr: u64,
        by: &str,
        event: &str,
        body: &str,
        remarks: &[Remark],
    ) -> Done<u64> {
        check_body(body)?;
        let pull = self.pull(repo, pr)?.clone();
        let state = match event {
            "APPROVE" => "APPROVED",
            "REQUEST_CHANGES" => "CHANGES_REQUESTED",
            "COMMENT" => "COMMENTED",
            _ => "PENDING",
        };
        if pull.author == by && state == "APPROVED" {
            return Err(own_pull("Can not approve your own pull request"));
        }
        if pull.author == by && state == "CHANGES_REQUESTED" {
            return Err(own_pull("Can not request changes on your own pull request"));
        }
        if state != "APPROVED" && body.trim().is_empty() && remarks.is_empty() {
            return Err(own_pull("Body can not be blank"));
        }
        for remark in remarks {
            check_text(&remark.body)?;
            self.check_line(repo, &pull, remark)?;
        }
        let note = self.note(pr, by, body);
        let id = note.id;
        let review = Review {
            note,
            state,
            commit: pull.head_sha.clone(),
        };
        self.repo_mut(repo)?.reviews.insert(id, review);
        for remark in remarks {
            self.put_line_note(repo, &pull, by, id, remark, None)?;
        }
        self.touch(repo, pr);
        self.tell(repo, EventKind::Review, "submitted", pr, id, by);
        Ok(id)
    }

    /// Posts a single inline comment, which GitHub wraps into a review without text.
    pub(crate) fn comment_on_line(
        &mut self,
        repo: &str,
        pr: u64,
        by: &str,
        remark: &Remark,
    ) -> Done<u64> {
        let pull = self.pull(repo, pr)?.clone();
        check_text(&remark.body)?;
        self.check_line(repo, &pull, remark)?;
        let shell = self.shell(repo, &pull, by)?;
        let id = self.put_line_note(repo, &pull, by, shell, remark, None)?;
        self.touch(repo, pr);
        Ok(id)
    }

    pub(crate) fn reply(
        &mut self,
        repo: &str,
        pr: u64,
        to: u64,
        by: &str,
        body: &str,
    ) -> Done<u64> {
        check_text(body)?;
        let pull = self.pull(repo, pr)?.clone();
        let first = self.repo(repo)?.line_notes.get(&to).cloned();
        let first = first.ok_or_else(Refusal::not_found)?;
        if first.in_reply_to.is_some() || first.note.pr != pr {
            return Err(Refusal::not_found());
        }
        let shell = self.shell(repo, &pull, by)?;
        let remark = Remark {
            path: first.path.clone(),
            line: first.original_line,
            start: None,
            body: body.to_owned(),
        };
        let id = self.put_line_note(repo, &pull, by, shell, &remark, Some(to))?;
        self.touch(repo, pr);
        Ok(id)
    }

    pub(crate) fn edit(&mut self, repo: &str, id: u64, body: &str) -> Done<()> {
        check_text(body)?;
        let now = self.now();
        let repo_state = self.repo_mut(repo)?;
        let kind = if repo_state.notes.contains_key(&id) {
            EventKind::IssueComment
        } else if repo_state.line_notes.contains_key(&id) {
            EventKind::ReviewComment
        } else {
            EventKind::Review
        };
        let note = repo_state.note_mut(id).ok_or_else(Refusal::not_found)?;
        note.body = body.to_owned();
        note.updated_at = now;
        let (pr, by) = (note.pr, note.author.clone().unwrap_or_default());
        self.touch(repo, pr);
        self.tell(repo, kind, "edited", pr, id, &by);
        Ok(())
    }

    pub(crate) fn react(&mut self, repo: &str, id: u64, by: &str, content: &str) -> Done<bool> {
        let note = self.repo_mut(repo)?.note_mut(id);
        let note = note.ok_or_else(Refusal::not_found)?;
        Ok(note.reactions.insert((content.to_owned(), by.to_owned())))
    }

    pub(crate) fn set_status(&mut self, repo: &str, mut status: Status) -> Done<Status> {
        status.id = self.fresh_id();
        status.at = self.now();
        self.repo_mut(repo)?.statuses.push(status.clone());
        Ok(status)
    }

    /// Merges, or refuses like GitHub.
    pub(crate) fn merge(
        &mut self,
        repo: &str,
        pr: u64,
        by: &str,
        expected: Option<&str>,
        how: Merge,
    ) -> Done<String> {
        let now = self.now();
        let pull = self.pull(repo, pr)?.clone();
        if pull.closed_at.is_some() || pull.draft {
            return Err(Refusal::new(405, "Pull Request is not mergeable"));
        }
        if expected.is_some_and(|sha| sha != pull.head_sha) {
            return Err(Refusal::new(
                409,
                "Head branch was modified. Review and try the merge again.",
            ));
        }
        let repo_state = self.repo_mut(repo)?;
        if let Some((path, content)) = repo_state.overtakes.take() {
            let git = &repo_state.git;
            git.commit_file(&pull.base, &pull.base, &path, &content);
            repo_state.branches = repo_state.git.branches();
        }
        let base = repo_state.branches.get(&pull.base).cloned();
        let base = base.ok_or_else(Refusal::not_found)?;
        let merged = repo_state.git.merge(&pull.base, &base, &pull.head_sha, how);
        let Some(sha) = merged else {
            return Err(Refusal::new(405, "Pull Request is not mergeable"));
        };
        repo_state.branches = repo_state.git.branches();
        if let Some(pull) = repo_state.pulls.get_mut(&pr) {
            pull.closed_at = Some(now);
            pull.updated_at = now;
            pull.merged = Some(Merged {
                at: now,
                by: by.to_owned(),
                sha: sha.clone(),
            });
        }
        self.tell(repo, EventKind::PullRequest, "closed", pr, pr, by);
        Ok(sha)
    }

    /// Adopts the current state of git: heads move, lines become outdated.
    pub(crate) fn refresh_branches(&mut self, repo_name: &str) {
        let now = self.now();
        let (mut moved, mut gone) = (Vec::new(), Vec::new());
        let Ok(repo) = self.repo_mut(repo_name) else {
            return;
        };
        repo.branches = repo.git.branches();
        for pull in repo.pulls.values_mut().filter(|p| p.closed_at.is_none()) {
            let head = repo.branches.get(&pull.branch).cloned();
            let base = repo.branches.get(&pull.base).cloned();
            if let Some(base) = base {
                pull.base_sha = base;
            }
            // Deleting the branch of a pull request closes it.
            if head.is_none() {
                pull.closed_at = Some(now);
                pull.updated_at = now;
                gone.push((pull.number, pull.author.clone()));
            }
            if let Some(head) = head.filter(|head| *head != pull.head_sha) {
                pull.head_sha = head;
                pull.updated_at = now;
                pull.commits = repo.git.commits(&pull.base_sha, &pull.head_sha);
                moved.push((pull.number, pull.author.clone()));
            }
        }
        for (pr, by) in gone {
            self.tell(repo_name, EventKind::PullRequest, "closed", pr, pr, &by);
        }
        for (pr, by) in moved {
            self.outdate_lines(repo_name, pr);
            self.tell(
                repo_name,
                EventKind::PullRequest,
                "synchronize",
                pr,
                pr,
                &by,
            );
        }
    }

    fn outdate_lines(&mut self, repo: &str, pr: u64) {
        let Ok(pull) = self.pull(repo, pr).cloned() else {
            return;
        };
        let Ok(repo) = self.repo_mut(repo) else {
            return;
        };
        for line in repo.line_notes.values_mut().filter(|l| l.note.pr == pr) {
            line.commit.clone_from(&pull.head_sha);
            let shown = repo
                .git
                .lines_in_diff(&pull.base_sha, &pull.head_sha, &line.path);
            line.line = Some(line.original_line).filter(|l| shown.contains(l));
        }
    }

    /// Checks a line: GitHub accepts only lines of the diff, and several only if one hunk shows them all.
    fn check_line(&self, repo: &str, pull: &Pull, remark: &Remark) -> Done<()> {
        let git = &self.repo(repo)?.git;
        let shown = git.lines_in_diff(&pull.base_sha, &pull.head_sha, &remark.path);
        let last = remark.line;
        let is_before = remark.start.is_none_or(|start| start < last);
        let mut lines = remark.start.unwrap_or(last)..=last;
        if is_before && lines.all(|line| shown.contains(&line)) {
            Ok(())
        } else {
            Err(Refusal::new(
                422,
                "Unprocessable Entity: Line could not be resolved",
            ))
        }
    }

    fn shell(&mut self, repo: &str, pull: &Pull, by: &str) -> Done<u64> {
        let note = self.note(pull.number, by, "");
        let id = note.id;
        let review = Review {
            note,
            state: "COMMENTED",
            commit: pull.head_sha.clone(),
        };
        self.repo_mut(repo)?.reviews.insert(id, review);
        Ok(id)
    }

    fn put_line_note(
        &mut self,
        repo: &str,
        pull: &Pull,
        by: &str,
        review: u64,
        remark: &Remark,
        in_reply_to: Option<u64>,
    ) -> Done<u64> {
        let note = self.note(pull.number, by, &remark.body);
        let id = note.id;
        let git = &self.repo(repo)?.git;
        let diff = git.file_diff(&pull.base_sha, &pull.head_sha, &remark.path);
        let line = LineNote {
            note,
            review,
            path: remark.path.clone(),
            line: Some(remark.line),
            original_line: remark.line,
            original_start: remark.start,
            hunk: hunk_up_to(&diff, remark.line).unwrap_or_default(),
            commit: pull.head_sha.clone(),
            original_commit: pull.head_sha.clone(),
            in_reply_to,
        };
        self.repo_mut(repo)?.line_notes.insert(id, line);
        self.tell(
            repo,
            EventKind::ReviewComment,
            "created",
            pull.number,
            id,
            by,
        );
        Ok(id)
    }

    fn note(&mut self, pr: u64, by: &str, body: &str) -> Note {
        self.ensure_user(by);
        let now = self.now();
        Note {
            id: self.fresh_id(),
            pr,
            author: Some(by.to_owned()),
            body: body.to_owned(),
            created_at: now,
            updated_at: now,
            reactions: BTreeSet::new(),
        }
    }

    pub(crate) fn touch(&mut self, repo: &str, pr: u64) {
        let now = self.now();
        if let Ok(repo) = self.repo_mut(repo)
            && let Some(pull) = repo.pulls.get_mut(&pr)
        {
            pull.updated_at = now;
        }
    }

    pub(super) fn tell(
        &mut self,
        repo: &str,
        kind: EventKind,
        action: &'static str,
        pr: u64,
        id: u64,
        by: &str,
    ) {
        self.events.push(Event {
            repo: repo.to_owned(),
            kind,
            action,
            pr,
            id,
            by: by.to_owned(),
        });
    }
}

fn check_text(body: &str) -> Done<()> {
    if body.trim().is_empty() {
        return Err(Refusal::invalid(
            json!({"resource": "IssueComment", "field": "body", "code": "missing_field"}),
        ));
    }
    check_body(body)
}

fn check_body(body: &str) -> Done<()> {
    if body.chars().count() > BODY_CHARS {
        return Err(Refusal::invalid(json!({
            "resource": "IssueComment", "field": "body", "code": "custom",
            "message": "body is too long (maximum is 65536 characters)",
        })));
    }
    Ok(())
}

/// A refusal of a review on one's own pull request: this 422 contains plain texts.
fn own_pull(text: &str) -> Refusal {
    Refusal {
        status: 422,
        message: "Unprocessable Entity".to_owned(),
        errors: vec![json!(text)],
    }
}
