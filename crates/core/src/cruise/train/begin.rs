//! Chooses the next moves of the landing train.

use super::model::{Car, Move};
use super::{Assembling, Landing, Train};
use crate::ids::CommitSha;

impl Train {
    pub(super) fn begin_landing(&mut self) -> Option<Move> {
        let formation = self.formation.as_ref()?;
        let green = formation.reach(&self.verdicts).green;
        // A longer prefix that may soon be green saves a landing.
        if self.is_landing() || formation.is_verifying_beyond(green, &self.verifying) {
            return None;
        }
        let last = formation.cars.get(green.checked_sub(1)?)?;
        self.landing = Some(Landing {
            commit: last.commit.clone(),
            cars: formation.first(green),
            is_under_way: true,
        });
        Some(Move::Land {
            from: formation.onto.clone(),
            commit: last.commit.clone(),
            tree: last.tree.clone(),
            tasks: formation.tasks(green),
        })
    }

    pub(super) fn begin_verifications(&mut self) -> Vec<Move> {
        let Some(formation) = &self.formation else {
            return Vec::new();
        };
        let slots = usize::try_from(self.slots.get()).unwrap_or(usize::MAX);
        let free = slots.saturating_sub(self.verifying.len());
        let reach = formation.reach(&self.verdicts);
        let lengths = formation.to_verify(reach, &self.verifying, free);
        let prefixes = lengths.into_iter().filter_map(|length| {
            let last = formation.cars.get(length.checked_sub(1)?)?;
            Some(Move::Verify {
                onto: formation.onto.clone(),
                commit: last.commit.clone(),
                tree: last.tree.clone(),
                tasks: formation.tasks(length),
            })
        });
        let moves: Vec<Move> = prefixes.collect();
        for one in &moves {
            if let Move::Verify { tree, .. } = one {
                self.verifying.push(tree.clone());
            }
        }
        moves
    }

    pub(super) fn begin_assembly(&mut self, tip: &CommitSha) -> Option<Move> {
        let is_busy = self.formation.is_some() || self.assembling.is_some() || self.is_landing();
        if is_busy || self.queue.is_empty() {
            return None;
        }
        let window = usize::try_from(self.window).unwrap_or(usize::MAX);
        let cars: Vec<Car> = self.queue.iter().take(window).cloned().collect();
        self.assembling = Some(Assembling {
            onto: tip.clone(),
            cars: cars.clone(),
            is_void: false,
        });
        Some(Move::Assemble {
            onto: tip.clone(),
            cars,
        })
    }
}
