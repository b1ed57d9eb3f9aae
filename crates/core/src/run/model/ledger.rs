//! The comment ledger: every comment of a trusted author and its state.
//!
//! A comment lives as seen → dispatched → pushed → replied. Its key holds the time of its
//! last edit, so an edit makes it a new comment: one that was not dispatched yet is replaced by its
//! newer version, one that was is answered again.

use super::remark::ReviewOf;
use crate::agent::answer::{CommentAction, REVIEW_COMPLETE};
use crate::forge::marker::visible;
use crate::forge::{Comment, CommentKey, CommentRef, LineOrigin, Surface};
use crate::ids::{CommentId, CommitSha};
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};

/// How much of a comment stays once it was answered: enough to recognise it in a list.
const REMEMBERED_CHARS: usize = 200;
/// How often one comment is given to a fixer that fails.
pub(in crate::run) const MOST_TRIES: u32 = 3;
/// How many characters of one comment a fixer gets.
const LONGEST_BODY: usize = 32 * 1024;

/// Every comment that counts, by its version. It is written as the list of its entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    entries: BTreeMap<CommentKey, Entry>,
    /// The open ones, so that an event costs the same however many comments were answered before.
    open: BTreeSet<CommentKey>,
}

/// One comment and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Which comment, in which version.
    pub key: CommentKey,
    /// Who wrote it.
    pub author: String,
    /// The file it is about.
    pub path: Option<String>,
    /// The line it is about.
    pub line: Option<u64>,
    /// Where it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<LineOrigin>,
    /// The comment that began its thread on a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<CommentId>,
    /// The commit it was given on.
    pub commit: Option<CommitSha>,
    /// A link for people.
    pub url: Option<String>,
    /// Its text; only the beginning once it is answered.
    pub body: String,
    /// When it was seen.
    pub seen_at: Timestamp,
    /// How often a fixer got it.
    pub tries: u32,
    /// From which review it is; `None` for what a person wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewOf>,
    /// The findings that it lists; none where it is about one thing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// Its state.
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
    /// The finding; only the beginning once it is answered.
    pub body: String,
    /// How it was dealt with.
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
        /// In which round.
        round: u32,
    },
    /// The fix is published; the reply is due.
    Pushed {
        /// How it was dealt with.
        answer: Answer,
    },
    /// The reply is posted.
    Replied {
        /// How it was dealt with.
        answer: Answer,
        /// The reply, if its id is known.
        reply: Option<CommentRef>,
    },
    /// No reply can be posted.
    Unanswerable {
        /// The reason.
        why: String,
    },
    /// No fixer gets it: no review is left after it, or one declined it and its reviewer insists. A
    /// person decides.
    Left,
    /// It was edited before anybody took it up; the newer version counts.
    Superseded,
}

/// How a comment was dealt with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// What the fixer did.
    pub action: FixerResult,
    /// The commit that holds it, or what else was done in the same round.
    pub commit: Option<CommitSha>,
    /// The fixer's note.
    pub note: String,
}

/// What became of a comment that a fixer got.
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
    /// It failed.
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

impl Ledger {
    /// Takes up an entry, unless this version or a newer one is known.
    pub(in crate::run) fn insert(&mut self, entry: Entry) -> bool {
        let comment = entry.key.comment();
        if self.versions(comment).any(|known| known.key >= entry.key) {
            return false;
        }
        let older: Vec<CommentKey> = self
            .versions(comment)
            .filter(|known| known.life == Life::Seen)
            .map(|known| known.key.clone())
            .collect();
        for key in older {
            self.set(&key, Life::Superseded);
        }
        self.put(entry);
        true
    }

    fn put(&mut self, entry: Entry) {
        if entry.life.is_open() {
            self.open.insert(entry.key.clone());
        }
        self.entries.insert(entry.key.clone(), entry);
    }

    /// All versions of a comment, oldest first.
    fn versions(&self, comment: CommentRef) -> impl Iterator<Item = &Entry> {
        let at = |updated_at| CommentKey {
            surface: comment.surface,
            id: comment.id,
            updated_at,
        };
        let versions = at(Timestamp::MIN)..=at(Timestamp::MAX);
        self.entries.range(versions).map(|(_, entry)| entry)
    }

    /// All of them, by surface and id.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// One of them.
    pub fn get(&self, key: &CommentKey) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// Those that wait for a fixer or have one, whose author waits for an answer, or that a person has
    /// to decide.
    pub fn open(&self) -> impl Iterator<Item = &Entry> {
        self.open.iter().filter_map(|key| self.entries.get(key))
    }

    /// Whether one waits for a fixer.
    pub fn has_waiting(&self) -> bool {
        self.open().any(|entry| entry.life == Life::Seen)
    }

