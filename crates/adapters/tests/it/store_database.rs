//! Tests the embedded database: what it refuses, what it stores, how it migrates.

use crate::support::SmallDisk;
use drive_adapters::store::Database;
use drive_core::problem::Kind;
use rusqlite::Connection;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use tempfile::TempDir;

fn folder() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("drive.db");
    (dir, path)
}

fn kind(path: &Path) -> Kind {
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

/// Every migration of the schema, with an example of data that a drive of that version stores.
const STEPS: [(&str, &str, &str); 6] = [
    (
        include_str!("../../src/store/schema/0001_journal.sql"),
        "INSERT INTO timers (run, name, due_at) VALUES ('r1', 'poll', '2026-11-15T00:00:00Z')",
        "SELECT run || name || due_at FROM timers",
    ),
    (
        include_str!("../../src/store/schema/0002_local_forge.sql"),
        "INSERT INTO local_repositories (git_dir, changed_at, comments) VALUES ('/repo/.git', 7, 2)",
        "SELECT git_dir || changed_at || comments FROM local_repositories",
    ),
    (
        include_str!("../../src/store/schema/0003_webhook_deliveries.sql"),
        "INSERT INTO webhook_deliveries (id, taken_at) VALUES ('d1', '2026-11-15T00:00:00Z')",
        "SELECT id || taken_at FROM webhook_deliveries",
    ),
    (
        include_str!("../../src/store/schema/0004_forge_memory.sql"),
        "INSERT INTO forge_budgets (token, most, remaining, resets_at) VALUES ('f1', 5000, 42, 3600)",
        "SELECT token || most || remaining || resets_at FROM forge_budgets",
    ),
    (
        include_str!("../../src/store/schema/0005_nudges.sql"),
        "INSERT INTO nudges (repository, pr, at) VALUES ('acme/widgets', 7, '2026-11-15T00:00:00Z')",
        "SELECT number || repository || pr || at FROM nudges",
    ),
    (
        include_str!("../../src/store/schema/0006_local_strangers.sql"),
        "INSERT INTO local_people (repository, login, permission) VALUES (1, 'ann', 'write')",
        "SELECT login || permission FROM local_people",
    ),
];

/// The example data of these migrations, as read from a database.
fn stored(path: &Path, steps: &[(&str, &str, &str)]) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let row = |question| {
        connection
            .query_row(question, [], |row| row.get(0))
            .unwrap()
    };
    steps.iter().map(|(_, _, question)| row(question)).collect()
}

#[test]
fn a_database_of_any_older_version_is_taken_forward_with_its_data() {
    let (_dir, fresh) = folder();
    drop(Database::open(&fresh).unwrap());
    let version = |path: &Path| -> i64 {
        let connection = Connection::open(path).unwrap();
        connection
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .unwrap()
    };
    assert_eq!(
        version(&fresh),
        STEPS.len() as i64,
        "every step has a sample"
    );
    for taken in 1..=STEPS.len() {
        let (_dir, path) = folder();
        let old = Connection::open(&path).unwrap();
        for (step, sample, _) in &STEPS[..taken] {
            old.execute_batch(step).unwrap();
            old.execute_batch(sample).unwrap();
        }
        old.pragma_update(None, "application_id", 0x6472_6976)
            .unwrap();
        old.pragma_update(None, "user_version", taken as i64)
            .unwrap();
        drop(old);
        let before = stored(&path, &STEPS[..taken]);
        drop(Database::open(&path).unwrap());
        assert_eq!(stored(&path, &STEPS[..taken]), before, "from {taken}");
        assert_eq!(
            (version(&path), schema(&path)),
            (version(&fresh), schema(&fresh)),
            "upgraded from {taken} it is as a new one"
        );
    }
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
    assert_eq!(problem.kind, Kind::NewerDatabase);
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
    assert_eq!(kind(&path), Kind::CorruptDatabase);
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
    assert_eq!(kind(&path), Kind::CorruptDatabase);
}

