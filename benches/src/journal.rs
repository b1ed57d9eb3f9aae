//! Durable journal appends against the plainest durable thing: one write and one fsync.

use crate::table::Row;
use drive_adapters::store::{Database, SqliteStore};
use drive_core::ids::{DedupeKey, RunId};
use drive_core::run::{Event, step};
use drive_core::time::Timestamp;
use drive_engine::ports::{Append, Store};
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

const APPENDS: u32 = 500;

pub(crate) fn run() -> Vec<Row> {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let database = Database::open(&dir.path().join("drive.db")).expect("a database");
    let store = SqliteStore::new(Arc::new(database));
    let run = RunId::new("bench");
    let start = Instant::now();
    for n in 0..APPENDS {
        let dedupe = DedupeKey::new(format!("cancel/{n}"));
        let at = Timestamp::UNIX_EPOCH;
        let append = Append {
            run: &run,
            event: &Event::CancelAsked,
            dedupe: &dedupe,
            at,
            fence: None,
        };
        store.append(&append, step).expect("an append");
    }
    let ours = f64::from(APPENDS) / start.elapsed().as_secs_f64();

    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(dir.path().join("plain"))
        .expect("a file");
    let start = Instant::now();
    for n in 0..APPENDS {
        writeln!(file, "{{\"event\":\"cancelAsked\",\"n\":{n}}}").expect("a write");
        file.sync_data().expect("a sync");
    }
    let plain = f64::from(APPENDS) / start.elapsed().as_secs_f64();
    vec![Row {
        what: "durable journal appends a second, against write + fsync".into(),
        plain: format!("{plain:.0}/s"),
        ours: format!("{ours:.0}/s"),
        result: format!("{:.2}", ours / plain),
        bound: "—".into(),
    }]
}