    /// Gives the oldest waiting comments to a fixer, at most so many.
    pub(in crate::run) fn dispatch(&mut self, round: u32, most: usize) -> Vec<CommentKey> {
        let mut waiting: Vec<&Entry> = self
            .open()
            .filter(|entry| entry.life == Life::Seen)
            .collect();
        waiting.sort_by(|a, b| (a.seen_at, &a.key).cmp(&(b.seen_at, &b.key)));
        let batch: Vec<CommentKey> = waiting
            .into_iter()
            .take(most)
            .map(|entry| entry.key.clone())
            .collect();
        for key in &batch {
            if let Some(entry) = self.entries.get_mut(key) {
                entry.tries += 1;
                entry.life = Life::Dispatched { round };
            }
        }
        batch
    }

    /// The last try did not count: the fixer's model was away.
    pub(in crate::run) fn untry(&mut self, key: &CommentKey) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.tries = entry.tries.saturating_sub(1);
        }
    }

    /// Gives one back that a fixer failed with. Where it was edited meanwhile, the newer version
    /// counts.
    pub(in crate::run) fn give_back(&mut self, key: &CommentKey, life: Life) {
        let is_edited = self.versions(key.comment()).any(|known| known.key > *key);
        self.set(key, if is_edited { Life::Superseded } else { life });
    }

    /// Moves one on. What was dealt with needs only the beginning of its text.
    pub(in crate::run) fn set(&mut self, key: &CommentKey, life: Life) {
        if let Some(entry) = self.entries.get_mut(key) {
            if life.is_open() {
                self.open.insert(key.clone());
            } else {
                self.open.remove(key);
                let parts = entry.parts.iter_mut().map(|part| &mut part.body);
                for body in parts.chain([&mut entry.body]) {
                    *body = body.chars().take(REMEMBERED_CHARS).collect();
                }
                entry.origin = None;
            }
            entry.life = life;
        }
    }

    /// Enters how each of the findings in a comment was dealt with.
    pub(in crate::run) fn answer_parts(&mut self, key: &CommentKey, answers: Vec<Answer>) {
        let parts = self.entries.get_mut(key).map(|entry| &mut entry.parts);
        for (part, answer) in parts.into_iter().flatten().zip(answers) {
            part.answer = Some(answer);
        }
    }

    /// One of our replies shows that a comment was answered before this ledger knew it.
    pub(in crate::run) fn mark_answered(&mut self, key: &str) {
        let found = self
            .open()
            .find(|entry| entry.life == Life::Seen && entry.reply_key() == key);
        if let Some(key) = found.map(|entry| entry.key.clone()) {
            let answer = Answer {
                action: FixerResult::Unknown,
                commit: None,
                note: "answered before".to_owned(),
            };
            self.set(
                &key,
                Life::Replied {
                    answer,
                    reply: None,
                },
            );
        }
    }
}

impl Serialize for Ledger {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.entries.values())
    }
}

impl<'de> Deserialize<'de> for Ledger {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut ledger = Self::default();
        for entry in Vec::<Entry>::deserialize(deserializer)? {
            ledger.put(entry);
        }
        Ok(ledger)
    }
}

impl Entry {
    /// A comment that waits for a fixer; `None` for one that asks for nothing.
    pub fn of_comment(comment: &Comment, now: Timestamp) -> Option<Self> {
        let body = visible(&comment.body);
        is_actionable(body).then(|| Self {
            key: comment.key.clone(),
            author: comment.author.login.clone().unwrap_or_default(),
            path: comment.path.clone(),
            line: comment.line,
            origin: comment.origin.clone(),
            thread: thread_of(comment.key.comment(), comment.in_reply_to),
            commit: comment.commit.clone(),
            url: comment.url.clone(),
            body: shortened(body),
            seen_at: now,
            tries: 0,
            review: None,
            parts: Vec::new(),
            life: Life::Seen,
        })
    }

    /// The name under which a fixer answers it, unique over all surfaces.
    pub fn id(&self) -> String {
        format!("{}-{}", surface_name(self.key.surface), self.key.id)
    }

    /// The name under which a fixer answers one of the findings that it lists.
    pub fn part_id(&self, place: usize) -> String {
        format!("{}.{}", self.id(), place + 1)
    }

    /// What our reply to this version carries, so that it is found again.
    pub fn reply_key(&self) -> String {
        reply_key(&self.key)
    }
}

/// The name of the one reply that a version of a comment gets.
pub fn reply_key(key: &CommentKey) -> String {
    format!(
        "reply/{}-{}-{}",
        surface_name(key.surface),
        key.id,
        key.updated_at.as_millisecond()
    )
}

impl Life {
    /// The answer to post.
    pub(in crate::run) fn pushed(&self) -> Option<&Answer> {
        if let Life::Pushed { answer } = self {
            return Some(answer);
        }
        None
    }

    /// Whether a fix, a reply or a decision is due.
    pub fn is_open(&self) -> bool {
        match self {
            Life::Seen | Life::Dispatched { .. } | Life::Pushed { .. } | Life::Left => true,
            Life::Replied { .. } | Life::Unanswerable { .. } | Life::Superseded => false,
        }
    }
}

/// The comment that began the thread of this one; `None` where there are no threads.
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

/// Whether a text asks for anything. The marker that ends a review does not.
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

#[cfg(test)]
mod tests;
