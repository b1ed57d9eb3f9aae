//! The journal in SQLite: one transaction per event, durable before any effect.

use super::{Database, doorbell};
use drive_core::ids::{DedupeKey, EffectKey, RunId};
use drive_core::problem::{Kind, Problem};
use drive_core::process::ProcessMark;
use drive_core::run::{
    EVENT_FORMAT, Effect, Run, STATE_FORMAT, UnreadableFormat, read_event, read_run, write_event,
    write_run,
};
use drive_core::time::Timestamp;
use drive_engine::ports::{
    Append, Appended, Claimed, Entry, Fold, LeaseAnswer, LeaseToken, Liveness, News, Owner,
    RunFilter, Store,
};
use rusqlite::{OptionalExtension, Row, Transaction, params};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The journal of all runs of one state directory.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    database: Arc<Database>,
}

impl SqliteStore {
    /// The journal that is stored in this database.
    pub fn new(database: Arc<Database>) -> Self {
        Self { database }
    }

    fn sql<T>(&self, result: rusqlite::Result<T>) -> Result<T, Problem> {
        result.map_err(|error| self.database.problem(error))
    }

    fn load_row(&self, tx: &Transaction<'_>, run: &RunId) -> Result<Option<(u64, Run)>, Problem> {
        let row = tx
            .query_row(
                "SELECT seq, format, state FROM runs WHERE id = ?1",
                [run.as_str()],
                |row| {
                    Ok((
                        row.get::<_, u64>(0)?,
                        row.get::<_, u32>(1)?,
                        row.get::<_, String>(2)?,
                    ))
                },
            )
            .optional();
        let Some((seq, format, state)) = self.sql(row)? else {
            return Ok(None);
        };
        let state = read_run(format, &state).map_err(|e| unreadable(run, "state", e))?;
        Ok(Some((seq, state)))
    }

    /// Checks that an event which claims a lease comes from the holder of the newest one.
    fn check_fence(&self, tx: &Transaction<'_>, append: &Append<'_>) -> Result<(), Problem> {
        let Some(token) = append.fence else {
            return Ok(());
        };
        if self.holds(tx, append.run, token)? {
            return Ok(());
        }
        Err(Problem::new(
            Kind::LeaseLost,
            format!("another process took over run `{}`", append.run),
        )
        .hint(format!(
            "the other process continues it; see `drive runs show {}`",
            append.run
        )))
    }

    fn holds(&self, tx: &Transaction<'_>, run: &RunId, token: LeaseToken) -> Result<bool, Problem> {
        let current = tx
            .query_row(
                "SELECT token FROM leases WHERE run = ?1 AND owner IS NOT NULL",
                [run.as_str()],
                |row| row.get::<_, u64>(0),
            )
            .optional();
        Ok(self.sql(current)? == Some(token.0))
    }

    /// The state after an event and its position in the journal; no position if the event is stored
    /// already. Writes nothing.
    fn fold_in(
        &self,
        tx: &Transaction<'_>,
        append: &Append<'_>,
        fold: Fold,
    ) -> Result<(Option<u64>, Run), Problem> {
        self.check_fence(tx, append)?;
        let (seq, run) = match self.load_row(tx, append.run)? {
            Some(found) => found,
            None => (0, Run::new(append.run.clone())),
        };
        if self.is_known(tx, append)? {
            return Ok((None, run));
        }
        let folded = fold(run, append.event.clone(), append.at);
        let (run, _) = folded.map_err(|illegal| refused(&illegal.to_string()))?;
        Ok((Some(seq + 1), run))
    }

    fn is_known(&self, tx: &Transaction<'_>, append: &Append<'_>) -> Result<bool, Problem> {
        let found = tx
            .query_row(
                "SELECT 1 FROM events WHERE run = ?1 AND dedupe = ?2",
                [append.run.as_str(), append.dedupe.as_str()],
                |_| Ok(()),
            )
            .optional();
        Ok(self.sql(found)?.is_some())
    }

