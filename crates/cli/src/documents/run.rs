//! One run: `drive.run/1`, `drive.demo/1`, and the lists that hold runs.

use super::error::Failure;
use super::record::{OpenFindingDocument, RecordDocument};
use super::value::{Moment, Sha, mirror, path_text};
use drive_adapters::agents::TRANSCRIPT;
use drive_core::ids::{BranchName, PrNumber};
use drive_core::process::missing_layers;
use drive_core::review::LastWord;
use drive_core::run::{self, Flow, Phase, Run, RunCommand, Standing};
use drive_core::verify::{self, Candidate, MissingLayer, Overall, Verification};
use drive_engine::ports::{DiffStats, Entry, FileChange};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// One run, as `drive spawn`, `drive spawn-team` and `drive cruise run` report it. Fields may be
/// added, never renamed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend(
    "allOf" = [{ "properties": {
        "kind": { "type": "string" },
        "task": { "type": "string" },
        "baseSha": { "type": "string" }
    } }],
    "if" = { "properties": { "status": { "const": "succeeded" } } },
    "then" = { "properties": { "failure": { "type": "null" }, "branch": { "type": "string" } } },
    "else" = {
        "if": { "properties": { "status": { "type": "null" } } },
        "then": { "anyOf": [
            { "properties": { "kind": { "const": "cruise" } } },
            { "required": ["pid"] }
        ] },
        "else": { "properties": { "failure": { "type": "object" } } }
    }
))]
pub(crate) struct RunDocument {
    #[serde(flatten)]
    pub(crate) run: RunSummary,
    /// Size of the branch's changes; null if it was not counted.
    pub(crate) changes: Option<Changes>,
    /// The background process that owns a detached run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pid: Option<u32>,
    /// The log of that process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) owner_log: Option<String>,
}

impl RunDocument {
    pub(crate) fn new(run: &Run, changes: Option<&DiffStats>) -> Self {
        Self {
            run: RunSummary::from(run),
            changes: changes.map(Changes::from),
            pid: None,
            owner_log: None,
        }
    }
}

/// The run of the demonstration.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DemoDocument {
    #[serde(flatten)]
    pub(crate) run: RunSummary,
}

/// Runs, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunsDocument {
    pub(crate) runs: Vec<RunSummary>,
    /// Verifications, newest first; `runs show ID` prints the report of one.
    pub(crate) verifications: Vec<ListedVerification>,
    /// Verifications that have no report yet, newest first; `runs stop ID` stops one.
    pub(crate) running_verifications: Vec<RunningVerification>,
}

/// A verification that runs now.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunningVerification {
    pub(crate) run_id: String,
    /// Its worker process.
    pub(crate) pid: i32,
    /// The revision and the base, as they were asked for.
    pub(crate) what: String,
    pub(crate) started_at: Moment,
    /// What it does, in words for people.
    pub(crate) stage: String,
    pub(crate) stage_since: Moment,
}

/// One verification.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListedVerification {
    run_id: String,
    overall: Overall,
    candidate: Candidate,
    started_at: Moment,
    duration_ms: u64,
    /// Why it did not pass; null for a pass.
    failure: Option<verify::Failure>,
}

impl From<&Verification> for ListedVerification {
    fn from(report: &Verification) -> Self {
        Self {
            run_id: report.run_id.to_string(),
            overall: report.overall,
            candidate: report.candidate.clone(),
            started_at: report.timing.started_at.into(),
            duration_ms: report.timing.duration_ms,
            failure: report.failure.clone(),
        }
    }
}

/// One run with its journal.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunDetailDocument {
    #[serde(flatten)]
    pub(crate) run: RunSummary,
    /// Everything that happened, in order.
    pub(crate) journal: Vec<JournalLine>,
}

/// One line of a run's journal.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JournalLine {
    /// Sequence number, from 1.
    seq: u64,
    at: Moment,
    /// The event: an object whose `event` names it. Its other fields belong to the stored format
    /// and may change.
    #[schemars(extend("type" = "object", "required" = ["event"]))]
    event: Value,
}

impl From<&Entry> for JournalLine {
    fn from(entry: &Entry) -> Self {
        Self {
            seq: entry.seq,
            at: entry.at.into(),
            event: serde_json::to_value(&entry.event).unwrap_or(Value::Null),
        }
    }
}

