//! The local forge as an implementation of the engine's port.

use super::comments::{NewComment, Spot};
use super::merging::MergeTerms;
use super::{ACCOUNT, LocalForge, instant};
use drive_core::forge::inline::require_line;
use drive_core::forge::text::{BODY_CHARS, compose, fit};
use drive_core::forge::{
    Checks, Comment, CommentRef, Opinions, Permission, PrState, PullRequest, RequestBudget,
    ReviewState, Surface, approval,
};
use drive_core::ids::{BranchName, CommitSha, PrNumber};
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::{
    CheckReport, CommitStatus, Forge, GoAhead, LineComment, MergeOutcome, NewPullRequest,
    NewReview, Polled, Post, Posted, PostedReview, PullRequests, Reaction, Reported, Since,
};
use rusqlite::Transaction;
use std::collections::BTreeSet;

impl Forge for LocalForge {
    fn open(&self, new: &NewPullRequest) -> Result<PullRequest, Problem> {
        if let Some(open) = self
            .find(&new.branch)?
            .filter(|pr| pr.state == PrState::Open)
        {
            return Ok(open);
        }
        let head = self.require_branch(&new.branch)?;
        let base = self.require_branch(&new.base)?;
        self.require_commits(new, &head, &base)?;
        let new = NewPullRequest {
            body: fit(&new.body, BODY_CHARS),
            ..new.clone()
        };
        let number = self.insert_pull(&new, &head, &base)?;
        self.fetch(number)
    }

    fn find(&self, branch: &BranchName) -> Result<Option<PullRequest>, Problem> {
        self.refresh()?;
        let row = self.newest_of(branch)?;
        Ok(row.map(|row| self.pull_request(row)))
    }

    fn fetch(&self, pr: PrNumber) -> Result<PullRequest, Problem> {
        self.refresh()?;
        let row = self.require_pull(pr)?;
        let mergeable = match row.state {
            PrState::Open => Some(self.mergeable(&row)?),
            PrState::Merged | PrState::Closed => None,
        };
        Ok(PullRequest {
            mergeable,
            ..self.pull_request(row)
        })
    }

    fn poll(&self, watched: &[PrNumber], since: Since) -> Result<Polled, Problem> {
        self.refresh()?;
        let from = since.0.map_or(i64::MIN, |at| at.as_microsecond());
        let watched: BTreeSet<PrNumber> = watched.iter().copied().collect();
        // One view of the database is read, so that the cursor covers exactly its contents.
        let (mut comments, rows, next) = self.read(|tx| {
            let comments = self.load_comments(tx, "updated_at > ?2", "updated_at", &[&from])?;
            let rows = self.load_rows(tx, "updated_at > ?2", &[&from])?;
            Ok((comments, rows, self.changed_at(tx)?))
        })?;
        comments.retain(|comment| watched.contains(&comment.pr));
        self.follow_lines(&mut comments)?;
        let pull_requests = rows
            .into_iter()
            .filter(|row| watched.contains(&row.number))
            .map(|row| self.pull_request(row))
            .collect();
        Ok(Polled {
            comments,
            pull_requests,
            next: Since(Some(instant(next.max(from)))),
            missing: None,
        })
    }

    fn opinions(&self, pr: PrNumber) -> Result<Opinions, Problem> {
        self.require_pull(pr)?;
        let reviews = self.read(|tx| {
            self.load_comments(tx, "pr = ?2 AND surface = 'review'", "id", &[&pr.get()])
        })?;
        Ok(approval::standing(&reviews))
    }

    /// Reads the checks. None is required, because the local forge has no rules.
    fn checks(&self, pr: PrNumber, head: &CommitSha) -> Result<Checks, Problem> {
        self.require_pull(pr)?;
        Ok(Checks::new(
            head.clone(),
            self.load_checks(head)?,
            Vec::new(),
        ))
    }

    fn permission(&self, login: &str) -> Result<Permission, Problem> {
        self.permission_of(login)
    }

    fn post(&self, pr: PrNumber, post: Post<'_>) -> Result<Posted, Problem> {
        self.require_pull(pr)?;
        let (account, body) = (Self::account(), compose(post.body, post.marker));
        let new = NewComment::new(pr, Surface::Conversation, &account, &body);
        self.write(|tx| self.post_once(tx, new, post.marker))
            .map(posted)
    }

    fn review(&self, pr: PrNumber, review: &NewReview<'_>) -> Result<PostedReview, Problem> {
        let row = self.require_pull(pr)?;
        let files = self.changes(&row, review.head)?;
        let (reached, beyond): (Vec<_>, Vec<_>) = review
            .lines
            .iter()
            .partition(|line| require_line(&files, line.path, first_line(line)).is_ok());
        let account = Self::account();
        let body = compose(&with_remarks(review.post.body, &beyond), review.post.marker);
        let (comment, lines) = self.write(|tx| {
            let head = NewComment {
                verdict: Some(ReviewState::Commented),
                commit: Some(review.head),
                ..NewComment::new(pr, Surface::Review, &account, &body)
            };
            let comment = self.post_once(tx, head, review.post.marker)?;
            let mut lines = Vec::with_capacity(reached.len());
            for remark in &reached {
                let text = compose(remark.post.body, remark.post.marker);
                let new = NewComment {
                    review_id: Some(comment.id),
                    spot: Some(Spot {
                        path: remark.path.to_owned(),
                        line: first_line(remark),
                        commit: review.head.to_string(),
                    }),
                    ..NewComment::new(pr, Surface::Inline, &account, &text)
                };
                lines.push(self.post_once(tx, new, remark.post.marker)?);
            }
            Ok((comment, lines))
        })?;
        Ok(PostedReview {
            review: posted(comment),
            lines,
        })
    }

