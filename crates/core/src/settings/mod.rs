//! What users set: layers of TOML over one commented file of defaults, checked as a whole.
//!
//! Reading down: [`resolve`] takes texts with names (reading files is the adapters' work), parses each
//! into a tree that knows its lines, checks every tree against the schema of the [`Settings`] types,
//! lays them over each other, decodes, and asks the rules for impossible combinations. Every mistake
//! is a [`Finding`] with its place; every value in force is an [`Entry`] with its origin.

mod check;
mod finding;
mod key_path;
mod layer;
mod model;
mod resolve;
mod rules;
mod schema;
mod tree;
mod units;
mod verify;

#[cfg(test)]
mod tests;

pub use finding::{Finding, Findings};
pub use layer::{DEFAULTS, Layer, Origin, Source};
pub use model::{
    BudgetSettings, CruiseSettings, ForgeKind, ForgeSettings, IsolationMode, SandboxSettings,
    Settings, SpawnSettings, TeamMode, TeamSettings,
};
pub use resolve::{Effective, Entry, resolve};
pub use schema::published as json_schema;
pub use units::{ByteSize, NotAUnit, Period};
pub use verify::{
    LeakedProcesses, NetworkAccess, ReadyProbe, StageTimeouts, VerifyLimits, VerifyRoute,
    VerifySettings,
};
