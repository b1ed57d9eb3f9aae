//! The landing train: reviewed tasks are merged one after another, verified together, and landed in one move.
//!
//! The line is the integration branch of a cruise. A [`Train`] decides what is merged, verified and
//! landed next; the caller performs each [`Move`] and reports its result. All of its state is
//! stored, so a crash between two calls loses nothing. It never lands a commit whose tree has no
//! green verdict, and it never verifies a tree twice.

mod begin;
mod formation;
mod model;
#[cfg(test)]
mod tests;
mod verdicts;

pub use model::{Car, CarState, Cause, Conflict, Coupled, Left, Move, Step, Verdict, Why};
pub use verdicts::MOST_VERDICTS;

use crate::ids::{CommitSha, TaskId, TreeSha};
use formation::Formation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use verdicts::Verdicts;

/// The maximum number of cars of the first train.
pub const FIRST_WINDOW: u32 = 4;
/// The minimum of the window.
pub const SMALLEST_WINDOW: u32 = 1;
/// The maximum of the window.
pub const LARGEST_WINDOW: u32 = 64;
/// How often a move that fails for reasons outside the train is tried before the train stops.
pub const MOST_TRIES: u32 = 3;

/// The tasks of a cruise that wait to land, with their state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Train {
    /// How many verifications may run at the same time.
    slots: NonZeroU32,
    /// The maximum number of cars of the next train.
    window: u32,
    /// All cars that have not landed, in order, including those of the formation.
    queue: Vec<Car>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    assembling: Option<Assembling>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    formation: Option<Formation>,
    /// Trees that are being verified, including those of earlier formations. Each occupies a slot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    verifying: Vec<TreeSha>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    landing: Option<Landing>,
    #[serde(default, skip_serializing_if = "Verdicts::is_empty")]
    verdicts: Verdicts,
    #[serde(default)]
    failures: Failures,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stopped: Option<String>,
}

/// An assembly in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Assembling {
    onto: CommitSha,
    cars: Vec<Car>,
    /// Whether the line or a car changed meanwhile, so that the result is useless.
    is_void: bool,
}

/// The last landing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Landing {
    commit: CommitSha,
    cars: Vec<Car>,
    /// False once the line was seen elsewhere. The push may have happened before that, so a later
    /// result still counts.
    is_under_way: bool,
}

/// Failures in a row, for reasons outside the train.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Failures {
    assembly: u32,
    landing: u32,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    verifications: BTreeMap<TreeSha, u32>,
}

impl Train {
    /// An empty train that verifies up to `slots` trees at the same time.
    pub fn new(slots: NonZeroU32) -> Self {
        Self {
            slots,
            window: FIRST_WINDOW,
            queue: Vec::new(),
            assembling: None,
            formation: None,
            verifying: Vec::new(),
            landing: None,
            verdicts: Verdicts::default(),
            failures: Failures::default(),
            stopped: None,
        }
    }

    /// Adds a car at the end. A task that is queued already keeps its place and gets the new head;
    /// the cars before it in a train stay, the others are assembled again.
    pub fn queue(&mut self, car: Car) {
        let queued = self.queue.iter_mut().find(|other| other.task == car.task);
        match queued {
            None => self.queue.push(car),
            Some(other) if other.head == car.head => {}
            Some(other) => {
                other.head = car.head;
                self.uncouple(&car.task);
            }
        }
    }

    /// Removes a task that a person skipped. A landing that contains it cannot be undone.
    pub fn remove(&mut self, task: &TaskId) {
        self.queue.retain(|car| car.task != *task);
        self.uncouple(task);
    }

    /// Whether nothing is queued or in progress.
    pub fn is_empty(&self) -> bool {
        let is_idle = self.assembling.is_none() && self.verifying.is_empty() && !self.is_landing();
        self.queue.is_empty() && is_idle
    }

