use drive_core::Problem;
use drive_core::ids::{DedupeKey, EffectKey, RunId};
use drive_core::process::ProcessMark;
use drive_core::run::{Effect, Event, IllegalEvent, Run};
use drive_core::time::Timestamp;
use serde::{Deserialize, Serialize};

/// The pure step that a store folds events with.
pub type Fold = fn(Run, Event, Timestamp) -> Result<(Run, Vec<EffectKey>), IllegalEvent>;

/// What must survive a crash at any instant.
pub trait Store: Send + Sync {
    /// In one durable transaction: inserts the event under its key, folds it, saves the state, and
    /// makes the outbox and the timers what the state says. A key that is already there changes
    /// nothing; an illegal event writes nothing.
    fn append(&self, append: &Append<'_>, fold: Fold) -> Result<Appended, Problem>;

    /// The same for many events in one durable transaction. Each is folded or refused by itself, in
    /// order; when they cannot be written, none is.
    fn append_all(
        &self,
        appends: &[Append<'_>],
        fold: Fold,
    ) -> Result<Vec<Result<Appended, Problem>>, Problem>;

    /// The state of a run.
    fn load(&self, run: &RunId) -> Result<Option<Run>, Problem>;

    /// The states of many runs, newest first.
    fn list(&self, filter: RunFilter, limit: u32) -> Result<Vec<Run>, Problem>;

    /// What happened in a run, in order.
    fn journal(&self, run: &RunId) -> Result<Vec<Entry>, Problem>;

    /// Which runs something happened to after `mark`, by whoever delivered it, and the mark for the
    /// next look. A mark beyond the end asks only for the mark.
    fn news(&self, mark: u64) -> Result<News, Problem>;

    /// Marks the effects that this owner has not begun yet as begun, and returns them. What an
    /// earlier owner began is returned again, with a higher attempt.
    fn claim(&self, run: &RunId, token: LeaseToken) -> Result<Vec<Claimed>, Problem>;

    /// Takes the lease of a run: when nobody has it, when it ran out, or when `liveness` says that
    /// its owner is dead.
    fn acquire(
        &self,
        run: &RunId,
        owner: &Owner,
        now: Timestamp,
        expires_at: Timestamp,
        liveness: &dyn Fn(&Owner) -> Liveness,
    ) -> Result<LeaseAnswer, Problem>;

    /// Who has the lease of a run, whether or not it still lives.
    fn owner(&self, run: &RunId) -> Result<Option<Owner>, Problem>;

    /// Prolongs a lease. `false` when somebody else has it by now.
    fn renew(&self, run: &RunId, token: LeaseToken, expires_at: Timestamp)
    -> Result<bool, Problem>;

    /// Gives a lease back. One that was lost is left alone.
    fn release(&self, run: &RunId, token: LeaseToken) -> Result<(), Problem>;
}

/// One event to be made durable.
pub struct Append<'a> {
    /// Whose.
    pub run: &'a RunId,
    /// What happened.
    pub event: &'a Event,
    /// What makes it the same event when it comes again.
    pub dedupe: &'a DedupeKey,
    /// When.
    pub at: Timestamp,
    /// The lease under which it is written, for what only the owner may say.
    pub fence: Option<LeaseToken>,
}

/// What became of an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Appended {
    /// It is durable, and this is the state after it.
    Folded(Box<Run>),
    /// It was there already, and this is the state now.
    Duplicate(Box<Run>),
}

impl Appended {
    /// The state now.
    pub fn into_run(self) -> Run {
        match self {
            Appended::Folded(run) | Appended::Duplicate(run) => *run,
        }
    }
}

/// What happened since a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// To whom.
    pub runs: Vec<RunId>,
    /// Where the next look starts.
    pub mark: u64,
}

/// One line of a journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its place, from 1.
    pub seq: u64,
    /// What happened.
    pub event: Event,
    /// Under which key.
    pub dedupe: DedupeKey,
    /// When.
    pub at: Timestamp,
}

/// Which runs to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunFilter {
    /// All of them.
    All,
    /// Those that have not ended.
    Active,
}

/// An effect that this owner performs now.
#[derive(Clone, Debug, PartialEq)]
pub struct Claimed {
    /// Its key.
    pub key: EffectKey,
    /// What is to be done.
    pub effect: Effect,
    /// 1 for the first time. From 2 on it may have happened, so the world is asked first.
    pub attempt: u32,
}

/// A process that acts for runs, told apart from any later process with the same pid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// Which machine.
    pub machine: String,
    /// Which start of that machine.
    pub boot: String,
    /// Which process of that start.
    pub process: ProcessMark,
}

/// What is known about an owner. One failed probe proves no death: only `Dead` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It runs.
    Alive,
    /// It is proven gone.
    Dead,
    /// It cannot be told, as for an owner on another machine.
    Unknown,
}

/// Proof of ownership; it grows with every change of owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseToken(pub u64);

/// The answer to a request for a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseAnswer {
    /// It is yours.
    Granted(LeaseToken),
    /// Somebody has it.
    Held {
        /// Who.
        owner: Owner,
        /// Until when, if its heart stops beating now.
        expires_at: Timestamp,
    },
}
