//! One comment in the ledger: its text, its state and how it was handled.

use super::comment_answer::{Answer, FixerResult};
use super::remark::ReviewOf;
use crate::agent::answer::REVIEW_COMPLETE;
use crate::forge::approval::work_in;
use crate::forge::marker::visible;
use crate::forge::{Aside, Comment, CommentRef, CommentVersion, LineOrigin, Surface};
use crate::ids::{CommentId, CommitSha};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// How many characters of an answered comment are stored: enough to recognise it in a list.
pub(super) const REMEMBERED_CHARS: usize = 200;
/// How many characters of one comment a fixer gets.
pub(super) const LONGEST_BODY: usize = 32 * 1024;

/// One comment and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// The comment and its version.
    pub key: CommentVersion,
    /// The author.
    pub author: String,
    /// The file it is about.
    pub path: Option<String>,
    /// The line it is about.
    pub line: Option<u64>,
    /// Where on the diff it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<LineOrigin>,
    /// The comment that began its thread, for comments on a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<CommentId>,
    /// The commit that the comment was written on.
    pub commit: Option<CommitSha>,
    /// A link for people.
    pub url: Option<String>,
    /// The text; only its beginning once the comment is answered.
    pub body: String,
    /// When drive first read it.
    pub seen_at: Timestamp,
    /// When it was last edited, by the forge's clock; `None` for what drive posted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_at: Option<Timestamp>,
    /// Whether a reply told its author what it waits for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told: bool,
    /// How often a fixer got it.
    pub tries: u32,
    /// The review it belongs to; `None` for a person's comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewOf>,
    /// The findings that it lists; empty if it is about one thing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// The comments whose questions it answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<CommentVersion>,
    /// The state of the comment.
    pub life: Life,
}

/// One of several findings in one comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// The file it is about.
    pub file: Option<String>,
    /// The line it is about.
    pub line: Option<u64>,
    /// The finding's text; only its beginning once it is answered.
    pub body: String,
    /// The fixer's answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

/// The state of a comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "life")]
pub enum Life {
    /// It waits for a fixer.
    Seen,
    /// A fixer has it.
    Dispatched {
        /// The fixer round.
        round: u32,
    },
    /// The fix is published; the reply is due.
    Pushed {
        /// The fixer's answer.
        answer: Answer,
    },
    /// The reply is posted.
    Replied {
        /// The fixer's answer.
        answer: Answer,
        /// The reply, if its id is known.
        reply: Option<CommentRef>,
    },
    /// The reply is posted and asks its author a question. A later comment answers it.
    Asked {
        /// The question.
        answer: Answer,
        /// The reply, if its id is known.
        reply: Option<CommentRef>,
    },
    /// No reply can be posted.
    Unanswerable {
        /// The reason.
        why: String,
    },
    /// No fixer gets it: no review follows it, or a fixer declined it and its reviewer insists. A
    /// person decides.
    Left,
    /// It was edited before a fixer got it; the newer version counts.
    Superseded,
    /// A person resolved, minimised or dismissed it before a fixer got it.
    Withdrawn {
        /// Why the comment no longer needs an answer.
        how: Aside,
    },
}

impl Entry {
    /// A comment that waits for a fixer; `None` for one that asks for nothing.
    pub fn of_comment(comment: &Comment, now: Timestamp) -> Option<Self> {
        let body = visible(&comment.body);
        let asks = is_actionable(body) && work_in(comment, body);
        asks.then(|| Self {
            key: CommentVersion::new(comment.key.comment(), body),
            author: comment.author.login.clone().unwrap_or_default(),
            path: comment.path.clone(),
            line: comment.line,
            origin: comment.origin.clone(),
            thread: thread_of(comment.key.comment(), comment.in_reply_to),
            commit: comment.commit.clone(),
            url: comment.url.clone(),
            body: shortened(body),
            seen_at: now,
            edited_at: Some(comment.key.updated_at),
            told: false,
            tries: 0,
            review: None,
            parts: Vec::new(),
            answers: Vec::new(),
            life: Life::Seen,
        })
    }

