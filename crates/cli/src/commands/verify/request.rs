//! What the caller and its worker say to each other.

use crate::app::App;
use crate::args::{ColorChoice, GlobalArgs};
use drive_adapters::run_id::fresh_run_id;
use drive_core::Problem;
use drive_core::ids::RunId;
use drive_core::verify::Verification;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a worker is asked to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WorkerRequest {
    pub(super) run: RunId,
    pub(super) revision: String,
    pub(super) base: Option<String>,
    repo: Option<PathBuf>,
    config: Option<PathBuf>,
    quiet: bool,
    verbose: bool,
}

impl WorkerRequest {
    /// The request of one call, with a run id of its own.
    pub(super) fn new(app: &App, revision: String, base: Option<String>) -> Result<Self, Problem> {
        let global = app.global();
        Ok(Self {
            run: fresh_run_id(app.now())?,
            revision,
            base,
            repo: global.repo.clone(),
            config: global.config.clone(),
            quiet: global.quiet,
            verbose: global.verbose,
        })
    }

    /// The options the worker's own frame gets.
    pub(super) fn global(&self) -> GlobalArgs {
        GlobalArgs {
            repo: self.repo.clone(),
            config: self.config.clone(),
            json: false,
            quiet: self.quiet,
            verbose: self.verbose,
            color: ColorChoice::Auto,
        }
    }
}

/// What a worker answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WorkerAnswer {
    /// The report; `None` when the settings or the state directory did not even allow one.
    pub(super) report: Option<Verification>,
    /// What keeps it from being a success.
    pub(super) problem: Option<Problem>,
}

impl WorkerAnswer {
    /// An answer without a report.
    pub(super) fn problem(problem: Problem) -> Self {
        Self {
            report: None,
            problem: Some(problem),
        }
    }

    /// Why there is no report.
    pub(super) fn into_problem(self) -> Problem {
        self.problem.unwrap_or_else(|| {
            Problem::environment("noReport", "the verifier answered without a report")
        })
    }
}
