//! `drive sandbox prune`: removes the sandboxes of ended runs, after saving their work.

use super::prune::{invalid, size};
use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::confirm::require_yes;
use crate::documents::{PrunedSandbox, SandboxDocument};
use crate::output::Printable;
use crate::repository::repository_of;
use crate::table::{Cell, Column, age, render};
use crate::wiring::Wiring;
use clap::Args;
use drive_core::Problem;
use drive_core::run::Run;
use drive_core::sandbox::Sandbox;
use drive_core::time::{Timestamp, since};
use drive_engine::ports::{Sandboxes, Store};
use std::fmt::Write;

/// The arguments of `drive sandbox prune`.
#[derive(Debug, Args)]
pub(super) struct PruneArgs {
    /// Remove only sandboxes of runs that ended longer ago than this [default: all ended runs]
    #[arg(long, value_name = "TIME")]
    older_than: Option<String>,

    /// Remove the sandboxes of all repositories
    #[arg(long)]
    all: bool,

    /// Show what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,

    /// Remove without asking
    #[arg(short, long, conflicts_with = "dry_run")]
    yes: bool,
}

/// A sandbox that can go.
struct Old {
    sandbox: Sandbox,
    ended_at: Timestamp,
    bytes: u64,
}

/// Shows what can go, asks, and removes it.
pub(super) fn prune(app: &App, wiring: &Wiring, args: &PruneArgs) -> Outcome {
    let before = match &args.older_than {
        Some(text) => since(text, app.now()).ok_or_else(|| invalid(text))?,
        None => app.now(),
    };
    let old = find(app, wiring, args.all, before)?;
    let bytes: u64 = old.iter().map(|one| one.bytes).sum();
    let table = table(app, &old);
    let sandboxes = if old.len() == 1 {
        "sandbox"
    } else {
        "sandboxes"
    };
    let summary = format!("{} {sandboxes} ({})", old.len(), spoken(bytes));
    let mut pruned = Vec::new();
    let mut text = String::new();
    if old.is_empty() {
        text.push_str("no sandbox of an ended run can be removed\n");
    } else if args.dry_run {
        text = format!("{table}would remove {summary}\n");
        pruned.extend(old.iter().map(|one| document(one, None)));
    } else {
        if !args.yes {
            // Whoever is asked sees what is meant.
            app.output().narrate(table.trim_end());
        }
        require_yes(
            args.yes,
            &format!("remove {summary} after saving their work"),
        )?;
        for one in &old {
            wiring.sandboxes.retire(&one.sandbox)?;
            let kept = wiring.sandboxes.settle(&one.sandbox.id)?;
            let _ = writeln!(text, "removed  {}", one.sandbox.id);
            if let Some(kept) = &kept {
                let reference = &kept.reference;
                let _ = writeln!(
                    text,
                    "saved    {reference} (`drive kept restore {reference}`)"
                );
            }
            pruned.push(document(one, kept.map(|kept| kept.reference)));
        }
        let _ = writeln!(text, "removed {summary}");
    }
    let document = SandboxDocument::Pruned {
        pruned,
        dry_run: args.dry_run,
        bytes,
    };
    Answer::new(&document, Printable(&text).to_string())
}

/// The sandboxes of runs that ended before, the largest first. What the journal does not know is left
/// alone.
fn find(app: &App, wiring: &Wiring, all: bool, before: Timestamp) -> Result<Vec<Old>, Problem> {
    let here = repository_of(&app.start_dir()?);
    let mut old = Vec::new();
    for sandbox in wiring.sandboxes.load_all()? {
        let is_here = here.is_some() && sandbox.git_dir.canonicalize().ok() == here;
        if !all && !is_here {
            continue;
        }
        let run = wiring.store.load(&sandbox.run)?;
        if let Some(ended_at) = run.as_ref().and_then(ended_at).filter(|at| *at <= before) {
            let bytes = size(&sandbox.path);
            old.push(Old {
                sandbox,
                ended_at,
                bytes,
            });
        }
    }
    old.sort_by_key(|one| std::cmp::Reverse(one.bytes));
    Ok(old)
}

fn ended_at(run: &Run) -> Option<Timestamp> {
    run.outcome.as_ref().map(|outcome| outcome.ended_at)
}

const COLUMNS: [Column; 4] = [
    Column::left("ID", 0),
    Column::right("ENDED", 1),
    Column::right("SIZE", 0),
    Column::left("PATH", 0),
];

fn table(app: &App, old: &[Old]) -> String {
    let row = |one: &Old| {
        [
            Cell::new(one.sandbox.id.as_str()),
            Cell::new(age(one.ended_at, app.now())),
            Cell::new(spoken(one.bytes)),
            Cell::new(one.sandbox.path.display().to_string()),
        ]
    };
    let rows: Vec<[Cell; 4]> = old.iter().map(row).collect();
    render(COLUMNS, &rows, app.output().look())
}

fn document(one: &Old, kept: Option<String>) -> PrunedSandbox {
    PrunedSandbox::new(&one.sandbox, one.ended_at, one.bytes, kept)
}

/// A size for people.
fn spoken(bytes: u64) -> String {
    const KIB: u64 = 1024;
    const MIB: u64 = 1024 * KIB;
    const GIB: u64 = 1024 * MIB;
    let (unit, name) = match bytes {
        0..MIB => (KIB, "KiB"),
        MIB..GIB => (MIB, "MiB"),
        GIB.. => (GIB, "GiB"),
    };
    let tenths = bytes.saturating_mul(10).div_ceil(unit);
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::spoken;

    #[test]
    fn a_size_has_one_decimal_and_is_never_too_small() {
        assert_eq!(spoken(0), "0.0 KiB");
        assert_eq!(spoken(1), "0.1 KiB");
        assert_eq!(spoken(1536), "1.5 KiB");
        assert_eq!(spoken(5 << 20), "5.0 MiB");
        assert_eq!(spoken((3 << 30) + 1), "3.1 GiB");
    }
}
