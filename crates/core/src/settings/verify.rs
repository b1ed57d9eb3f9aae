//! `[verify]`: the isolated verifier.

use super::units::{ByteSize, Period};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[verify]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifySettings {
    /// For all stages together.
    pub deadline: Period,
    /// What stages may reach; a route may say otherwise.
    pub network: NetworkAccess,
    /// Verifications at once; the rest wait.
    pub max_parallel: u32,
    /// What one stage and everything it starts may use.
    pub limits: VerifyLimits,
    /// What to run for which paths; none for what drive can tell by itself.
    pub routes: Vec<VerifyRoute>,
}

/// `[verify.limits]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyLimits {
    /// Memory of the whole tree.
    pub memory: ByteSize,
    /// Processes of the whole tree.
    pub processes: u32,
    /// The end of each stream shown in the report.
    pub output_tail: ByteSize,
    /// Output of both streams before the stage is ended.
    pub output_total: ByteSize,
    /// What processes a stage leaves behind mean; they are killed either way.
    pub leaked_processes: LeakedProcesses,
}

/// What processes left behind mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LeakedProcesses {
    /// The stage fails.
    Fail,
    /// The stage may pass, and the report notes it.
    Kill,
}

/// What a stage may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkAccess {
    /// Everything the machine can.
    Open,
    /// Its own loopback only.
    Off,
}

/// `[[verify.routes]]`: what to run when one of these paths changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyRoute {
    /// How reports call it; its paths when left out.
    pub name: Option<String>,
    /// Which changed files it covers, as globs from the repository's root.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Stage one.
    pub compile: Option<Vec<String>>,
    /// Stage two.
    pub targeted_tests: Option<Vec<String>>,
    /// Stage three.
    pub startup_smoke: Option<Vec<String>>,
    /// What also shows that the started program works: once it is seen, the program is told to end and
    /// must do so cleanly. One that ends with 0 by itself passes with and without it.
    pub ready: Option<ReadyProbe>,
    /// What its stages may reach; as `verify.network` when left out.
    pub network: Option<NetworkAccess>,
    /// How long each stage may take; the deadline when left out.
    #[serde(default)]
    pub timeout: StageTimeouts,
    /// Nothing needs to run for these paths, and why.
    pub skip: Option<String>,
}

/// How long each stage of a route may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageTimeouts {
    /// Stage one.
    pub compile: Option<Period>,
    /// Stage two.
    pub targeted_tests: Option<Period>,
    /// Stage three.
    pub startup_smoke: Option<Period>,
}

/// When a started program counts as up: a line it prints, a port it listens on, or a path it serves
/// there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadyProbe {
    /// A text that a line of its output holds.
    pub line: Option<String>,
    /// A TCP port on loopback that takes connections.
    pub port: Option<u16>,
    /// A path that port answers over HTTP with success.
    pub path: Option<String>,
}
