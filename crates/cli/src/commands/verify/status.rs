//! The check `drive/verify`: a check run if the token may write one, else a commit status. It shows
//! the verdict; a failure to set it does not change the verdict.

use super::request::WorkerRequest;
use super::ruling::Ruling;
use crate::app::App;
use crate::wiring::Wiring;
use drive_core::forge::checks::{Annotation, VERIFY_CONTEXT};
use drive_core::ids::{CommitSha, RunId};
use drive_core::problem::Problem;
use drive_core::verify::{Verification, render};
use drive_engine::ports::{CheckReport, Forge, Reported, StatusState, VersionControl};
use std::path::Path;
use std::sync::Arc;

/// A check that was set to pending and waits for the verdict.
pub(super) struct StatusPost {
    forge: Arc<dyn Forge>,
    head: CommitSha,
    run: RunId,
    /// The address of the commit's pull request, for more details.
    url: Option<String>,
    /// The form of the report on the forge; `None` before it was set.
    stands_as: Option<Reported>,
}

impl StatusPost {
    /// Sets the check to pending, and pins the request to the commit that has it. `None`, with a
    /// warning, if there is no forge or no such commit.
    pub(super) fn begin(app: &App, request: &mut WorkerRequest) -> Option<Self> {
        match Self::open(app, request) {
            Ok(Some(mut post)) => {
                request.revision = post.head.to_string();
                let title = "verification is running";
                post.set(app, StatusState::Pending, title, "", &[]);
                Some(post)
            }
            // The verification's report says that the commit does not exist.
            Ok(None) => None,
            Err(problem) => {
                warn(app, &problem);
                None
            }
        }
    }

    /// Opens the forge with the settings of the base, like the verification itself: a candidate
    /// must not choose the server that gets the token.
    fn open(app: &App, request: &WorkerRequest) -> Result<Option<Self>, Problem> {
        let ruling = Ruling::read(app, request)?;
        let Some(head) = ruling.head else {
            return Ok(None);
        };
        let settings = &ruling.effective.settings;
        let wiring = Wiring::new(app, settings, &ruling.repo)?;
        let forge = wiring.forge(settings, &ruling.repo)?.forge;
        let url = pull_request_of(&wiring, &ruling.repo, forge.as_ref(), &head);
        Ok(Some(Self {
            forge,
            url,
            head,
            run: request.run.clone(),
            stands_as: None,
        }))
    }

    /// Sets the check to the verdict.
    pub(super) fn finish(mut self, app: &App, report: Option<&Verification>) {
        let Some(report) = report else {
            let title = "the verification could not be carried out";
            return self.set(app, StatusState::Error, title, "", &[]);
        };
        let state = StatusState::of_verification(report.overall);
        let annotations = render::check_annotations(report);
        let (title, body) = (render::status_text(report), render::markdown(report));
        self.set(app, state, &title, &body, &annotations);
    }

    fn set(
        &mut self,
        app: &App,
        state: StatusState,
        title: &str,
        body: &str,
        annotations: &[Annotation],
    ) {
        let report = CheckReport {
            name: VERIFY_CONTEXT,
            id: self.run.as_str(),
            state,
            title,
            body,
            annotations,
            url: self.url.as_deref(),
        };
        let told = match self.stands_as {
            Some(Reported::Status) => {
                let set = self.forge.set_status(&self.head, &report.as_status());
                set.map(|()| Reported::Status)
            }
            Some(Reported::CheckRun) | None => self.forge.report_check(&self.head, &report),
        };
        match told {
            Ok(stands_as) => self.stands_as = Some(stands_as),
            Err(problem) => warn(app, &problem),
        }
    }
}

/// The address of the checked-out branch's pull request, if the newest commit there is this one.
/// Without it, only a link is missing.
fn pull_request_of(
    wiring: &Wiring,
    repo: &Path,
    forge: &dyn Forge,
    head: &CommitSha,
) -> Option<String> {
    let branch = wiring.git.discover(repo).ok()?.branch?;
    let found = forge.find(&branch).ok()??;
    let is_this = found.head_sha == *head && found.url.starts_with("http");
    is_this.then_some(found.url)
}

fn warn(app: &App, problem: &Problem) {
    app.output().warn(format_args!(
        "could not set the commit status `{VERIFY_CONTEXT}`: {problem}"
    ));
}
