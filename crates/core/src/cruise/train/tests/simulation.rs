//! Seeded simulations of trains: results in any order, crashes, lines that others move, failing tools.

use super::super::*;
use super::world::{Rng, World, changed, task};
use std::collections::BTreeSet;

const SEEDS: u64 = 400;
/// Far more moves than any of these trains needs.
const MOST_MOVES: usize = 2_000;

/// A move in progress, and its result once it was performed.
struct Begun {
    order: Move,
    result: Option<Answer>,
}

enum Answer {
    Assembled(Vec<Coupled>, Option<Conflict>),
    Verified(Verdict),
    Landed(CommitSha),
    Refused(CommitSha),
    Failed(Step),
}

struct Sim {
    rng: Rng,
    world: World,
    train: Train,
    slots: usize,
    begun: Vec<Begun>,
    /// The tip of the line, as the caller knows it.
    known_tip: CommitSha,
    /// Trees with a verdict or a running verification.
    asked: BTreeSet<TreeSha>,
    landed: BTreeSet<TaskId>,
    left: BTreeSet<TaskId>,
    removed: BTreeSet<TaskId>,
    moves: usize,
    faults: usize,
}

#[test]
fn trains_land_all_good_tasks_and_only_verified_trees() {
    for seed in 0..SEEDS {
        Sim::new(seed).run(seed);
    }
}

impl Sim {
    fn new(seed: u64) -> Self {
        let mut rng = Rng(seed);
        let slots = 1 + rng.below(5);
        let world = World::new();
        Self {
            train: Train::new(NonZeroU32::new(slots as u32).unwrap()),
            known_tip: world.tip.clone(),
            slots,
            rng,
            world,
            begun: Vec::new(),
            asked: BTreeSet::new(),
            landed: BTreeSet::new(),
            left: BTreeSet::new(),
            removed: BTreeSet::new(),
            moves: 0,
            faults: 0,
        }
    }

    /// Gives tasks faults, at most one each. Returns the tasks without any.
    fn spoil(&mut self, names: &[String]) -> BTreeSet<TaskId> {
        let mut free: Vec<String> = names.to_vec();
        let mut good: BTreeSet<TaskId> = names.iter().map(|name| task(name)).collect();
        for _ in 0..self.rng.below(4) {
            let mut take = |rng: &mut Rng| {
                let at = rng.below(free.len().max(1));
                (at < free.len()).then(|| free.remove(at))
            };
            let (Some(one), Some(other)) = (take(&mut self.rng), take(&mut self.rng)) else {
                break;
            };
            good.remove(&task(&one));
            match self.rng.below(5) {
                0 => drop(self.world.bad.insert(one)),
                1 => {
                    good.remove(&task(&other));
                    self.world.breaking.push((one, other));
                }
                2 => {
                    good.remove(&task(&other));
                    self.world.conflicting.push((one, other));
                }
                3 => {
                    self.world.bad.insert(one.clone());
                    self.world.mended.push((one, other));
                }
                _ => self.world.breaking.push((one, "foreign".into())),
            }
        }
        good
    }

    fn run(mut self, seed: u64) {
        let count = 1 + self.rng.below(24);
        let names: Vec<String> = (0..count).map(|n| format!("t{n}")).collect();
        let good = self.spoil(&names);
        let mut waiting = names.clone();
        let at_once = self.rng.percent(50);
        let mut disturbances = self.rng.below(6);
        loop {
            assert!(self.moves < MOST_MOVES, "seed {seed} does not end");
            if !waiting.is_empty() && (at_once || self.rng.percent(20)) {
                let name = waiting.remove(0);
                let change = if self.rng.percent(5) && good.contains(&task(&name)) {
                    "-"
                } else {
                    &name
                };
                self.train.queue(changed(&name, change));
                continue;
            }
            if disturbances > 0 && self.rng.percent(10) {
                disturbances -= 1;
                self.disturb(&names);
            }
            self.crash();
            self.begin();
            if self.begun.is_empty() {
                if self.train.stopped().is_some() {
                    self.train.resume();
                    continue;
                }
                let is_stale = self.known_tip != self.world.tip;
                self.known_tip = self.world.tip.clone();
                if waiting.is_empty() && self.train.is_empty() {
                    break;
                }
                let is_waiting = is_stale || !waiting.is_empty();
                assert!(is_waiting, "seed {seed} is stuck: {:?}", self.train);
                continue;
            }
            let at = self.rng.below(self.begun.len());
            if self.begun[at].result.is_none() {
                self.perform(at);
            } else {
                self.answer(at);
            }
        }
        self.check(seed, &names, &good);
    }

    fn crash(&mut self) {
        let stored = serde_json::to_string(&self.train).unwrap();
        let train: Train = serde_json::from_str(&stored).unwrap();
        assert_eq!(train, self.train);
        self.train = train;
    }

    fn disturb(&mut self, names: &[String]) {
        let name = &names[self.rng.below(names.len())];
        match self.rng.below(5) {
            // Without a change, the merged trees stay the same.
            0 => self.world.push(None),
            1 if self.is_foreign_change_good() => self.world.push(Some("foreign")),
            2 => {
                self.train.remove(&task(name));
                self.removed.insert(task(name));
            }
            3 if self.train.holds(&task(name)).is_some() => {
                self.train.queue(changed(name, &format!("{name}'")));
            }
            _ => {
                self.known_tip = self.world.tip.clone();
                let landed = self.train.moved(&self.known_tip);
                self.note(landed);
            }
        }
    }

