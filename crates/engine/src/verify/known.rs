//! Reuse of known verdicts.

use super::ReportDraft;
use super::verifier::{Verifier, VerifyRequest};
use drive_core::ids::CommitSha;
use drive_core::time::Timestamp;
use drive_core::verify::{
    Overall, Scope, Timing, VerdictKey, Verification, answered_by, is_reusable,
};

impl Verifier<'_> {
    /// The key of this verification; `None` if its verdict must not be reused.
    pub(super) fn key_of(
        &self,
        request: &VerifyRequest,
        commit: &CommitSha,
        scope: &Scope,
        draft: &ReportDraft,
    ) -> Option<VerdictKey> {
        let surroundings = self
            .workspaces
            .surroundings(&request.repo, &request.rules)?;
        VerdictKey::of(
            commit,
            &draft.candidate,
            scope,
            &request.rules,
            &surroundings,
        )
    }

    /// The report of an earlier verification with the same key, for reuse.
    pub(super) fn recall(
        &self,
        request: &VerifyRequest,
        key: &VerdictKey,
        started_at: Timestamp,
        draft: &ReportDraft,
    ) -> Option<Verification> {
        if request.fresh {
            return None;
        }
        let known = self.reports.known(key)?;
        let timing = Timing::between(started_at, self.clock.now());
        let answer = answered_by(known, request.run.clone(), draft.candidate.clone(), timing)?;
        let notes = draft.notes.iter().chain(&answer.notes).cloned().collect();
        Some(Verification {
            protected_changes: draft.protected.clone(),
            notes,
            ..answer
        })
    }

    /// Stores the key of a reusable pass; a failure replaces an earlier pass.
    pub(super) fn remember(&self, key: Option<&VerdictKey>, report: &Verification) {
        let Some(key) = key.filter(|_| report.cached_from.is_none()) else {
            return;
        };
        // A lost verdict only means that the stages run again.
        let _ = match report.overall {
            Overall::Pass if is_reusable(report) => self.reports.remember(key, &report.run_id),
            Overall::Pass | Overall::Error => Ok(()),
            Overall::Fail | Overall::Timeout => self.reports.forget(key),
        };
    }
}
