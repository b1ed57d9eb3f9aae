//! `drive stats`: statistics of reviews, per agent and domain.

use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::documents::{ReviewerStats, StatsDocument};
use crate::output::Printable;
use clap::Args;
use drive_adapters::settings::checkout_root;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{ReviewStats, Reviewing, Run, review_stats};
use drive_core::time::{Timestamp, since};
use drive_engine::ports::{RunFilter, Store};
use std::fmt::Write;

/// How many runs are searched, newest first.
const MOST: u32 = 10_000;

/// The arguments of `drive stats`.
#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// Count the runs of all repositories
    #[arg(long)]
    all: bool,

    /// Count the runs that started at or after this date (UTC) or within this time: 2026-11-01, 7d
    #[arg(long, value_name = "DATE|TIME")]
    since: Option<String>,
}

impl StatsArgs {
    /// The start of the period that counts.
    fn earliest(&self, now: Timestamp) -> Result<Option<Timestamp>, Problem> {
        let Some(text) = &self.since else {
            return Ok(None);
        };
        match since(text, now) {
            Some(earliest) => Ok(Some(earliest)),
            None => Err(Problem::new(
                Kind::Usage,
                format!("invalid value `{text}` for `--since <DATE|TIME>`"),
            )
            .hint("pass a date (`--since 2026-11-01`) or a length of time (`--since 7d`)")),
        }
    }
}

/// Sums up the reviews of the stored runs.
pub(crate) fn run(args: &StatsArgs, app: &App) -> Outcome {
    let earliest = args.earliest(app.now())?;
    let mut runs = app.store()?.list(RunFilter::All, MOST)?;
    runs.retain(|run| earliest.is_none_or(|earliest| run.started_at >= Some(earliest)));
    if !args.all {
        let root = checkout_root(&app.start_dir()?).and_then(|root| root.canonicalize().ok());
        runs.retain(|run| {
            let repo = run.request.as_ref().map(|request| &request.repo);
            let repo = repo.and_then(|repo| repo.canonicalize().ok());
            repo.is_some() && repo == root
        });
    }
    let stats = review_stats(&runs);
    let document = StatsDocument {
        runs: u32::try_from(reviewed(&runs)).unwrap_or(u32::MAX),
        reviewers: stats
            .iter()
            .map(|(of, stats)| ReviewerStats::new(of, stats))
            .collect(),
    };
    let mut text = String::new();
    if stats.is_empty() {
        let place = if args.all { "" } else { " in this repository" };
        let _ = match &args.since {
            Some(since) => writeln!(text, "no reviews{place} (`--since {since}`)"),
            None => writeln!(text, "no reviews yet{place}"),
        };
    } else {
        text.push_str(&row([
            "agent", "domain", "reviews", "rounds", "findings", "resolved", "declined", "refuted",
            "cost",
        ]));
    }
    for (of, stats) in &stats {
        text.push_str(&render_row(of, stats));
    }
    Answer::new(&document, Printable(&text).to_string())
}

/// The number of reviewed runs.
fn reviewed(runs: &[Run]) -> usize {
    let is_reviewed = |run: &&Run| !review_stats([*run]).is_empty();
    runs.iter().filter(is_reviewed).count()
}

fn render_row(of: &Reviewing, stats: &ReviewStats) -> String {
    let resolved = match stats.measured {
        0 => "-".to_owned(),
        measured => {
            let percent = u64::from(stats.resolved) * 100 / u64::from(measured);
            format!("{}/{measured} ({percent}%)", stats.resolved)
        }
    };
    let cost = stats.cost.map_or("-".to_owned(), |cost| cost.to_string());
    row([
        &of.agent,
        of.domain.as_deref().unwrap_or("whole change"),
        &stats.reviews.to_string(),
        &stats.rounds.to_string(),
        &stats.findings.to_string(),
        &resolved,
        &stats.declined.to_string(),
        &stats.refuted.to_string(),
        &cost,
    ])
}

fn row(cells: [&str; 9]) -> String {
    let [
        agent,
        domain,
        reviews,
        rounds,
        findings,
        resolved,
        declined,
        refuted,
        cost,
    ] = cells;
    let line = format!(
        "{agent:14} {domain:22} {reviews:>7} {rounds:>6} {findings:>8} {resolved:>13} \
         {declined:>8} {refuted:>7} {cost:>9}"
    );
    format!("{}\n", line.trim_end())
}
