//! Decisions: which effects follow from an event. Nothing in here is stored.
//!
//! `kit` is what every flow works with. `setup`, `publish`, `merge`, `review`, `reply` and
//! `promote` are the steps that flows share; `spawn` and `phase` put them in order.

mod kit;
mod merge;
mod phase;
mod promote;
mod publish;
mod reply;
mod review;
mod setup;
mod shutdown;
mod spawn;
mod step;

pub use step::{IllegalEvent, fold, step};
