//! Bounded child processes: limits, ends, and resource usage.

mod end;
mod held;
mod identity;
mod limits;
mod report;

pub use end::{DiskBound, End, LeaderEnd, LeakPolicy, Observed, TimeBound, classify};
pub use held::{add_layers, missing_layers};
pub use identity::{Presence, ProcessIdentity, ProcessMark};
pub use limits::Limits;
pub use report::{
    Layer, LayerName, LayerState, ProcessReport, Resources, Stream, StreamReport,
    missing_essentials,
};