/// One run.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunSummary {
    #[schemars(length(min = 1))]
    run_id: String,
    /// Null for a run that has no request yet.
    kind: Option<RunCommand>,
    /// The outcome; null for a run that has not ended.
    pub(crate) status: Option<RunStatus>,
    /// The state in lists and pages. For a run without a living owner it is `needsYou`.
    state: RunState,
    /// The reason for its wait, with the command where only a person can end the wait; null while
    /// the run works or is over.
    waiting_for: Option<String>,
    /// The run that started it; absent for a run that a person started.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_run_id: Option<String>,
    /// The task as it was given.
    task: Option<String>,
    branch: Option<BranchName>,
    head_sha: Option<Sha>,
    base_sha: Option<Sha>,
    /// The commits since the base, oldest first.
    commits: Vec<CommitDocument>,
    #[schemars(range(min = 1))]
    pr_number: Option<PrNumber>,
    pr_url: Option<String>,
    /// The verdict of all reviews together; null without a review.
    verdict: Option<LastWord>,
    /// The findings that block a merge: those of each domain whose last verdict is changes requested.
    open_findings: Vec<OpenFindingDocument>,
    /// Whether the fixer addressed a reviewer's objection and nobody reviewed the fix, as in mode
    /// `sequential`.
    fix_unreviewed: bool,
    /// The verification before `--auto-merge`; null if there was none.
    verification: Option<VerificationSummary>,
    /// The commit on the base, where drive merged the pull request.
    merged_sha: Option<Sha>,
    /// The record of the agents of a team or a cruise; null for a run of one agent.
    record: Option<RecordDocument>,
    /// Fixer rounds of a cruise and of its child runs, reviews of a team, agent jobs of a spawn.
    rounds: u32,
    /// Tokens, without those read from the model's cache; with those of child runs.
    tokens: Option<u64>,
    #[schemars(range(min = 0))]
    cost_usd: Option<f64>,
    duration_ms: u64,
    /// Refs with work that is on no branch.
    #[schemars(inner(regex(pattern = "^refs/drive/kept/")))]
    kept: Vec<String>,
    /// The layers of isolation that held every agent and the verification.
    layers: Vec<&'static str>,
    /// The layers that were missing, each with the reason and what follows.
    missing_layers: Vec<MissingLayer>,
    warnings: Vec<String>,
    /// The log of the agent that worked last.
    log: Option<String>,
    /// The folder that `--keep` left.
    sandbox: Option<String>,
    /// Why it did not succeed; null when it did, or has not ended.
    pub(crate) failure: Option<Failure>,
}

/// One commit.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CommitDocument {
    sha: Sha,
    subject: String,
}

/// A verification in short; `drive runs show` finds its report by its run id.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct VerificationSummary {
    run_id: String,
    overall: Overall,
    head_sha: Sha,
    base_sha: Sha,
}

/// Size of a branch's changes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Changes {
    /// Files changed.
    files: u32,
    /// Lines added.
    insertions: u64,
    /// Lines removed.
    deletions: u64,
    /// The first files, one by one.
    #[schemars(length(max = 1000))]
    listed: Vec<ChangedFile>,
}

/// Size of the changes of one file.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ChangedFile {
    path: String,
    /// Null where the file has no lines.
    insertions: Option<u64>,
    /// Null where the file has no lines.
    deletions: Option<u64>,
}

mirror! {
    /// The outcome of a run.
    #[serde(rename_all = "camelCase")]
    RunStatus = run::OutcomeStatus {
        /// The run did what it was started for.
        Succeeded,
        /// Not done.
        Failed,
        /// A time limit was reached.
        TimedOut,
        /// A person stopped it.
        Cancelled,
        /// A person must decide something.
        NeedsHuman,
    }
}

mirror! {
    /// The state of a run.
    #[serde(rename_all = "camelCase")]
    RunState = run::State {
        /// Drive or an agent works on it.
        Running,
        /// It goes on by itself, once what it waits for comes.
        Waiting,
        /// It goes on once a person acts.
        NeedsYou,
        /// It did what it was started for.
        Succeeded,
        /// It did not.
        Failed,
        /// A time limit ended it.
        TimedOut,
        /// A person stopped it.
        Cancelled,
    }
}

impl From<&Run> for RunSummary {
    fn from(run: &Run) -> Self {
        Self::standing(run, &run::standing(run, &[]))
    }
}

