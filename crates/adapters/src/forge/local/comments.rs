//! Rows of comments, for all three surfaces.

use super::sql_text::{SqlText, sha_from_sql};
use super::{LocalForge, instant};
use drive_core::forge::{Aside, Author, Comment, CommentKey, CommentRef, ReviewState, Surface};
use drive_core::ids::{CommentId, PrNumber};
use drive_core::problem::{Kind, Problem};
use rusqlite::{Row, ToSql, Transaction};

const COLUMNS: &str = "id, pr, surface, author, is_bot, body, path, line, commit_sha, in_reply_to, \
                       verdict, created_at, updated_at, \
                       (SELECT first.resolved FROM local_comments AS first \
                        WHERE first.repository = local_comments.repository \
                        AND first.id = coalesce(local_comments.in_reply_to, local_comments.id))";

/// A comment to store.
#[derive(Clone, Debug)]
pub(super) struct NewComment<'a> {
    pub(super) pr: PrNumber,
    pub(super) surface: Surface,
    pub(super) author: &'a Author,
    pub(super) body: &'a str,
    pub(super) marker: Option<&'a str>,
    pub(super) spot: Option<Spot>,
    pub(super) in_reply_to: Option<CommentId>,
    pub(super) review_id: Option<CommentId>,
    pub(super) verdict: Option<ReviewState>,
    /// The commit that a review is about.
    pub(super) commit: Option<&'a str>,
}

/// A line of a file at a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) path: String,
    pub(super) line: u64,
    pub(super) commit: String,
}

impl<'a> NewComment<'a> {
    /// A comment in the conversation; further fields can be added.
    pub(super) fn new(pr: PrNumber, surface: Surface, author: &'a Author, body: &'a str) -> Self {
        Self {
            pr,
            surface,
            author,
            body,
            marker: None,
            spot: None,
            in_reply_to: None,
            review_id: None,
            verdict: None,
            commit: None,
        }
    }
}

impl LocalForge {
    /// All comments of a pull request, oldest first, with their current lines.
    pub fn comments(&self, pr: PrNumber) -> Result<Vec<Comment>, Problem> {
        self.refresh()?;
        self.require_pull(pr)?;
        let mut comments = self.read(|tx| self.load_comments(tx, "pr = ?2", "id", &[&pr.get()]))?;
        self.follow_lines(&mut comments)?;
        Ok(comments)
    }

