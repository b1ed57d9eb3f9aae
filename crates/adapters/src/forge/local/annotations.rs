//! Annotations of comments and commits: reactions, statuses, resolved threads; and people's permissions.

use super::LocalForge;
use super::sql_text::SqlText;
use drive_core::Problem;
use drive_core::forge::checks::{Check, CheckSource, CheckState};
use drive_core::forge::{CommentRef, Permission};
use drive_core::ids::CommentId;
use drive_engine::ports::{CommitStatus, Reaction, StatusState};
use rusqlite::OptionalExtension;

/// A login in lowercase, because logins are compared without case.
pub(super) fn folded(login: &str) -> String {
    login.to_lowercase()
}

impl LocalForge {
    /// Sets the permission of a person.
    pub fn set_permission(&self, login: &str, permission: Permission) -> Result<(), Problem> {
        self.write(|tx| {
            tx.execute(
                "INSERT INTO local_people (repository, login, permission) VALUES (?1, ?2, ?3)
                 ON CONFLICT DO UPDATE SET permission = excluded.permission",
                (self.repository, folded(login), permission.sql_text()),
            )
        })?;
        Ok(())
    }

    /// The statuses of a commit, one per context, sorted by context.
    pub fn statuses(&self, sha: &str) -> Result<Vec<(String, StatusState)>, Problem> {
        self.read(|tx| {
            tx.prepare_cached(
                "SELECT context, state FROM local_statuses WHERE repository = ?1 AND sha = ?2
                 ORDER BY context",
            )?
            .query_map((self.repository, sha), |row| {
                let state = StatusState::from_sql_text(1, &row.get::<_, String>(1)?)?;
                Ok((row.get(0)?, state))
            })?
            .collect()
        })
    }

    /// The statuses of a commit, as checks.
    pub(super) fn load_checks(&self, sha: &str) -> Result<Vec<Check>, Problem> {
        self.read(|tx| {
            tx.prepare_cached(
                "SELECT context, state, description FROM local_statuses
                 WHERE repository = ?1 AND sha = ?2",
            )?
            .query_map((self.repository, sha), |row| {
                let description: String = row.get(2)?;
                Ok(Check {
                    name: row.get(0)?,
                    source: CheckSource::Status,
                    state: CheckState::of_status(&row.get::<_, String>(1)?),
                    required: false,
                    url: None,
                    summary: Some(description).filter(|text| !text.is_empty()),
                    failure: None,
                })
            })?
            .collect()
        })
    }

    /// The reactions on a comment.
    pub fn reactions(&self, comment: CommentRef) -> Result<Vec<Reaction>, Problem> {
        self.read(|tx| {
            tx.prepare_cached(
                "SELECT DISTINCT reaction FROM local_reactions WHERE repository = ?1 AND comment = ?2
                 ORDER BY reaction",
            )?
            .query_map((self.repository, comment.id.get()), |row| {
                Reaction::from_sql_text(0, &row.get::<_, String>(0)?)
            })?
            .collect()
        })
    }

    /// Whether the thread of an inline comment is resolved.
    pub fn is_resolved(&self, comment: CommentRef) -> Result<bool, Problem> {
        self.read(|tx| {
            tx.query_row(
                "SELECT first.resolved FROM local_comments AS one
                 JOIN local_comments AS first ON first.repository = one.repository
                     AND first.id = coalesce(one.in_reply_to, one.id)
                 WHERE one.repository = ?1 AND one.id = ?2",
                (self.repository, comment.id.get()),
                |row| row.get(0),
            )
            .optional()
        })
        .map(|resolved| resolved.unwrap_or(false))
    }

    /// The permission of a login. The user of this machine may do everything; anybody else has no
    /// permission unless one is set.
    pub(super) fn permission_of(&self, login: &str) -> Result<Permission, Problem> {
        let login = folded(login);
        if login == folded(self.user()) {
            return Ok(Permission::Admin);
        }
        let known = self.read(|tx| {
            tx.query_row(
                "SELECT permission FROM local_people WHERE repository = ?1 AND login = ?2",
                (self.repository, &login),
                |row| Permission::from_sql_text(0, &row.get::<_, String>(0)?),
            )
            .optional()
        })?;
        Ok(known.unwrap_or(Permission::None))
    }

    pub(super) fn write_status(&self, sha: &str, status: &CommitStatus<'_>) -> Result<(), Problem> {
        self.write(|tx| {
            let at = self.tick(tx)?;
            tx.execute(
                "INSERT INTO local_statuses (repository, sha, context, state, description, updated_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT DO UPDATE SET state = excluded.state,
                     description = excluded.description, updated_at = excluded.updated_at",
                (
                    self.repository,
                    sha,
                    status.context,
                    status.state.sql_text(),
                    status.description,
                    at,
                ),
            )
        })?;
        Ok(())
    }

    pub(super) fn write_reaction(
        &self,
        comment: CommentRef,
        author: &str,
        reaction: Reaction,
    ) -> Result<(), Problem> {
        self.write(|tx| {
            tx.execute(
                "INSERT OR IGNORE INTO local_reactions (repository, comment, author, reaction)
                 VALUES (?1, ?2, ?3, ?4)",
                (
                    self.repository,
                    comment.id.get(),
                    author,
                    reaction.sql_text(),
                ),
            )
        })?;
        Ok(())
    }

    /// Resolves the thread that begins with this comment.
    pub(super) fn resolve_thread(&self, first: CommentId) -> Result<(), Problem> {
        self.write(|tx| {
            tx.execute(
                "UPDATE local_comments SET resolved = 1
                 WHERE repository = ?1 AND id = ?2 AND surface = 'inline'",
                (self.repository, first.get()),
            )
        })?;
        Ok(())
    }
}
