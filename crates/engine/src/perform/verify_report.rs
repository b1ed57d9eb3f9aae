//! Reports a verification on the verified commit.

use super::World;
use super::forge::link;
use crate::executor::Task;
use crate::ports::{CheckReport, StatusState};
use drive_core::forge::checks::VERIFY_CONTEXT;
use drive_core::ids::CommitSha;
use drive_core::verify::{Verification, render};

impl World<'_> {
    /// Sets the check `drive/verify`, which a base may require. A failure to set it does not change
    /// the verdict.
    pub(super) fn report_verification(
        &self,
        task: &Task<'_>,
        head: &CommitSha,
        report: &Verification,
    ) {
        let Some(talk) = self.forge else {
            return;
        };
        let secrets = &self.secrets.secrets();
        let mut annotations = render::check_annotations(report);
        for one in &mut annotations {
            one.message = secrets.redact(&one.message);
        }
        let set = talk.forge.report_check(
            head,
            &CheckReport {
                name: VERIFY_CONTEXT,
                id: task.run.id.as_str(),
                state: StatusState::of_verification(report.overall),
                title: &secrets.redact(&render::status_text(report)),
                body: &secrets.redact(&render::markdown(report)),
                annotations: &annotations,
                url: link(task),
            },
        );
        if let Err(problem) = set {
            let id = &task.run.id;
            tracing::warn!(target: "drive::run", run = %id, "cannot set {VERIFY_CONTEXT}: {problem}");
        }
    }
}
