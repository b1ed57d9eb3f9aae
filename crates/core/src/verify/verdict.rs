//! Known verdicts, for reuse: the same commits, judged by the same rules with the same tools.

use super::envelope::{Candidate, Overall, SCHEMA, Timing, Verification, Workspace};
use super::gate::is_satisfied;
use super::route::Scope;
use super::rules::Rules;
use crate::ids::{CommitSha, RunId};
use crate::process::LayerName;
use crate::settings::IsolationMode;
use crate::time::Timestamp;
use sha2::{Digest, Sha256};
use std::fmt::{self, Write};
use std::time::Duration;

/// How long a verdict is reused. External inputs of tests, such as time or a registry, may change.
const REUSED_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Everything that a verdict depends on, as one key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VerdictKey(String);

impl VerdictKey {
    /// The key of a verification of `commit`, whose tree would land. Tests can read the history, so
    /// the commits are part of the key. `None` if the verdict depends on more than the key covers.
    pub fn of(
        commit: &CommitSha,
        candidate: &Candidate,
        scope: &Scope,
        rules: &Rules,
        surroundings: &str,
    ) -> Option<Self> {
        if rules.has_open_network() || rules.isolation == IsolationMode::Off {
            // The answers of servers and the contents of the machine cannot be part of a key.
            return None;
        }
        let judged = (
            commit,
            &candidate.head_sha,
            &candidate.base_sha,
            &candidate.merged_tree_sha,
        );
        let changed = match scope {
            Scope::Changed(paths) => Some(paths),
            Scope::Everything => None,
        };
        let text = serde_json::to_vec(&(SCHEMA, judged, changed, rules, surroundings)).ok()?;
        let mut name = String::new();
        for byte in Sha256::digest(text) {
            let _ = write!(name, "{byte:02x}");
        }
        Some(Self(name))
    }
}

impl fmt::Display for VerdictKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a later verification may reuse this one: it passed plainly and was not itself reused.
pub fn is_reusable(report: &Verification) -> bool {
    report.schema == SCHEMA
        && report.overall == Overall::Pass
        && report.failure.is_none()
        && report.cached_from.is_none()
        && report.workspace.path.is_some()
        && is_confined(&report.workspace)
        && !report.stages.is_empty()
        && report.stages.iter().all(is_satisfied)
        && report.stages.iter().all(|stage| stage.fault.is_none())
}

/// Whether the stages could only access what the key covers.
fn is_confined(workspace: &Workspace) -> bool {
    let confining = [LayerName::WriteScope, LayerName::View, LayerName::Network];
    let is_missing = |layer: LayerName| workspace.missing.iter().any(|m| m.name == layer.as_str());
    !confining.into_iter().any(is_missing)
}

/// The report of a verification of `candidate` that reuses a known verdict, if that is allowed now.
/// The stages are those of the earlier run, and the report says so.
pub fn answered_by(
    known: Verification,
    run_id: RunId,
    candidate: Candidate,
    timing: Timing,
) -> Option<Verification> {
    let ended = known.timing.ended_at;
    if !is_reusable(&known) || !is_recent(ended, timing.started_at) {
        return None;
    }
    Some(Verification {
        notes: vec![format!(
            "reused the pass of run {} of {ended:.0}; pass `--fresh` to run the stages",
            known.run_id
        )],
        cached_from: Some(known.run_id),
        run_id,
        candidate,
        timing,
        protected_changes: Vec::new(),
        ..known
    })
}

/// Whether the verdict is recent. A time in the future comes from another clock and does not count.
fn is_recent(ended: Timestamp, now: Timestamp) -> bool {
    ended <= now && now <= crate::time::after(ended, REUSED_FOR)
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
