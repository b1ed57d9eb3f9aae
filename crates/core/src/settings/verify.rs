//! `[verify]`: the isolated verifier.

use crate::units::{ByteSize, Day, Period};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Settings of `drive verify`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifySettings {
    /// For all stages together.
    pub deadline: Period,
    /// Network access of the stages; a route may override it.
    pub network: StageNetwork,
    /// Verifications at once on this machine; others wait.
    pub max_parallel: u32,
    /// Maximum number of times that a failed stage is run again on the same tree.
    pub retries: u32,
    /// Whether a stage that failed and then passed counts as passed.
    pub flaky: FlakyTests,
    /// Whether a stage that failed is run on the base as well.
    pub baseline: Baseline,
    /// Globs of further files that are not merged without a person's approval; `!` exempts.
    pub protected_paths: Vec<String>,
    /// Flaky tests that get a second run until a day, each with its owner.
    pub quarantine: Vec<QuarantinedTest>,
    /// Limits for one stage and every process it starts.
    pub limits: VerifyLimits,
    /// Commands for the paths that they verify; detected projects need none.
    pub routes: Vec<VerifyRoute>,
}

/// `[[verify.quarantine]]`: a known flaky test. A stage in which only such tests fail is run again,
/// and passes if the second run passes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuarantinedTest {
    /// Its name, as reports spell it in `failedTests`.
    pub test: String,
    /// The person who fixes it.
    pub owner: String,
    /// The last day of the quarantine.
    pub expires: Day,
    /// The reason, for readers of the report.
    pub reason: Option<String>,
}

/// Resource limits of a verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyLimits {
    /// Memory of all its processes together.
    pub memory: ByteSize,
    /// Processes at once.
    pub processes: u32,
    /// Bytes it may add to its folders.
    pub disk: ByteSize,
    /// Files and folders it may add.
    pub files: u64,
    /// Size of the end of each stream that the report shows.
    pub output_tail: ByteSize,
    /// Output of both streams together before the stage is stopped.
    pub output_total: ByteSize,
    /// Whether leaked processes fail the stage; they are killed either way.
    pub leaked_processes: LeakedProcesses,
}

/// Whether leaked processes fail a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LeakedProcesses {
    /// The stage fails.
    Fail,
    /// The stage may pass, and the report notes it.
    Kill,
}

/// Whether a stage that failed and then passed on the same tree counts as passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlakyTests {
    /// The stage fails.
    Fail,
    /// The stage passes, and the report says so.
    Allow,
}

/// When a stage is run on the base to find out whose fault a failure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Baseline {
    /// When it failed.
    OnFailure,
    /// The base is never tested.
    Off,
}

/// Network access of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StageNetwork {
    /// Its own loopback only.
    #[default]
    Off,
    /// The public package registries by name.
    Registries,
    /// Whatever the machine can reach.
    Open,
}

/// `[[verify.routes]]`: what to run when one of these paths changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyRoute {
    /// Its name in reports; default: its paths.
    pub name: Option<String>,
    /// The changed files it covers, as globs from the repository root.
    #[serde(default)]
    pub paths: Vec<String>,
    /// The folder its commands run in, from the repository root. Routes in separate folders run at the
    /// same time.
    pub dir: Option<String>,
    /// Commands that run before the first stage, e.g. to install packages. They can reach the
    /// package registries unless `network` says otherwise.
    #[serde(default)]
    pub setup: Vec<Vec<String>>,
    /// Stage one.
    pub compile: Option<Vec<String>>,
    /// The second stage. A route without it gives the reason in `skip`.
    pub targeted_tests: Option<Vec<String>>,
    /// Stage three.
    pub startup_smoke: Option<Vec<String>>,
    /// Shows that the started program is up: drive then asks it to stop, and it must exit cleanly. A
    /// program that exits with 0 passes with and without a probe.
    pub ready: Option<ReadyProbe>,
    /// Variables of its commands.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Variables of your environment that its commands see; all others are hidden.
    #[serde(default)]
    pub pass_env: Vec<String>,
    /// Programs that run beside its tests and its startup smoke test.
    #[serde(default)]
    pub services: Vec<VerifyService>,
    /// Network access of its stages; default: `verify.network`.
    pub network: Option<StageNetwork>,
    /// Time limit of each stage; default: the deadline.
    #[serde(default)]
    pub timeout: StageTimeouts,
    /// Why nothing is tested for these paths; needed without `targeted_tests`. Other commands of the route
    /// run.
    pub skip: Option<String>,
}

/// `[[verify.routes.services]]`: a program that tests need, such as a database. It is started before
/// each of them and ended after it, within the same limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyService {
    /// Its name in reports; default: its program.
    pub name: Option<String>,
    /// Program and arguments.
    #[serde(default)]
    pub command: Vec<String>,
    /// Shows that it is up; the tests start then.
    #[serde(default)]
    pub ready: ReadyProbe,
    /// Time limit until it is ready; default: `60s`.
    pub timeout: Option<Period>,
}

/// Time limits of the stages of a route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageTimeouts {
    /// Each command of `setup`.
    pub setup: Option<Period>,
    /// Stage one.
    pub compile: Option<Period>,
    /// Stage two.
    pub targeted_tests: Option<Period>,
    /// Stage three.
    pub startup_smoke: Option<Period>,
}

/// When a started program counts as up: a line it prints, a port it listens on, or a path that port
/// serves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadyProbe {
    /// A text that a line of its output contains.
    pub line: Option<String>,
    /// A TCP port on loopback that accepts connections.
    pub port: Option<u16>,
    /// A path that returns success over HTTP on that port.
    pub path: Option<String>,
}