    /// The state of a task's car; `None` if the train does not hold it.
    pub fn holds(&self, task: &TaskId) -> Option<CarState> {
        let landing = self.landing.iter().filter(|landing| landing.is_under_way);
        let mut landing = landing.flat_map(|landing| &landing.cars);
        if landing.any(|car| car.task == *task) {
            return Some(CarState::Landing);
        }
        let mut formed = self.formation.iter().flat_map(|formation| &formation.cars);
        if formed.any(|car| car.task == *task) {
            return Some(CarState::Verifying);
        }
        let is_queued = self.queue.iter().any(|car| car.task == *task);
        is_queued.then_some(CarState::Queued)
    }

    /// The maximum number of cars of the next train.
    pub fn window(&self) -> u32 {
        self.window
    }

    /// Why the train has stopped, until [`resume`](Self::resume).
    pub fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Continues after a stop, with all tries again.
    pub fn resume(&mut self) {
        self.stopped = None;
        self.failures = Failures::default();
    }

    /// Stops until [`resume`](Self::resume), for a reason outside the train.
    pub fn stop(&mut self, why: String) {
        self.stopped = Some(why);
    }

    /// Trees that are being verified although no decision depends on them any more. They can be
    /// cancelled and reported as unknown.
    pub fn useless(&self) -> Vec<TreeSha> {
        let formation = self.formation.as_ref();
        let is_useful = |tree: &TreeSha| {
            formation.is_some_and(|formation| {
                let green = formation.reach(&self.verdicts).green;
                let mut open = formation.cars.iter().skip(green);
                open.any(|car| car.tree == *tree)
            })
        };
        let useless = self.verifying.iter().filter(|tree| !is_useful(tree));
        useless.cloned().collect()
    }

    /// The moves to begin now, with the line at `tip`. Each move stays in progress until its result
    /// is reported; calling this again returns nothing new.
    pub fn next(&mut self, tip: &CommitSha) -> Vec<Move> {
        if !self.is_landing() {
            // While a landing is in progress, its result tells where the line is.
            self.leave_other_lines(tip);
        }
        if self.stopped.is_some() {
            return Vec::new();
        }
        let mut moves: Vec<Move> = self.begin_landing().into_iter().collect();
        moves.extend(self.begin_verifications());
        moves.extend(self.begin_assembly(tip));
        moves
    }

    /// Takes the result of [`Move::Assemble`]: the cars that were merged, and the conflict that ended it.
    ///
    /// Call [`vouch`](Self::vouch) for the tip's tree first: then cars that change nothing need no
    /// verification.
    pub fn assembled(
        &mut self,
        onto: &CommitSha,
        cars: Vec<Coupled>,
        conflict: Option<Conflict>,
    ) -> Vec<Left> {
        let Some(asked) = self.assembling.take_if(|asked| asked.onto == *onto) else {
            return Vec::new();
        };
        if asked.is_void {
            return Vec::new();
        }
        let is_as_asked =
            cars.iter()
                .map(Coupled::car)
                .eq(asked.cars.iter().take(cars.len()).cloned());
        let refused = asked.cars.get(cars.len());
        let is_next = |conflict: &Conflict| refused.is_some_and(|car| car.task == conflict.task);
        if !is_as_asked
            || conflict.as_ref().is_some_and(|conflict| !is_next(conflict))
            || (cars.is_empty() && conflict.is_none())
        {
            self.count_assembly_failure("the merged commits are not those of the queued tasks");
            return Vec::new();
        }
        self.failures.assembly = 0;
        let mut left = Vec::new();
        if let (Some(conflict), Some(car)) = (conflict, refused) {
            self.queue.retain(|other| other.task != car.task);
            left.push(Left {
                task: car.task.clone(),
                head: car.head.clone(),
                why: Why::Conflicts {
                    files: conflict.files,
                    with: conflict.with,
                },
            });
        }
        for car in &cars {
            self.verdicts.touch(&car.tree);
        }
        self.failures.verifications.clear();
        self.formation = (!cars.is_empty()).then(|| Formation {
            onto: onto.clone(),
            landed: Vec::new(),
            cars,
            is_judged: false,
            doubted: BTreeMap::new(),
        });
        left.extend(self.judge());
        left
    }

