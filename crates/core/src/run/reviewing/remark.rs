//! Remarks: from a review or from a person, one by one.

use super::texts::suggestion_text;
use crate::agent::answer::{CommentAction, Suggestion};
use crate::forge::marker::visible;
use crate::forge::{Comment, CommentRef, Surface};
use crate::review::Domain;
use serde::{Deserialize, Serialize};

/// How much of a remark a commit's first line shows.
const SUBJECT_CHARS: usize = 50;

/// Something an agent is asked to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remark {
    /// Where it stands on the pull request; `None` when it stands nowhere.
    pub comment: Option<CommentRef>,
    /// Who made it.
    pub author: String,
    /// Of which review.
    pub domain: Option<Domain>,
    /// In which round.
    pub round: u32,
    /// The file it is about.
    pub file: Option<String>,
    /// The line it is about.
    pub line: Option<u64>,
    /// What it says.
    pub body: String,
    /// The comment that began its thread, for a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<u64>,
    /// What was said in its thread before.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thread: String,
}

impl Remark {
    /// The name under which an agent answers it.
    pub fn id(&self) -> String {
        match self.comment {
            Some(comment) => comment.id.to_string(),
            None => "review".to_owned(),
        }
    }

    /// The comment that began the thread it stands in; `None` where there are no threads.
    pub(in crate::run) fn thread_id(&self) -> Option<u64> {
        let comment = self.comment?;
        let is_inline = comment.surface == Surface::Inline;
        is_inline.then(|| self.in_reply_to.unwrap_or(comment.id))
    }

    /// One suggestion of a reviewer.
    pub(in crate::run) fn of_suggestion(
        suggestion: &Suggestion,
        reviewer: &str,
        domain: Option<Domain>,
        round: u32,
    ) -> Self {
        Self {
            comment: None,
            author: reviewer.to_owned(),
            domain,
            round,
            file: suggestion.file.clone(),
            line: suggestion.line,
            body: suggestion_text(suggestion),
            in_reply_to: None,
            thread: String::new(),
        }
    }

    /// What a person wrote.
    pub(in crate::run) fn of_comment(comment: &Comment) -> Self {
        Self {
            comment: Some(comment.key.comment()),
            author: comment.author.login.clone().unwrap_or_default(),
            domain: None,
            round: 1,
            file: comment.path.clone(),
            line: comment.line,
            body: visible(&comment.body).to_owned(),
            in_reply_to: comment.in_reply_to,
            thread: String::new(),
        }
    }
}

/// The message of a commit for what a remark asked for: it names the comment.
pub(in crate::run) fn commit_message_for(remark: &Remark) -> String {
    let first = remark.body.lines().find(|line| !line.trim().is_empty());
    let plain: String = first
        .unwrap_or_default()
        .chars()
        .filter(|c| !c.is_control() && !matches!(c, '*' | '`' | '#'))
        .take(SUBJECT_CHARS)
        .collect();
    let plain = plain.trim();
    match remark.comment {
        Some(comment) => format!(
            "Resolve comment {}: {plain}\n\nComment: {} by {}",
            comment.id, comment.id, remark.author
        ),
        None => format!("Resolve the review's remarks: {plain}"),
    }
}

/// What the author of a comment reads.
pub(in crate::run) fn reply_to(
    action: Option<CommentAction>,
    commit: Option<&str>,
    note: &str,
) -> String {
    let said = match (action, commit) {
        (Some(CommentAction::Fixed), Some(commit)) => format!("Fixed in {commit}."),
        (Some(CommentAction::Fixed), None) => "Nothing was changed for this.".to_owned(),
        (Some(CommentAction::Declined), None) => "Not changed.".to_owned(),
        (Some(CommentAction::Question), None) => "A question first.".to_owned(),
        (Some(CommentAction::Declined | CommentAction::Question), Some(commit)) => {
            format!("Left open, with {commit}.")
        }
        (None, Some(commit)) => {
            format!("This could not be resolved; what was begun is in {commit}.")
        }
        (None, None) => "This could not be resolved.".to_owned(),
    };
    format!("{said} {note}").trim_end().to_owned()
}
