//! Text of enum values in the database.

use drive_core::forge::{Permission, PrState, ReviewState, Surface};
use drive_core::ids::{BranchName, CommitSha};
use drive_engine::ports::{Reaction, StatusState};
use rusqlite::types::Type;

/// An enum that is stored as text. The text of a value never changes.
pub(super) trait SqlText: Copy + Sized + 'static {
    const ALL: &'static [Self];

    fn sql_text(self) -> &'static str;

    /// Parses a column; an unknown text means that the database is damaged.
    fn from_sql_text(column: usize, text: &str) -> rusqlite::Result<Self> {
        let found = Self::ALL.iter().find(|value| value.sql_text() == text);
        found.copied().ok_or_else(|| {
            let error = format!("`{text}` is not a value of this column");
            rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
        })
    }
}

/// Parses a column with a branch; a name that git refuses means that the database is damaged.
pub(super) fn branch_from_sql(column: usize, text: &str) -> rusqlite::Result<BranchName> {
    BranchName::parse(text).map_err(|problem| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, problem.into())
    })
}

/// Parses a column with a commit; anything but a full id means that the database is damaged.
pub(super) fn sha_from_sql(column: usize, text: &str) -> rusqlite::Result<CommitSha> {
    CommitSha::parse(text).ok_or_else(|| {
        let error = format!("`{text}` is not the id of a commit");
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
    })
}

impl SqlText for Surface {
    const ALL: &'static [Self] = &[Surface::Conversation, Surface::Inline, Surface::Review];

    fn sql_text(self) -> &'static str {
        match self {
            Surface::Conversation => "conversation",
            Surface::Inline => "inline",
            Surface::Review => "review",
        }
    }
}

impl SqlText for PrState {
    const ALL: &'static [Self] = &[PrState::Open, PrState::Merged, PrState::Closed];

    fn sql_text(self) -> &'static str {
        match self {
            PrState::Open => "open",
            PrState::Merged => "merged",
            PrState::Closed => "closed",
        }
    }
}

impl SqlText for ReviewState {
    const ALL: &'static [Self] = &[
        ReviewState::Approved,
        ReviewState::ChangesRequested,
        ReviewState::Commented,
        ReviewState::Dismissed,
    ];

    fn sql_text(self) -> &'static str {
        match self {
            ReviewState::Approved => "approved",
            ReviewState::ChangesRequested => "changesRequested",
            ReviewState::Commented => "commented",
            ReviewState::Dismissed => "dismissed",
        }
    }
}

impl SqlText for Permission {
    const ALL: &'static [Self] = &[
        Permission::Admin,
        Permission::Write,
        Permission::Read,
        Permission::None,
    ];

    fn sql_text(self) -> &'static str {
        match self {
            Permission::Admin => "admin",
            Permission::Write => "write",
            Permission::Read => "read",
            Permission::None => "none",
        }
    }
}

impl SqlText for StatusState {
    const ALL: &'static [Self] = &[
        StatusState::Pending,
        StatusState::Success,
        StatusState::Failure,
        StatusState::Error,
    ];

    fn sql_text(self) -> &'static str {
        match self {
            StatusState::Pending => "pending",
            StatusState::Success => "success",
            StatusState::Failure => "failure",
            StatusState::Error => "error",
        }
    }
}

impl SqlText for Reaction {
    const ALL: &'static [Self] = &[Reaction::Eyes, Reaction::ThumbsUp, Reaction::Confused];

    fn sql_text(self) -> &'static str {
        match self {
            Reaction::Eyes => "eyes",
            Reaction::ThumbsUp => "thumbsUp",
            Reaction::Confused => "confused",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_text_is_an_error() {
        assert_eq!(Surface::from_sql_text(0, "inline"), Ok(Surface::Inline));
        assert!(Surface::from_sql_text(0, "elsewhere").is_err());
    }

    #[test]
    fn text_that_is_no_full_id_names_no_commit() {
        let full = "a".repeat(40);
        assert_eq!(sha_from_sql(0, &full), Ok(CommitSha::new(full.clone())));
        for text in ["", "HEAD", "abcdef0", &full[1..]] {
            assert!(sha_from_sql(0, text).is_err(), "{text:?}");
        }
    }
}