    /// Whether the line passes with a foreign change: others only push what passes, so the line's
    /// tip counts as green.
    fn is_foreign_change_good(&self) -> bool {
        let changes = self.world.changes(&self.world.tip);
        let mut breaking = self.world.breaking.iter();
        !breaking.any(|(one, other)| other == "foreign" && changes.contains(one))
    }

    fn begin(&mut self) {
        let moves = self.train.next(&self.known_tip);
        assert_eq!(self.train.next(&self.known_tip), vec![], "nothing new");
        self.moves += moves.len();
        for order in moves {
            if let Move::Verify { tree, commit, .. } = &order {
                assert!(self.asked.insert(tree.clone()), "verified twice");
                assert_eq!(self.world.tree_of(commit), *tree);
            }
            self.begun.push(Begun {
                order,
                result: None,
            });
        }
        let verify = |begun: &&Begun| matches!(begun.order, Move::Verify { .. });
        let running = self.begun.iter().filter(verify).count();
        assert!(running <= self.slots, "{running} verifications at once");
    }

    fn perform(&mut self, at: usize) {
        let is_faulty = self.faults < 12 && self.rng.percent(4);
        self.faults += usize::from(is_faulty);
        let order = self.begun[at].order.clone();
        let result = match &order {
            Move::Assemble { .. } if is_faulty => Answer::Failed(Step::Assembly),
            Move::Assemble { onto, cars } => {
                let (coupled, conflict) = self.world.assemble(onto, cars);
                Answer::Assembled(coupled, conflict)
            }
            Move::Verify { tree, .. } => Answer::Verified(if is_faulty {
                self.asked.remove(tree);
                let why = "no space left".to_owned();
                let cause = Cause::Base;
                Verdict::Unknown { why, cause }
            } else if self.world.is_green(tree) {
                Verdict::Green
            } else {
                Verdict::Red
            }),
            Move::Land {
                from, commit, tree, ..
            } => {
                assert!(self.world.is_green(tree), "a red tree lands");
                assert_eq!(self.world.tree_of(commit), *tree);
                assert!(self.world.descends(commit, from));
                let is_there = [from, commit].contains(&&self.world.tip);
                if is_there && !(is_faulty && self.rng.percent(50)) {
                    self.world.tip = commit.clone();
                }
                // The push may have happened although its result was lost.
                if is_faulty {
                    Answer::Failed(Step::Landing)
                } else if is_there {
                    Answer::Landed(commit.clone())
                } else {
                    Answer::Refused(self.world.tip.clone())
                }
            }
        };
        self.begun[at].result = Some(result);
    }

    fn answer(&mut self, at: usize) {
        let Begun { order, result } = self.begun.remove(at);
        match (result.unwrap(), &order) {
            (Answer::Assembled(cars, conflict), Move::Assemble { onto, .. }) => {
                let mut left = Vec::new();
                if self.rng.percent(80) {
                    left.extend(self.train.vouch(&self.world.tree_of(onto)));
                }
                left.extend(self.train.assembled(onto, cars, conflict));
                self.leave(left);
            }
            (Answer::Verified(verdict), Move::Verify { tree, .. }) => {
                let left = self.train.verified(tree, verdict);
                self.leave(left);
            }
            (Answer::Landed(tip), _) => {
                self.known_tip = tip.clone();
                let landed = self.train.landed(&tip);
                self.note(landed);
            }
            (Answer::Refused(tip), _) => {
                self.known_tip = tip.clone();
                let landed = if self.rng.percent(50) {
                    self.train.moved(&tip)
                } else {
                    self.train.landed(&tip)
                };
                self.note(landed);
            }
            (Answer::Failed(step), _) => self.train.failed(step, "no space left".into()),
            (Answer::Assembled(..) | Answer::Verified(_), _) => unreachable!(),
        }
    }

    fn note(&mut self, tasks: Vec<TaskId>) {
        for task in tasks {
            assert!(self.landed.insert(task.clone()), "{task} landed twice");
        }
    }

    fn leave(&mut self, all: Vec<Left>) {
        for left in all {
            assert_eq!(self.train.holds(&left.task), None);
            if let Why::Red { tree, .. } = &left.why {
                assert!(!self.world.is_green(tree));
            }
            self.left.insert(left.task.clone());
            // A round fixes some of them, and they are queued again.
            if self.rng.percent(30) {
                let name = left.task.as_str();
                self.train.queue(changed(name, &format!("{name}'")));
            }
        }
    }

    fn check(mut self, seed: u64, names: &[String], good: &BTreeSet<TaskId>) {
        let tip = self.world.tip.clone();
        let tree = self.world.tree_of(&tip);
        assert!(self.world.is_green(&tree), "seed {seed}: the line is red");
        let changes = self.world.changes(&tip).clone();
        for name in names {
            let id = task(name);
            let is_in = changes.contains(name) || changes.contains(&format!("{name}'"));
            let has_landed = self.landed.contains(&id);
            let fate = [&self.landed, &self.left, &self.removed].map(|set| set.contains(&id));
            assert!(fate.contains(&true), "seed {seed}: {name} is lost");
            assert!(!is_in || has_landed, "seed {seed}: {name} landed untold");
            if good.contains(&id) {
                assert!(!self.left.contains(&id), "seed {seed}: {name} is good");
                assert!(
                    has_landed || self.removed.contains(&id),
                    "seed {seed}: {name} did not land"
                );
            }
            if self.world.bad.contains(name) && changes.contains(name) {
                let mut mended = self.world.mended.iter();
                assert!(mended.any(|(bad, _)| bad == name), "seed {seed}: {name}");
            }
        }
    }
}
