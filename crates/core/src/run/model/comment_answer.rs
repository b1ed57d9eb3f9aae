//! Results of comments after a fixer's round.

use crate::agent::answer::CommentAction;
use crate::ids::CommitSha;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a fixer answered a comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The fixer's result.
    pub action: FixerResult,
    /// The commit with the fix, or the commit of the same round.
    pub commit: Option<CommitSha>,
    /// The fixer's note.
    pub note: String,
}

/// The result of a comment that a fixer got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FixerResult {
    /// The fixer says that it changed something.
    Fixed,
    /// It will not change it, and says why.
    Declined,
    /// It asks back.
    Question,
    /// It succeeded, and did not name the comment in its answer.
    Unsaid,
    /// The fixer's run failed.
    Failed,
    /// A reply was found that the journal does not know.
    Unknown,
}

impl From<CommentAction> for FixerResult {
    fn from(said: CommentAction) -> Self {
        match said {
            CommentAction::Fixed => FixerResult::Fixed,
            CommentAction::Declined => FixerResult::Declined,
            CommentAction::Question => FixerResult::Question,
        }
    }
}
