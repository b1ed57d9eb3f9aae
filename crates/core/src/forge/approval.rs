//! Approvals and requests for changes on a pull request. An approval is bound to the commit it was
//! given for; a request for changes stands until it is withdrawn.

use super::{Author, Comment, ReviewState};
use crate::ids::{CommentId, CommitSha};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A yes to exactly one commit. Whether its author may say it is for [`super::trust`] to judge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// The author of the approval.
    pub author: Author,
    /// The commit it was said of. A later head is not approved by it.
    pub head: CommitSha,
    /// The time.
    pub at: Timestamp,
}

/// A request for changes that stands, whatever was pushed since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Objection {
    /// The author of the request.
    pub author: Author,
    /// The commit it was given on, where the forge says.
    pub head: Option<CommitSha>,
    /// A link for people.
    pub url: Option<String>,
}

/// What stands among the reviews of a pull request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opinions {
    /// Approvals, oldest first.
    pub approvals: Vec<Approval>,
    /// Requests for changes, oldest first.
    pub objections: Vec<Objection>,
}

/// What stands among a pull request's reviews.
///
/// The newest verdict of a person counts: asking for changes and being dismissed take an approval
/// back, an approval and a dismissal take a request for changes back, a remark does neither. An
/// approval without an author or a commit binds nobody to nothing, and is left out.
pub fn standing(reviews: &[Comment]) -> Opinions {
    let mut newest: BTreeMap<String, &Comment> = BTreeMap::new();
    for review in reviews.iter().filter(|review| is_verdict(review)) {
        let Some(login) = &review.author.login else {
            continue;
        };
        let known = newest.entry(login.to_lowercase()).or_insert(review);
        if order(review) >= order(known) {
            *known = review;
        }
    }
    let mut standing: Vec<&Comment> = newest.into_values().collect();
    standing.sort_by_key(|review| order(review));
    Opinions {
        approvals: standing.iter().filter_map(|one| approval(one)).collect(),
        objections: standing.iter().filter_map(|one| objection(one)).collect(),
    }
}

/// Whether a comment is a review that says yes or no, or that was taken back.
pub fn is_verdict(review: &Comment) -> bool {
    match review.review {
        Some(ReviewState::Approved | ReviewState::ChangesRequested | ReviewState::Dismissed) => {
            true
        }
        Some(ReviewState::Commented) | None => false,
    }
}

fn approval(review: &Comment) -> Option<Approval> {
    if review.review != Some(ReviewState::Approved) {
        return None;
    }
    Some(Approval {
        author: review.author.clone(),
        head: review.commit.clone()?,
        at: review.created_at,
    })
}

fn objection(review: &Comment) -> Option<Objection> {
    let is_objection = review.review == Some(ReviewState::ChangesRequested);
    is_objection.then(|| Objection {
        author: review.author.clone(),
        head: review.commit.clone(),
        url: review.url.clone(),
    })
}

/// Whether a comment leaves work to do. Praise in an approval does not, and would cost the approval:
/// any commit needs a new one.
pub fn work_in(comment: &Comment, body: &str) -> bool {
    match comment.review {
        Some(ReviewState::Approved) => asks_for_something(body),
        Some(ReviewState::ChangesRequested | ReviewState::Commented | ReviewState::Dismissed)
        | None => true,
    }
}

