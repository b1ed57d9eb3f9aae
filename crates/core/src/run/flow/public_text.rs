//! Reasons, as other people may read them.

use super::super::model::Run;

/// Why something failed, without paths of this machine: the sandbox by the id of its run, homes as `~`. What
/// is cut to fit must have lost them before, and lines of tables as well.
pub(in crate::run) fn public(text: &str, run: &Run) -> String {
    run.known_paths().hide(text)
}
