//! Whether the user's git signs commits.

use super::call::load_config;
use super::config::last;
use super::{Git, Location};
use drive_engine::ports::Place;
use std::path::Path;

impl Git {
    /// Whether commits in the repository of `folder` are signed, as its settings and the user's say.
    pub fn signs_commits(&self, folder: &Path) -> bool {
        let location = Location::of(Place::Checkout(folder));
        let entries = load_config(self, &location).unwrap_or_default();
        let value = last(&entries, "commit.gpgsign").map(str::to_lowercase);
        matches!(value.as_deref(), Some("true" | "yes" | "on" | "1" | ""))
    }
}
