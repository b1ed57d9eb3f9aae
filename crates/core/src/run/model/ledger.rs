//! The comment ledger: every comment of a trusted author and its state.
//!
//! A comment lives as seen → dispatched → pushed → replied. Its key contains its text, so an edited text is a
//! new version. A version that was not dispatched yet is replaced by the newer one; after a dispatch, the
//! newer version is answered as well. A new date without a new text changes nothing.

use super::comment_answer::{Answer, FixerResult};
use super::entry::{Entry, Life, REMEMBERED_CHARS};
use crate::forge::{Aside, CommentRef, CommentVersion};
use crate::ids::CommentId;
use crate::time::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};

/// How often one comment is given to a fixer that fails.
pub(in crate::run) const MOST_TRIES: u32 = 3;

/// All comments that count, by version. Stored as the list of entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    entries: BTreeMap<CommentVersion, Entry>,
    /// The keys of open entries, so that the cost of an event does not grow with the number of
    /// answered comments.
    open: BTreeSet<CommentVersion>,
}

impl Ledger {
    /// Takes up an entry, unless its text is known. A text that is dated before a known one is
    /// outdated, except when a whole reading still shows it and no other version waits: then the
    /// forge's clock was set back, and the text is current.
    pub(in crate::run) fn insert(&mut self, mut entry: Entry, is_whole: bool) -> bool {
        let comment = entry.key.comment();
        let is_new = self.is_news(&entry, is_whole);
        if self.is_last(&entry) {
            let known = self.known(&entry).map(|known| known.key.clone());
            if let Some(known) = known.as_ref().and_then(|key| self.entries.get_mut(key)) {
                known.edited_at = entry.edited_at;
                known.line = entry.line;
            }
            self.supersede(comment, known.as_ref());
        }
        if is_new {
            // The text is current, so no known version may be dated later.
            let known = self.versions(comment).map(Entry::changed_at).max();
            if known.is_some_and(|known| known > entry.changed_at()) {
                entry.edited_at = known;
            }
            self.put(entry);
        }
        is_new
    }

    /// Whether `insert` would take up an entry.
    pub fn is_news(&self, entry: &Entry, is_whole: bool) -> bool {
        match self.known(entry).map(|known| &known.life) {
            Some(Life::Superseded) => self.is_last(entry),
            Some(Life::Withdrawn { .. }) => self.stands(entry, is_whole),
            Some(
                Life::Seen
                | Life::Dispatched { .. }
                | Life::Pushed { .. }
                | Life::Replied { .. }
                | Life::Asked { .. }
                | Life::Unanswerable { .. }
                | Life::Left,
            ) => false,
            None => self.stands(entry, is_whole),
        }
    }

    /// Whether the text is current: no later version is known, or a whole reading shows this one
    /// and none is open.
    fn stands(&self, entry: &Entry, is_whole: bool) -> bool {
        let comment = entry.key.comment();
        let is_later = |known: &Entry| known.changed_at() > entry.changed_at();
        !self.versions(comment).any(is_later)
            || is_whole && !self.versions(comment).any(|known| known.life.is_open())
    }

    /// The known version with the same text.
    fn known(&self, entry: &Entry) -> Option<&Entry> {
        let mut versions = self.versions(entry.key.comment());
        versions.find(|known| known.has_words_of(entry))
    }

    /// Whether an entry is dated after every known version of its comment. A different text with
    /// the same date counts as later, because it was not there before.
    fn is_last(&self, entry: &Entry) -> bool {
        let (at, is_known) = (entry.changed_at(), self.known(entry).is_some());
        let mut versions = self.versions(entry.key.comment());
        versions.all(|known| known.changed_at() < at || !is_known && known.changed_at() == at)
    }

    /// Drops what waits of a comment, because its new text asks for nothing. Does nothing if a
    /// newer version is known.
    pub(in crate::run) fn take_back(&mut self, comment: CommentRef, at: Timestamp) {
        let is_later = |known: &Entry| known.changed_at() > at;
        if !self.versions(comment).any(is_later) {
            self.supersede(comment, None);
        }
    }

    /// Marks all waiting versions of a comment as superseded, except this one.
    fn supersede(&mut self, comment: CommentRef, but: Option<&CommentVersion>) {
        let waiting = self
            .versions(comment)
            .filter(|known| known.life == Life::Seen && Some(&known.key) != but);
        let waiting: Vec<CommentVersion> = waiting.map(|known| known.key.clone()).collect();
        for key in waiting {
            self.set(&key, Life::Superseded);
        }
    }

