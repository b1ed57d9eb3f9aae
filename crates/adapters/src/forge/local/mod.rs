//! The local forge: pull requests over the plain local repository, in drive's own database.
//!
//! It needs no account and no network. Branches remain in git and are read from there before every operation;
//! the database stores what git cannot. `pulls` and `comments` are the rows, `annotations` belong to them,
//! `branches` updates them from git, `diffs` finds lines in a diff, `merging` makes the merge commit,
//! `operations` serves `drive pr`, and `port` implements the engine's port.

mod annotations;
mod branches;
mod comments;
mod diffs;
mod merging;
mod operations;
mod port;
mod proposal;
mod pulls;
mod sql_text;

pub use merging::MergeTerms;
pub use operations::{CommentTarget, PersonalComment};
pub use port::no_such_branch;
pub use proposal::Wish;

use crate::git::{Call, Git, Touches};
use crate::store::Database;
use drive_core::forge::Author;
use drive_core::problem::{Kind, Problem};
use drive_core::time::Timestamp;
use drive_engine::ports::{Clock, Place};
use rusqlite::{OptionalExtension, Transaction};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name under which drive posts. It is no person, so its comments never start work.
const ACCOUNT: &str = "drive";

/// The forge of one local repository.
pub struct LocalForge {
    database: Arc<Database>,
    git: Git,
    clock: Arc<dyn Clock>,
    git_dir: PathBuf,
    repository: i64,
    user: String,
}

impl LocalForge {
    /// The forge of the repository with this shared git directory. It needs no set-up.
    pub fn open(
        database: Arc<Database>,
        git: Git,
        clock: Arc<dyn Clock>,
        git_dir: &Path,
    ) -> Result<Self, Problem> {
        let repository = require_repository(&database, git_dir)?;
        let user = load_user(&git, git_dir)?;
        Ok(Self {
            database,
            git,
            clock,
            git_dir: git_dir.to_owned(),
            repository,
            user,
        })
    }

    /// The user of this machine, according to git.
    pub fn user(&self) -> &str {
        &self.user
    }

    fn account() -> Author {
        Author {
            login: Some(ACCOUNT.to_owned()),
            is_bot: true,
        }
    }

    /// A git call on refs and objects.
    fn objects(&self) -> Call<'_> {
        self.git
            .call(Place::Checkout(&self.git_dir), Touches::Objects)
    }

    /// A git call that reads file contents; it runs no program that a repository names.
    fn contents(&self) -> Call<'_> {
        self.git
            .call(Place::Checkout(&self.git_dir), Touches::Files)
    }

    fn read<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Problem> {
        self.database
            .read(|tx| work(tx).map_err(|error| self.database.problem(error)))
    }

    fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Problem> {
        self.database
            .write(|tx| work(tx).map_err(|error| self.database.problem(error)))
    }

    /// The time of a change. It is later than every earlier change of this repository, whatever the
    /// clock shows and whichever process asks.
    fn tick(&self, tx: &Transaction<'_>) -> rusqlite::Result<i64> {
        tx.query_row(
            "UPDATE local_repositories SET changed_at = max(changed_at + 1, ?2) WHERE id = ?1
             RETURNING changed_at",
            (self.repository, self.clock.now().as_microsecond()),
            |row| row.get(0),
        )
    }
}

fn instant(microseconds: i64) -> Timestamp {
    Timestamp::from_microsecond(microseconds).unwrap_or(Timestamp::MAX)
}

fn require_repository(database: &Database, git_dir: &Path) -> Result<i64, Problem> {
    let Some(name) = git_dir.to_str() else {
        return Err(Problem::new(
            Kind::UnsupportedPath,
            format!("the path `{}` is not UTF-8", git_dir.display()),
        )
        .hint("move the repository to a folder with a plain name"));
    };
    let known = database.read(|tx| {
        tx.query_row(
            "SELECT id FROM local_repositories WHERE git_dir = ?1",
            [name],
            |row| row.get(0),
        )
        .optional()
        .map_err(|error| database.problem(error))
    })?;
    if let Some(id) = known {
        return Ok(id);
    }
    database.write(|tx| {
        // If another process was faster, this returns its row.
        tx.query_row(
            "INSERT INTO local_repositories (git_dir) VALUES (?1)
             ON CONFLICT (git_dir) DO UPDATE SET git_dir = excluded.git_dir RETURNING id",
            [name],
            |row| row.get(0),
        )
        .map_err(|error| database.problem(error))
    })
}

/// Moves the pull requests of a repository to its new place, unless there are pull requests already.
pub fn relocate(database: &Database, from: &Path, to: &Path) -> Result<(), Problem> {
    let (Some(from), Some(to)) = (from.to_str(), to.to_str()) else {
        return Ok(());
    };
    database.write(|tx| {
        // A command in the new place may have created an empty row.
        tx.execute(
            "DELETE FROM local_repositories WHERE git_dir = ?1
             AND id NOT IN (SELECT repository FROM local_pull_requests)
             AND id NOT IN (SELECT repository FROM local_statuses)
             AND id NOT IN (SELECT repository FROM local_people)",
            [to],
        )
        .map_err(|error| database.problem(error))?;
        tx.execute(
            "UPDATE OR IGNORE local_repositories SET git_dir = ?2 WHERE git_dir = ?1",
            [from, to],
        )
        .map(|_| ())
        .map_err(|error| database.problem(error))
    })
}

fn load_user(git: &Git, git_dir: &Path) -> Result<String, Problem> {
    let name = git
        .call(Place::Checkout(git_dir), Touches::Objects)
        .args(["config", "--get", "user.name"])
        .optional_line()?;
    Ok(name.unwrap_or_else(|| "you".to_owned()))
}
