//! The words under which values stand in the database.

use drive_core::forge::{Permission, PrState, ReviewState, Surface};
use drive_engine::ports::{Reaction, StatusState};
use rusqlite::types::Type;

/// A value with a stable word.
pub(super) trait Word: Copy + Sized + 'static {
    /// Every value.
    const ALL: &'static [Self];

    /// The word.
    fn word(self) -> &'static str;

    /// The value of a word; one that nobody wrote is a damaged database.
    fn read(column: usize, word: &str) -> rusqlite::Result<Self> {
        let found = Self::ALL.iter().find(|value| value.word() == word);
        found.copied().ok_or_else(|| {
            let error = format!("`{word}` is not a word of this column");
            rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
        })
    }
}

impl Word for Surface {
    const ALL: &'static [Self] = &[Surface::Conversation, Surface::Inline, Surface::Review];

    fn word(self) -> &'static str {
        match self {
            Surface::Conversation => "conversation",
            Surface::Inline => "inline",
            Surface::Review => "review",
        }
    }
}

impl Word for PrState {
    const ALL: &'static [Self] = &[PrState::Open, PrState::Merged, PrState::Closed];

    fn word(self) -> &'static str {
        match self {
            PrState::Open => "open",
            PrState::Merged => "merged",
            PrState::Closed => "closed",
        }
    }
}

impl Word for ReviewState {
    const ALL: &'static [Self] = &[
        ReviewState::Approved,
        ReviewState::ChangesRequested,
        ReviewState::Commented,
        ReviewState::Dismissed,
    ];

    fn word(self) -> &'static str {
        match self {
            ReviewState::Approved => "approved",
            ReviewState::ChangesRequested => "changesRequested",
            ReviewState::Commented => "commented",
            ReviewState::Dismissed => "dismissed",
        }
    }
}

impl Word for Permission {
    const ALL: &'static [Self] = &[
        Permission::Admin,
        Permission::Write,
        Permission::Read,
        Permission::None,
    ];

    fn word(self) -> &'static str {
        match self {
            Permission::Admin => "admin",
            Permission::Write => "write",
            Permission::Read => "read",
            Permission::None => "none",
        }
    }
}

impl Word for StatusState {
    const ALL: &'static [Self] = &[
        StatusState::Pending,
        StatusState::Success,
        StatusState::Failure,
        StatusState::Error,
    ];

    fn word(self) -> &'static str {
        match self {
            StatusState::Pending => "pending",
            StatusState::Success => "success",
            StatusState::Failure => "failure",
            StatusState::Error => "error",
        }
    }
}

impl Word for Reaction {
    const ALL: &'static [Self] = &[Reaction::Eyes, Reaction::ThumbsUp, Reaction::Confused];

    fn word(self) -> &'static str {
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
    fn a_word_nobody_wrote_is_an_error() {
        assert_eq!(Surface::read(0, "inline"), Ok(Surface::Inline));
        assert!(Surface::read(0, "elsewhere").is_err());
    }
}
