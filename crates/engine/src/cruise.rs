//! `drive cruise`: a run that outlives its owners. Anybody may ask something of it; whoever finds no
//! owner becomes it.

use crate::cancel::CancelToken;
use crate::executor::{Executor, Hints, OnStop, Performer, Until};
use crate::journal::Journal;
use crate::lease::{Lease, Whoami, held_by};
use crate::ports::{Liveness, Owner};
use drive_core::Problem;
use drive_core::ids::{DedupeKey, RunId};
use drive_core::run::{Ask, Event, Request, Run};

/// What it takes to own cruises.
#[derive(Clone, Copy)]
pub struct Bridge<'a> {
    /// The journal.
    pub journal: Journal<'a>,
    /// This process.
    pub whoami: &'a dyn Whoami,
    /// Who performs.
    pub performer: &'a dyn Performer,
    /// A stop asked for from above: the cruise is let go, and stays.
    pub cancel: &'a CancelToken,
    /// Hints of the forge that somebody else heard.
    pub hints: Option<Hints<'a>>,
}

/// Who acts on what was asked.
#[derive(Debug)]
pub enum Reached {
    /// This living process.
    Owner(Box<Owner>),
    /// Nobody lived, so this process did; this is the cruise afterwards.
    Flown(Box<Run>),
}

impl<'a> Bridge<'a> {
    /// Makes a cruise durable. It is nobody's until somebody goes on with it.
    pub fn enter(&self, run: &RunId, request: Request) -> Result<(), Problem> {
        let event = Event::Requested {
            request: Box::new(request),
        };
        self.journal
            .deliver(run, &event, &DedupeKey::new("request"), None)?;
        Ok(())
    }

    /// Nobody who lives goes on with a cruise.
    pub fn require_free(&self, run: &RunId) -> Result<(), Problem> {
        let owner = self.journal.store.owner(run)?;
        match owner.filter(|owner| self.whoami.liveness(owner) == Liveness::Alive) {
            Some(owner) => Err(held_by(run, &owner, self.whoami)
                .hint("it does what `drive cruise fix`, `approve` and `cleanup` ask for")),
            None => Ok(()),
        }
    }

    /// Goes on with a cruise until it has ended or this process lets go.
    pub fn fly(&self, run: &RunId) -> Result<Run, Problem> {
        let lease = self
            .lease(run)?
            .map_err(|owner| held_by(run, &owner, self.whoami))?;
        self.executor(Until::Ended).fly(&lease)
    }

    /// Goes on with every one of these that nobody has; the others are told with their owners.
    pub fn fly_all(&self, runs: &[RunId]) -> Result<Flown, Problem> {
        let mut flown = Flown::default();
        let mut leases = Vec::new();
        for run in runs {
            match self.lease(run)? {
                Ok(lease) => leases.push(lease),
                Err(owner) => flown.owned.push((run.clone(), owner)),
            }
        }
        flown.ended = self.executor(Until::Ended).fly_all(&leases);
        Ok(flown)
    }

    /// Asks something of a cruise. `name` tells this asking from any other.
    pub fn ask(&self, run: &RunId, ask: Ask, name: &str) -> Result<Reached, Problem> {
        let event = Event::Asked { ask };
        let dedupe = DedupeKey::new(format!("ask/{name}"));
        self.journal.deliver(run, &event, &dedupe, None)?;
        let mut flown = None;
        loop {
            let lease = match (self.lease(run)?, flown) {
                (Ok(lease), _) => lease,
                (Err(owner), None) => return Ok(Reached::Owner(Box::new(owner))),
                (Err(_), Some(flown)) => return Ok(Reached::Flown(flown)),
            };
            self.executor(Until::Idle).fly(&lease)?;
            drop(lease);
            // Who asked between the last look and the letting go saw an owner, and relies on it.
            let now = self.journal.require(run)?;
            if now.pending.is_empty() || self.cancel.asked().is_some() {
                return Ok(Reached::Flown(Box::new(now)));
            }
            flown = Some(Box::new(now));
        }
    }

    /// The living owner of a cruise.
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
            performer: self.performer,
            cancel: self.cancel,
            on_stop: OnStop::LetGo,
            until,
            hints: self.hints,
        }
    }
}

/// What came of many cruises.
#[derive(Debug, Default)]
pub struct Flown {
    /// Those this process flew, as they ended or were let go.
    pub ended: Vec<Result<Run, Problem>>,
    /// Those that somebody has.
    pub owned: Vec<(RunId, Owner)>,
}
