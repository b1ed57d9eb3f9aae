//! The flow of a run that builds tasks. It has no sandbox of its own, and starts a child run for
//! each task when the tasks before it are done.
//!
//! A root without a plan only has children. A cruise also has a plan and a line: a task is done
//! when it has landed there ([`landing`]), and at the end programs check the acceptance criteria of
//! the plan ([`ending`]).

mod advance;
mod amending;
mod asks;
mod board;
mod briefing;
mod context;
mod contract;
mod ending;
mod hearing;
mod landing;
mod leave;
mod live;
mod offers;
mod order;
mod pad;
mod pauses;
mod probe;
mod skipping;
mod texts;
mod waits;

pub use self::amending::amending_run;
pub use self::order::{planning_run, validating_run};

pub(super) use self::advance::{begin, ended, go_on, woken};
pub(super) use self::asks::asked;
pub(super) use self::order::plan_again;
pub(in crate::run) use self::waits::{need, needs_budget, waits_for};
