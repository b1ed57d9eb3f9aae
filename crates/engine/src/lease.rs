//! One owner per run: a lease with a heartbeat. A dead owner on this machine is replaced at once;
//! an owner whose state is unknown is replaced when its lease expires.

use crate::ports::{Clock, LeaseAnswer, LeaseToken, Liveness, Owner, Store};
use drive_core::ids::RunId;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Group, Run, Standing, root_of};
use drive_core::time::{Timestamp, after};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long a lease is valid without a heartbeat.
pub const LEASE_TTL: Duration = Duration::from_secs(60);
/// The interval between heartbeats; two may be missed.
pub const HEARTBEAT: Duration = Duration::from_secs(20);

/// The identity of this process, and the state of others.
pub trait Whoami: Send + Sync {
    /// This process as an owner.
    fn owner(&self) -> Owner;
    /// Whether another owner is alive.
    fn liveness(&self, owner: &Owner) -> Liveness;
}

/// A lease that this process holds until it is dropped or lost.
pub struct Lease<'a> {
    store: &'a dyn Store,
    clock: &'a dyn Clock,
    run: RunId,
    token: LeaseToken,
    last_beat: Mutex<Timestamp>,
}

impl<'a> Lease<'a> {
    /// Takes the lease of a run, or returns its owner.
    pub fn acquire(
        store: &'a dyn Store,
        clock: &'a dyn Clock,
        whoami: &dyn Whoami,
        run: &RunId,
    ) -> Result<Result<Self, Owner>, Problem> {
        let now = clock.now();
        let answer = store.acquire(run, &whoami.owner(), now, after(now, LEASE_TTL), &|owner| {
            whoami.liveness(owner)
        })?;
        Ok(match answer {
            LeaseAnswer::Granted(token) => Ok(Self {
                store,
                clock,
                run: run.clone(),
                token,
                last_beat: Mutex::new(now),
            }),
            LeaseAnswer::Held { owner, .. } => Err(owner),
        })
    }

    /// The run of the lease.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// The token that fences writes.
    pub fn token(&self) -> LeaseToken {
        self.token
    }

    /// Renews the lease, unless that was done recently, because each renewal waits for the disk.
    /// Returns `false` if the lease was lost, and a problem if renewing failed for so long that the
    /// lease is about to expire.
    pub fn beat(&self) -> Result<bool, Problem> {
        let now = self.clock.now();
        let mut last = self
            .last_beat
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if *last <= now && now < after(*last, HEARTBEAT / 2) {
            return Ok(true);
        }
        match self
            .store
            .renew(&self.run, self.token, after(now, LEASE_TTL))
        {
            Ok(held) => {
                *last = now;
                Ok(held)
            }
            // A disk that is full for a moment must not stop the work.
            Err(_) if now < after(*last, LEASE_TTL - HEARTBEAT) => Ok(true),
            Err(problem) => Err(problem),
        }
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        // A lease that cannot be released now expires by itself.
        let _ = self.store.release(&self.run, self.token);
    }
}

/// The owner of a run, unless it is proven dead. A child has the owner of its root.
pub fn living_owner(
    store: &dyn Store,
    whoami: &dyn Whoami,
    run: &RunId,
) -> Result<Option<Owner>, Problem> {
    let owner = store.owner(&root_of(run))?;
    Ok(owner.filter(|owner| whoami.liveness(owner) != Liveness::Dead))
}

/// The standing of a run, considering whether a process owns it: without an owner nothing happens in it.
pub fn with_owner(
    store: &dyn Store,
    whoami: &dyn Whoami,
    run: &Run,
    its: Standing,
) -> Result<Standing, Problem> {
    let needs_owner = match its.group {
        Group::Working | Group::Waiting => true,
        Group::NeedsYou | Group::Done => false,
    };
    if !needs_owner || living_owner(store, whoami, &run.id)?.is_some() {
        return Ok(its);
    }
    Ok(its.without_owner(run))
}

/// The problem that a second process gets: who owns the run.
pub fn held_by(run: &RunId, owner: &Owner, whoami: &dyn Whoami) -> Problem {
    let machine = if owner.machine == whoami.owner().machine {
        String::new()
    } else {
        format!(" on machine `{}`", owner.machine)
    };
    Problem::new(
        Kind::RunOwned,
        format!(
            "run `{run}` is owned by process {}{machine}",
            owner.process.pid
        ),
    )
    .hint("wait for that process to end, or stop it")
}
