use super::lock::lock;
use super::machine::DriveProcess;
use crate::ports::{
    Append, Appended, Claimed, Entry, Fold, LeaseAnswer, LeaseToken, Liveness, News, Owner,
    RunFilter, Store,
};
use drive_core::ids::{EffectKey, RunId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Effect, Run, Timer};
use drive_core::time::Timestamp;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The point at which a store handle's owner dies, counted from 1 over the handle's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPoint {
    /// Instead of the nth transaction that would write an event.
    BeforeAppend(u32),
    /// Right after the nth transaction that wrote an event.
    AfterAppend(u32),
    /// Right after the nth claim that returned an effect.
    AfterClaim(u32),
}

/// A journal in memory. [`FakeStore::of`] gives a handle that works while its process is alive.
#[derive(Clone)]
pub struct FakeStore {
    state: Arc<Mutex<StoreState>>,
    process: DriveProcess,
    crash: Option<CrashPoint>,
    counts: Arc<Mutex<Counted>>,
    once: Arc<Mutex<Option<Once>>>,
}

/// Acts on the first state that it accepts, and returns whether it did.
type Once = Box<dyn FnMut(&Run) -> bool + Send>;

#[derive(Default)]
struct StoreState {
    runs: BTreeMap<RunId, StoredRun>,
    leases: BTreeMap<RunId, StoredLease>,
    /// The run of each event, over all runs.
    events: Vec<RunId>,
}

struct StoredRun {
    run: Run,
    /// The number of its first event.
    created: usize,
    entries: Vec<Entry>,
    outbox: BTreeMap<EffectKey, Outgoing>,
    timers: BTreeMap<Timer, Timestamp>,
}

struct Outgoing {
    effect: Effect,
    attempts: u32,
    claimed_by: Option<LeaseToken>,
}

struct StoredLease {
    owner: Option<Owner>,
    token: LeaseToken,
    expires_at: Timestamp,
}

#[derive(Default)]
struct Counted {
    appends: u32,
    claims: u32,
}

impl FakeStore {
    /// An empty journal, as used by this process.
    pub fn new(process: DriveProcess) -> Self {
        Self {
            state: Arc::default(),
            process,
            crash: None,
            counts: Arc::default(),
            once: Arc::default(),
        }
    }

    /// Calls this with every state that is written, until it has acted. Nothing is performed before.
    pub fn once(&self, act: impl FnMut(&Run) -> bool + Send + 'static) {
        *lock(&self.once) = Some(Box::new(act));
    }

    /// The same journal, as used by another process, which dies at this point.
    pub fn of(&self, process: DriveProcess, crash: Option<CrashPoint>) -> Self {
        Self {
            state: self.state.clone(),
            process,
            crash,
            counts: Arc::default(),
            once: Arc::clone(&self.once),
        }
    }

    /// The stored timers of a run.
    pub fn timers(&self, run: &RunId) -> BTreeMap<Timer, Timestamp> {
        let state = lock(&self.state);
        let stored = state.runs.get(run);
        stored.map_or_else(BTreeMap::new, |stored| stored.timers.clone())
    }

    /// The effects of a run without a result, with the number of times each was begun.
    pub fn outbox(&self, run: &RunId) -> BTreeMap<EffectKey, u32> {
        let state = lock(&self.state);
        let stored = state.runs.get(run).into_iter();
        stored
            .flat_map(|stored| &stored.outbox)
            .map(|(key, outgoing)| (key.clone(), outgoing.attempts))
            .collect()
    }

    fn dies_at(&self, point: CrashPoint) -> Result<(), Problem> {
        if self.crash == Some(point) {
            self.process.kill();
        }
        self.process.check()
    }
}

impl StoreState {
    fn holds(&self, run: &RunId, token: LeaseToken) -> bool {
        let lease = self.leases.get(run);
        lease.is_some_and(|lease| lease.owner.is_some() && lease.token == token)
    }

