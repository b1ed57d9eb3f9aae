//! Reads the whole pull request before a phase concludes, so that no comment and no standing
//! request for changes is passed over. Objections are posted on the pull request.

use super::super::super::model::{
    Approved, DoneWhen, Effect, EffectResult, Entry, ForgeAct, LastReading, Life, Objected,
    OutcomeStatus, Pause, PostKey, Reading, Stage, Timer,
};
use super::PhaseFlow;
use super::texts::{MOST_LISTED, objection_comment, voided_comment, waits_reply};
use crate::forge::{Comment, CommentVersion};
use crate::ids::CommitSha;
use crate::problem::{Kind, Problem};
use crate::time::after;
use std::time::Duration;

/// How many failed readings in a row end an unwatched phase without its conclusion; that takes some minutes.
const MOST_UNHEARD: u32 = 6;
/// How long a complete reading is recent enough for a conclusion.
const HEARD_FOR: Duration = Duration::from_secs(10 * 60);
/// How many replies about waiting comments are posted at the same time.
const MOST_WAITS: usize = 5;

impl PhaseFlow<'_> {
    /// Whether the last reading was whole, complete, recent, and of the published commit.
    pub(super) fn is_heard(&self) -> bool {
        let watch = &self.state.watch;
        watch.last_reading.as_ref().is_some_and(|last| {
            // The owner may have died since the reading, and the next one may start hours later.
            let mut at = last.at.into_iter();
            let is_recent = at.any(|at| (at..=after(at, HEARD_FOR)).contains(&self.now));
            let is_whole = last.reading == Reading::Whole;
            watch.fresh && is_recent && is_whole && last.head == self.state.pushed
        })
    }

    /// Reads everything before a conclusion. Returns whether the reading is still to be done.
    pub(super) fn hear_first(&mut self) -> bool {
        if self.run.work.pull_request.is_none() || self.is_heard() {
            self.state.watch.failed_readings = 0;
            return false;
        }
        if self.state.watch.failed_readings >= MOST_UNHEARD && !self.terms.is_watched() {
            self.end_unheard();
            return true;
        }
        self.state.watch.wants = Reading::Whole;
        self.state.stage = Stage::Polling;
        // After a failure, the next try waits for its timer.
        let is_failing = self.state.watch.failed_readings > 0;
        if !(is_failing && self.run.timers.contains_key(&Timer::Poll)) {
            self.poll();
        }
        true
    }

    /// Records how complete a reading was.
    pub(super) fn note_reading(
        &mut self,
        head: Option<CommitSha>,
        is_whole: bool,
        missing: Option<&String>,
    ) {
        let watch = &mut self.state.watch;
        let was_wanted = watch.wants == Reading::Whole && is_whole;
        watch.trouble = missing.cloned();
        if missing.is_some() {
            watch.last_reading = None;
            watch.failed_readings += u32::from(was_wanted);
            return;
        }
        // A whole reading that is still wanted is not replaced by a reading of changes.
        let mut reading = Reading::Changes;
        if is_whole {
            reading = Reading::Whole;
            watch.wants = Reading::Changes;
        }
        watch.last_reading = Some(LastReading {
            head,
            reading,
            at: Some(self.now),
        });
        watch.failed_readings = 0;
        if is_whole {
            let wait = watch.whole_backoff.next_wait();
            watch.whole_at = Some(after(self.now, wait));
        }
    }

    /// Records that the pull request could not be read.
    pub(super) fn note_unread(&mut self, problem: &Problem) {
        let watch = &mut self.state.watch;
        watch.trouble = Some(problem.to_string());
        watch.last_reading = None;
        watch.failed_readings += u32::from(watch.wants == Reading::Whole);
    }

    /// Ends the phase for a person to decide, because people's comments could not be read.
    fn end_unheard(&mut self) {
        let why = self.state.watch.trouble.clone().unwrap_or_default();
        let problem = Problem::new(
            Kind::Unheard,
            "could not read the pull request, so it was neither approved nor merged",
        )
        .cause(why)
        .hint("read it yourself; `drive doctor` shows whether the forge can be reached");
        self.stop(OutcomeStatus::NeedsHuman, problem);
    }

    /// The comments that the run has not taken up yet.
    pub(in crate::run) fn unread(&self, comments: &[Comment]) -> Vec<Entry> {
        self.state.unread(comments)
    }

    /// The request for changes that keeps drive from concluding.
    pub(in crate::run) fn objection(&self) -> Option<&Objected> {
        self.state.watch.objections.first()
    }

    /// Posts whose objections prevent `--auto-approve`.
    pub(super) fn say_objections(&mut self) {
        let objections = &self.state.watch.objections;
        let Some(head) = self.head().filter(|_| !objections.is_empty()) else {
            return;
        };
        let body = objection_comment(&head, objections);
        let by: Vec<&str> = objections.iter().map(|one| one.by.as_str()).collect();
        self.say(PostKey::Objection(format!("{head}/{}", by.join("/"))), body);
    }

    /// Posts, once for each, whose approval was given for an older commit of the branch.
    pub(super) fn say_voided(&mut self) {
        let (DoneWhen::Approved(_), Some(head)) = (self.terms.done(), self.state.pushed.clone())
        else {
            return;
        };
        let watch = &self.state.watch;
        let given: Vec<&Approved> = watch.approvals.iter().chain(&watch.granted).collect();
        let is_renewed = |by: &str| given.iter().any(|one| one.by == by && one.head == head);
        let commits = &self.run.work.commits;
        // A commit that is not on the branch yet may be newer.
        let is_older = |sha: &CommitSha| *sha != head && commits.iter().any(|one| one.sha == *sha);
        let void = given
            .iter()
            .filter(|one| is_older(&one.head) && !is_renewed(&one.by));
        let void: Vec<(PostKey, String)> = void
            .map(|one| {
                let key = PostKey::Aside(format!("voided/{}/{}", one.head, one.by));
                (key, voided_comment(one, &head))
            })
            .collect();
        for (key, body) in void {
            self.say(key, body);
        }
    }

    /// Drops unposted comments about objections that were withdrawn meanwhile.
    pub(super) fn forget_objections(&mut self) {
        if self.state.watch.objections.is_empty() {
            let to_say = &mut self.state.watch.to_say;
            to_say.retain(|key, _| !matches!(key, PostKey::Objection(_)));
        }
    }

    /// Queues a post on the pull request that is made once, besides the worker's own posts.
    pub(super) fn say(&mut self, key: PostKey, body: String) {
        if !self.state.watch.said.contains(&key) {
            self.state.watch.to_say.insert(key, body);
            self.say_next();
        }
    }

    /// Makes the queued posts. A failed one is retried after the next reading.
    pub(super) fn say_next(&mut self) {
        let waiting = self.state.watch.to_say.iter();
        let waiting = waiting.filter(|(key, _)| !self.is_saying(key));
        let waiting: Vec<(PostKey, String)> = waiting
            .map(|(key, body)| (key.clone(), body.clone()))
            .collect();
        for (key, body) in waiting {
            self.on_forge(ForgeAct::PostComment { body }, Some(key));
        }
    }

    fn is_saying(&self, key: &PostKey) -> bool {
        self.run.pending.values().any(|effect| {
            matches!(effect, Effect::OnForge { idempotency_key: Some(name), .. } if name == key)
        })
    }

    /// At a limit, replies once to each further comment with what it waits for.
    pub(super) fn tell_waiting(&mut self) {
        let Some(Pause::Limit { why: limit }) = self.state.pause.clone() else {
            return;
        };
        if !self.terms.is_watched() || matches!(self.state.stage, Stage::PostingLimit) {
            return;
        }
        let waiting = self.state.ledger.open().filter(|entry| {
            let is_person = entry.review.is_none();
            is_person && !entry.told && entry.life == Life::Seen
        });
        let waiting = waiting.take(MOST_WAITS).map(|entry| {
            let body = waits_reply(entry, &limit, self.run);
            let key = PostKey::Waits(entry.reply_key());
            (entry.key.comment(), body, key)
        });
        let waiting: Vec<_> = waiting.collect();
        for (to, body, key) in waiting {
            if !self.is_saying(&key) {
                self.on_forge(ForgeAct::Reply { to, body }, Some(key));
            }
        }
    }

    /// Marks the comments that the limit's own text lists as informed.
    pub(super) fn mark_told_by_limit(&mut self) {
        let open = self.state.ledger.open().take(MOST_LISTED);
        let open = open.map(|entry| entry.key.clone());
        let open: Vec<CommentVersion> = open.collect();
        for key in open {
            self.state.ledger.tell(&key);
        }
    }

    /// Handles the result of a post that no step waits for.
    pub(super) fn was_said(&mut self, key: &PostKey, result: &EffectResult) {
        let is_posted = matches!(result, EffectResult::OnForge { .. });
        if !is_posted && !is_gone(result) {
            return;
        }
        if let PostKey::Waits(name) = key {
            let open = self.state.ledger.open();
            let told = open.filter(|entry| entry.reply_key() == *name);
            let told: Vec<CommentVersion> = told.map(|entry| entry.key.clone()).collect();
            for key in told {
                self.state.ledger.tell(&key);
            }
            return self.tell_waiting();
        }
        self.state.watch.to_say.remove(key);
        self.state.watch.said.insert(key.clone());
    }
}

/// Whether the comment to reply to no longer exists.
fn is_gone(result: &EffectResult) -> bool {
    if let EffectResult::Failed { problem } = result {
        return problem.kind == Kind::CommentNotFound;
    }
    false
}
