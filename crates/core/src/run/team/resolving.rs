//! Remarks: from a review or from a person, one by one.

use super::super::effect::EffectResult;
use super::super::forge_act::{ForgeAct, ForgeAnswer};
use super::texts::suggestion_text;
use super::{Flight, TeamStage};
use crate::agent::answer::{CommentAction, Suggestion};
use crate::forge::marker::visible;
use crate::forge::{Comment, CommentRef};
use crate::review::{Domain, Move};
use serde::{Deserialize, Serialize};

/// How often people may have something to say after the last review before the run ends anyway.
const MOST_LATE_ROUNDS: u32 = 10;
/// How much of a remark a commit's first line shows.
const SUBJECT_CHARS: usize = 50;

/// Something the primary is asked to change.
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
}

impl Remark {
    /// The name under which an agent answers it.
    pub fn id(&self) -> String {
        match self.comment {
            Some(comment) => comment.id.to_string(),
            None => "review".to_owned(),
        }
    }

    /// One suggestion of a reviewer.
    pub(super) fn of_suggestion(
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
        }
    }

    fn of_comment(comment: &Comment) -> Self {
        Self {
            comment: Some(comment.key.comment()),
            author: comment.author.login.clone().unwrap_or_default(),
            domain: None,
            round: 1,
            file: comment.path.clone(),
            line: comment.line,
            body: visible(&comment.body).to_owned(),
        }
    }
}

impl Flight<'_> {
    /// Looks at what people wrote, before the next move.
    pub(super) fn listen(&mut self) {
        self.team.stage = TeamStage::Listening;
        let since = self.team.cursor;
        self.on_forge(ForgeAct::Listen { since });
    }

    /// A forge that cannot be asked now must not stop the work: it is asked again before the next
    /// move, from the same point on.
    pub(super) fn listened(&mut self, result: EffectResult) {
        self.team.listened = true;
        if let EffectResult::OnForge {
            answer:
                ForgeAnswer::Heard {
                    comments,
                    ignored,
                    next,
                },
        } = result
        {
            self.team.cursor = next;
            for one in ignored {
                if !self.team.record.ignored.contains(&one) {
                    self.team.record.ignored.push(one);
                }
            }
            for comment in comments {
                if self.team.heard.insert(comment.key.clone()) {
                    self.team.queue.push_back(Remark::of_comment(&comment));
                }
            }
        } else if let EffectResult::Failed { problem } = result {
            self.run
                .warnings
                .push(format!("the pull request could not be read: {problem}"));
        }
        // What was said after the last review may be followed by more.
        if let (Move::Done(_), false) = (&self.team.next, self.team.queue.is_empty()) {
            self.team.late_rounds += 1;
            self.team.listened = self.team.late_rounds >= MOST_LATE_ROUNDS;
        }
        self.proceed();
    }
}

/// The message of a commit for what a remark asked for: it names the comment.
pub(super) fn commit_message_for(remark: &Remark, failed: bool) -> String {
    let first = remark.body.lines().find(|line| !line.trim().is_empty());
    let plain: String = first
        .unwrap_or_default()
        .chars()
        .filter(|c| !c.is_control() && !matches!(c, '*' | '`' | '#'))
        .take(SUBJECT_CHARS)
        .collect();
    let (verb, plain) = (if failed { "Begin" } else { "Resolve" }, plain.trim());
    match remark.comment {
        Some(comment) => format!(
            "{verb} comment {}: {plain}\n\nComment: {} by {}",
            comment.id, comment.id, remark.author
        ),
        None => format!("{verb} the review's remarks: {plain}"),
    }
}

/// What the author of a comment reads.
pub(super) fn reply_to(action: Option<CommentAction>, commit: Option<&str>, note: &str) -> String {
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