    fn save(
        &self,
        tx: &Transaction<'_>,
        append: &Append<'_>,
        seq: u64,
        run: &Run,
    ) -> Result<(), Problem> {
        let (id, at) = (run.id.as_str(), append.at.to_string());
        let event = write_event(append.event).map_err(|e| unwritable(&run.id, e))?;
        let state = write_run(run).map_err(|e| unwritable(&run.id, e))?;
        let kind = run
            .request
            .as_ref()
            .map_or("awaiting", |request| request.kind.as_str());
        let written = tx.execute(
            "INSERT INTO events (run, seq, dedupe, format, body, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![id, seq, append.dedupe.as_str(), EVENT_FORMAT, event, at],
        );
        self.sql(written)?;
        let written = tx.execute(
            "INSERT INTO runs (id, seq, format, state, kind, active, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)
             ON CONFLICT (id) DO UPDATE SET seq = ?2, format = ?3, state = ?4, kind = ?5, active = ?6,
                updated_at = ?7",
            params![id, seq, STATE_FORMAT, state, kind, run.is_active(), at],
        );
        self.sql(written)?;
        self.mirror_effects(tx, run)?;
        self.mirror_timers(tx, run)
    }

    /// Makes the outbox equal to the pending effects of the state.
    fn mirror_effects(&self, tx: &Transaction<'_>, run: &Run) -> Result<(), Problem> {
        let id = run.id.as_str();
        for key in self.effect_keys(tx, &run.id)? {
            if !run.wants(&EffectKey::new(key.as_str())) {
                self.sql(tx.execute(
                    "DELETE FROM effects WHERE run = ?1 AND key = ?2",
                    [id, &key],
                ))?;
            }
        }
        for (key, effect) in run.outbox() {
            let body = serde_json::to_string(effect).map_err(|e| unwritable(&run.id, e))?;
            let written = tx.execute(
                "INSERT INTO effects (run, key, body) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
                [id, key.as_str(), &body],
            );
            self.sql(written)?;
        }
        Ok(())
    }

    fn effect_keys(&self, tx: &Transaction<'_>, run: &RunId) -> Result<BTreeSet<String>, Problem> {
        let mut statement =
            self.sql(tx.prepare_cached("SELECT key FROM effects WHERE run = ?1"))?;
        let keys = self.sql(statement.query_map([run.as_str()], |row| row.get(0)))?;
        self.sql(keys.collect())
    }

    fn mirror_timers(&self, tx: &Transaction<'_>, run: &Run) -> Result<(), Problem> {
        let id = run.id.as_str();
        self.sql(tx.execute("DELETE FROM timers WHERE run = ?1", [id]))?;
        for (name, due) in &run.timers {
            let written = tx.execute(
                "INSERT INTO timers (run, name, due_at) VALUES (?1, ?2, ?3)",
                [id, name.as_str(), &due.to_string()],
            );
            self.sql(written)?;
        }
        Ok(())
    }
}

impl Store for SqliteStore {
    fn append(&self, append: &Append<'_>, fold: Fold) -> Result<Appended, Problem> {
        let appended = self.append_all(std::slice::from_ref(append), fold)?.pop();
        // Owners know their own deliveries.
        if append.fence.is_none() {
            doorbell::ring(self.database.path());
        }
        appended.unwrap_or_else(|| Err(refused("nothing was appended")))
    }

