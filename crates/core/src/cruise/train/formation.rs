//! An assembled train: which prefixes are green or red, and which to verify next.

use super::model::{Car, Coupled};
use super::verdicts::Verdicts;
use crate::ids::{CommitSha, TaskId, TreeSha};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Cars that are merged one after another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Formation {
    /// The tip of the line, onto which the first car is merged.
    pub(super) onto: CommitSha,
    /// Tasks of this train that landed already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) landed: Vec<TaskId>,
    /// The cars that have not landed; never empty.
    pub(super) cars: Vec<Coupled>,
    /// Whether the window was already adjusted for this train.
    pub(super) is_judged: bool,
    /// Trees that could not be verified because of their contents, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) doubted: BTreeMap<TreeSha, String>,
}

/// The verdicts on the prefixes of a train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    /// Length of the longest green prefix. The empty one is green: it is the tip of the line.
    ///
    /// A prefix can be green although a shorter one is red, if a later task fixes an earlier one.
    /// The longest green prefix lands: its tree passed.
    pub(super) green: usize,
    /// Length of the shortest red or doubted prefix that is longer than the green one, if any.
    pub(super) red: Option<usize>,
}

impl Reach {
    /// The index of the car that turns a green prefix red.
    pub(super) fn culprit(self) -> Option<usize> {
        (self.red == Some(self.green + 1)).then_some(self.green)
    }
}

impl Formation {
    pub(super) fn reach(&self, verdicts: &Verdicts) -> Reach {
        let known: Vec<Option<bool>> = self
            .cars
            .iter()
            .map(|car| {
                let doubt = self.doubted.contains_key(&car.tree).then_some(false);
                verdicts.is_green(&car.tree).or(doubt)
            })
            .collect();
        let green = known.iter().rposition(|is_green| *is_green == Some(true));
        let green = green.map_or(0, |index| index + 1);
        let mut longer = known.iter().skip(green);
        let red = longer.position(|is_green| *is_green == Some(false));
        Reach {
            green,
            red: red.map(|index| green + index + 1),
        }
    }

    /// Lengths of the prefixes to verify now, the longest first.
    ///
    /// Nothing new begins while a verification that can narrow the search is in progress: useless
    /// verdicts cost as much as others.
    pub(super) fn to_verify(
        &self,
        reach: Reach,
        running: &[TreeSha],
        free_slots: usize,
    ) -> Vec<usize> {
        let is_running = |length: usize| running.contains(&self.cars[length - 1].tree);
        let longest = self.cars.len();
        let lengths = match reach.red {
            None if reach.green == longest || is_running(longest) => Vec::new(),
            None => longest_and_shorter(reach.green, longest, free_slots),
            Some(red) if (reach.green + 1..red).any(is_running) => Vec::new(),
            Some(red) => evenly_between(reach.green, red, free_slots),
        };
        let mut chosen: Vec<usize> = Vec::new();
        for length in lengths {
            // An empty merge has the same tree as the prefix before it.
            let tree = &self.cars[length - 1].tree;
            let is_chosen = chosen
                .iter()
                .any(|other| self.cars[other - 1].tree == *tree);
            if !is_chosen && !is_running(length) {
                chosen.push(length);
            }
        }
        chosen
    }

    /// Whether a prefix longer than this one is being verified.
    pub(super) fn is_verifying_beyond(&self, length: usize, running: &[TreeSha]) -> bool {
        let mut longer = self.cars.iter().skip(length);
        longer.any(|car| running.contains(&car.tree))
    }

    /// The tasks of the first cars.
    pub(super) fn tasks(&self, length: usize) -> Vec<TaskId> {
        let cars = self.cars.iter().take(length);
        cars.map(|car| car.task.clone()).collect()
    }

    /// The first cars, in their queued form.
    pub(super) fn first(&self, length: usize) -> Vec<Car> {
        self.cars.iter().take(length).map(Coupled::car).collect()
    }

    /// The length of the prefix with this merge commit, if any.
    pub(super) fn length_at(&self, commit: &CommitSha) -> Option<usize> {
        let index = self.cars.iter().rposition(|car| car.commit == *commit);
        index.map(|index| index + 1)
    }
}

/// The longest prefix, and shorter ones that split it into equal parts of at least two cars.
///
/// Most trains are green and then need no shorter verdicts. Parts of two cars halve the number of
/// verifications, and a red part of two cars needs only one more.
fn longest_and_shorter(green: usize, longest: usize, free_slots: usize) -> Vec<usize> {
    let unknown = longest - green;
    let parts = free_slots.min((unknown / 2).max(1));
    (0..parts)
        .map(|part| longest - part * unknown / parts)
        .collect()
}

/// Lengths between a green and a red prefix that divide the unknown cars evenly.
fn evenly_between(green: usize, red: usize, free_slots: usize) -> Vec<usize> {
    let distance = red - green;
    let count = free_slots.min(distance - 1);
    let splits = (1..=count).rev();
    splits
        .map(|split| green + split * distance / (count + 1))
        .collect()
}
