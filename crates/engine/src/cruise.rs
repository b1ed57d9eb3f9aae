//! The service behind `drive cruise`. A cruise outlives the processes that own it: any process can
//! send it a request, and one that finds no live owner becomes the owner.

use crate::cancel::CancelToken;
use crate::executor::{Executor, Hints, OnStop, Performer, Until};
use crate::journal::Journal;
use crate::lease::{Lease, Whoami, held_by};
use crate::ports::{Liveness, Owner};
use drive_core::Problem;
use drive_core::ids::{DedupeKey, RunId};
use drive_core::run::{Ask, Event, Request, Run};

/// Starts and resumes cruises and sends them requests. This process owns a cruise if no other process does.
#[derive(Clone, Copy)]
pub struct CruiseService<'a> {
    /// The journal.
    pub journal: Journal<'a>,
    /// This process.
    pub whoami: &'a dyn Whoami,
    /// Performs effects.
    pub performer: &'a dyn Performer,
    /// A stop request: the cruise is detached and can be resumed.
    pub cancel: &'a CancelToken,
    /// Webhook hints that `drive serve` received.
    pub hints: Option<Hints<'a>>,
}

/// Which process acts on a request.
#[derive(Debug)]
pub enum Reached {
    /// Another live process, which owns the cruise.
    Owner(Box<Owner>),
    /// This process, because the cruise had no live owner; this is its state afterwards.
    Advanced(Box<Run>),
}

/// Delivers requests, each under its key, to a cruise that a live process owns, and returns that
/// process. `None` if no live process owns it; then the caller must act.
pub fn tell_owner(
    journal: &Journal<'_>,
    whoami: &dyn Whoami,
    run: &RunId,
    asks: &[(Ask, String)],
) -> Result<Option<Owner>, Problem> {
    let live = || -> Result<Option<Owner>, Problem> {
        let owner = journal.store.owner(run)?;
        Ok(owner.filter(|owner| whoami.liveness(owner) == Liveness::Alive))
    };
    if live()?.is_none() {
        return Ok(None);
    }
    for (ask, name) in asks {
        let event = Event::Asked { ask: ask.clone() };
        journal.deliver(run, &event, &dedupe(name), None)?;
    }
    // An owner that ended before the delivery has not seen it.
    live()
}

fn dedupe(name: &str) -> DedupeKey {
    DedupeKey::new(format!("ask/{name}"))
}

impl<'a> CruiseService<'a> {
    /// Journals a new cruise. It has no owner until it is resumed.
    pub fn enter(&self, run: &RunId, request: Request) -> Result<(), Problem> {
        let event = Event::Requested {
            request: Box::new(request),
        };
        self.journal
            .deliver(run, &event, &DedupeKey::new("request"), None)?;
        Ok(())
    }

    /// Fails if a live process owns the cruise.
    pub fn require_free(&self, run: &RunId) -> Result<(), Problem> {
        let owner = self.journal.store.owner(run)?;
        match owner.filter(|owner| self.whoami.liveness(owner) == Liveness::Alive) {
            Some(owner) => Err(held_by(run, &owner, self.whoami)
                .hint("that process carries out `drive cruise fix`, `approve` and `cleanup`")),
            None => Ok(()),
        }
    }

    /// Owns a cruise until it ends or this process detaches.
    pub fn resume(&self, run: &RunId) -> Result<Run, Problem> {
        let lease = self
            .lease(run)?
            .map_err(|owner| held_by(run, &owner, self.whoami))?;
        self.executor(Until::Ended).fly(&lease)
    }

    /// Owns all of these cruises that have no live owner.
    pub fn resume_all(&self, runs: &[RunId]) -> Result<Resumed, Problem> {
        let mut resumed = Resumed::default();
        let mut leases = Vec::new();
        for run in runs {
            match self.lease(run)? {
                Ok(lease) => leases.push(lease),
                Err(owner) => resumed.owned.push((run.clone(), owner)),
            }
        }
        resumed.ended = self.executor(Until::Ended).fly_all(&leases);
        Ok(resumed)
    }

    /// Journals a request for the next owner of the cruise.
    pub fn tell(&self, run: &RunId, ask: Ask, name: &str) -> Result<(), Problem> {
        let event = Event::Asked { ask };
        self.journal.deliver(run, &event, &dedupe(name), None)?;
        Ok(())
    }

    /// Delivers a request to a cruise. `name` makes the delivery idempotent.
    pub fn ask(&self, run: &RunId, ask: Ask, name: &str) -> Result<Reached, Problem> {
        let event = Event::Asked { ask };
        self.journal.deliver(run, &event, &dedupe(name), None)?;
        let mut advanced = None;
        loop {
            let lease = match (self.lease(run)?, advanced) {
                (Ok(lease), _) => lease,
                (Err(owner), None) => return Ok(Reached::Owner(Box::new(owner))),
                (Err(_), Some(advanced)) => return Ok(Reached::Advanced(advanced)),
            };
            self.executor(Until::Idle).fly(&lease)?;
            drop(lease);
            // Another process may have sent a request before the lease was released; it saw an
            // owner and relies on it.
            let now = self.journal.require(run)?;
            if now.outbox().next().is_none() || self.cancel.asked().is_some() {
                return Ok(Reached::Advanced(Box::new(now)));
            }
            advanced = Some(Box::new(now));
        }
    }

    /// The owner of a cruise, unless it is known to be dead.
    pub fn owner(&self, run: &RunId) -> Result<Option<Owner>, Problem> {
        let owner = self.journal.store.owner(run)?;
        Ok(owner.filter(|owner| self.whoami.liveness(owner) != Liveness::Dead))
    }

    fn lease(&self, run: &RunId) -> Result<Result<Lease<'a>, Owner>, Problem> {
        Lease::acquire(self.journal.store, self.journal.clock, self.whoami, run)
    }

    fn executor(&self, until: Until) -> Executor<'a> {
        Executor {
            journal: self.journal,
            whoami: self.whoami,
            performer: self.performer,
            cancel: self.cancel,
            on_stop: OnStop::LetGo,
            until,
            hints: self.hints,
        }
    }
}

/// Results of [`CruiseService::resume_all`].
#[derive(Debug, Default)]
pub struct Resumed {
    /// Cruises that this process owned, after they ended or were detached.
    pub ended: Vec<Result<Run, Problem>>,
    /// Cruises that another process owns.
    pub owned: Vec<(RunId, Owner)>,
}