/// Words after which a sentence asks for something, whatever else it says.
const STRONG: [&str; 27] = [
    "please",
    "but",
    "however",
    "though",
    "although",
    "until",
    "unless",
    "hold",
    "wait",
    "stop",
    "don't",
    "dont",
    "do not",
    "before",
    "first",
    "also",
    "modulo",
    "wrong",
    "instead",
    "could you",
    "can you",
    "would you",
    "can we",
    "could we",
    "nice to have",
    "be nice",
    "be great",
];
/// Words of a request.
const REQUESTS: [&str; 21] = [
    "should",
    "must",
    "needs to",
    "need to",
    "needs",
    "nit",
    "nits",
    "nitpick",
    "nitpicks",
    "todo",
    "fixme",
    "typo",
    "typos",
    "consider",
    "suggest",
    "suggestion",
    "suggestions",
    "once you",
    "as long as",
    "except",
    "missing",
];
/// Verbs that ask for something at the beginning of a sentence.
const VERBS: [&str; 20] = [
    "fix", "rename", "change", "remove", "add", "use", "move", "update", "make", "drop", "replace",
    "delete", "revert", "rebase", "squash", "split", "document", "check", "handle", "avoid",
];
/// Words that praise.
const PRAISE: [&str; 26] = [
    "lgtm",
    "good",
    "great",
    "nice",
    "nicely",
    "excellent",
    "perfect",
    "awesome",
    "fantastic",
    "love",
    "thanks",
    "thank",
    "ship",
    "approved",
    "approve",
    "approving",
    "well",
    "clean",
    "solid",
    "fine",
    "happy",
    "done",
    "tada",
    "rocket",
    "ok",
    "okay",
];
/// Words around praise, and of a sentence that leaves nothing to do. Neither says what is wrong.
const FILLERS: [&str; 66] = [
    "a",
    "add",
    "again",
    "all",
    "and",
    "are",
    "as",
    "be",
    "can",
    "change",
    "changes",
    "comments",
    "concerns",
    "everything",
    "far",
    "for",
    "from",
    "further",
    "go",
    "here",
    "i",
    "i'm",
    "i've",
    "in",
    "is",
    "issues",
    "it",
    "it's",
    "job",
    "let's",
    "locally",
    "look",
    "looking",
    "looks",
    "me",
    "merge",
    "more",
    "much",
    "my",
    "needed",
    "no",
    "nothing",
    "now",
    "objections",
    "of",
    "pr",
    "questions",
    "really",
    "see",
    "should",
    "side",
    "so",
    "tested",
    "that",
    "the",
    "this",
    "to",
    "very",
    "was",
    "will",
    "with",
    "work",
    "works",
    "yes",
    "you",
    "1",
];
/// Words that begin a sentence about what is liked.
const LIKED: [&str; 9] = [
    "great",
    "nice",
    "excellent",
    "perfect",
    "awesome",
    "fantastic",
    "love",
    "thanks",
    "thank",
];
/// How many words such a sentence has at most.
const LIKED_WORDS: usize = 6;

/// Whether the text of an approval asks for something. In doubt it does: a request that is overlooked
/// is lost, and praise that is taken for one costs a round.
fn asks_for_something(body: &str) -> bool {
    let text = own_words(body);
    is_open(body, &text)
        || sentences(&text)
            .map(words)
            .any(|one| asks(&one) || !is_praise(&one))
}

/// Whether a text asks for something in so many words.
pub(super) fn asks_expressly(body: &str) -> bool {
    let text = own_words(body);
    is_open(body, &text) || sentences(&text).map(words).any(|one| asks(&one))
}

/// The text without quotations, in small letters.
fn own_words(body: &str) -> String {
    let quoted = |line: &str| line.trim_start().starts_with('>');
    let text: Vec<&str> = body.lines().filter(|line| !quoted(line)).collect();
    text.join("\n").to_lowercase()
}

/// Whether it asks a question, or has a block or an open box.
fn is_open(body: &str, text: &str) -> bool {
    let has_block = body.contains("```") || body.contains("- [ ]") || body.contains("* [ ]");
    has_block || text.contains('?')
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| matches!(c, '.' | '!' | ';' | '\n' | ',');
    let trimmed = |c: char| !c.is_alphanumeric();
    text.split(ends)
        .map(move |part| part.trim_start_matches(trimmed))
        .filter(|part| !part.is_empty())
}

fn words(sentence: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '\'' || c == '’';
    let words = sentence.split(move |c: char| !is_word(c));
    words.filter(|word| !word.is_empty()).collect()
}

fn asks(words: &[&str]) -> bool {
    let text = format!(" {} ", words.join(" ").replace('’', "'"));
    let has = |all: &[&str]| all.iter().any(|word| text.contains(&format!(" {word} ")));
    if has(&STRONG) {
        return true;
    }
    let is_hope = has(&[
        "should be good",
        "should be fine",
        "should be ok",
        "should work",
    ]);
    let is_verb = words.first().is_some_and(|first| VERBS.contains(first));
    is_verb || (has(&REQUESTS) && !is_hope)
}

/// Whether a sentence only praises. A word that is not known to praise may name a problem.
fn is_praise(words: &[&str]) -> bool {
    let is_known = |word: &&str| PRAISE.contains(word) || FILLERS.contains(word);
    if words.iter().all(is_known) {
        return true;
    }
    let likes = words.first().is_some_and(|first| LIKED.contains(first));
    let wishes = ["have", "has", "had", "would", "could", "needed"];
    if likes && words.len() <= LIKED_WORDS {
        return !words.iter().any(|word| wishes.contains(word));
    }
    // Something is excellent.
    matches!(words, [.., verb, last] if ["is", "are", "looks", "look"].contains(verb) && PRAISE.contains(last))
}

/// Ids only grow, whatever a clock says.
fn order(review: &Comment) -> CommentId {
    review.key.id
}

#[cfg(test)]
mod tests;