    fn append_all(
        &self,
        appends: &[Append<'_>],
        fold: Fold,
    ) -> Result<Vec<Result<Appended, Problem>>, Problem> {
        self.database.write(|tx| {
            let mut all = Vec::new();
            for append in appends {
                all.push(match self.fold_in(tx, append, fold) {
                    Ok((None, run)) => Ok(Appended::Duplicate(Box::new(run))),
                    Ok((Some(seq), run)) => {
                        self.save(tx, append, seq, &run)?;
                        Ok(Appended::Folded(Box::new(run)))
                    }
                    Err(problem) => Err(problem),
                });
            }
            Ok(all)
        })
    }

    fn load(&self, run: &RunId) -> Result<Option<Run>, Problem> {
        self.database
            .read(|tx| Ok(self.load_row(tx, run)?.map(|(_, run)| run)))
    }

    fn list(&self, filter: RunFilter, limit: u32) -> Result<Vec<Run>, Problem> {
        let sql = match filter {
            RunFilter::All => {
                "SELECT id, format, state FROM runs ORDER BY created_at DESC, id DESC LIMIT ?1"
            }
            RunFilter::Active => {
                "SELECT id, format, state FROM runs WHERE active = 1
                 ORDER BY created_at DESC, id DESC LIMIT ?1"
            }
            RunFilter::Untold => {
                "SELECT id, format, state FROM runs
                 WHERE active = 0 AND id IN (SELECT run FROM effects) LIMIT ?1"
            }
        };
        self.database.read(|tx| {
            let mut statement = self.sql(tx.prepare_cached(sql))?;
            let rows = self.sql(statement.query_map([limit], |row| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get::<_, u32>(1)?,
                    row.get::<_, String>(2)?,
                ))
            }))?;
            rows.map(|row| {
                let (id, format, state) = self.sql(row)?;
                read_run(format, &state).map_err(|e| unreadable(&RunId::new(id), "state", e))
            })
            .collect()
        })
    }

    fn journal(&self, run: &RunId) -> Result<Vec<Entry>, Problem> {
        self.database.read(|tx| {
            let mut statement = self.sql(tx.prepare_cached(
                "SELECT seq, dedupe, format, body, at FROM events WHERE run = ?1 ORDER BY seq",
            ))?;
            let rows = self.sql(statement.query_map([run.as_str()], entry_row))?;
            rows.map(|row| read_entry(run, self.sql(row)?)).collect()
        })
    }

    fn news(&self, mark: u64) -> Result<News, Problem> {
        self.database.read(|tx| {
            let last: Option<u64> =
                self.sql(tx.query_row("SELECT max(rowid) FROM events", [], |row| row.get(0)))?;
            let last = last.unwrap_or_default();
            let mut runs = Vec::new();
            if last > mark {
                let mut statement = self
                    .sql(tx.prepare_cached("SELECT DISTINCT run FROM events WHERE rowid > ?1"))?;
                let rows = self.sql(statement.query_map([mark], |row| row.get::<_, String>(0)))?;
                for row in rows {
                    runs.push(RunId::new(self.sql(row)?));
                }
            }
            Ok(News { runs, mark: last })
        })
    }

    fn listen(&self, wake: Box<dyn Fn() + Send>) -> Option<Box<dyn Send>> {
        let listening = doorbell::listen(self.database.path(), wake)?;
        Some(Box::new(listening))
    }

    fn claim(&self, run: &RunId, token: LeaseToken) -> Result<Vec<Claimed>, Problem> {
        self.database.write_soon(|tx| {
            if !self.holds(tx, run, token)? {
                return Ok(Vec::new());
            }
            let mut statement = self.sql(tx.prepare_cached(
                "UPDATE effects SET attempts = attempts + 1, claimed_by = ?2
                 WHERE run = ?1 AND claimed_by != ?2 RETURNING key, body, attempts",
            ))?;
            let rows = self.sql(statement.query_map(params![run.as_str(), token.0], |row| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get::<_, String>(1)?,
                    row.get::<_, u32>(2)?,
                ))
            }))?;
            let mut claimed = Vec::new();
            for row in rows {
                let (key, body, attempt) = self.sql(row)?;
                let effect: Effect = serde_json::from_str(&body).map_err(|source| {
                    unreadable(
                        run,
                        "outbox",
                        UnreadableFormat::Damaged {
                            format: EVENT_FORMAT,
                            source,
                        },
                    )
                })?;
                claimed.push(Claimed {
                    key: EffectKey::new(key),
                    effect,
                    attempt,
                });
            }
            Ok(claimed)
        })
    }

    fn acquire(
        &self,
        run: &RunId,
        owner: &Owner,
        now: Timestamp,
        expires_at: Timestamp,
        liveness: &dyn Fn(&Owner) -> Liveness,
    ) -> Result<LeaseAnswer, Problem> {
        let mine = serde_json::to_string(owner).map_err(|e| unwritable(run, e))?;
        self.database.write_soon(|tx| {
            let current = self.sql(
                tx.query_row(
                    "SELECT owner, token, expires_at FROM leases WHERE run = ?1",
                    [run.as_str()],
                    lease_row,
                )
                .optional(),
            )?;
            let mut token = 1;
            if let Some((holder, last, until)) = current {
                if let Some(holder) = holder
                    && let Some(held) = still_held(&holder, &until, now, liveness)
                {
                    return Ok(held);
                }
                token = last + 1;
            }
            self.sql(tx.execute(
                "INSERT INTO leases (run, owner, token, expires_at) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (run) DO UPDATE SET owner = ?2, token = ?3, expires_at = ?4",
                params![run.as_str(), mine, token, expires_at.to_string()],
            ))?;
            Ok(LeaseAnswer::Granted(LeaseToken(token)))
        })
    }

    fn owner(&self, run: &RunId) -> Result<Option<Owner>, Problem> {
        self.database.read(|tx| {
            let holder = tx
                .query_row(
                    "SELECT owner FROM leases WHERE run = ?1",
                    [run.as_str()],
                    |row| row.get::<_, Option<String>>(0),
                )
                .optional();
            let holder = self.sql(holder)?.flatten();
            Ok(holder.and_then(|holder| serde_json::from_str(&holder).ok()))
        })
    }

    fn renew(
        &self,
        run: &RunId,
        token: LeaseToken,
        expires_at: Timestamp,
    ) -> Result<bool, Problem> {
        self.database.write_soon(|tx| {
            let changed = self.sql(tx.execute(
                "UPDATE leases SET expires_at = ?3 WHERE run = ?1 AND token = ?2 AND owner IS NOT NULL",
                params![run.as_str(), token.0, expires_at.to_string()],
            ))?;
            Ok(changed == 1)
        })
    }

    fn release(&self, run: &RunId, token: LeaseToken) -> Result<(), Problem> {
        self.database.write_soon(|tx| {
            self.sql(tx.execute(
                "UPDATE leases SET owner = NULL WHERE run = ?1 AND token = ?2",
                params![run.as_str(), token.0],
            ))?;
            Ok(())
        })
    }
}

