//! Builds the envelope of a verification.

use drive_core::Problem;
use drive_core::ids::RunId;
use drive_core::problem::Kind;
use drive_core::process::{Layer, LayerName, LayerState};
use drive_core::steering::{self, Protected};
use drive_core::time::Timestamp;
use drive_core::verify::{
    Candidate, Failure, FailureCategory, MissingLayer, Overall, Rules, SCHEMA, Stage, Timing,
    Verification, Workspace,
};
use std::path::Path;

/// A report under construction. It can be finished in any state.
#[derive(Clone, Debug)]
pub struct ReportDraft {
    run_id: RunId,
    started_at: Timestamp,
    /// The candidate, as far as it is known.
    pub candidate: Candidate,
    /// The workspace, as far as it is known.
    pub workspace: Workspace,
    /// Protected files among the changed ones.
    pub protected: Vec<String>,
    /// Notes for the reader of the report.
    pub notes: Vec<String>,
}

impl ReportDraft {
    /// A report that only contains its start time.
    pub fn new(run_id: RunId, started_at: Timestamp) -> Self {
        Self {
            run_id,
            started_at,
            candidate: Candidate::default(),
            workspace: Workspace::default(),
            protected: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The start time.
    pub fn started_at(&self) -> Timestamp {
        self.started_at
    }

    /// Records the workspace's folder.
    pub fn opened(&mut self, path: &Path) {
        self.workspace.path = Some(path.to_string_lossy().into_owned());
    }

    /// Records which of the changed paths need a person's approval before a merge.
    pub fn protect(&mut self, rules: &Rules, changed: &[String]) -> Result<(), Problem> {
        let protected = Protected::new(&rules.protected).map_err(|error| {
            Problem::new(
                Kind::VerificationRefused,
                "cannot read `verify.protected_paths`",
            )
            .because(error)
        })?;
        let mut files = protected.among(changed);
        // A file that a route runs affects what is tested.
        let started = changed.iter().filter(|path| rules.starts(path));
        files.extend(started.cloned());
        files.sort_unstable();
        files.dedup();
        self.protected = files;
        if !self.protected.is_empty() {
            self.notes.push(format!(
                "steering files changed: {}; `--auto-merge` waits until a person approves the commit",
                steering::named(&self.protected)
            ));
        }
        Ok(())
    }

    /// Records the layers of one command. A layer that was missing once counts as missing.
    pub fn held_by(&mut self, layers: &[Layer]) {
        for layer in layers {
            let name = layer.name.as_str().to_owned();
            match &layer.state {
                LayerState::Active => {
                    let lacking = self.workspace.missing.iter().any(|m| m.name == name);
                    if !lacking && !self.workspace.layers.contains(&name) {
                        self.workspace.layers.push(name);
                    }
                }
                LayerState::Missing(consequence) => {
                    self.workspace.layers.retain(|l| *l != name);
                    if !self.workspace.missing.iter().any(|m| m.name == name) {
                        let consequence = consequence.clone();
                        self.workspace
                            .missing
                            .push(MissingLayer { name, consequence });
                    }
                }
            }
        }
        let write_scope = LayerName::WriteScope.as_str();
        self.workspace.isolated = self.workspace.layers.iter().any(|l| l == write_scope);
    }

    /// The envelope of stages that ran to their end.
    pub fn finish(
        self,
        ended_at: Timestamp,
        (stages, overall, failure): (Vec<Stage>, Overall, Option<Failure>),
    ) -> Verification {
        Verification {
            schema: SCHEMA.to_owned(),
            run_id: self.run_id,
            overall,
            candidate: self.candidate,
            workspace: self.workspace,
            timing: Timing::between(self.started_at, ended_at),
            stages,
            failure,
            cached_from: None,
            protected_changes: self.protected,
            notes: self.notes,
        }
    }
}

/// The envelope of a verification whose worker died; its caller writes it.
pub fn lost(run_id: RunId, started_at: Timestamp, ended_at: Timestamp, how: &str) -> Verification {
    let failure = Failure {
        category: FailureCategory::Infra,
        reason: format!("the verifier ended without a report: {how}"),
        stage: None,
        hint: Some("run `drive verify` again; it cleans up first".to_owned()),
    };
    ReportDraft::new(run_id, started_at)
        .finish(ended_at, (Vec::new(), Overall::Error, Some(failure)))
}