    /// Comments that meet a condition. `?1` is the repository; the values follow it.
    pub(super) fn load_comments(
        &self,
        tx: &Transaction<'_>,
        condition: &str,
        order: &str,
        values: &[&dyn ToSql],
    ) -> rusqlite::Result<Vec<Comment>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM local_comments WHERE repository = ?1 AND {condition}
             ORDER BY {order}"
        );
        let mut all: Vec<&dyn ToSql> = vec![&self.repository];
        all.extend_from_slice(values);
        tx.prepare_cached(&sql)?.query_map(&*all, read)?.collect()
    }

    /// Stores a comment under the next number.
    pub(super) fn insert_comment(
        &self,
        tx: &Transaction<'_>,
        new: &NewComment<'_>,
    ) -> rusqlite::Result<CommentRef> {
        let at = self.tick(tx)?;
        let id = tx.query_row(
            "UPDATE local_repositories SET comments = comments + 1 WHERE id = ?1 RETURNING comments",
            [self.repository],
            |row| Ok(CommentId::new(row.get(0)?)),
        )?;
        let spot = new.spot.as_ref();
        tx.execute(
            "INSERT INTO local_comments (repository, id, pr, surface, author, is_bot, body, marker,
                 path, line, commit_sha, in_reply_to, review_id, verdict, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?15)",
            rusqlite::params![
                self.repository,
                id.get(),
                new.pr.get(),
                new.surface.sql_text(),
                new.author.login,
                new.author.is_bot,
                new.body,
                new.marker,
                spot.map(|spot| &spot.path),
                spot.map(|spot| spot.line),
                spot.map(|spot| spot.commit.as_str()).or(new.commit),
                new.in_reply_to.map(CommentId::get),
                new.review_id.map(CommentId::get),
                new.verdict.map(SqlText::sql_text),
                at,
            ],
        )?;
        self.touch_pull(tx, new.pr, at)?;
        Ok(CommentRef {
            surface: new.surface,
            id,
        })
    }

    /// Replaces a comment's text with a new version that is later than the old one. Its marker
    /// stays unless a new one is given.
    pub(super) fn rewrite_comment(
        &self,
        pr: PrNumber,
        comment: CommentRef,
        body: &str,
        marker: Option<&str>,
    ) -> Result<(), Problem> {
        let changed = self.write(|tx| {
            let at = self.tick(tx)?;
            self.touch_pull(tx, pr, at)?;
            tx.execute(
                "UPDATE local_comments SET body = ?5, marker = coalesce(?6, marker), updated_at = ?7
                 WHERE repository = ?1 AND pr = ?2 AND id = ?3 AND surface = ?4",
                (
                    self.repository,
                    pr.get(),
                    comment.id.get(),
                    comment.surface.sql_text(),
                    body,
                    marker,
                    at,
                ),
            )
        })?;
        match changed {
            0 => Err(self.unknown_comment(pr, comment.id)?),
            _ => Ok(()),
        }
    }

    /// The comment with this marker.
    pub(super) fn marked(
        &self,
        tx: &Transaction<'_>,
        pr: PrNumber,
        marker: &str,
    ) -> rusqlite::Result<Option<Comment>> {
        self.load_comments(tx, "pr = ?2 AND marker = ?3", "id", &[&pr.get(), &marker])
            .map(|mut found| found.pop())
    }

    /// A comment by its number; the problem for an unknown one lists the existing ones.
    pub(super) fn require_comment(&self, pr: PrNumber, id: CommentId) -> Result<Comment, Problem> {
        let found = self.read(|tx| {
            self.load_comments(tx, "pr = ?2 AND id = ?3", "id", &[&pr.get(), &id.get()])
        })?;
        match found.into_iter().next() {
            Some(comment) => Ok(comment),
            None => Err(self.unknown_comment(pr, id)?),
        }
    }

    fn touch_pull(&self, tx: &Transaction<'_>, pr: PrNumber, at: i64) -> rusqlite::Result<usize> {
        tx.execute(
            "UPDATE local_pull_requests SET updated_at = ?3 WHERE repository = ?1 AND number = ?2",
            (self.repository, pr.get(), at),
        )
    }

    fn unknown_comment(&self, pr: PrNumber, id: CommentId) -> Result<Problem, Problem> {
        let there = self.read(|tx| self.load_comments(tx, "pr = ?2", "id", &[&pr.get()]))?;
        let problem = Problem::new(
            Kind::CommentNotFound,
            format!("pull request {pr} has no comment `{id}`"),
        );
        let named: Vec<String> = there
            .iter()
            .rev()
            .take(10)
            .map(|comment| {
                let author = comment.author.login.as_deref().unwrap_or("unknown");
                format!(
                    "{} ({}, {author})",
                    comment.key.id,
                    comment.key.surface.sql_text()
                )
            })
            .collect();
        Ok(if named.is_empty() {
            problem.hint("it has no comments yet; leave out `--reply-to`")
        } else {
            problem.hint(format!("pass one of: {}", named.join(", ")))
        })
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Comment> {
    let verdict: Option<String> = row.get(10)?;
    let is_resolved: bool = row.get::<_, Option<bool>>(13)?.unwrap_or(false);
    Ok(Comment {
        key: CommentKey {
            surface: Surface::from_sql_text(2, &row.get::<_, String>(2)?)?,
            id: CommentId::new(row.get(0)?),
            updated_at: instant(row.get(12)?),
        },
        pr: PrNumber::new(row.get(1)?),
        author: Author {
            login: row.get(3)?,
            is_bot: row.get(4)?,
        },
        body: row.get(5)?,
        path: row.get(6)?,
        line: row.get(7)?,
        origin: None,
        commit: row
            .get::<_, Option<String>>(8)?
            .map(|text| sha_from_sql(8, &text))
            .transpose()?,
        in_reply_to: row.get::<_, Option<u64>>(9)?.map(CommentId::new),
        review: verdict
            .map(|text| ReviewState::from_sql_text(10, &text))
            .transpose()?,
        created_at: instant(row.get(11)?),
        url: None,
        aside: is_resolved.then_some(Aside::Resolved),
    })
}
