//! `drive verify`: a thin caller that waits, and a worker process that verifies. If the worker is
//! killed, the caller still reports it.

mod caller;
mod gate;
mod report_files;
mod request;
mod ruling;
mod running;
mod status;
mod worker;
mod world;

pub(crate) use gate::OwnVerifier;
pub(crate) use running::{Running, running};
pub(crate) use worker::worker_if_asked;
pub(crate) use world::kept_reports;

use crate::answer::{Answer, Outcome};
use crate::app::App;
use clap::Args;
use drive_adapters::entropy::random_token;
use drive_core::problem::Problem;
use drive_core::verify::{Verification, render};
use report_files::ReportArgs;
use request::{Judges, WorkerRequest};
use status::StatusPost;

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

    /// Run the stages even if this already passed with the same rules and tools
    #[arg(long)]
    fresh: bool,

    /// Print the report as Markdown, for a pull request
    #[arg(long, conflicts_with = "json")]
    markdown: bool,

    #[command(flatten)]
    reports: ReportArgs,

    /// Set the check `drive/verify` on the forge
    #[arg(
        long,
        requires = "base",
        conflicts_with_all = ["head_only", "trust_candidate_rules"]
    )]
    status: bool,
}

/// Verifies, and shows the report.
pub(crate) fn run(args: &VerifyArgs, app: &App) -> Outcome {
    let judges = Judges {
        head_only: args.head_only,
        trusting_rules: args.trust_candidate_rules,
        fresh: args.fresh,
    };
    let mut request = WorkerRequest::new(app, args.revision.clone(), args.base.clone(), judges)?;
    let status = if args.status {
        StatusPost::begin(app, &mut request)
    } else {
        None
    };
    let called = caller::call(app, &request, app.cancel()?);
    if let Some(status) = status {
        let report = called.as_ref().ok().and_then(|a| a.report.as_ref());
        status.finish(app, report);
    }
    let answer = called?;
    let Some(report) = &answer.report else {
        return Err(answer.into_problem());
    };
    let text = if args.markdown {
        render::markdown(report)
    } else {
        render::human(report)
    };
    let says_failure = !args.markdown && is_said(report, answer.problem.as_ref());
    let mut shown = if args.reports.github {
        let text = render::shielded(&text, &random_token()?);
        Answer::new(report, text)?.with_workflow_commands(render::annotations(report))
    } else {
        Answer::new(report, text)?
    };
    if says_failure {
        shown = shown.says_failure();
    }
    let mut unwritten = args.reports.write(app, report).into_iter();
    // A verdict decides the exit code; after a pass, a report file that was not written does.
    let problem = answer.problem.or_else(|| unwritten.next());
    for other in unwritten {
        app.output().problem(&other);
    }
    Ok(shown.failed_if(problem))
}

/// Whether the report for people already contains the problem.
fn is_said(report: &Verification, problem: Option<&Problem>) -> bool {
    problem
        .zip(report.failure.as_ref())
        .is_some_and(|(problem, failure)| {
            problem.causes.is_empty()
                && problem.hint == failure.hint
                && problem.message.ends_with(&failure.reason)
        })
}
