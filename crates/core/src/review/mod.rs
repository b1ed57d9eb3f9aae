//! Reviews: domains, their order, the number of reviews, and the final verdict.
//!
//! One loop serves every mode of `spawn-team` and every phase of a cruise; the modes differ only in
//! their [`ReviewPlan`].

mod domain;
mod review_loop;

pub use domain::Domain;
pub use review_loop::{LastWord, Move, ReviewLoop, ReviewPlan, Reviewed};