#[test]
fn a_database_of_another_program_is_refused() {
    let (_dir, path) = folder();
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE theirs (x)")
        .unwrap();
    assert_eq!(kind(&path), Kind::ForeignDatabase);
}

#[test]
fn a_folder_that_is_not_there_is_a_clear_problem() {
    let (_dir, path) = folder();
    let problem = Database::open(&path.join("missing/drive.db")).unwrap_err();
    assert_eq!(problem.kind, Kind::StateNotWritable);
    assert!(problem.hint.unwrap().contains("DRIVE_STATE_DIR"));
}

#[test]
fn a_full_disk_is_named_and_nothing_is_half_written() {
    let (_dir, path) = folder();
    let database = Database::open(&path).unwrap();
    // SQLite's own page limit ends a write exactly like a full disk.
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
    assert_eq!(problem.kind, Kind::DiskFull);
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
fn a_full_disk_is_named_also_by_whoever_only_wants_to_look() {
    let (dir, path) = folder();
    let Some(_disk) = SmallDisk::mount(dir.path(), c"size=1m") else {
        return;
    };
    drop(Database::open(&path).unwrap());
    let rest = dir.path().join("rest");
    let mut file = std::fs::File::create(&rest).unwrap();
    while file.write_all(&[7; 4096]).is_ok() {}
    drop(file);
    assert_eq!(kind(&path), Kind::DiskFull);
    std::fs::remove_file(&rest).unwrap();
    drop(Database::open(&path).unwrap());
}

/// One in a hundred attempts was refused, so a few hundred are needed.
#[test]
fn many_processes_may_open_a_new_database_at_once() {
    for _ in 0..100 {
        let (_dir, path) = folder();
        let start = Barrier::new(4);
        std::thread::scope(|threads| {
            let openers = [(); 4].map(|()| {
                threads.spawn(|| {
                    start.wait();
                    Database::open(&path).map(drop)
                })
            });
            for opener in openers {
                opener.join().unwrap().unwrap();
            }
        });
    }
}

/// Fills a disk completely.
fn fill(folder: &Path) {
    let mut file = std::fs::File::create(folder.join("others")).unwrap();
    while file.write_all(&[b'x'; 64 << 10]).is_ok() {}
}

#[test]
fn a_disk_that_others_filled_has_room_for_records() {
    let dir = tempfile::tempdir().unwrap();
    let Some(_disk) = SmallDisk::mount(dir.path(), c"size=96m") else {
        return;
    };
    let path = dir.path().join("drive.db");
    let reserve = dir.path().join("reserve");
    let database = Database::open(&path).unwrap();
    assert_eq!(std::fs::metadata(&reserve).unwrap().len(), 8 << 20);
    let write = || {
        database.write(|tx| {
            tx.execute_batch("CREATE TABLE IF NOT EXISTS big (b BLOB); INSERT INTO big VALUES (zeroblob(1000000))")
                .map_err(|e| database.problem(e))
        })
    };
    write().unwrap();
    fill(dir.path());
    assert_eq!(write(), Ok(()));
    assert!(!reserve.exists());
    // The released reserve is taken again once there is space.
    std::fs::remove_file(dir.path().join("others")).unwrap();
    write().unwrap();
    assert!(reserve.exists());
    // The control: without the reserve nothing can be recorded.
    std::fs::remove_file(&reserve).unwrap();
    fill(dir.path());
    assert_eq!(write().unwrap_err().kind, Kind::DiskFull);
}

#[test]
fn a_small_disk_is_not_taken_up_by_a_reserve() {
    let dir = tempfile::tempdir().unwrap();
    let Some(_disk) = SmallDisk::mount(dir.path(), c"size=32m") else {
        return;
    };
    Database::open(&dir.path().join("drive.db")).unwrap();
    assert!(!dir.path().join("reserve").exists());
}
