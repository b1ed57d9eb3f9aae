//! The third verb: performing what a run decided, and delivering what came of it.
//!
//! One dispatcher linearises everything that happens to a run; each effect is performed on a
//! thread of its own. Nothing that matters is in memory only: kill the process at any instant, and
//! the next owner finds the same effects pending.

use crate::cancel::{CancelToken, Urgency};
use crate::journal::Journal;
use crate::lease::{HEARTBEAT, Lease};
use crate::ports::Claimed;
use drive_core::Problem;
use drive_core::ids::{DedupeKey, EffectKey};
use drive_core::process::ProcessIdentity;
use drive_core::run::{EffectResult, Event, Note, Run};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Scope, scope};

/// Does what an effect says, in the world.
pub trait Performer: Sync {
    /// Performs one effect. It may have been performed before (`task.attempt > 1`): then the
    /// performer asks the world first.
    fn perform(&self, task: &Task<'_>) -> Result<EffectResult, Problem>;
}

/// One effect to perform, and how to speak while it lasts.
pub struct Task<'a> {
    /// The run as it was when the effect was claimed.
    pub run: &'a Run,
    /// The effect.
    pub claimed: &'a Claimed,
    /// Asks the performer to stop.
    pub cancel: &'a CancelToken,
    say: &'a (dyn Fn(Event, DedupeKey) -> Result<(), Problem> + Sync),
}

impl Task<'_> {
    /// Journals a process before it executes anything. An error means: do not start it.
    pub fn process_started(&self, identity: ProcessIdentity) -> Result<(), Problem> {
        let key = self.claimed.key.clone();
        let dedupe = DedupeKey::new(format!("process/{key}/{}", self.claimed.attempt));
        (self.say)(Event::ProcessStarted { key, identity }, dedupe)
    }

    /// Journals something worth remembering; `number` tells the notes of one attempt apart.
    pub fn note(&self, number: u32, note: Note) -> Result<(), Problem> {
        let key = self.claimed.key.clone();
        let dedupe = DedupeKey::new(format!("note/{key}/{}/{number}", self.claimed.attempt));
        (self.say)(Event::Noted { key, note }, dedupe)
    }
}

/// Performs the effects of one run until it has ended.
pub struct Executor<'a> {
    /// Where events go.
    pub journal: Journal<'a>,
    /// Who performs.
    pub performer: &'a dyn Performer,
    /// A stop asked for from above.
    pub cancel: &'a CancelToken,
}

enum Message {
    Ended(EffectKey, EffectResult),
    CancelAsked,
}

impl Executor<'_> {
    /// Goes on with a run, under its lease, until nothing is pending any more.
    pub fn fly(&self, lease: &Lease<'_>) -> Result<Run, Problem> {
        let (sender, receiver) = channel();
        let asked = sender.clone();
        let _guard = self.cancel.on_cancel(move |_| {
            let _ = asked.send(Message::CancelAsked);
        });
        scope(|threads| {
            let flown = self.dispatch(lease, threads, &sender, &receiver);
            if flown.is_err() {
                // What is still performed cannot be recorded any more: it must stop at once.
                self.cancel.cancel(Urgency::Now);
            }
            flown
        })
    }

    fn dispatch<'scope, 'env>(
        &'env self,
        lease: &'env Lease<'env>,
        threads: &'scope Scope<'scope, 'env>,
        sender: &Sender<Message>,
        receiver: &Receiver<Message>,
    ) -> Result<Run, Problem> {
        let mut under_way = BTreeSet::new();
        loop {
            let run = self.journal.require(lease.run())?;
            for claimed in self.journal.store.claim(lease.run(), lease.token())? {
                under_way.insert(claimed.key.clone());
                let (run, sender) = (run.clone(), sender.clone());
                threads.spawn(move || {
                    let key = claimed.key.clone();
                    let result = self.perform(lease, &run, &claimed);
                    let _ = sender.send(Message::Ended(key, result));
                });
            }
            if under_way.is_empty() {
                return self.journal.require(lease.run());
            }
            match receiver.recv_timeout(HEARTBEAT) {
                Ok(Message::Ended(key, result)) => {
                    under_way.remove(&key);
                    let dedupe = DedupeKey::new(format!("result/{key}"));
                    self.deliver(lease, Event::EffectEnded { key, result }, dedupe)?;
                }
                Ok(Message::CancelAsked) => {
                    self.deliver(lease, Event::CancelAsked, DedupeKey::new("cancel"))?;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => unreachable!("`sender` lives on this stack"),
            }
            self.beat(lease)?;
        }
    }

    fn beat(&self, lease: &Lease<'_>) -> Result<(), Problem> {
        if lease.beat()? {
            return Ok(());
        }
        Err(lease_lost(lease))
    }

    /// A performer that panics has failed, and takes nothing else with it.
    fn perform(&self, lease: &Lease<'_>, run: &Run, claimed: &Claimed) -> EffectResult {
        let say = |event, dedupe| self.deliver(lease, event, dedupe);
        let task = Task {
            run,
            claimed,
            cancel: self.cancel,
            say: &say,
        };
        let result = catch_unwind(AssertUnwindSafe(|| self.performer.perform(&task)));
        match result {
            Ok(Ok(result)) => result,
            Ok(Err(problem)) => EffectResult::Failed { problem },
            Err(_) => EffectResult::Failed {
                problem: Problem::environment(
                    "internal",
                    format!("performing `{}` failed inside drive itself", claimed.key),
                )
                .hint("this is a bug of drive: please report it with the run's journal"),
            },
        }
    }

    fn deliver(&self, lease: &Lease<'_>, event: Event, dedupe: DedupeKey) -> Result<(), Problem> {
        self.journal
            .deliver(lease.run(), &event, &dedupe, Some(lease.token()))
            .map(|_| ())
    }
}

fn lease_lost(lease: &Lease<'_>) -> Problem {
    Problem::environment(
        "leaseLost",
        format!("another process took over run `{}`", lease.run()),
    )
    .hint("this happens after a long suspend; the other process goes on with it")
}
