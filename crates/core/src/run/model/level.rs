//! The acceptance level of a cruise.

use serde::{Deserialize, Serialize};

/// The evidence that a cruise needs before it counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Level {
    /// Every task landed as part of a verified tree.
    Basic,
    /// In addition, every entry that a program checks is proven.
    #[default]
    Functional,
    /// Every entry has evidence.
    Strict,
}

impl Level {
    /// Its name in options and documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Basic => "basic",
            Level::Functional => "functional",
            Level::Strict => "strict",
        }
    }
}
