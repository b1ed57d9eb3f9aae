//! The report of a verification in files that other programs read.

use crate::app::App;
use clap::Args;
use drive_adapters::environment::GITHUB_STEP_SUMMARY;
use drive_adapters::files;
use drive_core::problem::{Kind, Problem};
use drive_core::verify::{Verification, render};
use std::io;
use std::path::{Path, PathBuf};

/// Where the report goes besides standard output.
#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// Write the report as JUnit XML to this file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Write the report as SARIF 2.1.0 to this file
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,

    /// Print annotations for GitHub Actions and append to its step summary
    #[arg(long)]
    pub(super) github: bool,
}

impl ReportArgs {
    /// Writes the requested files. Returns a problem for each one that could not be written.
    pub(super) fn write(&self, app: &App, report: &Verification) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut note = |path: &Path, written: io::Result<()>| {
            if let Err(error) = written {
                problems.push(not_written(path, error));
            }
        };
        if let Some(path) = &self.junit {
            note(path, files::deliver(path, render::junit(report).as_bytes()));
        }
        if let Some(path) = &self.sarif {
            let text = render::sarif(report, env!("CARGO_PKG_VERSION"));
            note(path, files::deliver(path, text.as_bytes()));
        }
        let summary = app.environment().get(GITHUB_STEP_SUMMARY);
        if let Some(path) = summary.filter(|_| self.github).map(Path::new) {
            let appended = files::append(path, |written| render::summary(report, written));
            note(path, appended);
        }
        problems
    }
}

fn not_written(path: &Path, error: io::Error) -> Problem {
    let message = format!("cannot write the report `{}`", path.display());
    Problem::new(Kind::ReportNotWritten, message)
        .because(error)
        .hint("check the folder, its permissions and the free space")
}
