//! `drive verify`: a thin caller that waits, and a worker process that verifies. If the worker is
//! killed, the caller still reports it.

mod caller;
mod gate;
mod request;
mod worker;
mod world;

pub(crate) use gate::OwnVerifier;
pub(crate) use worker::worker_if_asked;

use crate::answer::{Answer, Outcome};
use crate::app::App;
use clap::Args;
use drive_core::verify::render;
use request::WorkerRequest;
use std::collections::BTreeSet;

/// The arguments of `drive verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Commit to verify
    #[arg(value_name = "REV", default_value = "HEAD")]
    revision: String,

    /// Verify what changed since this commit; without it, the whole tree is checked
    #[arg(long, value_name = "REV")]
    base: Option<String>,

    /// Print the report as Markdown, for a pull request
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

/// Verifies, and shows the report.
pub(crate) fn run(args: &VerifyArgs, app: &App) -> Outcome {
    let request = WorkerRequest::new(app, args.revision.clone(), args.base.clone())?;
    // The worker reports what is wrong with the settings.
    let _ = app.warn_of_repository(&BTreeSet::new());
    let answer = caller::call(app, &request, app.cancel()?)?;
    let Some(report) = &answer.report else {
        return Err(answer.into_problem());
    };
    let text = if args.markdown {
        render::markdown(report)
    } else {
        render::human(report)
    };
    Ok(Answer::new(report, text)?.failed_if(answer.problem))
}
