//! Random requests: cruises and teams of every kind.

use crate::common;
use crate::cruise_simulation::clock::HOUR;
use crate::cruise_simulation::rng::Rng;
use drive_core::agent::Budget;
use drive_core::run::{ChangeDone, GivenPlan, Makes, PlanApproval, Request, RunKind};
use drive_core::settings::TeamMode;
use std::num::NonZeroU32;
use std::time::Duration;

/// A request with random terms.
pub fn request(rng: &mut Rng) -> Request {
    let mut terms = common::cruise::terms();
    let watch = terms.watch.as_mut().expect("a cruise is watched");
    watch.max_rounds = u32::try_from(rng.between(1, 8)).expect("small");
    terms.max_iterations = u32::try_from(rng.between(1, 4)).expect("small");
    terms.review.refuter = (rng.below(2) == 0).then(|| terms.reviewer.clone());
    terms.review.max_parallel = side_by_side(terms.max_iterations);
    let approval = PlanApproval {
        auto_approve: rng.percent(35),
        plan_only: rng.percent(30),
    };
    let inactive = rng.weighed(&[(5, HOUR / 2), (8, 2 * HOUR), (1, 24 * HOUR)]);
    let watch = terms.watch.as_mut().expect("a cruise is watched");
    watch.inactivity_timeout = Duration::from_millis(inactive.unsigned_abs());
    let given = rng.percent(15).then(|| {
        // Without a draw of its own, so that old seeds mean what they meant.
        let text = common::PLAN.to_owned();
        if terms.review.refuter.is_some() {
            GivenPlan::ToReview(text)
        } else {
            GivenPlan::AsItIs { as_it_is: text }
        }
    });
    terms.makes = Makes::Plan { given, approval };
    let mut request = common::cruise::request_with(terms);
    request.budget = Budget::default();
    if rng.percent(25) {
        request.budget.tokens = Some(rng.below(20_000));
    }
    request
}

/// Derived from an earlier random number, so that old seeds give the same results.
fn side_by_side(max_iterations: u32) -> NonZeroU32 {
    NonZeroU32::new(max_iterations).expect("at least one")
}

/// A request for a random team.
pub fn team_request(rng: &mut Rng) -> Request {
    let mode = rng.weighed(&[
        (1, TeamMode::Sequential),
        (2, TeamMode::Pingpong),
        (4, TeamMode::Github),
    ]);
    let mut request = common::team_request(mode);
    if let RunKind::Team(terms) = &mut request.kind {
        terms.max_iterations = u32::try_from(rng.between(1, 4)).expect("small");
        terms.review.refuter = (rng.below(2) == 0).then(|| terms.reviewer.clone());
        terms.review.max_parallel = side_by_side(terms.max_iterations);
        // Without a draw of its own, so that old seeds mean what they meant.
        terms.review.verify = terms.max_iterations == 4;
        let auto_merge = rng.percent(50);
        terms.makes = Makes::Change {
            done: ChangeDone::Reviewed { auto_merge },
        };
    }
    request.budget = Budget::default();
    if rng.percent(15) {
        request.budget.tokens = Some(rng.below(20_000));
    }
    request
}
