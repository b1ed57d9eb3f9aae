//! Decisions: which effects follow from an event. Nothing here is stored.
//!
//! Every flow works with `kit`. `setup`, `publish`, `merge`, `review`, `reply` and `promote` with
//! `promote_landing` are the steps that flows share; `spawn`, `phase` and `cruise` put them in
//! order. `outage` limits how long they wait for a model; `tree` holds what parents do with
//! children, `report` what children report.

mod attempt;
mod budget;
mod continuing;
mod cruise;
mod isolation_text;
mod kit;
mod merge;
mod notify;
mod outage;
mod phase;
mod promote;
mod promote_landing;
mod promote_text;
mod proof;
mod public_text;
mod publish;
mod relocate;
mod reply;
mod report;
mod reporting;
mod resume;
mod retry;
mod review;
mod setup;
mod shutdown;
mod spawn;
mod step;
mod tree;

pub use continuing::{NotContinuable, require_continuable};
pub use cruise::{amending_run, planning_run, validating_run};
pub(super) use cruise::{need, needs_budget, waits_for};
pub use phase::against_landing;
pub use resume::{NotResumable, require_resumable};
pub use step::{IllegalEvent, fold, step};
pub use tree::is_same_cruise;
pub(super) use tree::root_id;
