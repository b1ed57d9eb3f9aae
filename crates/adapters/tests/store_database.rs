//! The embedded database: what it refuses, what it keeps, how it goes forward.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    missing_docs,
    unreachable_pub,
    reason = "tests prepare files and foreign databases by hand"
)]

use drive_adapters::store::Database;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn folder() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("drive.db");
    (dir, path)
}

fn kind(path: &Path) -> String {
    Database::open(path).unwrap_err().kind
}

fn schema(path: &Path) -> String {
    let connection = Connection::open(path).unwrap();
    let mut statement = connection
        .prepare("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name")
        .unwrap();
    let rows = statement
        .query_map([], |row| row.get::<_, String>(0))
        .unwrap();
    rows.map(|row| row.unwrap() + ";\n").collect()
}

#[test]
fn the_schema_is_what_the_golden_file_says() {
    let (_dir, path) = folder();
    drop(Database::open(&path).unwrap());
    insta::assert_snapshot!("schema", schema(&path));
}

#[test]
fn a_commit_is_durable_and_in_the_write_ahead_log() {
    let (_dir, path) = folder();
    let database = Database::open(&path).unwrap();
    let (mode, synchronous): (String, i64) = database
        .read(|tx| {
            let mode = tx
                .pragma_query_value(None, "journal_mode", |r| r.get(0))
                .unwrap();
            let synchronous = tx
                .pragma_query_value(None, "synchronous", |r| r.get(0))
                .unwrap();
            Ok((mode, synchronous))
        })
        .unwrap();
    assert_eq!((mode.as_str(), synchronous), ("wal", 2));
}

#[test]
fn an_older_database_is_taken_forward_with_its_data() {
    let (_dir, path) = folder();
    let first_step = include_str!("../src/store/schema/0001_journal.sql");
    let old = Connection::open(&path).unwrap();
    old.execute_batch(first_step).unwrap();
    old.execute_batch(
        "PRAGMA application_id = 1685219702; PRAGMA user_version = 1;
         INSERT INTO timers (run, name, due_at) VALUES ('r1', 'poll', '2026-11-15T00:00:00Z');",
    )
    .unwrap();
    drop(old);
    let database = Database::open(&path).unwrap();
    let timers: i64 = database
        .read(|tx| {
            Ok(tx
                .query_row("SELECT count(*) FROM timers", [], |r| r.get(0))
                .unwrap())
        })
        .unwrap();
    assert_eq!(timers, 1);
    drop(database);
    let (_dir2, fresh) = folder();
    drop(Database::open(&fresh).unwrap());
    assert_eq!(
        schema(&path),
        schema(&fresh),
        "an upgraded database has the schema of a new one"
    );
}

#[test]
fn a_newer_database_is_refused_and_left_as_it_was() {
    let (_dir, path) = folder();
    drop(Database::open(&path).unwrap());
    Connection::open(&path)
        .unwrap()
        .pragma_update(None, "user_version", 9_999)
        .unwrap();
    let before = std::fs::read(&path).unwrap();
    let problem = Database::open(&path).unwrap_err();
    assert_eq!(problem.kind, "newerDatabase");
    assert!(
        problem.message.contains("schema 9999"),
        "{}",
        problem.message
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_corrupt_database_is_refused_and_left_as_it_was() {
    let (_dir, path) = folder();
    std::fs::write(
        &path,
        b"this was a database once, long ago, before the disk failed....",
    )
    .unwrap();
    let before = std::fs::read(&path).unwrap();
    assert_eq!(kind(&path), "corruptDatabase");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn damage_inside_a_database_is_named_when_it_is_met() {
    let (_dir, path) = folder();
    drop(Database::open(&path).unwrap());
    let mut bytes = std::fs::read(&path).unwrap();
    let end = bytes.len();
    bytes[100..end].fill(0xAA);
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(kind(&path), "corruptDatabase");
}

#[test]
fn a_database_of_another_program_is_refused() {
    let (_dir, path) = folder();
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE theirs (x)")
        .unwrap();
    assert_eq!(kind(&path), "foreignDatabase");
}

#[test]
fn a_folder_that_is_not_there_is_a_clear_problem() {
    let (_dir, path) = folder();
    let problem = Database::open(&path.join("missing/drive.db")).unwrap_err();
    assert_eq!(problem.kind, "stateNotWritable");
    assert!(problem.hint.unwrap().contains("DRIVE_STATE_DIR"));
}

#[test]
fn a_full_disk_is_named_and_nothing_is_half_written() {
    let (_dir, path) = folder();
    let database = Database::open(&path).unwrap();
    // SQLite's own page limit ends a write exactly as a full disk does.
    database
        .read(|tx| {
            tx.pragma_update(None, "max_page_count", 40)
                .map_err(|e| database.problem(e))
        })
        .unwrap();
    let problem = database
        .write(|tx| {
            for n in 0..10_000 {
                tx.execute(
                    "INSERT INTO timers VALUES ('r', ?1, ?2)",
                    (n.to_string(), "x".repeat(500)),
                )
                .map_err(|e| database.problem(e))?;
            }
            Ok(())
        })
        .unwrap_err();
    assert_eq!(problem.kind, "diskFull");
    let left: i64 = database
        .read(|tx| {
            Ok(tx
                .query_row("SELECT count(*) FROM timers", [], |r| r.get(0))
                .unwrap())
        })
        .unwrap();
    assert_eq!(left, 0);
}

#[test]
fn many_processes_may_open_a_new_database_at_once() {
    let (_dir, path) = folder();
    std::thread::scope(|threads| {
        let openers: Vec<_> = (0..16)
            .map(|_| threads.spawn(|| Database::open(&path).map(drop)))
            .collect();
        for opener in openers {
            opener.join().unwrap().unwrap();
        }
    });
}
