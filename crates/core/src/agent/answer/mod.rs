//! Structured answers: the last JSON block of an agent's output. The parser is lenient about form
//! and strict about meaning: an unclear answer is inconclusive, never guessed.

mod beside;
mod block;
mod fields;
mod finding;
mod fixer;
mod form;
mod handoff;
mod json;
mod namer;
mod refuter;
mod review;
mod reviewer;
mod validator;

pub use finding::{Confidence, Finding, Severity};
pub use fixer::{CommentAction, CommentAnswer, FixerAnswer, read_fixer};
pub use form::{AnswerForm, Said};
pub use handoff::{Added, Handoff, read_handoff, without_handoff};
pub use namer::{MAX_BRANCH_CHARS, MAX_TITLE_CHARS, Naming, read_naming, slug, title_of};
pub use refuter::{Refutation, read_refutations};
pub use review::{Review, Verdict};
pub use reviewer::{
    COMMIT_CHARS, REVIEW_COMPLETE, Shown, ends_review, has_answer, has_begun_answer, read_review,
    require_unopposed,
};
pub use validator::{
    AuditSeverity, Cited, EntryClaim, FindingClaim, ProofCommand, Standing, ValidatorAnswer,
    read_validation,
};

use serde::{Deserialize, Serialize};

/// An answer from which no action follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inconclusive {
    /// The reason, as a lowercase fragment.
    pub reason: String,
}

/// How many items of one list are read at most.
const MAX_ITEMS: usize = 500;

fn inconclusive(reason: impl Into<String>) -> Inconclusive {
    Inconclusive {
        reason: reason.into(),
    }
}
