//! A model of a repository, in which a tree is the set of its changes.

use super::super::{Car, Conflict, Coupled};
use crate::ids::{CommitSha, TaskId, TreeSha};
use std::collections::{BTreeMap, BTreeSet};

type Changes = BTreeSet<String>;

/// SplitMix64, a seeded random generator.
pub(super) struct Rng(pub(super) u64);

impl Rng {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    pub(super) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }
}

#[derive(Clone)]
struct Commit {
    parent: Option<CommitSha>,
    changes: Changes,
}

pub(super) struct World {
    pub(super) tip: CommitSha,
    commits: BTreeMap<CommitSha, Commit>,
    trees: BTreeMap<TreeSha, Changes>,
    /// Changes that fail on their own.
    pub(super) bad: Changes,
    /// Pairs of changes that fail together.
    pub(super) breaking: Vec<(String, String)>,
    /// Pairs of changes that cannot be merged with each other.
    pub(super) conflicting: Vec<(String, String)>,
    /// A bad change, with the change that fixes it.
    pub(super) mended: Vec<(String, String)>,
}

impl World {
    pub(super) fn new() -> Self {
        let mut world = Self {
            tip: CommitSha::new("0".repeat(40)),
            commits: BTreeMap::new(),
            trees: BTreeMap::new(),
            bad: Changes::new(),
            breaking: Vec::new(),
            conflicting: Vec::new(),
            mended: Vec::new(),
        };
        let base = Commit {
            parent: None,
            changes: Changes::new(),
        };
        world.commits.insert(world.tip.clone(), base);
        world.tree_of(&world.tip.clone());
        world
    }

    pub(super) fn changes(&self, commit: &CommitSha) -> &Changes {
        &self.commits[commit].changes
    }

    pub(super) fn tree_of(&mut self, commit: &CommitSha) -> TreeSha {
        let changes = self.commits[commit].changes.clone();
        let hash = |start: u64| {
            let bytes = changes
                .iter()
                .flat_map(|change| format!("{change};").into_bytes());
            bytes.fold(start, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            })
        };
        let text = format!(
            "{:016x}{:016x}00000000",
            hash(0xcbf2_9ce4_8422_2325),
            hash(99)
        );
        let tree = TreeSha::parse(&text).unwrap();
        let known = self
            .trees
            .entry(tree.clone())
            .or_insert_with(|| changes.clone());
        assert_eq!(*known, changes, "two trees with one id");
        tree
    }

    /// Whether a change is in a tree.
    pub(super) fn has(&self, tree: &TreeSha, change: &str) -> bool {
        self.trees[tree].contains(change)
    }

    pub(super) fn is_green(&self, tree: &TreeSha) -> bool {
        let has = |change: &String| self.trees[tree].contains(change);
        let is_mended = |bad: &String| {
            let mut menders = self.mended.iter().filter(|(one, _)| one == bad);
            menders.any(|(_, mender)| has(mender))
        };
        !self.bad.iter().any(|bad| has(bad) && !is_mended(bad))
            && !self
                .breaking
                .iter()
                .any(|(one, other)| has(one) && has(other))
    }

    /// The change of a head, which is part of its name: `task@change`, where `-` changes nothing.
    pub(super) fn change_of(head: &CommitSha) -> Option<String> {
        let text = text_of(head);
        let (_, change) = text.split_once('@').unwrap();
        (change != "-").then(|| change.to_owned())
    }

    fn commit(&mut self, parent: &CommitSha, change: Option<String>) -> CommitSha {
        let mut changes = self.commits[parent].changes.clone();
        changes.extend(change);
        let id = CommitSha::new(format!("{:040x}", self.commits.len()));
        let parent = Some(parent.clone());
        self.commits.insert(id.clone(), Commit { parent, changes });
        id
    }

    /// Moves the line to a new commit of another person.
    pub(super) fn push(&mut self, change: Option<&str>) {
        let tip = self.tip.clone();
        self.tip = self.commit(&tip, change.map(str::to_owned));
        let tip = self.tip.clone();
        self.tree_of(&tip);
    }

    pub(super) fn assemble(
        &mut self,
        onto: &CommitSha,
        cars: &[Car],
    ) -> (Vec<Coupled>, Option<Conflict>) {
        let mut coupled: Vec<Coupled> = Vec::new();
        let mut last = onto.clone();
        for car in cars {
            let change = Self::change_of(&car.head);
            let is_in = |change: &String| self.changes(&last).contains(change);
            let conflicts = |(one, other): &&(String, String)| {
                (change.as_ref() == Some(one) && is_in(other))
                    || (change.as_ref() == Some(other) && is_in(one))
            };
            if let Some((one, other)) = self.conflicting.iter().find(conflicts) {
                let conflict = Conflict {
                    task: car.task.clone(),
                    files: vec![format!("{one}-{other}")],
                    with: coupled.iter().map(|car| car.task.clone()).collect(),
                };
                return (coupled, Some(conflict));
            }
            // Git makes no merge commit for a head that is already merged.
            if !change.as_ref().is_some_and(is_in) {
                last = self.commit(&last, change);
            }
            coupled.push(Coupled {
                task: car.task.clone(),
                head: car.head.clone(),
                commit: last.clone(),
                tree: self.tree_of(&last),
            });
        }
        (coupled, None)
    }

    pub(super) fn descends(&self, commit: &CommitSha, from: &CommitSha) -> bool {
        let mut next = Some(commit.clone());
        while let Some(commit) = next {
            if commit == *from {
                return true;
            }
            next = self.commits[&commit].parent.clone();
        }
        false
    }
}

pub(super) fn task(name: &str) -> TaskId {
    TaskId::new(name)
}

/// A car whose change has the name of its task.
pub(super) fn car(name: &str) -> Car {
    changed(name, name)
}

pub(super) fn changed(name: &str, change: &str) -> Car {
    Car {
        task: task(name),
        head: id_of(&format!("{name}@{change}")),
    }
}

/// An id that encodes a text, padded to the length of an id.
fn id_of(text: &str) -> CommitSha {
    let digits: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    CommitSha::parse(&format!("{digits:0<64}")).unwrap()
}

fn text_of(id: &CommitSha) -> String {
    let digits = id.as_str().as_bytes().chunks(2);
    let bytes = digits.map(|two| u8::from_str_radix(str::from_utf8(two).unwrap(), 16).unwrap());
    String::from_utf8(bytes.take_while(|byte| *byte != 0).collect()).unwrap()
}
