//! `drive doctor`: what is installed, what is missing, and which isolation this machine supports.

use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::documents::DoctorDocument;
use clap::Args;
use drive_adapters::doctor::{Check, Doctor, Status};
use drive_core::problem::{Kind, Problem};
use drive_core::settings::{Findings, resolve};
use std::fmt::Write;

/// The arguments of `drive doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {}

/// Runs all checks of `drive doctor`.
pub(crate) fn run(_args: &DoctorArgs, app: &App) -> Outcome {
    // Wrong settings are one finding among others: the rest is looked at with the defaults.
    let (effective, mistake) = match app.settings() {
        Ok(effective) => (effective.clone(), None),
        Err(problem) => (resolve(&[]).map_err(Findings::into_problem)?, Some(problem)),
    };
    let doctor = Doctor {
        environment: app.environment(),
        runner: app.runner(),
        cancel: app.cancel()?,
        settings: &effective.settings,
        folder: &app.start_dir()?,
    };
    let mut checks = vec![Check::settings(mistake.as_ref())];
    checks.extend(doctor.examine());
    if app.cancel()?.asked().is_some() {
        return Err(Problem::new(
            Kind::Interrupted,
            "interrupted before all checks ran",
        ));
    }
    let problem = mistake.or_else(|| blocking(&checks));
    let document = DoctorDocument::new(&checks, problem.as_ref());
    Ok(Answer::new(&document, table(&checks))?.failed_if(problem))
}

fn blocking(checks: &[Check]) -> Option<Problem> {
    let names: Vec<String> = checks
        .iter()
        .filter(|check| check.blocks())
        .map(|check| format!("`{}`", check.name))
        .collect();
    let message = format!("missing: {}", names.join(", "));
    let problem = Problem::new(Kind::RequirementMissing, message)
        .hint("follow the hints above, then run `drive doctor` again");
    (!names.is_empty()).then_some(problem)
}

fn table(checks: &[Check]) -> String {
    let width = checks
        .iter()
        .map(|check| check.name.len())
        .max()
        .unwrap_or_default();
    let mut text = String::new();
    for check in checks {
        let status = match check.status {
            Status::Ok => "ok",
            Status::Missing => "missing",
            Status::Degraded => "degraded",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{status:<8}  {:<width$}  {}",
            check.name, check.detail
        );
        if let Some(hint) = &check.hint {
            let _ = writeln!(text, "{:<8}  {:<width$}  hint: {hint}", "", "");
        }
    }
    text
}
