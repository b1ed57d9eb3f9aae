//! Reasons, as other people may read them.

use super::super::model::Run;
use crate::private_paths::without_private_paths;

/// Why something failed, without paths of this machine: the sandbox by the id of its run, homes as `~`.
pub(in crate::run) fn public(text: &str, run: &Run) -> String {
    let sandbox = run.sandboxes.values().next();
    let path = sandbox.map(|one| one.path.to_string_lossy());
    without_private_paths(text, path.as_deref().map(|path| (path, run.id.as_str())))
}
