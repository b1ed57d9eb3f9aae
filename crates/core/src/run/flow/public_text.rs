//! Removes private paths from texts that other people read.

use super::super::model::Run;

/// A text without paths of this machine: the sandbox is replaced by the id of its run, homes by
/// `~`. Texts must be replaced before they are cut to fit or put into tables.
pub(in crate::run) fn public(text: &str, run: &Run) -> String {
    run.known_paths().hide(text)
}
