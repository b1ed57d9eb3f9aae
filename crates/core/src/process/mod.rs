//! Bounded child processes: limits, ends, and resource usage.

mod end;
mod identity;
mod limits;
mod report;

pub use end::{DiskBound, End, LeaderEnd, LeakPolicy, Observed, TimeBound, classify};
pub use identity::{Presence, ProcessIdentity, ProcessMark};
pub use limits::Limits;
pub use report::{
    Layer, LayerName, LayerState, ProcessReport, Resources, Stream, StreamReport,
    missing_essentials,
};