    /// The state after an event; for a known key, `None` and the current state.
    fn fold_in(&self, append: &Append<'_>, fold: Fold) -> Result<(bool, Run), Problem> {
        if append
            .fence
            .is_some_and(|token| !self.holds(append.run, token))
        {
            return Err(Problem::new(
                Kind::LeaseLost,
                format!("another process took over run `{}`", append.run),
            ));
        }
        let stored = self.runs.get(append.run);
        let run = stored.map_or_else(|| Run::new(append.run.clone()), |stored| stored.run.clone());
        let mut entries = stored.iter().flat_map(|stored| &stored.entries);
        if entries.any(|entry| entry.dedupe == *append.dedupe) {
            return Ok((false, run));
        }
        let folded = fold(run, append.event.clone(), append.at);
        let (run, _) =
            folded.map_err(|illegal| Problem::new(Kind::IllegalEvent, illegal.to_string()))?;
        Ok((true, run))
    }

    fn save(&mut self, append: &Append<'_>, run: &Run) {
        let created = self.events.len();
        self.events.push(run.id.clone());
        let stored = self
            .runs
            .entry(run.id.clone())
            .or_insert_with(|| StoredRun {
                run: run.clone(),
                created,
                entries: Vec::new(),
                outbox: BTreeMap::new(),
                timers: BTreeMap::new(),
            });
        stored.run = run.clone();
        stored.entries.push(Entry {
            seq: stored.entries.len() as u64 + 1,
            event: append.event.clone(),
            dedupe: append.dedupe.clone(),
            at: append.at,
        });
        stored.outbox.retain(|key, _| run.wants(key));
        for (key, effect) in run.outbox() {
            let outgoing = stored.outbox.entry(key.clone());
            outgoing.or_insert_with(|| Outgoing {
                effect: effect.clone(),
                attempts: 0,
                claimed_by: None,
            });
        }
        stored.timers.clone_from(&run.timers);
    }
}

impl Store for FakeStore {
    fn append(&self, append: &Append<'_>, fold: Fold) -> Result<Appended, Problem> {
        let appended = self.append_all(std::slice::from_ref(append), fold)?.pop();
        appended.unwrap_or_else(|| Err(Problem::new(Kind::Internal, "nothing was appended")))
    }

