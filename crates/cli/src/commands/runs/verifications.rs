//! Verifications among the runs.

use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::commands::verify::kept_reports;
use drive_core::ids::RunId;
use drive_core::problem::Problem;
use drive_core::verify::{Verification, render};
use drive_engine::verify::KeptReports;
use std::fmt::Write;

/// The newest verifications, newest first.
pub(super) fn newest(app: &App, most: u32) -> Result<Vec<Verification>, Problem> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    Ok(kept_reports(app)?.newest(most))
}

/// The verification with this id, if it is one.
pub(super) fn find(app: &App, id: &str) -> Result<Option<Verification>, Problem> {
    Ok(kept_reports(app)?.load(&RunId::new(id)))
}

/// A line for each.
pub(super) fn list(text: &mut String, reports: &[Verification]) {
    for report in reports {
        let state = format!("verify {}", report.overall.as_str());
        let _ = writeln!(
            text,
            "{:22} {state:15} {}",
            report.run_id,
            render::subject(report)
        );
    }
}

/// The report.
pub(super) fn show(report: &Verification) -> Outcome {
    Answer::new(report, render::human(report))
}
