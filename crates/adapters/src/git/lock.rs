//! Finds git lock files that block a ref.

use super::{Answer, Location};
use drive_core::problem::{Kind, Problem};
use std::path::PathBuf;

/// The problem of a call that should change these refs. A killed git leaves its lock, and no other
/// git can tell whether it is still held; in that case the problem names the file.
pub(crate) fn ref_problem(answer: &Answer, location: &Location, refs: &[&str]) -> Problem {
    let common = location.pinned.as_ref().map(|pinned| &pinned.common_dir);
    let lock_of = |name: &&str| -> Option<PathBuf> {
        let lock = common?.join(format!("{name}.lock"));
        lock.symlink_metadata().is_ok().then_some(lock)
    };
    let packed = "packed-refs";
    let Some(lock) = refs.iter().chain([&packed]).find_map(lock_of) else {
        return answer.problem();
    };
    let name = refs.first().copied().unwrap_or(packed);
    Problem::new(Kind::RefLocked, format!("cannot update `{name}`"))
        .cause(answer.complaint())
        .hint(format!(
            "a lock file is in the way; if no git process is running in the repository: `rm '{}'`",
            lock.display()
        ))
}
