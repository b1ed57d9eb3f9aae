//! Known verdicts of trees.

use crate::ids::TreeSha;
use serde::{Deserialize, Serialize};

/// How many verdicts are stored: several times the trees of the longest train, so that no verdict
/// of the current train is dropped.
pub const MOST_VERDICTS: usize = 256;

/// The trees that passed or failed, the most recently used ones last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Verdicts(Vec<Known>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Known {
    tree: TreeSha,
    green: bool,
}

impl Verdicts {
    /// Whether the tree passed; `None` if unknown.
    pub(super) fn is_green(&self, tree: &TreeSha) -> Option<bool> {
        let known = self.0.iter().find(|known| known.tree == *tree);
        known.map(|known| known.green)
    }

    pub(super) fn record(&mut self, tree: &TreeSha, green: bool) {
        self.0.retain(|known| known.tree != *tree);
        if self.0.len() >= MOST_VERDICTS {
            self.0.remove(0);
        }
        self.0.push(Known {
            tree: tree.clone(),
            green,
        });
    }

    /// Marks the verdict of a tree as used, so that others are dropped first.
    pub(super) fn touch(&mut self, tree: &TreeSha) {
        if let Some(green) = self.is_green(tree) {
            self.record(tree, green);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