    /// Takes the result of [`Move::Verify`]. A verdict belongs to its tree, even if the train was
    /// taken apart meanwhile.
    ///
    /// A tree that could not be verified because of its contents narrows the search like a red one,
    /// but only for this formation, because that is no verdict. A tree that could not be verified
    /// because of the machine is verified again with the next moves.
    pub fn verified(&mut self, tree: &TreeSha, verdict: Verdict) -> Vec<Left> {
        let Some(slot) = self.verifying.iter().position(|other| other == tree) else {
            return Vec::new();
        };
        self.verifying.remove(slot);
        match verdict {
            Verdict::Green => self.know(tree, true),
            Verdict::Red => self.know(tree, false),
            Verdict::Unknown { why, cause } => match cause {
                Cause::Candidate => self.doubt(tree, why),
                Cause::Base => self.count_unknown(tree, &why),
                Cause::Machine => {}
            },
        }
        self.judge()
    }

    /// Counts a tree as green without a verification, as for the tree of the line's tip.
    pub fn vouch(&mut self, tree: &TreeSha) -> Vec<Left> {
        self.know(tree, true);
        self.judge()
    }

    /// Takes the result of [`Move::Land`]: the line is at `tip` now. Returns the tasks that landed with it.
    pub fn landed(&mut self, tip: &CommitSha) -> Vec<TaskId> {
        match self.landing.take_if(|landing| landing.commit == *tip) {
            Some(landing) if landing.is_under_way => {
                self.failures.landing = 0;
                self.arrive(tip, landing.cars)
            }
            // The line has moved on since, so `tip` is no longer its tip.
            Some(landing) => {
                for car in &landing.cars {
                    self.uncouple(&car.task);
                }
                self.leave_queue(landing.cars)
            }
            None => self.moved(tip),
        }
    }

    /// Assembles the train again on `tip`, because somebody else moved the line or a landing was
    /// refused. Verdicts stay with their trees. Returns the tasks that landed, if the line was
    /// moved to a commit of this train.
    pub fn moved(&mut self, tip: &CommitSha) -> Vec<TaskId> {
        let landing = self.landing.take_if(|landing| landing.is_under_way);
        if let Some(landing) = &landing
            && landing.commit == *tip
        {
            self.failures.landing = 0;
            return self.arrive(tip, landing.cars.clone());
        }
        if let Some(landing) = landing {
            self.landing = Some(Landing {
                is_under_way: false,
                ..landing
            });
        }
        let formation = self.formation.as_ref();
        let cars = formation.and_then(|formation| {
            let length = formation.length_at(tip)?;
            Some(formation.first(length))
        });
        self.arrive(tip, cars.unwrap_or_default())
    }

    /// Takes the failure of a move for a reason outside the train. The move is tried again; after
    /// [`MOST_TRIES`] failures in a row the train stops.
    pub fn failed(&mut self, step: Step, why: String) {
        match step {
            Step::Assembly => {
                let asked = self.assembling.take();
                if asked.is_some_and(|asked| !asked.is_void) {
                    self.count_assembly_failure(&why);
                }
            }
            Step::Landing => {
                let asked = self.landing.take_if(|landing| landing.is_under_way);
                if asked.is_some() {
                    self.failures.landing += 1;
                    let tries = self.failures.landing;
                    self.stop_after(tries, &format!("could not land the verified tasks: {why}"));
                }
            }
        }
    }

    /// Answers [`Move::Land`]: the line was not moved, because there are objections against a task
    /// in it. [`remove`](Self::remove) that task; the others land without it.
    pub fn called_off(&mut self) {
        self.landing.take_if(|landing| landing.is_under_way);
    }

    fn is_landing(&self) -> bool {
        let landing = self.landing.as_ref();
        landing.is_some_and(|landing| landing.is_under_way)
    }

