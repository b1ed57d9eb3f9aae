//! `drive prune`: deletes the remains of ended runs in the state directory.

use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::commands::verify::kept_reports;
use crate::confirm::require_yes;
use crate::documents::PruneDocument;
use crate::wiring::Wiring;
use clap::Args;
use drive_adapters::files;
use drive_adapters::sandbox::kept;
use drive_core::ids::RunId;
use drive_core::problem::{Kind, Problem};
use drive_core::time::{Timestamp, since};
use drive_engine::ports::Store;
use drive_engine::verify::KeptReports;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The arguments of `drive prune`.
#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Delete only what is older than this
    #[arg(long, value_name = "TIME", default_value = "30d")]
    older_than: String,

    /// Show what would be deleted, and delete nothing
    #[arg(long)]
    dry_run: bool,

    /// Delete work saved from sandboxes of this repository too
    #[arg(long)]
    kept: bool,

    /// Delete without asking
    #[arg(short, long, conflicts_with = "dry_run")]
    yes: bool,
}

/// Files and saved work to delete.
#[derive(Default)]
struct Found {
    logs: Vec<RunId>,
    reports: Vec<RunId>,
    kept: Vec<String>,
    bytes: u64,
}

/// Deletes old logs, reports and, if asked for, saved work.
pub(crate) fn run(args: &PruneArgs, app: &App) -> Outcome {
    let folder = app.start_dir()?;
    let wiring = Wiring::new(app, &app.settings()?.settings, &folder)?;
    let before = since(&args.older_than, app.now()).ok_or_else(|| invalid(&args.older_than))?;
    let mut found = Found::default();
    found.logs(&wiring, before)?;
    found.reports(app, before)?;
    if args.kept {
        let all = kept::list(&wiring.git, &folder)?.into_iter();
        let old = all.filter(|work| work.about.kept_at < before);
        found.kept = old.map(|work| work.reference).collect();
    }
    let summary = found.summary();
    if !found.is_empty() && !args.dry_run {
        require_yes(args.yes, &format!("delete {summary}"))?;
        found.delete(app, &wiring, &folder)?;
    }
    let mut text = String::new();
    for (what, names) in found.names() {
        for name in names {
            let _ = writeln!(text, "{what:8} {name}");
        }
    }
    let done = if args.dry_run {
        "would delete"
    } else {
        "deleted"
    };
    let _ = if found.is_empty() {
        writeln!(text, "nothing is older than {}", args.older_than)
    } else {
        writeln!(text, "{done} {summary}")
    };
    let document = PruneDocument {
        dry_run: args.dry_run,
        before: before.into(),
        logs: found.logs.iter().map(ToString::to_string).collect(),
        reports: found.reports.iter().map(ToString::to_string).collect(),
        kept: found.kept,
        bytes: found.bytes,
    };
    Answer::new(&document, text)
}

impl Found {
    /// The folders of runs that ended long ago. A folder without a run in the journal is left alone.
    fn logs(&mut self, wiring: &Wiring, before: Timestamp) -> Result<(), Problem> {
        let entries = fs::read_dir(&wiring.runs_dir)
            .into_iter()
            .flatten()
            .flatten();
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        for name in names {
            let id = RunId::new(name);
            let run = wiring.store.load(&id)?;
            let ended = run.and_then(|run| Some(run.outcome?.ended_at));
            if ended.is_some_and(|ended| ended < before) {
                self.bytes += size(&wiring.runs_dir.join(id.as_str()));
                self.logs.push(id);
            }
        }
        Ok(())
    }

    fn reports(&mut self, app: &App, before: Timestamp) -> Result<(), Problem> {
        let reports = kept_reports(app)?;
        for report in reports.newest(usize::MAX) {
            if report.timing.started_at < before {
                self.bytes += reports.size(&report.run_id);
                self.reports.push(report.run_id);
            }
        }
        Ok(())
    }

    fn delete(&self, app: &App, wiring: &Wiring, folder: &Path) -> Result<(), Problem> {
        for run in &self.logs {
            let path = wiring.runs_dir.join(run.as_str());
            files::remove_tree(&path).map_err(|error| {
                let what = format!("cannot remove `{}`", path.display());
                Problem::new(Kind::LogUnreadable, what).because(error)
            })?;
        }
        let reports = kept_reports(app)?;
        for run in &self.reports {
            reports.remove(run)?;
        }
        for reference in &self.kept {
            kept::drop(&wiring.git, folder, reference)?;
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.logs.is_empty() && self.reports.is_empty() && self.kept.is_empty()
    }

    fn summary(&self) -> String {
        let count = |number: usize, one: &str, many: &str| match number {
            0 => None,
            1 => Some(format!("1 {one}")),
            _ => Some(format!("{number} {many}")),
        };
        let parts = [
            count(self.logs.len(), "run's logs", "runs' logs"),
            count(
                self.reports.len(),
                "verification report",
                "verification reports",
            ),
            count(self.kept.len(), "saved work", "saved works"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!("{} ({} KiB)", parts.join(", "), self.bytes.div_ceil(1024))
    }

    fn names(&self) -> [(&'static str, Vec<String>); 3] {
        [
            ("logs", self.logs.iter().map(ToString::to_string).collect()),
            (
                "report",
                self.reports.iter().map(ToString::to_string).collect(),
            ),
            ("saved", self.kept.clone()),
        ]
    }
}

/// The total size of all files below a folder, without following links.
pub(super) fn size(folder: &Path) -> u64 {
    let mut bytes = 0;
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(found) if found.is_dir() => open.push(entry.path()),
                Ok(found) => bytes += found.len(),
                Err(_) => {}
            }
        }
    }
    bytes
}

pub(super) fn invalid(text: &str) -> Problem {
    Problem::new(
        Kind::Usage,
        format!("invalid value `{text}` for `--older-than <TIME>`"),
    )
    .hint("pass a length of time (`--older-than 30d`) or a date (`--older-than 2026-11-01`)")
}
