//! Verifications in the lists of runs.

use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::commands::verify::{Running, kept_reports, running};
use crate::output::Printable;
use crate::wiring::Wiring;
use drive_core::ids::RunId;
use drive_core::problem::Problem;
use drive_core::verify::{Verification, render};
use drive_engine::ports::{RunFilter, Store};
use drive_engine::verify::KeptReports;

/// The newest verifications, newest first.
pub(super) fn newest(app: &App, most: u32) -> Result<Vec<Verification>, Problem> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    Ok(kept_reports(app)?.newest(most))
}

/// The verification of that id, if it runs now.
pub(super) fn running_with(app: &App, id: Option<&str>) -> Result<Option<Running>, Problem> {
    let Some(id) = id else {
        return Ok(None);
    };
    let all = running(app)?.into_iter();
    Ok(all.into_iter().find(|one| one.run.as_str() == id))
}

/// The verification to show: the one with this id, or the newest if there are no runs.
pub(super) fn asked_for(
    app: &App,
    wiring: &Wiring,
    id: Option<&str>,
) -> Result<Option<Verification>, Problem> {
    match id {
        Some(id) => find(app, id),
        None if wiring.store.list(RunFilter::All, 1)?.is_empty() => Ok(newest(app, 1)?.pop()),
        None => Ok(None),
    }
}

/// The verification with this id, if there is one.
pub(super) fn find(app: &App, id: &str) -> Result<Option<Verification>, Problem> {
    Ok(kept_reports(app)?.load(&RunId::new(id)))
}

/// Prints a report.
pub(super) fn show(report: &Verification) -> Outcome {
    Answer::new(report, Printable(&render::human(report)).to_string())
}
