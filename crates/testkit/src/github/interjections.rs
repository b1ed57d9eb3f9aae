//! Comments that people write between two requests of a client.

use super::state::World;

/// A comment that waits for a request.
#[derive(Clone, Debug)]
pub(crate) struct Interjection {
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) repo: String,
    pub(super) by: String,
    pub(super) pr: u64,
    pub(super) body: String,
}

/// Posts the comments that wait for this request.
pub(crate) fn take(
    waiting: &mut Vec<Interjection>,
    world: &mut World,
    (method, path): (&str, &str),
) {
    let is_due = |one: &Interjection| one.method == method && path.ends_with(&one.path);
    let all = std::mem::take(waiting).into_iter();
    let (due, later): (Vec<_>, Vec<_>) = all.partition(is_due);
    *waiting = later;
    for one in due {
        let written = world.comment(&one.repo, one.pr, &one.by, &one.body);
        assert!(written.is_ok(), "could not comment before {method} {path}");
    }
}
