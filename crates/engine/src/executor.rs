//! Performs the effects that runs decided and delivers their results.
//!
//! One dispatcher serialises all events of its runs, whether one or a thousand; each effect runs on
//! its own thread. Everything that matters is durable: after a kill at any moment the next owner
//! finds the same pending effects and the same timers.

use crate::cancel::CancelToken;
use crate::journal::Journal;
use crate::lease::{Lease, Whoami};
use crate::ports::{Claimed, NudgeLog};
use crate::tree;
use drive_core::ids::{DedupeKey, PrNumber, RunId};
use drive_core::problem::{Kind, Problem};
use drive_core::process::ProcessIdentity;
use drive_core::run::{Effect, EffectResult, Event, Note, Run};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Performs effects.
pub trait Performer: Sync {
    /// Performs one effect. It may have been performed before (`task.attempt > 1`): then the
    /// performer first checks whether it was.
    fn perform(&self, task: &Task<'_>) -> Result<EffectResult, Problem>;

    /// Updates what shows the state of a changed run elsewhere.
    fn changed(&self, run: &Run) {
        let _ = run;
    }

    /// The pull requests with changes that their runs do not know yet.
    fn touched(&self) -> BTreeSet<PrNumber> {
        BTreeSet::new()
    }
}

/// An effect to perform, with a way to journal notes meanwhile.
pub struct Task<'a> {
    /// The run as it was when the effect was claimed.
    pub run: &'a Run,
    /// The effect.
    pub claimed: &'a Claimed,
    /// The token with which the performer is asked to stop.
    pub cancel: &'a CancelToken,
    say: &'a (dyn Fn(Event, DedupeKey) -> Result<(), Problem> + Sync),
    load: &'a (dyn Fn(&RunId) -> Result<Run, Problem> + Sync),
}

impl Task<'_> {
    /// The current state of another run.
    pub fn require_run(&self, run: &RunId) -> Result<Run, Problem> {
        (self.load)(run)
    }

    /// Journals a process before it executes anything. If this fails, the process must not be started.
    pub fn process_started(&self, identity: ProcessIdentity) -> Result<(), Problem> {
        let key = self.claimed.key.clone();
        let dedupe = DedupeKey::new(format!("process/{key}/{}", self.claimed.attempt));
        (self.say)(Event::ProcessStarted { key, identity }, dedupe)
    }

    /// Journals a note; `number` distinguishes the notes of one attempt.
    pub fn note(&self, number: u32, note: Note) -> Result<(), Problem> {
        let key = self.claimed.key.clone();
        let dedupe = DedupeKey::new(format!("note/{key}/{}/{number}", self.claimed.attempt));
        (self.say)(Event::Noted { key, note }, dedupe)
    }
}

/// Performs the effects of runs until they have ended.
pub struct Executor<'a> {
    /// The journal that receives events.
    pub journal: Journal<'a>,
    /// This process, which owns the runs and takes over their children.
    pub whoami: &'a dyn Whoami,
    /// Performs the effects.
    pub performer: &'a dyn Performer,
    /// The cancellation token.
    pub cancel: &'a CancelToken,
    /// What a cancellation means for the runs.
    pub on_stop: OnStop,
    /// When to return.
    pub until: Until,
    /// Nudges that another process received.
    pub hints: Option<Hints<'a>>,
}

/// Hints about the pull requests of one repository.
#[derive(Clone, Copy)]
pub struct Hints<'a> {
    /// The log of nudges.
    pub log: &'a dyn NudgeLog,
    /// The repository, as the forge names it.
    pub repository: &'a str,
}

/// When an owner returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// When the run has ended.
    Ended,
    /// When the run only waits for a timer or a person.
    Idle,
}

/// What a cancellation means for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnStop {
    /// The run ends, and its work is saved.
    End,
    /// Its owner detaches: the next owner starts unfinished effects again.
    LetGo,
}

impl Executor<'_> {
    /// Performs one effect. A panic of the performer becomes a failure of this effect alone.
    pub(crate) fn perform(
        &self,
        lease: &Lease<'_>,
        run: &Run,
        claimed: &Claimed,
        cancel: &CancelToken,
    ) -> EffectResult {
        let say = |event, dedupe| self.deliver(lease, &event, &dedupe);
        let load = |run: &RunId| self.journal.require(run);
        let task = Task {
            run,
            claimed,
            cancel,
            say: &say,
            load: &load,
        };
        let act = || {
            if let Effect::ToRun { run: to, message } = &claimed.effect {
                return tree::deliver(&self.journal, (&run.id, &claimed.key), to, message);
            }
            self.performer.perform(&task)
        };
        let (id, key) = (&run.id, &claimed.key);
        tracing::info!(target: "drive::run", run = %id, attempt = claimed.attempt, "begins {key}");
        let result = catch_unwind(AssertUnwindSafe(act));
        match &result {
            Ok(Ok(_)) => tracing::info!(target: "drive::run", run = %id, "ends {key}"),
            Ok(Err(problem)) => {
                tracing::info!(target: "drive::run", run = %id, "fails {key}: {}", problem.message);
            }
            Err(_) => tracing::error!(target: "drive::run", run = %id, "panics in {key}"),
        }
        match result {
            Ok(Ok(result)) => result,
            Ok(Err(problem)) => EffectResult::Failed { problem },
            Err(_) => EffectResult::Failed {
                problem: Problem::new(
                    Kind::Internal,
                    format!("`{}` panicked inside drive", claimed.key),
                )
                .hint(
                    "this is a bug in drive; please report it with the output of `drive runs \
                       show --json`",
                ),
            },
        }
    }

    pub(crate) fn deliver(
        &self,
        lease: &Lease<'_>,
        event: &Event,
        dedupe: &DedupeKey,
    ) -> Result<(), Problem> {
        self.journal
            .deliver(lease.run(), event, dedupe, Some(lease.token()))
            .map(|_| ())
    }
}