    /// Adjusts the window to the result of the train, and removes the car that turns a green prefix red.
    fn judge(&mut self) -> Vec<Left> {
        let Some(formation) = &mut self.formation else {
            return Vec::new();
        };
        let reach = formation.reach(&self.verdicts);
        if reach.green == formation.cars.len() {
            if !std::mem::replace(&mut formation.is_judged, true) {
                self.window = self.window.saturating_mul(2).min(LARGEST_WINDOW);
            }
            return Vec::new();
        }
        // A longer prefix may still turn green, and then all of it lands.
        if formation.is_verifying_beyond(reach.green, &self.verifying) {
            return Vec::new();
        }
        let Some(index) = reach.culprit() else {
            return Vec::new();
        };
        if !std::mem::replace(&mut formation.is_judged, true) {
            self.window = (self.window / 2).max(SMALLEST_WINDOW);
        }
        let mut with = formation.landed.clone();
        with.extend(formation.tasks(index));
        let culprit = formation.cars[index].clone();
        let tree = culprit.tree;
        let is_red = self.verdicts.is_green(&tree) == Some(false);
        let doubt = formation.doubted.get(&tree).filter(|_| !is_red).cloned();
        self.remove(&culprit.task);
        vec![Left {
            task: culprit.task,
            head: culprit.head,
            why: match doubt {
                Some(reason) => Why::Unverified { tree, reason, with },
                None => Why::Red { tree, with },
            },
        }]
    }

    /// Ends the formation before the car of this task, and voids an assembly that contains the car.
    fn uncouple(&mut self, task: &TaskId) {
        if let Some(formation) = &mut self.formation
            && let Some(index) = formation.cars.iter().position(|car| car.task == *task)
        {
            formation.cars.truncate(index);
        }
        self.formation
            .take_if(|formation| formation.cars.is_empty());
        if let Some(assembling) = &mut self.assembling {
            assembling.is_void |= assembling.cars.iter().any(|car| car.task == *task);
        }
    }

    /// Records that the line is at `tip` and contains these cars.
    fn arrive(&mut self, tip: &CommitSha, cars: Vec<Car>) -> Vec<TaskId> {
        if let Some(formation) = &mut self.formation
            && let Some(length) = formation.length_at(tip)
        {
            let landed = formation.cars.drain(..length).map(|car| car.task);
            formation.landed.extend(landed);
            formation.onto = tip.clone();
        }
        self.formation
            .take_if(|formation| formation.cars.is_empty());
        self.leave_other_lines(tip);
        self.leave_queue(cars)
    }

    /// Drops what was assembled on another commit than the tip.
    fn leave_other_lines(&mut self, tip: &CommitSha) {
        self.formation.take_if(|formation| formation.onto != *tip);
        if let Some(assembling) = &mut self.assembling {
            assembling.is_void |= assembling.onto != *tip;
        }
    }

    /// Removes landed cars from the queue. A task that got a new head meanwhile stays.
    fn leave_queue(&mut self, cars: Vec<Car>) -> Vec<TaskId> {
        self.queue.retain(|car| !cars.contains(car));
        let is_queued = |task: &TaskId| self.queue.iter().any(|car| car.task == *task);
        let tasks = cars.into_iter().map(|car| car.task);
        tasks.filter(|task| !is_queued(task)).collect()
    }

    fn know(&mut self, tree: &TreeSha, is_green: bool) {
        self.failures.verifications.remove(tree);
        self.verdicts.record(tree, is_green);
    }

    fn doubt(&mut self, tree: &TreeSha, why: String) {
        if let Some(formation) = &mut self.formation
            && formation.cars.iter().any(|car| car.tree == *tree)
        {
            formation.doubted.insert(tree.clone(), why);
        }
    }

    fn count_unknown(&mut self, tree: &TreeSha, why: &str) {
        let mut formed = self.formation.iter().flat_map(|formation| &formation.cars);
        if !formed.any(|car| car.tree == *tree) {
            return;
        }
        let tries = self.failures.verifications.entry(tree.clone()).or_default();
        *tries += 1;
        let tries = *tries;
        self.stop_after(
            tries,
            &format!("could not verify tree `{}`: {why}", tree.short()),
        );
    }

    fn count_assembly_failure(&mut self, why: &str) {
        self.failures.assembly += 1;
        let tries = self.failures.assembly;
        self.stop_after(tries, &format!("could not merge the queued tasks: {why}"));
    }

    fn stop_after(&mut self, tries: u32, why: &str) {
        if tries >= MOST_TRIES {
            self.stopped = Some(format!("{why} ({tries} tries)"));
        }
    }
}