    fn reply(&self, pr: PrNumber, to: CommentRef, post: Post<'_>) -> Result<Posted, Problem> {
        self.require_pull(pr)?;
        let (account, body) = (Self::account(), compose(post.body, post.marker));
        let mut new = NewComment::new(pr, Surface::Conversation, &account, &body);
        self.aim_reply(&mut new, pr, to.id)?;
        self.write(|tx| self.post_once(tx, new, post.marker))
            .map(posted)
    }

    fn resolve(&self, pr: PrNumber, comment: CommentRef) -> Result<(), Problem> {
        let comment = self.require_comment(pr, comment.id)?;
        match comment.key.surface {
            Surface::Inline => self.resolve_thread(comment.in_reply_to.unwrap_or(comment.key.id)),
            Surface::Conversation | Surface::Review => Ok(()),
        }
    }

    fn edit(&self, pr: PrNumber, comment: CommentRef, post: Post<'_>) -> Result<(), Problem> {
        let body = compose(post.body, post.marker);
        self.rewrite_comment(pr, comment, &body, marker(post.marker))
    }

    fn set_status(&self, sha: &CommitSha, status: &CommitStatus<'_>) -> Result<(), Problem> {
        self.write_status(sha, status)
    }

    fn report_check(&self, sha: &CommitSha, report: &CheckReport<'_>) -> Result<Reported, Problem> {
        self.write_status(sha, &report.as_status())?;
        Ok(Reported::Status)
    }

    fn react(&self, pr: PrNumber, comment: CommentRef, reaction: Reaction) -> Result<(), Problem> {
        self.require_comment(pr, comment.id)?;
        self.write_reaction(comment, ACCOUNT, reaction)
    }

    fn merge_if(
        &self,
        pr: PrNumber,
        expected_head: &CommitSha,
        expected_base: Option<&CommitSha>,
        go_ahead: &mut GoAhead<'_>,
    ) -> Result<MergeOutcome, Problem> {
        self.merge_as(
            pr,
            &MergeTerms {
                head: expected_head,
                base: expected_base,
                tree: None,
                note: None,
            },
            go_ahead,
        )
    }

    fn mark_ready(&self, pr: PrNumber) -> Result<(), Problem> {
        if self.require_pull(pr)?.draft {
            self.set_while(pr, PrState::Open, "draft", &false)?;
        }
        Ok(())
    }

    fn update_body(&self, pr: PrNumber, body: &str) -> Result<(), Problem> {
        let row = self.require_pull(pr)?;
        let body = fit(body, BODY_CHARS);
        if row.body != body {
            self.set_while(pr, row.state, "body", &body)?;
        }
        Ok(())
    }

    fn close(&self, pr: PrNumber) -> Result<(), Problem> {
        self.require_pull(pr)?;
        self.set_while(pr, PrState::Open, "state", &"closed")?;
        Ok(())
    }

    fn budget(&self) -> Result<Option<RequestBudget>, Problem> {
        Ok(None)
    }
}

impl PullRequests for LocalForge {
    fn list(&self) -> Result<Vec<PullRequest>, Problem> {
        LocalForge::list(self)
    }

    fn show(&self, number: PrNumber) -> Result<Option<(PullRequest, Vec<Comment>)>, Problem> {
        let known = self.read(|tx| self.load_rows(tx, "number = ?2", &[&number.get()]))?;
        if known.is_empty() {
            return Ok(None);
        }
        Ok(Some((self.fetch(number)?, self.comments(number)?)))
    }
}

impl LocalForge {
    /// Stores a post, unless its marker exists already.
    fn post_once(
        &self,
        tx: &Transaction<'_>,
        new: NewComment<'_>,
        text: &str,
    ) -> rusqlite::Result<CommentRef> {
        let Some(text) = marker(text) else {
            return self.insert_comment(tx, &new);
        };
        match self.marked(tx, new.pr, text)? {
            Some(standing) => Ok(standing.key.comment()),
            None => {
                let marker = Some(text);
                self.insert_comment(tx, &NewComment { marker, ..new })
            }
        }
    }

    fn changed_at(&self, tx: &Transaction<'_>) -> rusqlite::Result<i64> {
        tx.query_row(
            "SELECT changed_at FROM local_repositories WHERE id = ?1",
            [self.repository],
            |row| row.get(0),
        )
    }

    pub(super) fn require_branch(&self, branch: &BranchName) -> Result<CommitSha, Problem> {
        self.tip(branch)?.ok_or_else(|| no_such_branch(branch))
    }
}

/// The problem of a missing branch.
pub fn no_such_branch(name: &str) -> Problem {
    Problem::new(
        Kind::BranchNotFound,
        format!("branch `{name}` does not exist"),
    )
    .hint("list branches with `git branch`")
}

fn marker(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

fn posted(comment: CommentRef) -> Posted {
    Posted { comment, url: None }
}

/// The line of a remark, which is a single one here.
fn first_line(remark: &LineComment<'_>) -> u64 {
    remark.start_line.unwrap_or(remark.line)
}

/// The body, followed by the remarks that no line can hold.
fn with_remarks(body: &str, remarks: &[&LineComment<'_>]) -> String {
    let mut text = body.trim_end().to_owned();
    for remark in remarks {
        let LineComment { path, post, .. } = remark;
        let line = first_line(remark);
        text.push_str(&format!(
            "\n\n**`{path}` line {line}**\n\n{}",
            post.body.trim_end()
        ));
    }
    text
}
