//! Approvals and requests for changes on a pull request. An approval is bound to its commit; a
//! request for changes remains until it is withdrawn.

use super::{Author, Comment, ReviewState};
use crate::ids::{CommentId, CommitSha};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An approval of exactly one commit. [`super::trust`] decides whether its author may give it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// The author of the approval.
    pub author: Author,
    /// The approved commit. A later head is not approved by it.
    pub head: CommitSha,
    /// The time.
    pub at: Timestamp,
}

/// A standing request for changes, whatever was pushed since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Objection {
    /// The author of the request.
    pub author: Author,
    /// The commit it was made on, if the forge reports it.
    pub head: Option<CommitSha>,
    /// A link for people.
    pub url: Option<String>,
}

/// The standing approvals and objections of a pull request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opinions {
    /// Approvals, oldest first.
    pub approvals: Vec<Approval>,
    /// Requests for changes, oldest first.
    pub objections: Vec<Objection>,
}

/// The approvals and objections that stand.
///
/// The newest verdict of a person counts: a request for changes or a dismissal withdraws an
/// approval, an approval or a dismissal withdraws a request for changes, and a remark changes
/// neither. An approval without an author or a commit is left out.
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

/// Whether a comment is a review with a verdict, or a dismissed one.
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

/// Whether a comment asks for work. Praise in an approval does not: a commit for it would void the approval.
pub fn work_in(comment: &Comment, body: &str) -> bool {
    match comment.review {
        Some(ReviewState::Approved) => asks_for_something(body),
        Some(ReviewState::ChangesRequested | ReviewState::Commented | ReviewState::Dismissed)
        | None => true,
    }
}

/// Words that make a sentence a request, whatever else it contains.
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
/// Words that express a request.
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
/// Verbs that express a request at the beginning of a sentence.
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
/// Words around praise, and words of sentences that leave nothing to do. None of them names a problem.
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
/// Words that begin a sentence of praise for something.
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
/// The maximum number of words of such a sentence.
const LIKED_WORDS: usize = 6;

/// Whether the text of an approval asks for something. In doubt it does: an overlooked request is
/// lost, while praise that is mistaken for a request only costs a round.
fn asks_for_something(body: &str) -> bool {
    let text = own_words(body);
    is_open(body, &text)
        || sentences(&text)
            .map(words)
            .any(|one| asks(&one) || !is_praise(&one))
}

/// Whether a text explicitly asks for something.
pub(super) fn asks_expressly(body: &str) -> bool {
    let text = own_words(body);
    is_open(body, &text) || sentences(&text).map(words).any(|one| asks(&one))
}

/// The text without quotations, in lowercase.
fn own_words(body: &str) -> String {
    let quoted = |line: &str| line.trim_start().starts_with('>');
    let text: Vec<&str> = body.lines().filter(|line| !quoted(line)).collect();
    text.join("\n").to_lowercase()
}

/// Whether the text contains a question, a code block or an open checkbox.
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

/// Whether a sentence only praises. A word that is not known as praise may name a problem.
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
    // A sentence such as "the tests look great".
    matches!(words, [.., verb, last] if ["is", "are", "looks", "look"].contains(verb) && PRAISE.contains(last))
}

/// The order of reviews. Ids only grow, whatever the clock says.
fn order(review: &Comment) -> CommentId {
    review.key.id
}

#[cfg(test)]
mod tests;
