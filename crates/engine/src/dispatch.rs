//! The loop of the executor: one thread that starts pending effects, delivers their results, and
//! wakes runs when their timers are due.

mod children;
mod hints;
mod owned_run;

use self::owned_run::{Held, OwnedRun, UnderWay};
use crate::cancel::{CancelToken, Urgency};
use crate::executor::{Executor, OnStop, Until};
use crate::journal::Word;
use crate::lease::Lease;
use crate::ports::LeaseToken;
use drive_core::agent::Ending;
use drive_core::ids::{DedupeKey, EffectKey, RunId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Effect, EffectResult, Event, Flow, Run, Timer};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Scope, scope};
use std::time::{Duration, Instant};

/// How often the journal is read for events from other processes that sent no signal.
const PEEK: Duration = Duration::from_millis(250);
/// The maximum number of events in one transaction, because other writers wait for it.
const MOST_WORDS: usize = 200;
/// The shortest wait between two turns.
const LEAST_WAIT: Duration = Duration::from_millis(1);

enum Message {
    /// A result, and the lease under which its effect was performed.
    Ended(RunId, LeaseToken, EffectKey, Box<EffectResult>),
    StopAsked,
    /// Another process delivered an event.
    Rung,
}

/// The dispatcher of one executor.
pub(crate) struct Dispatch<'env> {
    executor: &'env Executor<'env>,
    flights: BTreeMap<RunId, OwnedRun<'env>>,
    dirty: BTreeSet<RunId>,
    /// Children that only wait, for an owner that returns when idle.
    resting: BTreeSet<RunId>,
    ended: Vec<Result<Run, Problem>>,
    /// The journal's mark up to which it was read.
    mark: u64,
    peeked: Instant,
    /// Whether another process delivered an event since.
    rung: bool,
    /// The number of the newest nudge that was read.
    heard: u64,
    /// Runs whose pull request a nudge named, with the nudge's name, until they poll.
    hinted: BTreeMap<RunId, String>,
    wakes: u64,
    stopping: bool,
}

impl<'env> Dispatch<'env> {
    pub(crate) fn new(executor: &'env Executor<'env>) -> Self {
        Self {
            executor,
            flights: BTreeMap::new(),
            dirty: BTreeSet::new(),
            resting: BTreeSet::new(),
            ended: Vec::new(),
            mark: 0,
            peeked: Instant::now(),
            rung: false,
            heard: 0,
            hinted: BTreeMap::new(),
            wakes: 0,
            stopping: false,
        }
    }

    pub(crate) fn fly(mut self, leases: Vec<&'env Lease<'env>>) -> Vec<Result<Run, Problem>> {
        for lease in leases {
            self.accept(Held::Lent(lease), None);
        }
        let (sender, receiver) = channel();
        let asked = sender.clone();
        let _guard = self.executor.cancel.on_cancel(move |_| {
            let _ = asked.send(Message::StopAsked);
        });
        let rung = sender.clone();
        let wake = Box::new(move || drop(rung.send(Message::Rung)));
        let _listening = self.executor.journal.store.listen(wake);
        // The first poll covers all earlier nudges.
        if let Some(hints) = self.executor.hints {
            let old = hints.log.newer_than(0, hints.repository);
            self.heard = old
                .ok()
                .and_then(|old| old.last().map(|last| last.number))
                .unwrap_or(0);
        }
        match self.executor.journal.store.news(u64::MAX) {
            Ok(news) => self.mark = news.mark,
            Err(problem) => return vec![Err(problem)],
        }
        scope(|threads| {
            while !self.flights.is_empty() {
                self.turn(threads, &sender, &receiver);
            }
        });
        self.ended
    }

    fn accept(&mut self, lease: Held<'env>, parent: Option<RunId>) {
        let run = lease.run().clone();
        let flight = OwnedRun {
            lease,
            parent,
            children: BTreeSet::new(),
            under_way: BTreeMap::new(),
            timers: BTreeMap::new(),
            pr: None,
        };
        self.dirty.insert(run.clone());
        self.flights.insert(run, flight);
    }

