//! A bounded child process: what it may use, how it ended, what it cost.

mod end;
mod limits;
mod report;

pub use end::{End, TimeBound};
pub use limits::Limits;
pub use report::{Layer, LayerState, ProcessIdentity, ProcessReport, Resources, StreamReport};
