//! The comment ledger: every comment of a trusted author and its state.
//!
//! A comment lives as seen → dispatched → pushed → replied. Its key holds its words, so other words
//! make it a new comment: one that was not dispatched yet is replaced by its newer version, one that
//! was is answered again. One that was only touched is not.

use super::comment_answer::{Answer, FixerResult};
use super::remark::ReviewOf;
use crate::agent::answer::REVIEW_COMPLETE;
use crate::forge::approval::work_in;
use crate::forge::marker::visible;
use crate::forge::{Aside, Comment, CommentRef, CommentVersion, LineOrigin, Surface};
use crate::ids::{CommentId, CommitSha};
use crate::time::Timestamp;
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
    entries: BTreeMap<CommentVersion, Entry>,
    /// The open ones, so that an event costs the same however many comments were answered before.
    open: BTreeSet<CommentVersion>,
}

/// One comment and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Which comment, in which version.
    pub key: CommentVersion,
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
    /// When it was last changed, by the forge's clock; `None` for what drive posted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_at: Option<Timestamp>,
    /// Whether its author was told what it waits for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told: bool,
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
    /// A person put it aside before anybody took it up.
    Withdrawn {
        /// How.
        how: Aside,
    },
}

impl Ledger {
    /// Takes up an entry, unless its words are known. Words that are dated before known ones were
    /// overtaken; in a whole reading they stand, under a clock that was set back.
    pub(in crate::run) fn insert(&mut self, entry: Entry, is_whole: bool) -> bool {
        let comment = entry.key.comment();
        let is_new = self.is_news(&entry, is_whole);
        // A whole reading shows what stands.
        if is_whole || self.is_later(&entry) {
            let known = self.known(&entry).map(|known| known.key.clone());
            if let Some(known) = known.as_ref().and_then(|key| self.entries.get_mut(key)) {
                known.edited_at = entry.edited_at;
                known.line = entry.line;
            }
            self.supersede(comment, known.as_ref());
        }
        if is_new {
            self.put(entry);
        }
        is_new
    }

    /// Whether an entry would be taken up.
    pub fn is_news(&self, entry: &Entry, is_whole: bool) -> bool {
        match self.known(entry).map(|known| &known.life) {
            Some(Life::Superseded) => is_whole || self.is_later(entry),
            Some(Life::Withdrawn { .. }) => true,
            Some(
                Life::Seen
                | Life::Dispatched { .. }
                | Life::Pushed { .. }
                | Life::Replied { .. }
                | Life::Unanswerable { .. }
                | Life::Left,
            ) => false,
            None => is_whole || self.is_later(entry),
        }
    }

    /// The version of a comment that says the same.
    fn known(&self, entry: &Entry) -> Option<&Entry> {
        let mut versions = self.versions(entry.key.comment());
        versions.find(|known| known.has_words_of(entry))
    }

    /// Whether an entry is dated after every known version of its comment.
    fn is_later(&self, entry: &Entry) -> bool {
        let mut versions = self.versions(entry.key.comment());
        versions.all(|known| entry.changed_at() > known.changed_at())
    }

    /// What waits of a comment is not asked for any more.
    pub(in crate::run) fn take_back(&mut self, comment: CommentRef) {
        self.supersede(comment, None);
    }

    /// The same but for this version.
    fn supersede(&mut self, comment: CommentRef, but: Option<&CommentVersion>) {
        let waiting = self
            .versions(comment)
            .filter(|known| known.life == Life::Seen && Some(&known.key) != but);
        let waiting: Vec<CommentVersion> = waiting.map(|known| known.key.clone()).collect();
        for key in waiting {
            self.set(&key, Life::Superseded);
        }
    }

    /// A person put a comment aside: what waits of it is not worked on.
    pub(in crate::run) fn withdraw(&mut self, comment: CommentRef, how: Aside) {
        let waiting = self
            .versions(comment)
            .filter(|known| known.life == Life::Seen);
        let waiting: Vec<CommentVersion> = waiting.map(|known| known.key.clone()).collect();
        for key in waiting {
            self.set(&key, Life::Withdrawn { how });
        }
    }

    fn put(&mut self, entry: Entry) {
        if entry.life.is_open() {
            self.open.insert(entry.key.clone());
        }
        self.entries.insert(entry.key.clone(), entry);
    }

    /// All versions of a comment.
    fn versions(&self, comment: CommentRef) -> impl Iterator<Item = &Entry> {
        let first = CommentVersion::first(comment);
        let rest = self.entries.range(first..);
        rest.map(|(_, entry)| entry)
            .take_while(move |entry| entry.key.comment() == comment)
    }

    /// All of them, by surface and id.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// One of them.
    pub fn get(&self, key: &CommentVersion) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// Those that wait for a fixer or have one, whose author waits for an answer, or that a person has
    /// to decide.
    pub fn open(&self) -> impl Iterator<Item = &Entry> {
        self.open.iter().filter_map(|key| self.entries.get(key))
    }

