//! Cached forge answers and the request budgets of tokens, shared by all processes on this machine.

use super::Database;
use crate::forge::github::{Budgets, CACHE_ENTRIES, CacheKey, CachedAnswer, HttpCache};
use drive_core::Problem;
use drive_core::forge::RequestBudget;
use drive_core::forge::rate_limit::{self, Turn};
use drive_core::time::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction};
use std::sync::Arc;
use std::time::Duration;

/// The memory in one state directory.
#[derive(Clone, Debug)]
pub struct SqliteForgeMemory {
    database: Arc<Database>,
}

impl SqliteForgeMemory {
    /// The cache and budgets that are stored in this database.
    pub fn new(database: Arc<Database>) -> Self {
        Self { database }
    }

    fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Problem> {
        let database = &self.database;
        database.write(|tx| work(tx).map_err(|error| database.problem(error)))
    }

    fn read<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Problem> {
        let database = &self.database;
        database.read(|tx| work(tx).map_err(|error| database.problem(error)))
    }
}

impl HttpCache for SqliteForgeMemory {
    fn load(&self, key: &CacheKey) -> Result<Option<CachedAnswer>, Problem> {
        self.read(|tx| {
            tx.query_row(
                "SELECT etag, value, next FROM forge_answers WHERE token = ?1 AND url = ?2",
                (&key.token, &key.url),
                |row| {
                    Ok(CachedAnswer {
                        etag: row.get(0)?,
                        value: row.get(1)?,
                        next: row.get(2)?,
                    })
                },
            )
            .optional()
        })
    }

    fn store(&self, key: &CacheKey, answer: &CachedAnswer) -> Result<(), Problem> {
        self.write(|tx| {
            // A replaced row gets a new number, so the smallest numbers belong to the oldest answers.
            tx.execute(
                "INSERT OR REPLACE INTO forge_answers (token, url, etag, value, next) VALUES (?1, ?2, ?3, ?4, ?5)",
                (&key.token, &key.url, &answer.etag, &answer.value, &answer.next),
            )?;
            tx.execute(
                "DELETE FROM forge_answers WHERE rowid <= (SELECT max(rowid) FROM forge_answers) - ?1",
                [i64::try_from(CACHE_ENTRIES).unwrap_or(i64::MAX)],
            )?;
            Ok(())
        })
    }
}

impl Budgets for SqliteForgeMemory {
    fn load(&self, token: &str) -> Result<Option<RequestBudget>, Problem> {
        self.read(|tx| {
            tx.query_row(
                "SELECT most, remaining, resets_at, paused_until FROM forge_budgets WHERE token = ?1",
                [token],
                budget,
            )
            .optional()
        })
    }

    fn store(&self, token: &str, budget: &RequestBudget) -> Result<(), Problem> {
        self.write(|tx| {
            tx.execute(
                "INSERT OR REPLACE INTO forge_budgets (token, most, remaining, resets_at, paused_until) VALUES (?1, ?2, ?3, ?4, ?5)",
                (
                    token,
                    i64::try_from(budget.limit).unwrap_or(i64::MAX),
                    i64::try_from(budget.remaining).unwrap_or(i64::MAX),
                    budget.resets_at.as_second(),
                    budget.paused_until.map(|at| at.as_millisecond()),
                ),
            )
            .map(|_| ())
        })
    }

    fn next_write(&self, token: &str, now: Timestamp) -> Result<Timestamp, Problem> {
        self.read(|tx| {
            let booked = booked(tx, token)?;
            Ok(rate_limit::next_write(&booked, now).at())
        })
    }

    fn book_write(&self, token: &str, now: Timestamp) -> Result<Turn, Problem> {
        self.write(|tx| {
            let millis = |wait: Duration| i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
            let longest = rate_limit::WINDOWS.map(|(_, window)| millis(window));
            let oldest = longest.into_iter().max().unwrap_or(0);
            let now_millis = now.as_millisecond();
            tx.execute(
                "DELETE FROM forge_writes WHERE at < ?1 OR at > ?2",
                (
                    now_millis.saturating_sub(oldest),
                    now_millis.saturating_add(millis(rate_limit::LONGEST_BOOKED)),
                ),
            )?;
            let booked = booked(tx, token)?;
            let turn = rate_limit::next_write(&booked, now);
            if let Turn::Booked(at) = turn {
                tx.execute(
                    "INSERT INTO forge_writes (token, at) VALUES (?1, ?2)",
                    (token, at.as_millisecond()),
                )?;
            }
            Ok(turn)
        })
    }
}

/// The newest writes of a token, newest first.
fn booked(tx: &Transaction<'_>, token: &str) -> rusqlite::Result<Vec<Timestamp>> {
    let booked: Vec<i64> = tx
        .prepare("SELECT at FROM forge_writes WHERE token = ?1 ORDER BY at DESC LIMIT ?2")?
        .query_map((token, rate_limit::MOST_REMEMBERED as i64), |row| {
            row.get(0)
        })?
        .collect::<Result<_, _>>()?;
    Ok(booked.into_iter().map(instant).collect())
}

