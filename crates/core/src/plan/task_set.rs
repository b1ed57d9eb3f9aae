//! A set of tasks, by their index.

/// Indices of tasks, one bit each, so that sets of a thousand tasks are compared in a few words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TaskSet {
    words: Vec<u64>,
}

impl TaskSet {
    pub(super) fn add(&mut self, place: usize) {
        let word = place / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (place % 64);
    }

    pub(super) fn has(&self, place: usize) -> bool {
        let word = self.words.get(place / 64);
        word.is_some_and(|word| word & (1 << (place % 64)) != 0)
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    pub(super) fn remove_all(&mut self, other: &Self) {
        for (word, less) in self.words.iter_mut().zip(&other.words) {
            *word &= !less;
        }
    }

    /// Removes all indices from this one on.
    pub(super) fn keep_below(&mut self, place: usize) {
        self.words.truncate(place.div_ceil(64));
        if let Some(word) = self.words.get_mut(place / 64) {
            *word &= (1 << (place % 64)) - 1;
        }
    }

    /// Removes and returns the last index.
    pub(super) fn pop_last(&mut self) -> Option<usize> {
        while let Some(word) = self.words.last_mut() {
            if *word == 0 {
                self.words.pop();
                continue;
            }
            let bit = 63 - word.leading_zeros() as usize;
            *word &= !(1 << bit);
            return Some((self.words.len() - 1) * 64 + bit);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn set(places: &[usize]) -> TaskSet {
        let mut set = TaskSet::default();
        places.iter().for_each(|place| set.add(*place));
        set
    }

    proptest! {
        #[test]
        fn it_holds_what_an_ordinary_set_holds(
            one in prop::collection::vec(0_usize..300, 0..20),
            more in prop::collection::vec(0_usize..300, 0..20),
            less in prop::collection::vec(0_usize..300, 0..20),
            end in 0_usize..400,
        ) {
            let mut set_of_tasks = set(&one);
            set_of_tasks.add_all(&set(&more));
            set_of_tasks.remove_all(&set(&less));
            set_of_tasks.keep_below(end);
            let mut expected: BTreeSet<usize> = one.into_iter().chain(more).collect();
            expected.retain(|place| !less.contains(place) && *place < end);
            prop_assert!((0..300).all(|place| set_of_tasks.has(place) == expected.contains(&place)));
            let mut taken = Vec::new();
            while let Some(place) = set_of_tasks.pop_last() {
                taken.push(place);
            }
            prop_assert!(taken.iter().eq(expected.iter().rev()));
        }
    }
}
