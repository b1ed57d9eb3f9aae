use drive_core::Problem;
use drive_core::ids::{DedupeKey, EffectKey, RunId};
use drive_core::process::ProcessMark;
use drive_core::run::{Effect, Event, IllegalEvent, Run};
use drive_core::time::Timestamp;
use serde::{Deserialize, Serialize};

/// The pure function with which a store folds events.
pub type Fold = fn(Run, Event, Timestamp) -> Result<(Run, Vec<EffectKey>), IllegalEvent>;

/// The store: everything that must survive a crash at any instant.
pub trait Store: Send + Sync {
    /// In one durable transaction: inserts the event under its key, folds it, saves the state, and updates
    /// the outbox and the timers accordingly. A known key changes nothing; an illegal event writes nothing.
    fn append(&self, append: &Append<'_>, fold: Fold) -> Result<Appended, Problem>;

    /// Like `append`, for many events in one durable transaction. Each is folded or refused
    /// separately, in order; on a write failure none is stored.
    fn append_all(
        &self,
        appends: &[Append<'_>],
        fold: Fold,
    ) -> Result<Vec<Result<Appended, Problem>>, Problem>;

    /// The state of a run.
    fn load(&self, run: &RunId) -> Result<Option<Run>, Problem>;

    /// The states of many runs, newest first.
    fn list(&self, filter: RunFilter, limit: u32) -> Result<Vec<Run>, Problem>;

    /// Reads the events of a run, in order.
    fn journal(&self, run: &RunId) -> Result<Vec<Entry>, Problem>;

    /// The runs that changed after `mark`, and the mark for the next query. A mark beyond the end
    /// returns only the mark.
    fn news(&self, mark: u64) -> Result<News, Problem>;

    /// Calls `wake` soon after another process delivered an event, until the returned value is
    /// dropped. `None` if there is no such signal: then the caller must read `news`.
    fn listen(&self, _wake: Box<dyn Fn() + Send>) -> Option<Box<dyn Send>> {
        None
    }

    /// Marks the effects that this owner has not begun yet as begun, and returns them. Effects that
    /// an earlier owner began are returned again, with a higher attempt.
    fn claim(&self, run: &RunId, token: LeaseToken) -> Result<Vec<Claimed>, Problem>;

    /// Takes the lease of a run if it is free or expired, or if `liveness` reports its owner dead.
    fn acquire(
        &self,
        run: &RunId,
        owner: &Owner,
        now: Timestamp,
        expires_at: Timestamp,
        liveness: &dyn Fn(&Owner) -> Liveness,
    ) -> Result<LeaseAnswer, Problem>;

    /// Reads the owner of a run's lease, dead or alive.
    fn owner(&self, run: &RunId) -> Result<Option<Owner>, Problem>;

    /// Renews a lease. Returns `false` if another process has taken it.
    fn renew(&self, run: &RunId, token: LeaseToken, expires_at: Timestamp)
    -> Result<bool, Problem>;

    /// Releases a lease. Does nothing if it was lost.
    fn release(&self, run: &RunId, token: LeaseToken) -> Result<(), Problem>;
}

/// An event to store.
pub struct Append<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The event.
    pub event: &'a Event,
    /// The key that identifies the event when it is delivered again.
    pub dedupe: &'a DedupeKey,
    /// The time.
    pub at: Timestamp,
    /// The lease under which it is written, for events reserved for the owner.
    pub fence: Option<LeaseToken>,
}

/// The result of an append.
#[derive(Clone, Debug, PartialEq)]
pub enum Appended {
    /// The event is durable; this is the state after it.
    Folded(Box<Run>),
    /// The event was stored before; this is the current state.
    Duplicate(Box<Run>),
}

impl Appended {
    /// Returns the state.
    pub fn into_run(self) -> Run {
        match self {
            Appended::Folded(run) | Appended::Duplicate(run) => *run,
        }
    }
}

/// Events since a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// The runs that changed.
    pub runs: Vec<RunId>,
    /// The mark for the next query.
    pub mark: u64,
}

/// One entry of a journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The sequence number, from 1.
    pub seq: u64,
    /// The event.
    pub event: Event,
    /// The key for deduplication.
    pub dedupe: DedupeKey,
    /// The time.
    pub at: Timestamp,
}

/// Selects runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunFilter {
    /// All runs.
    All,
    /// Active runs.
    Active,
    /// Runs that ended with unsent notices.
    Untold,
}

/// An effect that this owner must perform now.
#[derive(Clone, Debug, PartialEq)]
pub struct Claimed {
    /// The key.
    pub key: EffectKey,
    /// The effect.
    pub effect: Effect,
    /// The attempt, from 1. From 2 on, the effect may have happened, so the performer checks that first.
    pub attempt: u32,
}

/// A process that owns runs, distinguishable from any later process with the same pid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// The machine.
    pub machine: String,
    /// The boot id of the machine.
    pub boot: String,
    /// The process.
    pub process: ProcessMark,
}

/// The state of an owner. Only `Dead` allows a takeover before the lease expires: a failed probe is `Unknown`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// The process is alive.
    Alive,
    /// The process is proven dead.
    Dead,
    /// Unknown, for example because the owner is on another machine.
    Unknown,
}

/// The fencing token of a lease; it grows with every change of owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseToken(pub u64);

/// The result of a request for a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseAnswer {
    /// The lease is granted.
    Granted(LeaseToken),
    /// Another process holds the lease.
    Held {
        /// The owner.
        owner: Owner,
        /// When the lease expires if it is not renewed.
        expires_at: Timestamp,
    },
}