impl RunSummary {
    /// The summary of a run with a known standing.
    pub(crate) fn standing(run: &Run, its: &Standing) -> Self {
        let request = run.request.as_ref();
        let outcome = run.outcome.as_ref();
        let duration = match (run.started_at, outcome) {
            (Some(from), Some(outcome)) => {
                let span = outcome.ended_at.duration_since(from).as_millis();
                u64::try_from(span).unwrap_or(0)
            }
            _ => 0,
        };
        let phase = phase(run);
        let verdict = run::verdict(run);
        let jobs = run.decided.get("runAgent").copied().unwrap_or(0);
        let pull_request = run.work.pull_request.as_ref();
        let spent = run.spent_in_all();
        Self {
            run_id: run.id.to_string(),
            kind: request.map(|request| request.kind.command()),
            status: outcome.map(|outcome| outcome.status.into()),
            state: run::State::of(run, its).into(),
            waiting_for: run::waiting_for(run, its),
            parent_run_id: run.parent().map(|parent| parent.run.to_string()),
            task: request.map(|request| request.task.clone()),
            branch: run.work.branch.clone(),
            head_sha: run.work.head_sha.as_ref().map(Sha::new),
            base_sha: request.map(|request| Sha::new(&request.base_sha)),
            commits: run.work.commits.iter().map(CommitDocument::from).collect(),
            pr_number: pull_request.map(|pr| pr.number),
            pr_url: pull_request.map(|pr| pr.url.clone()),
            verdict,
            open_findings: OpenFindingDocument::of(run),
            fix_unreviewed: run::is_fix_unreviewed(run),
            verification: phase
                .and_then(|phase| phase.judged.as_ref())
                .map(VerificationSummary::from),
            merged_sha: run.merged().map(Sha::new),
            record: run.flow.record().map(RecordDocument::from),
            rounds: rounds(run).unwrap_or(jobs),
            tokens: spent.usage.reported(),
            cost_usd: spent.cost.map(|cost| cost.usd()),
            duration_ms: duration,
            kept: run.kept.iter().map(|kept| kept.reference.clone()).collect(),
            layers: run
                .layers
                .iter()
                .filter(|layer| layer.is_active())
                .map(|layer| layer.name.as_str())
                .collect(),
            missing_layers: missing_layers(&run.layers)
                .map(|(name, why)| MissingLayer {
                    name: name.as_str().to_owned(),
                    consequence: why.to_owned(),
                })
                .collect(),
            warnings: run.warnings.clone(),
            log: run
                .work
                .log
                .as_ref()
                .map(|folder| path_text(&folder.join(TRANSCRIPT))),
            sandbox: run
                .sandboxes
                .values()
                .next()
                .map(|sandbox| path_text(&sandbox.path)),
            failure: outcome
                .and_then(|outcome| outcome.failure.as_ref())
                .map(Failure::from),
        }
    }
}

fn phase(run: &Run) -> Option<&Phase> {
    match &run.flow {
        Flow::Phase { phase } => Some(phase),
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. } => None,
    }
}

/// The fixer rounds of all runs of a cruise, or the reviews of a team.
fn rounds(run: &Run) -> Option<u32> {
    match &run.flow {
        Flow::Phase { phase } if !run.is_watched() => {
            u32::try_from(phase.record.reviews.len()).ok()
        }
        Flow::Phase { .. } | Flow::Cruise { .. } => Some(run.rounds_in_all()),
        Flow::Awaiting | Flow::Spawn { .. } => None,
    }
}

impl From<&run::CommitSummary> for CommitDocument {
    fn from(commit: &run::CommitSummary) -> Self {
        Self {
            sha: Sha::new(&commit.sha),
            subject: commit.subject.clone(),
        }
    }
}

impl From<&run::Judged> for VerificationSummary {
    fn from(judged: &run::Judged) -> Self {
        Self {
            run_id: judged.run_id.to_string(),
            overall: judged.overall,
            head_sha: Sha::new(&judged.head_sha),
            base_sha: Sha::new(&judged.base_sha),
        }
    }
}

impl From<&DiffStats> for Changes {
    fn from(stats: &DiffStats) -> Self {
        let file = |file: &FileChange| ChangedFile {
            path: path_text(&file.path),
            insertions: file.insertions,
            deletions: file.deletions,
        };
        Self {
            files: stats.files,
            insertions: stats.insertions,
            deletions: stats.deletions,
            listed: stats.listed.iter().map(file).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_published_as_they_are_stored() {
        let states = RunState::both();
        for (stored, published) in RunStatus::both().into_iter().chain(states) {
            assert_eq!(published, stored);
        }
    }
}