    /// Drops what waits of a comment that a person put aside.
    pub(in crate::run) fn withdraw(&mut self, comment: CommentRef, how: Aside) {
        let waiting = self
            .versions(comment)
            .filter(|known| known.life == Life::Seen);
        let waiting: Vec<CommentVersion> = waiting.map(|known| known.key.clone()).collect();
        for key in waiting {
            self.set(&key, Life::Withdrawn { how });
        }
        let asked = self.questions().filter(|one| one.key.comment() == comment);
        let asked: Vec<CommentVersion> = asked.map(|one| one.key.clone()).collect();
        for key in asked {
            self.settle(&key);
        }
    }

    /// The comments whose authors were asked a question and have not answered.
    pub fn questions(&self) -> impl Iterator<Item = &Entry> {
        self.open()
            .filter(|entry| matches!(entry.life, Life::Asked { .. }))
    }

    /// Marks the questions that a comment answers as answered: those of its thread or, without
    /// threads, those to its author.
    pub(in crate::run) fn answer_questions(&mut self, key: &CommentVersion) {
        let Some(entry) = self.entries.get(key) else {
            return;
        };
        let is_answered = |asked: &&Entry| match (asked.thread, entry.thread) {
            (Some(asked), Some(thread)) => asked == thread,
            (None, None) => asked.author == entry.author,
            (Some(_), None) | (None, Some(_)) => false,
        };
        let asked = self.questions().filter(is_answered);
        let asked: Vec<CommentVersion> = asked.map(|one| one.key.clone()).collect();
        for question in &asked {
            self.settle(question);
        }
        if let Some(entry) = self.entries.get_mut(key) {
            entry.answers = asked;
        }
    }

    /// Closes a question.
    fn settle(&mut self, key: &CommentVersion) {
        let life = self.entries.get(key).map(|entry| entry.life.clone());
        if let Some(Life::Asked { answer, reply }) = life {
            self.set(key, Life::Replied { answer, reply });
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

    /// All entries, by surface and id.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// The entry of one version.
    pub fn get(&self, key: &CommentVersion) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// The entries that wait for a fixer, are with one, wait for their author's answer, or wait for
    /// a person's decision.
    pub fn open(&self) -> impl Iterator<Item = &Entry> {
        self.open.iter().filter_map(|key| self.entries.get(key))
    }

    /// A person's comment that was answered but not fixed.
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

    /// Whether drive resolved a thread, because one of its comments was fixed.
    pub(in crate::run) fn is_resolved(&self, thread: Option<CommentId>) -> bool {
        let is_fixed = |entry: &Entry| entry.life.action() == Some(FixerResult::Fixed);
        let mut entries = self.entries.values();
        thread.is_some() && entries.any(|entry| entry.thread == thread && is_fixed(entry))
    }

    /// Whether an entry waits for a fixer.
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

    /// Gives the oldest waiting comments to a fixer, up to `most`.
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

    /// Records that a reply told the author what the comment waits for.
    pub(in crate::run) fn tell(&mut self, key: &CommentVersion) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.told = true;
        }
    }

    /// Takes back the last try, which does not count because the fixer's model was away.
    pub(in crate::run) fn untry(&mut self, key: &CommentVersion) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.tries = entry.tries.saturating_sub(1);
        }
    }

    /// Gives back a comment after its fixer failed. If it was edited meanwhile, the newer version counts.
    pub(in crate::run) fn give_back(&mut self, key: &CommentVersion, life: Life) {
        let changed_at = self.entries.get(key).map(Entry::changed_at);
        let is_edited = self
            .versions(key.comment())
            .any(|known| Some(known.changed_at()) > changed_at);
        self.set(key, if is_edited { Life::Superseded } else { life });
    }

    /// Changes the state of an entry. A closed entry keeps only the beginning of its text.
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

    /// Records the answer to each finding of a comment.
    pub(in crate::run) fn answer_parts(&mut self, key: &CommentVersion, answers: Vec<Answer>) {
        let parts = self.entries.get_mut(key).map(|entry| &mut entry.parts);
        for (part, answer) in parts.into_iter().flatten().zip(answers) {
            part.answer = Some(answer);
        }
    }

    /// Marks a comment as answered, because one of our replies was found that this ledger did not know.
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

#[cfg(test)]
mod tests;