    /// A comment of a person whose last words are answered, but not fixed.
    pub(in crate::run) fn unfixed(&self) -> Option<&Entry> {
        let is_unfixed = |entry: &&Entry| match entry.life.action() {
            Some(
                FixerResult::Declined
                | FixerResult::Question
                | FixerResult::Unsaid
                | FixerResult::Failed,
            ) => entry.review.is_none(),
            Some(FixerResult::Fixed | FixerResult::Unknown) | None => false,
        };
        let is_last = |entry: &&Entry| {
            let mut versions = self.versions(entry.key.comment());
            versions.all(|other| other.changed_at() <= entry.changed_at())
        };
        let mut entries = self.entries.values();
        entries.find(|entry| is_unfixed(entry) && is_last(entry))
    }

    /// Whether drive resolved a thread: one of its comments was answered as fixed.
    pub(in crate::run) fn is_resolved(&self, thread: Option<CommentId>) -> bool {
        let is_fixed = |entry: &Entry| entry.life.action() == Some(FixerResult::Fixed);
        let mut entries = self.entries.values();
        thread.is_some() && entries.any(|entry| entry.thread == thread && is_fixed(entry))
    }

    /// Whether one waits for a fixer.
    pub fn has_waiting(&self) -> bool {
        self.open().any(|entry| entry.life == Life::Seen)
    }

    /// Gives these comments to a round.
    pub(in crate::run) fn dispatch_these(&mut self, round: u32, keys: &[CommentVersion]) {
        for key in keys {
            if let Some(entry) = self.entries.get_mut(key) {
                entry.tries += 1;
                entry.life = Life::Dispatched { round };
            }
        }
    }

    /// Gives the oldest waiting comments to a fixer, at most so many.
    pub(in crate::run) fn dispatch(&mut self, round: u32, most: usize) -> Vec<CommentVersion> {
        let mut waiting: Vec<&Entry> = self
            .open()
            .filter(|entry| entry.life == Life::Seen)
            .collect();
        waiting.sort_by(|a, b| (a.seen_at, &a.key).cmp(&(b.seen_at, &b.key)));
        let batch: Vec<CommentVersion> = waiting
            .into_iter()
            .take(most)
            .map(|entry| entry.key.clone())
            .collect();
        self.dispatch_these(round, &batch);
        batch
    }

    /// Its author was told what it waits for.
    pub(in crate::run) fn tell(&mut self, key: &CommentVersion) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.told = true;
        }
    }

    /// The last try did not count: the fixer's model was away.
    pub(in crate::run) fn untry(&mut self, key: &CommentVersion) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.tries = entry.tries.saturating_sub(1);
        }
    }

    /// Gives one back that a fixer failed with. Where it was edited meanwhile, the newer version
    /// counts.
    pub(in crate::run) fn give_back(&mut self, key: &CommentVersion, life: Life) {
        let seen_at = self.entries.get(key).map(|entry| entry.seen_at);
        let is_edited = self
            .versions(key.comment())
            .any(|known| Some(known.seen_at) > seen_at);
        self.set(key, if is_edited { Life::Superseded } else { life });
    }

    /// Moves one on. What was dealt with needs only the beginning of its text.
    pub(in crate::run) fn set(&mut self, key: &CommentVersion, life: Life) {
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
    pub(in crate::run) fn answer_parts(&mut self, key: &CommentVersion, answers: Vec<Answer>) {
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
            life: Life::Seen,
        })
    }

    /// When these words were written, as far as is known.
    fn changed_at(&self) -> Timestamp {
        let edited_at = self.edited_at.or_else(|| self.key.words.edited_at());
        edited_at.unwrap_or(self.seen_at)
    }

    /// Whether another version of the same comment says the same. An earlier journal kept the time of
    /// the edit, and of long texts only the beginning.
    fn has_words_of(&self, other: &Entry) -> bool {
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
pub fn reply_key(key: &CommentVersion) -> String {
    let surface = surface_name(key.surface);
    format!("reply/{surface}-{}-{}", key.id, key.words.as_str())
}

impl Life {
    /// The answer to post.
    pub(in crate::run) fn pushed(&self) -> Option<&Answer> {
        if let Life::Pushed { answer } = self {
            return Some(answer);
        }
        None
    }

    /// What the fixer did about one that is answered.
    fn action(&self) -> Option<FixerResult> {
        match self {
            Life::Replied { answer, .. } => Some(answer.action),
            Life::Seen
            | Life::Dispatched { .. }
            | Life::Pushed { .. }
            | Life::Unanswerable { .. }
            | Life::Left
            | Life::Superseded
            | Life::Withdrawn { .. } => None,
        }
    }

    /// Whether a fix, a reply or a decision is due.
    pub fn is_open(&self) -> bool {
        match self {
            Life::Seen | Life::Dispatched { .. } | Life::Pushed { .. } | Life::Left => true,
            Life::Replied { .. }
            | Life::Unanswerable { .. }
            | Life::Superseded
            | Life::Withdrawn { .. } => false,
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
