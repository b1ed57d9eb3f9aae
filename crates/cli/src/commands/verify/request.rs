//! Messages between the caller and its worker. Paths are passed as arguments because a path need
//! not be UTF-8.

use crate::app::App;
use crate::global_args::{ColorChoice, GlobalArgs};
use drive_adapters::run_id::fresh_run_id;
use drive_core::ids::{CommitSha, RunId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{ContractCheck, Receipt};
use drive_core::verify::Verification;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

const REPO: &str = "--repo";
const CONFIG: &str = "--config";

/// How to verify the candidate.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Judges {
    /// Without merging it into its base.
    pub(super) head_only: bool,
    /// With the rules in the candidate's own checkout.
    pub(super) trusting_rules: bool,
    /// With stages that run now, even if a known verdict could be reused.
    pub(super) fresh: bool,
}

/// A request to a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WorkerRequest {
    pub(super) run: RunId,
    pub(super) revision: String,
    pub(super) base: Option<String>,
    /// The commit whose rules count, if it is not the base.
    #[serde(default)]
    pub(super) rules: Option<CommitSha>,
    pub(super) judges: Judges,
    #[serde(skip)]
    repo: Option<PathBuf>,
    #[serde(skip)]
    config: Option<PathBuf>,
    quiet: bool,
    verbose: bool,
    /// Whether the worker only runs checks. It reads them from standard input, because they may be
    /// longer than an argument can be.
    #[serde(default)]
    pub(super) is_check: bool,
    #[serde(skip)]
    pub(super) checks: Vec<ContractCheck>,
}

impl WorkerRequest {
    /// The request of one call, with a new run id.
    pub(super) fn new(
        app: &App,
        revision: String,
        base: Option<String>,
        judges: Judges,
    ) -> Result<Self, Problem> {
        let global = app.global();
        Ok(Self {
            run: fresh_run_id(app.now())?,
            revision,
            base,
            rules: None,
            judges,
            repo: global.repo.clone(),
            config: global.config.clone(),
            quiet: global.quiet,
            verbose: global.verbose,
            is_check: false,
            checks: Vec::new(),
        })
    }

    /// The request with the rules of this commit.
    pub(super) fn by_rules_of(self, rules: &CommitSha) -> Self {
        Self {
            rules: Some(rules.clone()),
            ..self
        }
    }

    /// The request of a worker that runs these checks instead of a verification.
    pub(super) fn checking(self, checks: &[ContractCheck]) -> Self {
        Self {
            is_check: true,
            checks: checks.to_vec(),
            ..self
        }
    }

    /// The arguments that encode the request.
    pub(super) fn arguments(&self) -> Result<Vec<OsString>, serde_json::Error> {
        let mut arguments = vec![OsString::from(serde_json::to_string(self)?)];
        for (name, path) in [(REPO, &self.repo), (CONFIG, &self.config)] {
            if let Some(path) = path {
                arguments.extend([name.into(), path.into()]);
            }
        }
        Ok(arguments)
    }

    /// Parses [arguments](Self::arguments).
    pub(super) fn read(arguments: &[OsString]) -> Option<Self> {
        let (text, paths) = arguments.split_first()?;
        let mut request: Self = serde_json::from_str(text.to_str()?).ok()?;
        for pair in paths.chunks(2) {
            let [name, path] = pair else {
                return None;
            };
            match name.to_str()? {
                REPO => request.repo = Some(path.into()),
                CONFIG => request.config = Some(path.into()),
                _ => return None,
            }
        }
        Some(request)
    }

    /// The global options for the worker's own context.
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

/// The answer of the worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WorkerAnswer {
    /// The report; `None` if the settings or the state directory did not allow one.
    pub(super) report: Option<Verification>,
    /// Why it is not a success.
    pub(super) problem: Option<Problem>,
    /// The receipts of the checks, if they were requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) receipts: Option<Vec<Receipt>>,
}

impl WorkerAnswer {
    /// An answer without a report.
    pub(super) fn problem(problem: Problem) -> Self {
        Self {
            report: None,
            problem: Some(problem),
            receipts: None,
        }
    }

    /// Why there is no report.
    pub(super) fn into_problem(self) -> Problem {
        self.problem
            .unwrap_or_else(|| Problem::new(Kind::NoReport, "the verifier ended without a report"))
    }
}
