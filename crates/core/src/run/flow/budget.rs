//! Splits a budget among the children of a run.
//!
//! It belongs to the root. A child gets an equal share of what no agent has used and no other child
//! holds; what it leaves over is there for others once it has ended. So agents that work side by side
//! cannot use the same rest twice.

use super::super::model::Run;
use crate::agent::Budget;

/// A child that used up its share gets more only where the next share is at least this part of the
/// whole budget, so that it is granted a bounded number of times.
const SMALLEST_GRANT: u64 = 20;

/// An equal part, for each of `parts`, of what nobody holds or has used.
pub(super) fn share(run: &Run, parts: usize) -> Budget {
    unallotted(run).split(parts)
}

/// Whether a share is large enough to be handed out.
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

/// What no agent has used and no living child holds.
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
