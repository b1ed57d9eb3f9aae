//! The printed result: one row a measurement, with the bound it is held against.

use std::fmt::Write;
use std::time::{Duration, Instant};

/// One measurement.
pub(crate) struct Row {
    /// What was measured.
    pub(crate) what: String,
    /// The plain tool's figure.
    pub(crate) plain: String,
    /// Our figure.
    pub(crate) ours: String,
    /// The ratio or difference that is judged.
    pub(crate) result: String,
    /// The bound it should stay under (or over).
    pub(crate) bound: String,
}

/// All rows as a Markdown table.
pub(crate) fn render(rows: &[Row]) -> String {
    let mut out =
        String::from("| what | plain | drive | result | bound |\n|---|---|---|---|---|\n");
    for r in rows {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            r.what, r.plain, r.ours, r.result, r.bound
        );
    }
    out
}

/// The median time of `times` calls, after one warm-up call.
pub(crate) fn median(times: usize, mut call: impl FnMut()) -> Duration {
    call();
    let mut all: Vec<Duration> = (0..times)
        .map(|_| {
            let start = Instant::now();
            call();
            start.elapsed()
        })
        .collect();
    all.sort();
    all[all.len() / 2]
}
