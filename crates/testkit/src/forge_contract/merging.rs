//! Contract: a forge merges exactly the verified commit, or nothing.

use super::fixture::{open, poll};
use super::{BASE, ForgeFixture};
use drive_core::forge::PrState;
use drive_engine::ports::{MergeOutcome, Since};

/// Merging again reports the earlier merge, and every reading returns its commit.
pub fn the_expected_head_is_merged_once(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/merge");
    let first = fixture
        .forge()
        .merge(pr.number, &pr.head_sha, None)
        .unwrap();
    let second = fixture
        .forge()
        .merge(pr.number, &pr.head_sha, None)
        .unwrap();
    assert!(matches!(first, MergeOutcome::Merged { .. }), "{first:?}");
    assert_eq!(first, second);
    let MergeOutcome::Merged { sha } = second else {
        return;
    };
    let fetched = fixture.forge().fetch(pr.number).unwrap();
    assert_eq!(
        (fetched.state, &fetched.merged_sha),
        (PrState::Merged, &sha)
    );
    let polled = poll(fixture, &[pr.number], Since(None)).pull_requests;
    let polled = polled.iter().find(|one| one.number == pr.number);
    assert_eq!(polled.map(|one| &one.merged_sha), Some(&sha));
}

/// A push after the verdict prevents the merge.
pub fn another_head_is_not_merged(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/moved");
    fixture.push("feat/moved", "late.txt", "late\n");
    let outcome = fixture
        .forge()
        .merge(pr.number, &pr.head_sha, None)
        .unwrap();
    assert_eq!(outcome, MergeOutcome::HeadMoved);
    assert_eq!(
        fixture.forge().fetch(pr.number).unwrap().state,
        PrState::Open
    );
}

/// The forge merged, and the network lost the answer.
pub fn a_lost_answer_to_a_merge_is_found_out(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/mergelost");
    fixture.lose_next_answer();
    let outcome = fixture
        .forge()
        .merge(pr.number, &pr.head_sha, None)
        .unwrap();
    assert!(
        matches!(outcome, MergeOutcome::Merged { .. }),
        "{outcome:?}"
    );
}

/// A closed pull request stays closed.
pub fn a_closed_pull_request_is_not_merged(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/closed");
    fixture.forge().close(pr.number).unwrap();
    let outcome = fixture
        .forge()
        .merge(pr.number, &pr.head_sha, None)
        .unwrap();
    assert!(
        matches!(outcome, MergeOutcome::Refused { .. }),
        "{outcome:?}"
    );
    assert_eq!(
        fixture.forge().fetch(pr.number).unwrap().state,
        PrState::Closed
    );
}

/// A conflict is reported before the merge and when merging.
pub fn a_conflict_is_told_and_not_merged(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/conflict");
    fixture.push(BASE, "src/lib.rs", "entirely\ndifferent\n");
    assert_eq!(
        fixture.forge().fetch(pr.number).unwrap().mergeable,
        Some(false)
    );
    let outcome = fixture
        .forge()
        .merge(pr.number, &pr.head_sha, None)
        .unwrap();
    assert!(
        matches!(outcome, MergeOutcome::Refused { .. }),
        "{outcome:?}"
    );
    assert_eq!(
        fixture.forge().fetch(pr.number).unwrap().state,
        PrState::Open
    );
}
