//! Splits a budget among the children of a run.
//!
//! The budget belongs to the root. A child gets an equal share of what no agent has used and no
//! other child holds. When it ends, its unused rest is free for others. So agents that work at the
//! same time cannot use the same rest twice.

use super::super::model::Run;
use crate::agent::Budget;

/// A child that used up its share gets more only if the next share is at least 1/20 of the whole
/// budget. This limits the number of grants.
const SMALLEST_GRANT: u64 = 20;

/// One of `parts` equal shares of the free budget.
pub(super) fn share(run: &Run, parts: usize) -> Budget {
    unallotted(run).split(parts)
}

/// Whether a share is large enough to be granted.
pub(super) fn is_worthwhile(share: Budget, whole: Budget) -> bool {
    let enough = |share: Option<u64>, whole: Option<u64>| match (share, whole) {
        (Some(share), Some(whole)) => share > 0 && share >= whole / SMALLEST_GRANT,
        (Some(_) | None, _) => true,
    };
    enough(share.tokens, whole.tokens)
        && enough(
            share.cost.map(|cost| cost.micro_usd()),
            whole.cost.map(|cost| cost.micro_usd()),
        )
}

/// The budget that no agent has used and no live child holds.
fn unallotted(run: &Run) -> Budget {
    let mut left = run.budget().minus(run.spent.usage, run.spent.cost);
    for child in run.children.values() {
        let spent = child.spent();
        let after = left.minus(spent.usage, spent.cost);
        left = if child.is_live() {
            after.min(left.without(child.granted))
        } else {
            after
        };
    }
    left
}