    /// When this text was written, as far as known.
    pub(super) fn changed_at(&self) -> Timestamp {
        let edited_at = self.edited_at.or_else(|| self.key.words.edited_at());
        edited_at.unwrap_or(self.seen_at)
    }

    /// Whether both entries are the same version, or versions with the same text. Earlier journals
    /// stored the time of the edit, and only the beginning of long texts.
    pub(super) fn has_words_of(&self, other: &Entry) -> bool {
        let is_old = self.key.words.edited_at().is_some();
        let is_cut = self.body.chars().count() >= REMEMBERED_CHARS;
        self.key == other.key
            || is_old
                && (self.changed_at() == other.changed_at()
                    || self.body == other.body
                    || is_cut
                        && other.changed_at() <= self.changed_at()
                        && other.body.starts_with(&self.body))
    }

    /// The name under which a fixer answers it, unique across all surfaces.
    pub fn id(&self) -> String {
        format!("{}-{}", surface_name(self.key.surface), self.key.id)
    }

    /// The name under which a fixer answers one of its findings.
    pub fn part_id(&self, place: usize) -> String {
        format!("{}.{}", self.id(), place + 1)
    }

    /// The idempotency key of our reply to this version.
    pub fn reply_key(&self) -> String {
        reply_key(&self.key)
    }
}

/// The idempotency key of the one reply that a version of a comment gets.
pub fn reply_key(key: &CommentVersion) -> String {
    let surface = surface_name(key.surface);
    format!("reply/{surface}-{}-{}", key.id, key.words.as_str())
}

impl Life {
    /// The answer that is to be posted.
    pub(in crate::run) fn pushed(&self) -> Option<&Answer> {
        if let Life::Pushed { answer } = self {
            return Some(answer);
        }
        None
    }

    /// The fixer's note on an answered comment.
    pub(in crate::run) fn note(&self) -> Option<&str> {
        match self {
            Life::Pushed { answer } | Life::Replied { answer, .. } | Life::Asked { answer, .. } => {
                Some(&answer.note)
            }
            Life::Seen
            | Life::Dispatched { .. }
            | Life::Unanswerable { .. }
            | Life::Left
            | Life::Superseded
            | Life::Withdrawn { .. } => None,
        }
    }

    /// The fixer's result for an answered comment.
    pub(in crate::run) fn action(&self) -> Option<FixerResult> {
        match self {
            Life::Replied { answer, .. } | Life::Asked { answer, .. } => Some(answer.action),
            Life::Seen
            | Life::Dispatched { .. }
            | Life::Pushed { .. }
            | Life::Unanswerable { .. }
            | Life::Left
            | Life::Superseded
            | Life::Withdrawn { .. } => None,
        }
    }

    /// Whether a fix, a reply, an answer to a question or a decision is due.
    pub fn is_open(&self) -> bool {
        match self {
            Life::Seen
            | Life::Dispatched { .. }
            | Life::Pushed { .. }
            | Life::Asked { .. }
            | Life::Left => true,
            Life::Replied { .. }
            | Life::Unanswerable { .. }
            | Life::Superseded
            | Life::Withdrawn { .. } => false,
        }
    }
}

/// The comment that began the thread of this one; `None` for comments without threads.
pub(in crate::run) fn thread_of(
    comment: CommentRef,
    in_reply_to: Option<CommentId>,
) -> Option<CommentId> {
    let is_inline = comment.surface == Surface::Inline;
    is_inline.then(|| in_reply_to.unwrap_or(comment.id))
}

fn surface_name(surface: Surface) -> &'static str {
    match surface {
        Surface::Conversation => "conversation",
        Surface::Inline => "inline",
        Surface::Review => "review",
    }
}

/// Whether a text asks for anything. The marker that completes a review does not.
pub fn is_actionable(body: &str) -> bool {
    let rest = body.replace(REVIEW_COMPLETE, "");
    !rest.trim().is_empty()
}

fn shortened(body: &str) -> String {
    match body.char_indices().nth(LONGEST_BODY) {
        None => body.to_owned(),
        Some((end, _)) => format!("{}…\n\n(truncated)", &body[..end]),
    }
}
