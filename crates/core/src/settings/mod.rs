//! Settings: layers of TOML on top of one commented file of defaults, checked together.
//!
//! [`resolve`] takes named texts (the adapters read the files), parses each into a tree with line
//! numbers, checks it against the schema of the [`Settings`] types, merges the trees, decodes them,
//! and applies the rules for impossible combinations. Every error is a [`Finding`] with its place;
//! every effective value is an [`Entry`] with its origin.

mod check;
mod finding;
mod key_path;
mod layer;
mod model;
mod repository;
mod resolve;
mod rules;
mod schema;
mod tree;
mod verify;

#[cfg(test)]
mod tests;

pub use crate::units::{ByteSize, Day, NotAUnit, Period};
pub use finding::{Finding, Findings};
pub use layer::{DEFAULTS, Layer, Origin, Source};
pub use model::{
    AppSettings, BudgetSettings, CruiseSettings, ForgeKind, ForgeSettings, IsolationMode, MergeBy,
    NotifySettings, ObservabilitySettings, PrStrategy, RecordDetail, SandboxSettings, Settings,
    SpawnSettings, TeamMode, TeamSettings,
};
pub use repository::Widened;
pub use resolve::{Effective, Entry, resolve};
pub use schema::published as json_schema;
pub use verify::{
    Baseline, FlakyTests, LeakedProcesses, QuarantinedTest, ReadyProbe, StageNetwork,
    StageTimeouts, VerifyLimits, VerifyRoute, VerifyService, VerifySettings,
};
