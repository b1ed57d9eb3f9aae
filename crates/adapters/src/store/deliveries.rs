//! Accepted webhook deliveries, so that a repeated one is recognized after a restart.

use super::Database;
use drive_core::Problem;
use drive_core::time::Timestamp;
use drive_engine::ports::Deliveries;
use rusqlite::Transaction;
use std::sync::Arc;

/// The number of stored deliveries: a forge repeats one within days, and a busy one sends thousands a day.
const REMEMBERED: u32 = 20_000;

/// The deliveries of one state directory.
#[derive(Clone, Debug)]
pub struct SqliteDeliveries {
    database: Arc<Database>,
}

impl SqliteDeliveries {
    /// The deliveries that are stored in this database.
    pub fn new(database: Arc<Database>) -> Self {
        Self { database }
    }
}

impl Deliveries for SqliteDeliveries {
    fn is_first(&self, id: &str, at: Timestamp) -> Result<bool, Problem> {
        self.database.write(|tx| {
            record(tx, id, at, REMEMBERED).map_err(|error| self.database.problem(error))
        })
    }
}

fn record(tx: &Transaction<'_>, id: &str, at: Timestamp, keep: u32) -> rusqlite::Result<bool> {
    let added = tx.execute(
        "INSERT OR IGNORE INTO webhook_deliveries (id, taken_at) VALUES (?1, ?2)",
        (id, at.to_string()),
    )?;
    tx.execute(
        "DELETE FROM webhook_deliveries WHERE rowid <= (SELECT max(rowid) FROM webhook_deliveries) - ?1",
        [keep],
    )?;
    Ok(added == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(dir: &tempfile::TempDir) -> SqliteDeliveries {
        let database = Database::open(&dir.path().join("drive.sqlite3")).unwrap();
        SqliteDeliveries::new(Arc::new(database))
    }

    #[test]
    fn a_delivery_is_first_once_even_across_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let at = Timestamp::UNIX_EPOCH;
        let before = open(&dir);
        assert!(before.is_first("a", at).unwrap());
        assert!(!before.is_first("a", at).unwrap());
        drop(before);
        let after = open(&dir);
        assert!(!after.is_first("a", at).unwrap());
        assert!(after.is_first("b", at).unwrap());
    }

    #[test]
    fn only_so_many_are_remembered_the_newest_of_all() {
        let dir = tempfile::tempdir().unwrap();
        let deliveries = open(&dir);
        let left = deliveries.database.write(|tx| {
            for n in 0..10 {
                record(tx, &format!("d{n}"), Timestamp::UNIX_EPOCH, 3).unwrap();
            }
            let mut rows = tx
                .prepare("SELECT id FROM webhook_deliveries ORDER BY rowid")
                .unwrap();
            let ids = rows.query_map([], |row| row.get::<_, String>(0)).unwrap();
            Ok(ids.collect::<Result<Vec<_>, _>>().unwrap())
        });
        assert_eq!(left.unwrap(), ["d7", "d8", "d9"]);
    }
}