    fn turn<'scope>(
        &mut self,
        threads: &'scope Scope<'scope, 'env>,
        sender: &Sender<Message>,
        receiver: &Receiver<Message>,
    ) {
        for run in std::mem::take(&mut self.dirty) {
            let looked = self.look_at(&run, threads, sender);
            self.settle(&run, looked);
        }
        if self.flights.is_empty() {
            return;
        }
        match receiver.recv_timeout(self.wait()) {
            Ok(message) => {
                let messages = std::iter::once(message).chain(receiver.try_iter());
                self.take(messages);
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        self.peek();
        self.follow_hints();
        self.wake();
        self.beat();
    }

    /// Starts pending effects, cancels those that are no longer wanted, and sets the timers. Returns
    /// the run once it is done.
    fn look_at<'scope>(
        &mut self,
        id: &RunId,
        threads: &'scope Scope<'scope, 'env>,
        sender: &Sender<Message>,
    ) -> Result<Option<Run>, Problem> {
        let executor = self.executor;
        if !self.flights.contains_key(id) {
            return Ok(None);
        }
        let run = executor.journal.require(id)?;
        executor.performer.changed(&run);
        self.accept_children(&run)?;
        let owns_children = run.children.keys().any(|c| self.flights.contains_key(c));
        let Some(flight) = self.flights.get_mut(id) else {
            return Ok(None);
        };
        for (key, under_way) in &flight.under_way {
            let is_agent = matches!(under_way.effect, Effect::RunAgent { .. });
            if !run.wants(key) || run.stop_asked && is_agent {
                under_way.cancel.cancel(Urgency::Graceful);
            }
        }
        flight.set_timers(&run, executor.journal.clock.now());
        flight.pr = run.work.pull_request.as_ref().map(|pr| pr.number);
        let lease = flight.lease.clone();
        if !self.stopping || executor.on_stop == OnStop::End {
            let is_new = |key: &EffectKey| !flight.under_way.contains_key(key);
            let claimed = if run.outbox().any(|(key, _)| is_new(key)) {
                executor.journal.store.claim(id, lease.token())?
            } else {
                Vec::new()
            };
            for claimed in claimed {
                let cancel = CancelToken::new();
                let child = cancel.clone();
                let under_way = UnderWay {
                    effect: claimed.effect.clone(),
                    cancel: cancel.clone(),
                    _linked: executor
                        .cancel
                        .on_cancel(move |urgency| child.cancel(urgency)),
                };
                // A run that was asked to stop starts no agent; an agent that was decided earlier
                // is cancelled at once.
                if run.stop_asked && matches!(claimed.effect, Effect::RunAgent { .. }) {
                    cancel.cancel(Urgency::Graceful);
                }
                flight.under_way.insert(claimed.key.clone(), under_way);
                let (run, sender, lease) = (run.clone(), sender.clone(), lease.clone());
                threads.spawn(move || {
                    let result = executor.perform(&lease, &run, &claimed, &cancel);
                    let result = Box::new(result);
                    let _ = sender.send(Message::Ended(run.id, lease.token(), claimed.key, result));
                });
            }
        }
        // A cruise, or a run at a limit, waits for its children or for a person, without a timer.
        let is_waiting = matches!(run.flow, Flow::Cruise { .. }) || run.limit().is_some();
        let waits = (!run.timers.is_empty() || is_waiting)
            && run.is_active()
            && !self.stopping
            && executor.until == Until::Ended;
        let is_over = flight.under_way.is_empty() && !waits && !owns_children;
        Ok(is_over.then_some(run))
    }

    /// Drops a run whose journal can no longer be written: its effects must stop immediately.
    fn settle(&mut self, id: &RunId, looked: Result<Option<Run>, Problem>) {
        match looked {
            Ok(None) => {}
            Ok(Some(run)) => match self.flights.remove(id).and_then(|flight| flight.parent) {
                Some(parent) => {
                    self.resting.insert(run.id);
                    self.dirty.insert(parent);
                }
                None => self.ended.push(Ok(run)),
            },
            Err(problem) => {
                let Some(flight) = self.flights.remove(id) else {
                    return;
                };
                for under_way in flight.under_way.values() {
                    under_way.cancel.cancel(Urgency::Now);
                }
                for child in &flight.children {
                    self.settle(child, Err(lease_lost(child)));
                }
                match flight.parent {
                    // The child's new owner continues it.
                    Some(parent) if problem.kind == Kind::LeaseLost => {
                        self.dirty.insert(parent);
                    }
                    // Without its child, the parent would wait forever.
                    Some(parent) => self.settle(&parent, Err(problem)),
                    None => self.ended.push(Err(problem)),
                }
            }
        }
    }

    /// Journals results that arrived together in one transaction.
    fn take(&mut self, messages: impl Iterator<Item = Message>) {
        let mut words = Vec::new();
        for message in messages {
            match message {
                Message::Ended(id, lease, key, result) => {
                    match self.result_word(&id, lease, &key, *result) {
                        Ok(word) => words.extend(word),
                        Err(problem) => self.settle(&id, Err(problem)),
                    }
                    self.dirty.insert(id);
                }
                Message::Rung => self.rung = true,
                Message::StopAsked => {
                    self.tell(std::mem::take(&mut words));
                    self.stop();
                }
            }
        }
        self.tell(words);
    }

    fn stop(&mut self) {
        self.stopping = true;
        self.dirty.extend(self.flights.keys().cloned());
        if self.executor.on_stop == OnStop::End {
            // A parent stops its own children first.
            let roots = self.flights.iter().filter(|(_, flight)| {
                let parent = flight.parent.as_ref();
                !parent.is_some_and(|parent| self.flights.contains_key(parent))
            });
            // The lease is part of the key, so that the next owner can stop the run again.
            let words = roots.filter_map(|(id, flight)| {
                let dedupe = format!("cancel/{}", flight.lease.token().0);
                self.word(id, Event::CancelAsked, dedupe)
            });
            self.tell(words.collect());
        }
    }

    /// The delivery for an effect's result, if the run still waits for it.
    fn result_word(
        &mut self,
        id: &RunId,
        lease: LeaseToken,
        key: &EffectKey,
        result: EffectResult,
    ) -> Result<Option<Word>, Problem> {
        let Some(flight) = self.flights.get_mut(id) else {
            return Ok(None);
        };
        // After a lease is lost and taken again, its effects are performed again: the result of an
        // attempt under the old lease does not count.
        if flight.lease.token() != lease {
            return Ok(None);
        }
        let Some(under_way) = flight.under_way.remove(key) else {
            return Ok(None);
        };
        let lets_go = self.stopping && self.executor.on_stop == OnStop::LetGo;
        if lets_go && is_cut_short(&under_way.effect, &result) || !self.is_pending(id, key)? {
            return Ok(None);
        }
        let event = Event::EffectEnded {
            key: key.clone(),
            result,
        };
        Ok(self.word(id, event, format!("result/{key}")))
    }

    fn is_pending(&self, id: &RunId, key: &EffectKey) -> Result<bool, Problem> {
        let run = self.executor.journal.require(id)?;
        Ok(run.wants(key))
    }

    fn word(&self, id: &RunId, event: Event, dedupe: String) -> Option<Word> {
        let flight = self.flights.get(id)?;
        Some(Word {
            run: id.clone(),
            event,
            dedupe: DedupeKey::new(dedupe),
            fence: flight.lease.token(),
        })
    }

    /// Journals deliveries and advances their runs.
    fn tell(&mut self, words: Vec<Word>) {
        for words in words.chunks(MOST_WORDS) {
            let told = match self.executor.journal.deliver_all(words) {
                Ok(told) => told,
                Err(problem) => vec![Err(problem); words.len()],
            };
            for (word, told) in words.iter().zip(told) {
                if let Err(problem) = told
                    && !self.is_overtaken(word, &problem)
                {
                    self.settle(&word.run, Err(problem));
                }
                self.dirty.insert(word.run.clone());
            }
        }
    }

    /// Whether the effect ended while its result was being delivered, so that the delivery is no
    /// longer legal.
    fn is_overtaken(&self, word: &Word, problem: &Problem) -> bool {
        let Event::EffectEnded { key, .. } = &word.event else {
            return false;
        };
        problem.kind == Kind::IllegalEvent && self.is_pending(&word.run, key) == Ok(false)
    }

    /// The time until the next timer.
    fn wait(&self) -> Duration {
        let now = self.executor.journal.clock.now();
        if !self.dirty.is_empty() {
            return LEAST_WAIT;
        }
        let mut wait = PEEK;
        for flight in self.flights.values() {
            for due in flight.timers.values() {
                wait = wait.min(due.left(now));
            }
        }
        wait.max(LEAST_WAIT)
    }

    /// Reads deliveries of other processes, also for runs with a working agent.
    fn peek(&mut self) {
        if !std::mem::take(&mut self.rung) && self.peeked.elapsed() < PEEK {
            return;
        }
        self.peeked = Instant::now();
        // A failed read is repeated; a missing journal is noticed at the next write.
        if let Ok(news) = self.executor.journal.store.news(self.mark) {
            self.mark = news.mark;
            for run in &news.runs {
                self.resting.remove(run);
            }
            self.dirty.extend(news.runs);
        }
        // Another process may have released a child by now.
        let is_apart = |flight: &OwnedRun<'_>| {
            let mut children = flight.children.iter();
            children.any(|c| !self.flights.contains_key(c) && !self.resting.contains(c))
        };
        let apart = self.flights.iter().filter(|(_, flight)| is_apart(flight));
        let apart: Vec<RunId> = apart.map(|(id, _)| id.clone()).collect();
        self.dirty.extend(apart);
        self.dirty.retain(|run| self.flights.contains_key(run));
        self.hear();
    }

    /// Wakes runs whose timers are due.
    fn wake(&mut self) {
        if self.stopping {
            return;
        }
        let now = self.executor.journal.clock.now();
        let mut due = Vec::new();
        for (id, flight) in &mut self.flights {
            let names: Vec<Timer> = flight
                .timers
                .iter()
                .filter(|(_, due)| due.left(now).is_zero())
                .map(|(name, _)| *name)
                .collect();
            for name in names {
                flight.timers.remove(&name);
                due.push((id.clone(), name, flight.lease.token().0));
            }
        }
        let mut words = Vec::new();
        for (id, timer, owner) in due {
            // The same time can be due twice after the clock was set back, so each wake has its own
            // number. The run ignores a timer that is not set.
            self.wakes += 1;
            let dedupe = format!("timer/{timer}/{owner}/{}", self.wakes);
            words.extend(self.word(&id, Event::Woken { timer }, dedupe));
        }
        self.tell(words);
    }

    fn beat(&mut self) {
        let runs: Vec<RunId> = self.flights.keys().cloned().collect();
        for id in runs {
            let held = match self.flights.get(&id) {
                Some(flight) => flight.lease.beat(),
                None => Ok(true),
            };
            match held {
                Ok(true) => {}
                Ok(false) => self.settle(&id, Err(lease_lost(&id))),
                Err(problem) => self.settle(&id, Err(problem)),
            }
        }
    }
}

/// Whether an effect ended because its owner detached.
fn is_cut_short(effect: &Effect, result: &EffectResult) -> bool {
    match (effect, result) {
        (_, EffectResult::Failed { .. }) => true,
        (Effect::RunAgent { .. }, EffectResult::AgentEnded { outcome, .. }) => {
            outcome.ending != Ending::Succeeded
        }
        _ => false,
    }
}

impl Executor<'_> {
    /// Executes a run under its lease until nothing is pending and no timer is set, or until its
    /// owner detaches.
    pub fn fly(&self, lease: &Lease<'_>) -> Result<Run, Problem> {
        let mut flown = Dispatch::new(self).fly(vec![lease]);
        flown
            .pop()
            .unwrap_or_else(|| self.journal.require(lease.run()))
    }

    /// Like `fly`, for many runs; returns one result for each, in the order they ended.
    pub fn fly_all(&self, leases: &[Lease<'_>]) -> Vec<Result<Run, Problem>> {
        Dispatch::new(self).fly(leases.iter().collect())
    }
}

fn lease_lost(run: &RunId) -> Problem {
    Problem::new(
        Kind::LeaseLost,
        format!("another process took over run `{run}`"),
    )
    .hint("this happens after a long suspend; the other process continues the run")
}
