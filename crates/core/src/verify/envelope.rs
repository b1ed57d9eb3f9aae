//! The verification envelope: the output of `drive verify --json`, the stored report, and the input
//! of the gate.

use super::rules_from::RulesFrom;
use crate::ids::{CommitSha, RunId, TreeSha};
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The envelope's name and version.
pub const SCHEMA: &str = "drive.verification/1";

/// One verification of one candidate commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// Always `drive.verification/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The run it belongs to.
    #[schemars(with = "String")]
    pub run_id: RunId,
    /// The verdict.
    pub overall: Overall,
    /// The verified candidate.
    pub candidate: Candidate,
    /// The workspace of the verification.
    pub workspace: Workspace,
    /// When it was judged.
    pub timing: Timing,
    /// Every stage, in the order it ran or would have run.
    pub stages: Vec<Stage>,
    /// Why it did not pass; null only for a pass.
    pub failure: Option<Failure>,
    /// The run whose stages these are, where the same tree, rules and tools had passed before; absent
    /// where the stages ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub cached_from: Option<RunId>,
    /// Files among the changed ones that decide what tools, tests, CI and agents do. They keep the
    /// change from being merged without a person's approval.
    #[serde(default)]
    pub protected_changes: Vec<String>,
    /// Things a reader should know that decide nothing.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl Verification {
    /// The report with shortened tails, for a journal; the full report is stored elsewhere.
    #[must_use]
    pub fn with_tails_of(mut self, most: usize) -> Self {
        for stage in &mut self.stages {
            for tail in [&mut stage.stdout_tail, &mut stage.stderr_tail] {
                let kept = super::text::tail_lines(tail, most);
                let cut = tail.len() - kept.len();
                *tail = kept.to_owned();
                stage.truncated_bytes += cut as u64;
            }
        }
        self
    }
}

/// The verdict over all stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Overall {
    /// Every required stage passed.
    Pass,
    /// The candidate is not good enough.
    Fail,
    /// No verdict could be reached; the candidate may be good.
    Error,
    /// A time bound was reached.
    Timeout,
}

impl Overall {
    /// The name in the envelope.
    pub fn as_str(self) -> &'static str {
        match self {
            Overall::Pass => "pass",
            Overall::Fail => "fail",
            Overall::Error => "error",
            Overall::Timeout => "timeout",
        }
    }
}

/// The commits to which a verdict is bound: it is void if either one moves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// The full hash of the commit; null when it does not exist.
    pub head_sha: Option<CommitSha>,
    /// The full hash of its base; null when the whole tree was judged.
    pub base_sha: Option<CommitSha>,
    /// The tree of the commit merged into its base, which is what the stages saw; null when the
    /// commit was judged alone.
    #[serde(default)]
    pub merged_tree_sha: Option<TreeSha>,
    /// The commit whose `drive.toml` gave the rules, `workingCopy`, or `ownSettings` where only the
    /// user's own settings and the defaults counted; null when none were read.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub rules_from: Option<RulesFrom>,
}

/// The folder in which the stages ran. It is removed before the report is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Workspace {
    /// Its path; null when none was made.
    pub path: Option<String>,
    /// Whether it was a separate tree in which the kernel confined all writes.
    pub isolated: bool,
    /// The containment layers that held every stage.
    pub layers: Vec<String>,
    /// The layers this machine lacks, each with its consequence.
    #[serde(default)]
    pub missing: Vec<MissingLayer>,
    /// The reason why the folder could not be removed; null if it was removed.
    #[serde(default)]
    pub removal_problem: Option<String>,
}

/// A containment layer that was not in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MissingLayer {
    /// Its stable name.
    pub name: String,
    /// The protection that is missing because of it.
    pub consequence: String,
}

/// When a verification ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Timing {
    /// Its start, RFC 3339.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub started_at: Timestamp,
    /// Its end, RFC 3339.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub ended_at: Timestamp,
    /// From start to end.
    pub duration_ms: u64,
}

impl Timing {
    /// The time between two instants; zero if the clock was set back.
    pub fn between(started_at: Timestamp, ended_at: Timestamp) -> Self {
        let millis = ended_at.as_millisecond() - started_at.as_millisecond();
        Self {
            started_at,
            ended_at,
            duration_ms: u64::try_from(millis).unwrap_or(0),
        }
    }
}

/// The purpose of a stage. Stages run in this order.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum StageName {
    /// Does it build?
    Compile,
    /// Do the tests of what changed pass?
    TargetedTests,
    /// Does it start?
    StartupSmoke,
}

impl StageName {
    /// All stages, in order.
    pub const ALL: [StageName; 3] = [
        StageName::Compile,
        StageName::TargetedTests,
        StageName::StartupSmoke,
    ];

    /// The name in the envelope.
    pub fn as_str(self) -> &'static str {
        match self {
            StageName::Compile => "compile",
            StageName::TargetedTests => "targetedTests",
            StageName::StartupSmoke => "startupSmoke",
        }
    }

    /// The key of the stage in a route of the settings.
    pub fn setting(self) -> &'static str {
        match self {
            StageName::Compile => "compile",
            StageName::TargetedTests => "targeted_tests",
            StageName::StartupSmoke => "startup_smoke",
        }
    }

    /// The name for people.
    pub fn words(self) -> &'static str {
        match self {
            StageName::Compile => "compile",
            StageName::TargetedTests => "targeted tests",
            StageName::StartupSmoke => "startup smoke test",
        }
    }
}

