//! Opens the embedded database and migrates it forward.

use super::migrations::MIGRATIONS;
use super::reserve::Reserve;
use crate::files;
use drive_core::problem::{Kind, Problem};
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Marks the file as drive's (`PRAGMA application_id`): the ASCII letters `driv`.
const APPLICATION_ID: i32 = 0x6472_6976;
/// How long a writer waits for another process's transaction, which lasts milliseconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(20);
/// The pause before a retry if SQLite refuses without waiting.
const TURNED_AWAY: Duration = Duration::from_millis(5);

/// The embedded database of one state directory. Any number of processes may open it.
#[derive(Debug)]
pub struct Database {
    connection: Mutex<Connection>,
    path: PathBuf,
    reserve: Reserve,
}

impl Database {
    /// Opens the database, creates it if it is missing, and migrates it to this version.
    pub fn open(path: &Path) -> Result<Self, Problem> {
        make_private(path).map_err(|error| not_private(path, &error))?;
        let connection = Connection::open_with_flags(
            path,
            OpenFlags::SQLITE_OPEN_READ_WRITE
                | OpenFlags::SQLITE_OPEN_CREATE
                | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )
        .map_err(|e| sql_problem(path, e))?;
        let database = Self {
            connection: Mutex::new(connection),
            path: path.to_owned(),
            reserve: Reserve::of(path.parent().unwrap_or(path)),
        };
        database.reserve.make_room();
        database.prepare()?;
        Ok(database)
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `work` in one durable transaction.
    ///
    /// The transaction is immediate, so that what `work` reads cannot change before it writes.
    pub fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        self.transact(&mut self.lock(), work)
    }

    fn transact<T>(
        &self,
        connection: &mut Connection,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        self.reserve.make_room();
        let done = (|| {
            let transaction = connection
                .transaction_with_behavior(TransactionBehavior::Immediate)
                .map_err(|e| self.problem(e))?;
            let value = work(&transaction)?;
            transaction.commit().map_err(|e| self.problem(e))?;
            Ok(value)
        })();
        if matches!(
            &done,
            Err(Problem {
                kind: Kind::DiskFull,
                ..
            })
        ) {
            // A quota is only detected when it is reached. The next attempt finds space.
            self.reserve.give_up();
        }
        done
    }

