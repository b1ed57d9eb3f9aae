//! `drive verify`: a thin caller that waits, and a worker process that verifies. If the worker is
//! killed, the caller still reports it.

mod caller;
mod gate;
mod request;
mod ruling;
mod worker;
mod world;

pub(crate) use gate::OwnVerifier;
pub(crate) use worker::worker_if_asked;
pub(crate) use world::kept_reports;

use crate::answer::{Answer, Outcome};
use crate::app::App;
use clap::Args;
use drive_core::verify::render;
use request::{Judges, WorkerRequest};

/// The arguments of `drive verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Commit to verify
    #[arg(value_name = "REV", default_value = "HEAD")]
    revision: String,

    /// Merge REV into this commit and verify the result; without it, the whole tree is checked
    #[arg(long, value_name = "REV")]
    base: Option<String>,

    /// Verify REV alone, without merging it into the base; allows no merge
    #[arg(long, requires = "base")]
    head_only: bool,

    /// Use the rules of REV, or of your checkout if REV is checked out, instead of the base's
    #[arg(long)]
    trust_candidate_rules: bool,

    /// Run the stages also if the same tree passed before with the same rules and tools
    #[arg(long)]
    fresh: bool,

    /// Print the report as Markdown, for a pull request
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

/// Verifies, and shows the report.
pub(crate) fn run(args: &VerifyArgs, app: &App) -> Outcome {
    let judges = Judges {
        head_only: args.head_only,
        trusting_rules: args.trust_candidate_rules,
        fresh: args.fresh,
    };
    let request = WorkerRequest::new(app, args.revision.clone(), args.base.clone(), judges)?;
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