fn budget(row: &Row<'_>) -> rusqlite::Result<RequestBudget> {
    let count = |at| -> rusqlite::Result<u64> {
        let count: i64 = row.get(at)?;
        Ok(u64::try_from(count).unwrap_or(0))
    };
    let resets_at: i64 = row.get(2)?;
    let paused_until: Option<i64> = row.get(3)?;
    Ok(RequestBudget {
        limit: count(0)?,
        remaining: count(1)?,
        resets_at: Timestamp::from_second(resets_at).unwrap_or(Timestamp::UNIX_EPOCH),
        paused_until: paused_until.map(instant),
    })
}

fn instant(millisecond: i64) -> Timestamp {
    Timestamp::from_millisecond(millisecond).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forge::github::MemoryBudgets;

    fn open(dir: &tempfile::TempDir) -> SqliteForgeMemory {
        let database = Database::open(&dir.path().join("drive.sqlite3")).unwrap();
        SqliteForgeMemory::new(Arc::new(database))
    }

    fn key(token: &str, url: &str) -> CacheKey {
        CacheKey {
            token: token.to_owned(),
            url: url.to_owned(),
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn answers_outlive_the_process_and_belong_to_their_token() {
        let dir = tempfile::tempdir().unwrap();
        let answer = CachedAnswer {
            etag: "W/\"1\"".to_owned(),
            value: "[]".to_owned(),
            next: Some("https://api.github.com/x?page=2".to_owned()),
        };
        let before = open(&dir);
        HttpCache::store(&before, &key("a", "x"), &answer).unwrap();
        drop(before);
        let after = open(&dir);
        assert_eq!(
            HttpCache::load(&after, &key("a", "x")).unwrap(),
            Some(answer)
        );
        assert_eq!(HttpCache::load(&after, &key("b", "x")).unwrap(), None);
    }

    #[test]
    fn two_processes_book_writes_apart_from_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (open(&dir), open(&dir));
        let slots: Vec<i64> = (0..7)
            .map(|n| {
                let process = if n % 2 == 0 { &one } else { &other };
                book(process, 100)
            })
            .collect();
        assert_eq!(slots, [100, 100, 100, 100, 100, 101, 102]);
        assert_eq!(one.book_write("b", at(100)).unwrap(), Turn::Booked(at(100)));
    }

    /// Both implementations, in the database and in memory, must satisfy the same tests.
    fn both(dir: &tempfile::TempDir) -> [Box<dyn Budgets>; 2] {
        [Box::new(open(dir)), Box::new(MemoryBudgets::default())]
    }

    fn book(budgets: &dyn Budgets, second: i64) -> i64 {
        budgets
            .book_write("a", at(second))
            .unwrap()
            .at()
            .as_second()
    }

    #[test]
    fn a_clock_that_is_set_back_blocks_no_write() {
        let dir = tempfile::tempdir().unwrap();
        for budgets in both(&dir) {
            let times = [10_000, 6_400, 6_400, 6_400, 6_400, 6_400, 6_400];
            let slots = times.map(|now| book(budgets.as_ref(), now));
            assert_eq!(slots, [10_000, 6_400, 6_400, 6_400, 6_400, 6_400, 6_401]);
        }
    }

    #[test]
    fn a_write_that_has_to_wait_too_long_takes_nobodys_place() {
        let dir = tempfile::tempdir().unwrap();
        for budgets in both(&dir) {
            let slots: Vec<i64> = (0..200).map(|_| book(budgets.as_ref(), 1_000)).collect();
            let expected: Vec<i64> = (0..200)
                .map(|n: i64| 1_000 + (n - 4).clamp(0, 21))
                .collect();
            assert_eq!(slots, expected);
            assert_eq!(book(budgets.as_ref(), 1_130), 1_130);
        }
    }

    #[test]
    fn no_hour_holds_more_writes_than_the_forge_takes() {
        let dir = tempfile::tempdir().unwrap();
        for budgets in both(&dir) {
            let (mut now, mut sent) = (1_000, Vec::new());
            while sent.len() < 600 {
                let turn = budgets.book_write("a", at(now)).unwrap();
                if let Turn::Booked(at) = turn {
                    sent.push(at.as_second());
                }
                now = turn.at().as_second();
            }
            let most = sent.iter().map(|start| {
                let hour = *start..*start + 3_600;
                sent.iter().filter(|at| hour.contains(at)).count()
            });
            assert_eq!(most.max(), Some(500));
        }
    }

    #[test]
    fn two_processes_see_one_budget() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (open(&dir), open(&dir));
        assert_eq!(Budgets::load(&other, "a").unwrap(), None);
        let budget = RequestBudget {
            limit: 5000,
            remaining: 42,
            resets_at: at(3600),
            paused_until: Some(at(60)),
        };
        Budgets::store(&one, "a", &budget).unwrap();
        assert_eq!(Budgets::load(&other, "a").unwrap(), Some(budget));
    }
}