    /// Like `write`, but without waiting for the disk. All who open the database see the change,
    /// even after this process was killed; only a power cut may undo it, and then the processes
    /// that it concerns have ended too. The next durable transaction makes it durable.
    pub fn write_soon<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let mut connection = self.lock();
        let set = |connection: &Connection, how| {
            let set = connection.pragma_update(None, "synchronous", how);
            set.map_err(|e| self.problem(e))
        };
        set(&connection, "NORMAL")?;
        let done = self.transact(&mut connection, work);
        set(&connection, "FULL")?;
        done
    }

    /// Runs `work` on a consistent view of the database.
    pub fn read<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let mut connection = self.lock();
        let transaction = connection.transaction().map_err(|e| self.problem(e))?;
        work(&transaction)
    }

    /// A number that changes whenever another connection has committed.
    pub fn data_version(&self) -> Result<i64, Problem> {
        self.lock()
            .pragma_query_value(None, "data_version", |row| row.get(0))
            .map_err(|e| self.problem(e))
    }

    /// The problem of an SQLite error, in words for the user.
    pub fn problem(&self, error: rusqlite::Error) -> Problem {
        sql_problem(&self.path, error)
    }

    fn prepare(&self) -> Result<(), Problem> {
        let waits = self.lock().busy_timeout(BUSY_TIMEOUT);
        waits.map_err(|e| self.problem(e))?;
        self.read(|tx| self.refuse_foreign(tx))?;
        self.write_ahead()?;
        // FULL makes each commit durable before the effect that it announces is performed.
        let set = self
            .lock()
            .execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;");
        set.map_err(|e| self.problem(e))?;
        let have = schema_version(&self.lock()).map_err(|e| self.problem(e))?;
        // Only an outdated database is written, and may have to wait.
        if have == MIGRATIONS.len() {
            return Ok(());
        }
        self.write(|tx| self.migrate(tx))
    }

    /// Enables the write-ahead log, which allows readers beside one writer. The first process that opens a
    /// new database enables it, and meanwhile SQLite refuses others at once, whatever their timeout.
    fn write_ahead(&self) -> Result<(), Problem> {
        let until = Instant::now() + BUSY_TIMEOUT;
        loop {
            let set = self.lock().execute_batch("PRAGMA journal_mode = WAL");
            match set {
                Err(error) if is_busy(&error) && Instant::now() < until => sleep(TURNED_AWAY),
                other => return other.map_err(|e| self.problem(e)),
            }
        }
    }

    /// Refuses a file that is not drive's, or that a newer drive wrote.
    fn refuse_foreign(&self, tx: &Transaction<'_>) -> Result<(), Problem> {
        let tables: i64 = tx
            .query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))
            .map_err(|e| self.problem(e))?;
        let application: i32 = pragma(tx, "application_id").map_err(|e| self.problem(e))?;
        let version = schema_version(tx).map_err(|e| self.problem(e))?;
        if tables > 0 && application != APPLICATION_ID {
            return Err(Problem::new(
                Kind::ForeignDatabase,
                format!("`{}` belongs to another program", self.path.display()),
            )
            .hint("move it away, or set `DRIVE_STATE_DIR` to another folder"));
        }
        if version > MIGRATIONS.len() {
            return Err(Problem::new(
                Kind::NewerDatabase,
                format!(
                    "`{}` was written by a newer drive: schema {version}, this one supports up \
                     to {}",
                    self.path.display(),
                    MIGRATIONS.len()
                ),
            )
            .hint("install that version, or set `DRIVE_STATE_DIR` to another folder"));
        }
        Ok(())
    }

    fn migrate(&self, tx: &Transaction<'_>) -> Result<(), Problem> {
        let have = schema_version(tx).map_err(|e| self.problem(e))?;
        for step in &MIGRATIONS[have.min(MIGRATIONS.len())..] {
            tx.execute_batch(step).map_err(|e| self.problem(e))?;
        }
        tx.pragma_update(None, "application_id", APPLICATION_ID)
            .map_err(|e| self.problem(e))?;
        tx.pragma_update(None, "user_version", MIGRATIONS.len() as i64)
            .map_err(|e| self.problem(e))
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ensures that only its owner can read the database, whatever the umask: the file is created like
/// that, and SQLite gives its log and its index the same permissions.
fn make_private(path: &Path) -> io::Result<()> {
    let created = File::options()
        .write(true)
        .create_new(true)
        .mode(PRIVATE)
        .open(path);
    match created {
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        // SQLite reports what is wrong with the folder.
        Err(_) => return Ok(()),
    }
    for ending in ["", "-wal", "-shm"] {
        let mut file = path.as_os_str().to_owned();
        file.push(ending);
        let file = Path::new(&file);
        match fs::metadata(file) {
            Ok(about) if about.is_file() && about.permissions().mode() & 0o077 != 0 => {
                fs::set_permissions(file, fs::Permissions::from_mode(PRIVATE))?;
            }
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

/// Readable and writable only by the owner.
const PRIVATE: u32 = 0o600;

fn not_private(path: &Path, error: &io::Error) -> Problem {
    let at = path.display();
    Problem::new(
        Kind::StateNotWritable,
        format!("the database `{at}` is open to other users and cannot be closed"),
    )
    .because(error)
    .hint(format!("run `chmod 600 {at}` as its owner"))
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

fn pragma<T: rusqlite::types::FromSql>(connection: &Connection, name: &str) -> rusqlite::Result<T> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

fn schema_version(connection: &Connection) -> rusqlite::Result<usize> {
    let version: i64 = pragma(connection, "user_version")?;
    Ok(usize::try_from(version).unwrap_or(0))
}

fn no_room(path: &Path) -> Problem {
    let at = path.display();
    Problem::new(
        Kind::DiskFull,
        format!("no space left for the database `{at}`"),
    )
    .hint("free some space, then run the command again")
}

/// The problem of an SQLite error on the database at `path`, in words for the user.
pub fn sql_problem(path: &Path, error: rusqlite::Error) -> Problem {
    let at = path.display();
    let code = error.sqlite_error_code();
    let problem = match code {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Problem::new(
            Kind::CorruptDatabase,
            format!("the database `{at}` is damaged"),
        )
        .hint(format!(
            "move `{at}` away to start with an empty one; branches, sandboxes and saved work \
             stay in git"
        )),
        Some(ErrorCode::DiskFull) => no_room(path),
        // Opening it needs a little space already, and SQLite does not report that it was missing.
        Some(ErrorCode::SystemIoFailure) if files::is_full(path) => no_room(path),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            Problem::new(
                Kind::StateNotWritable,
                format!("cannot write the database `{at}`"),
            )
            .hint("make its folder writable, or set `DRIVE_STATE_DIR` to another one")
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Problem::new(
            Kind::DatabaseBusy,
            format!(
                "database `{at}` is locked by another \
                                                      process"
            ),
        )
        .hint("wait for the other command to end, then run this one again"),
        _ => Problem::new(Kind::Database, format!("the database `{at}` failed")),
    };
    problem.because(error)
}