    fn append_all(
        &self,
        appends: &[Append<'_>],
        fold: Fold,
    ) -> Result<Vec<Result<Appended, Problem>>, Problem> {
        let mut state = lock(&self.state);
        self.process.check()?;
        // As in a transaction, an event that cannot be written is found before any other is written.
        let would_write = appends
            .iter()
            .any(|append| matches!(state.fold_in(append, fold), Ok((true, _))));
        let mut number = 0;
        if would_write {
            let mut counts = lock(&self.counts);
            counts.appends += 1;
            number = counts.appends;
        }
        self.dies_at(CrashPoint::BeforeAppend(number))?;
        let mut all = Vec::new();
        for append in appends {
            all.push(match state.fold_in(append, fold) {
                Ok((false, run)) => Ok(Appended::Duplicate(Box::new(run))),
                Ok((true, run)) => {
                    state.save(append, &run);
                    lock(&self.once).take_if(|act| act(&run));
                    Ok(Appended::Folded(Box::new(run)))
                }
                Err(problem) => Err(problem),
            });
        }
        self.dies_at(CrashPoint::AfterAppend(number))?;
        Ok(all)
    }

    fn load(&self, run: &RunId) -> Result<Option<Run>, Problem> {
        let state = lock(&self.state);
        self.process.check()?;
        Ok(state.runs.get(run).map(|stored| stored.run.clone()))
    }

    fn list(&self, filter: RunFilter, limit: u32) -> Result<Vec<Run>, Problem> {
        let state = lock(&self.state);
        self.process.check()?;
        let mut stored: Vec<&StoredRun> = state
            .runs
            .values()
            .filter(|stored| match filter {
                RunFilter::All => true,
                RunFilter::Active => stored.run.is_active(),
                RunFilter::Untold => !stored.run.is_active() && !stored.outbox.is_empty(),
            })
            .collect();
        stored.sort_by_key(|stored| std::cmp::Reverse(stored.created));
        let newest = stored.into_iter().take(limit as usize);
        Ok(newest.map(|stored| stored.run.clone()).collect())
    }

    fn journal(&self, run: &RunId) -> Result<Vec<Entry>, Problem> {
        let state = lock(&self.state);
        self.process.check()?;
        let stored = state.runs.get(run);
        Ok(stored.map_or_else(Vec::new, |stored| stored.entries.clone()))
    }

    fn news(&self, mark: u64) -> Result<News, Problem> {
        let state = lock(&self.state);
        self.process.check()?;
        let last = state.events.len();
        let mark = usize::try_from(mark).unwrap_or(last).min(last);
        let mut runs = state.events[mark..].to_vec();
        runs.sort();
        runs.dedup();
        Ok(News {
            runs,
            mark: last as u64,
        })
    }

    fn claim(&self, run: &RunId, token: LeaseToken) -> Result<Vec<Claimed>, Problem> {
        let mut state = lock(&self.state);
        self.process.check()?;
        let holds = state.holds(run, token);
        let stored = state.runs.get_mut(run).filter(|_| holds);
        let mut claimed = Vec::new();
        for (key, outgoing) in stored.into_iter().flat_map(|stored| &mut stored.outbox) {
            if outgoing.claimed_by != Some(token) {
                outgoing.claimed_by = Some(token);
                outgoing.attempts += 1;
                claimed.push(Claimed {
                    key: key.clone(),
                    effect: outgoing.effect.clone(),
                    attempt: outgoing.attempts,
                });
            }
        }
        let mut counts = lock(&self.counts);
        if !claimed.is_empty() {
            counts.claims += 1;
            self.dies_at(CrashPoint::AfterClaim(counts.claims))?;
        }
        Ok(claimed)
    }

    fn acquire(
        &self,
        run: &RunId,
        owner: &Owner,
        now: Timestamp,
        expires_at: Timestamp,
        liveness: &dyn Fn(&Owner) -> Liveness,
    ) -> Result<LeaseAnswer, Problem> {
        let mut state = lock(&self.state);
        self.process.check()?;
        let mut token = LeaseToken(1);
        if let Some(lease) = state.leases.get(run) {
            if let Some(holder) = &lease.owner {
                let is_held = match liveness(holder) {
                    Liveness::Alive => true,
                    Liveness::Dead => false,
                    Liveness::Unknown => lease.expires_at > now,
                };
                if is_held {
                    return Ok(LeaseAnswer::Held {
                        owner: holder.clone(),
                        expires_at: lease.expires_at,
                    });
                }
            }
            token = LeaseToken(lease.token.0 + 1);
        }
        let lease = StoredLease {
            owner: Some(owner.clone()),
            token,
            expires_at,
        };
        state.leases.insert(run.clone(), lease);
        Ok(LeaseAnswer::Granted(token))
    }

    fn owner(&self, run: &RunId) -> Result<Option<Owner>, Problem> {
        let state = lock(&self.state);
        self.process.check()?;
        Ok(state.leases.get(run).and_then(|lease| lease.owner.clone()))
    }

    fn renew(
        &self,
        run: &RunId,
        token: LeaseToken,
        expires_at: Timestamp,
    ) -> Result<bool, Problem> {
        let mut state = lock(&self.state);
        self.process.check()?;
        let holds = state.holds(run, token);
        if let Some(lease) = state.leases.get_mut(run).filter(|_| holds) {
            lease.expires_at = expires_at;
        }
        Ok(holds)
    }

    fn release(&self, run: &RunId, token: LeaseToken) -> Result<(), Problem> {
        let mut state = lock(&self.state);
        self.process.check()?;
        if let Some(lease) = state.leases.get_mut(run)
            && lease.token == token
        {
            lease.owner = None;
        }
        Ok(())
    }
}
