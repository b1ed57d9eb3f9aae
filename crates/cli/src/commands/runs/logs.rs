//! The logs of a run's agents.

use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::documents::{RunLogDocument, path_text};
use crate::output::Printable;
use crate::wiring::Wiring;
use drive_adapters::agents::TRANSCRIPT;
use drive_adapters::files::{load_from, load_tail};
use drive_core::problem::{Kind, Problem};
use drive_core::run::Run;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How much of a log is shown at most.
const LOG_BYTES: u64 = 4 * 1024 * 1024;
/// How often a followed log is read.
const FOLLOW_EVERY: Duration = Duration::from_millis(200);

pub(crate) fn logs(wiring: &Wiring, run: &Run) -> Outcome {
    let path = newest_log(wiring, run).ok_or_else(|| no_log(run))?;
    let bytes = load_tail(&path, LOG_BYTES).map_err(|error| unreadable(&path, &error))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let shown = Printable(&text).to_string();
    let document = RunLogDocument {
        run_id: run.id.to_string(),
        path: Some(path_text(&path)),
        log: Some(text),
    };
    Answer::new(&document, shown)
}

/// Prints new lines until the run ends or the reader closes the pipe.
pub(crate) fn follow(app: &App, wiring: &Wiring, mut run: Run) -> Outcome {
    let (mut shown, mut current) = (0, None);
    let mut is_read = true;
    loop {
        let ended = !run.is_active();
        let newest = newest_log(wiring, &run);
        if newest != current {
            (shown, current) = (0, newest);
        }
        if let Some(path) = &current {
            let fresh =
                load_from(path, shown, LOG_BYTES).map_err(|error| unreadable(path, &error))?;
            let whole = fresh
                .iter()
                .rposition(|b| *b == b'\n')
                .map_or(0, |end| end + 1);
            for line in String::from_utf8_lossy(&fresh[..whole]).lines() {
                is_read = is_read && app.output().line(Printable(line)).is_continue();
            }
            shown += whole as u64;
        }
        if ended || !is_read || app.cancel()?.asked().is_some() {
            let document = RunLogDocument {
                run_id: run.id.to_string(),
                path: current.as_deref().map(path_text),
                log: None,
            };
            return Answer::new(&document, "");
        }
        std::thread::sleep(FOLLOW_EVERY);
        run = wiring.journal().require(&run.id)?;
    }
}

/// The log of the agent that worked last.
fn newest_log(wiring: &Wiring, run: &Run) -> Option<PathBuf> {
    let ids = run.children.keys().chain([&run.id]);
    let folders = ids.filter_map(|id| std::fs::read_dir(wiring.runs_dir.join(id.as_str())).ok());
    let logs = folders
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join(TRANSCRIPT)));
    logs.filter_map(|log| Some((log.metadata().ok()?.modified().ok()?, log)))
        .max()
        .map(|(_, log)| log)
}

fn no_log(run: &Run) -> Problem {
    Problem::new(
        Kind::NoLog,
        format!("no agent of run `{}` has a log", run.id),
    )
    .hint(format!("see its progress: `drive runs show {}`", run.id))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Problem {
    Problem::new(
        Kind::LogUnreadable,
        format!("cannot read `{}`", path.display()),
    )
    .because(error)
}