/// The verdict on one stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StageStatus {
    /// It succeeded.
    Pass,
    /// It failed.
    Fail,
    /// It reached a time limit.
    Timeout,
    /// It could not be judged.
    Error,
    /// It did not run; `reason` gives the cause.
    Skipped,
}

/// How a stage's command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StageEnd {
    /// It exited, with `exitCode`.
    Exited,
    /// By `signal`.
    Signalled,
    /// At a time bound.
    TimedOut,
    /// At the memory bound.
    MemoryLimit,
    /// At the bound on processes.
    ProcessLimit,
    /// It reached the limit on written data, or the disk was nearly full.
    DiskLimit,
    /// At the bound on output.
    OutputLimit,
    /// It left processes running.
    LeakedProcesses,
    /// It altered tracked files.
    Tampered,
    /// The verification was stopped from above.
    Aborted,
    /// It could not be started or supervised.
    Infra,
}

/// One stage of one route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stage {
    /// The purpose of the stage.
    pub name: StageName,
    /// The verdict.
    pub status: StageStatus,
    /// How the command ended; null when it did not run.
    pub ended: Option<StageEnd>,
    /// The route it belongs to.
    pub route: String,
    /// Whether the gate needs it to pass. A stage that does not say is required.
    #[serde(default = "required")]
    pub required: bool,
    /// The command; empty when there is none.
    pub command: Vec<String>,
    /// The folder it ran in; null when it did not run.
    pub cwd: Option<String>,
    /// Its exit code, when it exited.
    pub exit_code: Option<i32>,
    /// The signal that ended it, when one did.
    pub signal: Option<i32>,
    /// How long it ran.
    pub duration_ms: u64,
    /// The end of its standard output, made printable.
    pub stdout_tail: String,
    /// The end of its standard error, made printable.
    pub stderr_tail: String,
    /// Bytes of both streams that are not in the tails.
    pub truncated_bytes: u64,
    /// The resources that it used.
    pub resource: StageResource,
    /// Processes it left behind; they were killed.
    #[serde(default)]
    pub leaked_processes: u32,
    /// Why it has this status, where the status alone does not say.
    pub reason: Option<String>,
    /// The cause of a failure that may not be the candidate's; null if there is no sign of one.
    #[serde(default)]
    pub fault: Option<Fault>,
    /// The failing tests, as far as the output names them.
    #[serde(default)]
    pub failed_tests: Vec<String>,
    /// How many tests ran, by the summaries of their runners; absent where they do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<StageTests>,
}

impl Stage {
    /// A stage that did not run.
    pub fn unrun(name: StageName, route: &str, command: &[String], status: StageStatus) -> Self {
        Self {
            name,
            status,
            ended: None,
            route: route.to_owned(),
            required: true,
            command: command.to_vec(),
            cwd: None,
            exit_code: None,
            signal: None,
            duration_ms: 0,
            stdout_tail: String::new(),
            stderr_tail: String::new(),
            truncated_bytes: 0,
            resource: StageResource::default(),
            leaked_processes: 0,
            reason: None,
            fault: None,
            failed_tests: Vec::new(),
            tests: None,
        }
    }
}

/// The numbers of tests in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StageTests {
    /// At least this many ran.
    pub ran: u64,
    /// At least this many failed.
    pub failed: u64,
}

fn required() -> bool {
    true
}

/// Why a stage failed that the candidate is not to blame for, as far as a program can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Fault {
    /// It failed and passed on the same tree.
    Flaky,
    /// It fails on the base as well.
    Baseline,
    /// The machine lacks something that it needs.
    Infra,
}

/// The resources that a stage used, for its whole process tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StageResource {
    /// The largest memory use.
    pub max_rss_bytes: u64,
    /// CPU time in user mode.
    pub cpu_user_micros: u64,
    /// CPU time in the kernel.
    pub cpu_system_micros: u64,
}

/// Why a verification did not pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The category of the failure.
    pub category: FailureCategory,
    /// One sentence for people.
    pub reason: String,
    /// The stage that failed; null when it failed before the first one.
    pub stage: Option<StageName>,
    /// The next action.
    #[serde(default)]
    pub hint: Option<String>,
}

/// The category of a failure, which shows who must act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FailureCategory {
    /// It does not build.
    Compile,
    /// A test failed, or no test ran.
    Test,
    /// It does not start.
    Startup,
    /// A time bound was reached.
    Timeout,
    /// A bound on memory, processes or output was reached, or processes were left behind.
    Resource,
    /// A rule was broken: no route, tampering, a conflict with the base.
    Policy,
    /// The environment failed; this proves nothing about the candidate.
    Infra,
    /// It fails on the base as well; this proves nothing about the candidate.
    Baseline,
    /// A test failed and passed on the same tree.
    Flaky,
}

impl FailureCategory {
    /// The name in the envelope.
    pub fn as_str(self) -> &'static str {
        match self {
            FailureCategory::Compile => "compile",
            FailureCategory::Test => "test",
            FailureCategory::Startup => "startup",
            FailureCategory::Timeout => "timeout",
            FailureCategory::Resource => "resource",
            FailureCategory::Policy => "policy",
            FailureCategory::Infra => "infra",
            FailureCategory::Baseline => "baseline",
            FailureCategory::Flaky => "flaky",
        }
    }
}

/// The published JSON Schema of the envelope, as text.
pub fn json_schema() -> String {
    let schema = schemars::schema_for!(Verification);
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}
