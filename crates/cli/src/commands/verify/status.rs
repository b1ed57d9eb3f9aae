//! The commit status `drive/verify`. It says the verdict; that it cannot be set changes no verdict.

use super::request::WorkerRequest;
use super::ruling::Ruling;
use crate::app::App;
use crate::wiring::Wiring;
use drive_core::ids::CommitSha;
use drive_core::problem::Problem;
use drive_core::verify::{Overall, Verification, render};
use drive_engine::ports::{CommitStatus, Forge, StatusState};
use std::sync::Arc;

/// The context of the status.
const CONTEXT: &str = "drive/verify";

/// A status that was set to pending and waits for the verdict.
pub(super) struct StatusPost {
    forge: Arc<dyn Forge>,
    head: CommitSha,
}

impl StatusPost {
    /// Sets the status to pending, and pins the request to the commit that has it. `None`, with a
    /// warning, if there is no forge or no such commit.
    pub(super) fn begin(app: &App, request: &mut WorkerRequest) -> Option<Self> {
        match Self::open(app, request) {
            Ok(Some(post)) => {
                request.revision = post.head.to_string();
                post.set(app, StatusState::Pending, "verification is running");
                Some(post)
            }
            // The report says that there is no such commit.
            Ok(None) => None,
            Err(problem) => {
                warn(app, &problem);
                None
            }
        }
    }

    /// By the settings of the base, as the verification itself: a candidate must not choose the
    /// server that gets the token.
    fn open(app: &App, request: &WorkerRequest) -> Result<Option<Self>, Problem> {
        let ruling = Ruling::read(app, request)?;
        let Some(head) = ruling.head else {
            return Ok(None);
        };
        let settings = &ruling.effective.settings;
        let wiring = Wiring::new(app, settings, &ruling.repo)?;
        let forge = wiring.forge(settings, &ruling.repo)?.forge;
        Ok(Some(Self { forge, head }))
    }

    /// Sets the status to the verdict.
    pub(super) fn finish(self, app: &App, report: Option<&Verification>) {
        let (state, description) = match report {
            None => (
                StatusState::Error,
                "the verification could not be carried out".to_owned(),
            ),
            Some(report) => {
                let state = match report.overall {
                    Overall::Pass => StatusState::Success,
                    Overall::Fail | Overall::Timeout => StatusState::Failure,
                    Overall::Error => StatusState::Error,
                };
                (state, render::status_text(report))
            }
        };
        self.set(app, state, &description);
    }

    fn set(&self, app: &App, state: StatusState, description: &str) {
        let status = CommitStatus {
            context: CONTEXT,
            state,
            description,
        };
        if let Err(problem) = self.forge.set_status(&self.head, &status) {
            warn(app, &problem);
        }
    }
}

fn warn(app: &App, problem: &Problem) {
    app.output().warn(format_args!(
        "could not set the commit status `{CONTEXT}`: {problem}"
    ));
}
