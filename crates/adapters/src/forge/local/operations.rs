//! Operations of `drive pr`: people's actions on a pull request from the command line.

use super::annotations::folded;
use super::comments::{NewComment, Spot};
use super::{ACCOUNT, LocalForge};
use drive_core::forge::inline::require_line;
use drive_core::forge::text::BODY_CHARS;
use drive_core::forge::{Author, CommentRef, Permission, PrState, ReviewState, Surface};
use drive_core::ids::{CommentId, PrNumber};
use drive_core::problem::{Kind, Problem};

/// A comment by a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonalComment<'a> {
    /// Name of the author; `None` is the local user.
    pub author: Option<&'a str>,
    /// Markdown text.
    pub body: &'a str,
    /// The place of the comment.
    pub target: CommentTarget<'a>,
}

/// The place of a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentTarget<'a> {
    /// In the conversation.
    Conversation,
    /// On a line of the diff.
    Line {
        /// The file, relative to the root.
        path: &'a str,
        /// Line in the new version of the file, counted from one.
        line: u64,
    },
    /// In reply to a comment: in its thread if it has one, else in the conversation.
    Reply {
        /// The comment.
        to: CommentId,
    },
}

impl LocalForge {
    /// Stores a person's comment.
    pub fn comment(&self, pr: PrNumber, said: &PersonalComment<'_>) -> Result<CommentRef, Problem> {
        require_text(said.body)?;
        let author = self.person(said.author)?;
        self.refresh()?;
        let row = self.require_pull(pr)?;
        let mut new = NewComment::new(pr, Surface::Conversation, &author, said.body);
        match said.target {
            CommentTarget::Conversation => {}
            CommentTarget::Line { path, line } => {
                require_line(&self.changes(&row, &row.head_sha)?, path, line)?;
                new.surface = Surface::Inline;
                new.spot = Some(Spot {
                    path: path.to_owned(),
                    line,
                    commit: row.head_sha.to_string(),
                });
            }
            CommentTarget::Reply { to } => self.aim_reply(&mut new, pr, to)?,
        }
        self.write(|tx| self.insert_comment(tx, &new))
    }

    /// Stores a person's review of the current head.
    pub fn personal_review(
        &self,
        pr: PrNumber,
        author: Option<&str>,
        verdict: ReviewState,
        body: &str,
    ) -> Result<CommentRef, Problem> {
        require_short(body)?;
        let author = self.person(author)?;
        self.refresh()?;
        let row = self.require_pull(pr)?;
        self.require_open(pr, row.state)?;
        let new = NewComment {
            verdict: Some(verdict),
            commit: Some(&row.head_sha),
            ..NewComment::new(pr, Surface::Review, &author, body)
        };
        self.write(|tx| self.insert_comment(tx, &new))
    }

    /// Replaces the text of a comment.
    pub fn rewrite(&self, pr: PrNumber, comment: CommentRef, body: &str) -> Result<(), Problem> {
        require_text(body)?;
        self.rewrite_comment(pr, comment, body, None)
    }

    /// Reopens a closed pull request. An open one stays open.
    pub fn reopen(&self, pr: PrNumber) -> Result<(), Problem> {
        let row = self.require_pull(pr)?;
        match row.state {
            PrState::Open => return Ok(()),
            PrState::Merged => {
                return Err(Problem::new(
                    Kind::PullRequestMerged,
                    format!("pull request {pr} was merged and cannot be reopened"),
                )
                .hint("open a new one from another branch"));
            }
            PrState::Closed => {}
        }
        if self.tip(&row.branch)?.is_none() {
            return Err(Problem::new(
                Kind::BranchNotFound,
                format!("its branch `{}` no longer exists", row.branch),
            )
            .hint(format!(
                "restore it: `git branch {} {}`",
                row.branch, row.head_sha
            )));
        }
        let newer = self.newest_of(&row.branch)?;
        if let Some(newer) =
            newer.filter(|newer| newer.number != pr && newer.state == PrState::Open)
        {
            return Err(Problem::new(
                Kind::BranchHasPullRequest,
                format!(
                    "branch `{}` already has pull request {}",
                    row.branch, newer.number
                ),
            )
            .hint(format!("close {} first", newer.number)));
        }
        self.set_while(pr, PrState::Closed, "state", &"open")?;
        self.refresh()
    }

    pub(super) fn require_open(&self, pr: PrNumber, state: PrState) -> Result<(), Problem> {
        let what = match state {
            PrState::Open => return Ok(()),
            PrState::Merged => "already merged",
            PrState::Closed => "closed",
        };
        let problem = Problem::new(
            Kind::PullRequestNotOpen,
            format!("pull request {pr} is {what}"),
        );
        Err(match state {
            PrState::Closed => problem.hint(format!("reopen it: `drive pr reopen {pr}`")),
            PrState::Open | PrState::Merged => problem,
        })
    }

    /// Makes a comment a reply: in the thread of an inline comment, else in the conversation.
    pub(super) fn aim_reply(
        &self,
        new: &mut NewComment<'_>,
        pr: PrNumber,
        to: CommentId,
    ) -> Result<(), Problem> {
        let target = self.require_comment(pr, to)?;
        let first = match target.in_reply_to {
            Some(first) if target.key.surface == Surface::Inline => {
                self.require_comment(pr, first)?
            }
            Some(_) | None => target,
        };
        new.in_reply_to = Some(first.key.id);
        if first.key.surface == Surface::Inline {
            new.surface = Surface::Inline;
            new.spot = match (first.path, first.line, first.commit) {
                (Some(path), Some(line), Some(commit)) => Some(Spot {
                    path,
                    line,
                    commit: commit.to_string(),
                }),
                _ => None,
            };
        }
        Ok(())
    }

    /// The author of a command. The user of this machine gets admin permission; a name given on the
    /// command line gets none, so that trust can be tested without a second account.
    fn person(&self, name: Option<&str>) -> Result<Author, Problem> {
        let name = name.unwrap_or(self.user()).trim();
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err(Problem::new(
                Kind::NameUnusable,
                "the author's name is empty or not plain text",
            )
            .hint("pass `--as NAME`, or set `git config user.name`"));
        }
        if name.eq_ignore_ascii_case(ACCOUNT) {
            return Err(Problem::new(
                Kind::NameTaken,
                format!("`{name}` is the name drive posts under"),
            )
            .hint("pass `--as` with another name"));
        }
        if folded(name) == folded(self.user()) {
            // Comments under an earlier `user.name` still belong to the same user.
            self.set_permission(name, Permission::Admin)?;
        }
        Ok(Author {
            login: Some(name.to_owned()),
            is_bot: false,
        })
    }
}

fn require_text(body: &str) -> Result<(), Problem> {
    if body.trim().is_empty() {
        return Err(Problem::new(Kind::BodyEmpty, "the comment has no text"));
    }
    require_short(body)
}

fn require_short(body: &str) -> Result<(), Problem> {
    let length = body.chars().count();
    if length <= BODY_CHARS {
        return Ok(());
    }
    Err(Problem::new(
        Kind::BodyTooLong,
        format!("the comment has {length} characters; the limit is {BODY_CHARS}"),
    )
    .hint("split it into several comments"))
}
