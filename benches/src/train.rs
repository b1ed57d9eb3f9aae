//! Verifications that a landing train takes, counted: they do not depend on the machine.

use crate::table::Row;
use crate::train_verifications::{average, verifications};
use std::collections::BTreeSet;

const SLOTS: u32 = 4;

/// One row for each number of ready tasks, without and with bad ones.
pub(crate) fn run() -> Vec<Row> {
    let good = |tasks| verifications(tasks, SLOTS, &BTreeSet::new()) as f64;
    let three_percent = |tasks| average(tasks, SLOTS, 3);
    vec![
        row(12, "all good", good(12), "≤ 6"),
        row(12, "3 % bad, average", three_percent(12), "≤ 10"),
        row(50, "all good", good(50), "–"),
        row(50, "3 % bad, average", three_percent(50), "–"),
    ]
}

fn row(tasks: usize, which: &str, count: f64, bound: &str) -> Row {
    Row {
        what: format!("verifications to land {tasks} ready tasks, {which}, {SLOTS} slots"),
        plain: format!("{tasks}"),
        ours: format!("{count:.1}"),
        result: format!("{:.2}", count / tasks as f64),
        bound: bound.into(),
    }
}
