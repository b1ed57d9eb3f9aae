//! Stored nudges, so that one process can receive a webhook and another can poll.

use super::{Database, doorbell};
use drive_core::Problem;
use drive_core::forge::webhook::Nudge;
use drive_core::ids::PrNumber;
use drive_core::time::Timestamp;
use drive_engine::ports::{Clock, KeptNudge, NudgeLog, Nudges};
use rusqlite::{Row, Transaction};
use std::sync::Arc;

/// The number of stored nudges: each is read within a poll or two, and a lost one only costs time.
const KEPT: u32 = 1_000;

/// The nudges of one state directory.
#[derive(Clone)]
pub struct SqliteNudges {
    database: Arc<Database>,
    clock: Arc<dyn Clock>,
}

impl SqliteNudges {
    /// The nudges in this database.
    pub fn new(database: Arc<Database>, clock: Arc<dyn Clock>) -> Self {
        Self { database, clock }
    }
}

impl Nudges for SqliteNudges {
    fn nudge(&self, nudge: Nudge) -> Result<(), Problem> {
        let at = self.clock.now();
        self.database
            .write(|tx| keep(tx, &nudge, at, KEPT).map_err(|error| self.database.problem(error)))?;
        doorbell::ring(self.database.path());
        Ok(())
    }
}

impl NudgeLog for SqliteNudges {
    fn newer_than(&self, number: u64, repository: &str) -> Result<Vec<KeptNudge>, Problem> {
        self.database.read(|tx| {
            tx.prepare_cached(
                "SELECT number, repository, pr, at FROM nudges
                 WHERE number > ?1 AND repository = ?2 ORDER BY number",
            )
            .and_then(|mut rows| {
                let kept = rows.query_map((number, repository.to_lowercase()), read)?;
                kept.collect()
            })
            .map_err(|error| self.database.problem(error))
        })
    }
}

fn keep(tx: &Transaction<'_>, nudge: &Nudge, at: Timestamp, most: u32) -> rusqlite::Result<()> {
    tx.execute(
        "INSERT INTO nudges (repository, pr, at) VALUES (?1, ?2, ?3)",
        (
            nudge.repository.to_lowercase(),
            nudge.pr.get(),
            at.to_string(),
        ),
    )?;
    tx.execute(
        "DELETE FROM nudges WHERE number <= (SELECT max(number) FROM nudges) - ?1",
        [most],
    )?;
    Ok(())
}

fn read(row: &Row<'_>) -> rusqlite::Result<KeptNudge> {
    let at: String = row.get(3)?;
    Ok(KeptNudge {
        number: row.get(0)?,
        nudge: Nudge {
            repository: row.get(1)?,
            pr: PrNumber::new(row.get(2)?),
        },
        at: at.parse().unwrap_or(Timestamp::UNIX_EPOCH),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Standing;

    impl Clock for Standing {
        fn now(&self) -> Timestamp {
            Timestamp::from_second(60).unwrap()
        }
    }

    fn open(dir: &tempfile::TempDir) -> SqliteNudges {
        let database = Database::open(&dir.path().join("drive.sqlite3")).unwrap();
        SqliteNudges::new(Arc::new(database), Arc::new(Standing))
    }

    fn nudge(repository: &str, pr: u64) -> Nudge {
        Nudge {
            repository: repository.to_owned(),
            pr: PrNumber::new(pr),
        }
    }

    #[test]
    fn what_one_process_hears_another_reads_once_under_any_letter_case() {
        let dir = tempfile::tempdir().unwrap();
        let (hears, polls) = (open(&dir), open(&dir));
        hears.nudge(nudge("Octo/Hello", 7)).unwrap();
        hears.nudge(nudge("octo/other", 1)).unwrap();
        let at = Timestamp::from_second(60).unwrap();
        let first = KeptNudge {
            number: 1,
            nudge: nudge("octo/hello", 7),
            at,
        };
        assert_eq!(polls.newer_than(0, "octo/HELLO").unwrap(), [first]);
        assert_eq!(polls.newer_than(1, "octo/hello").unwrap(), []);
        hears.nudge(nudge("octo/hello", 8)).unwrap();
        let later = polls.newer_than(1, "octo/hello").unwrap();
        assert_eq!(later.len(), 1);
        assert_eq!((later[0].number, later[0].nudge.pr.get()), (3, 8));
    }

    #[test]
    fn only_the_newest_are_kept_and_no_number_comes_twice() {
        let dir = tempfile::tempdir().unwrap();
        let nudges = open(&dir);
        let numbers = |nudges: &SqliteNudges| -> Vec<u64> {
            let kept = nudges.newer_than(0, "a/b").unwrap();
            kept.iter().map(|kept| kept.number).collect()
        };
        for pr in 0..5 {
            let at = Timestamp::UNIX_EPOCH;
            let kept = nudges.database.write(|tx| {
                keep(tx, &nudge("a/b", pr), at, 2).unwrap();
                Ok(())
            });
            kept.unwrap();
        }
        assert_eq!(numbers(&nudges), [4, 5]);
        nudges
            .database
            .write(|tx| {
                tx.execute("DELETE FROM nudges", []).unwrap();
                Ok(())
            })
            .unwrap();
        nudges.nudge(nudge("a/b", 9)).unwrap();
        assert_eq!(numbers(&nudges), [6]);
    }
}