fn refused(why: &str) -> Problem {
    Problem::new(Kind::IllegalEvent, why).hint(
        "this is a bug in drive; please report it \
                                                (nothing was written)",
    )
}

/// The answer to a request for a lease that another live owner holds; `None` if the lease may be taken.
fn still_held(
    holder: &str,
    until: &str,
    now: Timestamp,
    liveness: &dyn Fn(&Owner) -> Liveness,
) -> Option<LeaseAnswer> {
    // An unreadable time counts as expired.
    let expires_at: Timestamp = until.parse().ok()?;
    // An unreadable holder, perhaps written by a newer drive, is not proven dead: its lease expires
    // by itself.
    let (owner, lives) = match serde_json::from_str(holder) {
        Ok(owner) => {
            let lives = liveness(&owner);
            (owner, lives)
        }
        Err(_) => (unreadable_owner(), Liveness::Unknown),
    };
    let taken = match lives {
        Liveness::Alive => true,
        Liveness::Dead => false,
        Liveness::Unknown => expires_at > now,
    };
    taken.then_some(LeaseAnswer::Held { owner, expires_at })
}

fn unreadable_owner() -> Owner {
    Owner {
        machine: "unknown".to_owned(),
        boot: String::new(),
        process: ProcessMark {
            pid: 0,
            start_ticks: 0,
        },
    }
}

fn lease_row(row: &Row<'_>) -> rusqlite::Result<(Option<String>, u64, String)> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
}

type EntryRow = (u64, String, u32, String, String);

fn entry_row(row: &Row<'_>) -> rusqlite::Result<EntryRow> {
    Ok((
        row.get(0)?,
        row.get(1)?,
        row.get(2)?,
        row.get(3)?,
        row.get(4)?,
    ))
}

fn read_entry(run: &RunId, (seq, dedupe, format, body, at): EntryRow) -> Result<Entry, Problem> {
    let event = read_event(format, &body).map_err(|e| unreadable(run, "journal", e))?;
    let at = at.parse().map_err(|_| {
        Problem::new(
            Kind::CorruptDatabase,
            format!("the journal of run `{run}` has no time at {seq}"),
        )
    })?;
    Ok(Entry {
        seq,
        event,
        dedupe: DedupeKey::new(dedupe),
        at,
    })
}

fn unreadable(run: &RunId, what: &str, error: UnreadableFormat) -> Problem {
    let kind = match error {
        UnreadableFormat::Newer { .. } => Kind::NewerDatabase,
        UnreadableFormat::Damaged { .. } => Kind::CorruptDatabase,
    };
    Problem::new(kind, format!("cannot read the {what} of run `{run}`"))
        .because(error)
        .hint("use the version of drive that wrote it")
}

fn unwritable(run: &RunId, error: serde_json::Error) -> Problem {
    Problem::new(Kind::NotUtf8, format!("a path of run `{run}` is not UTF-8"))
        .because(error)
        .hint("rename the folder so that its path is UTF-8")
}
