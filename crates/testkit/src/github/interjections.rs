//! People who write between two requests of a client.

use super::Simulator;
use super::state::World;

/// A comment that waits for a request.
#[derive(Clone, Debug)]
pub(crate) struct Interjection {
    method: &'static str,
    path: String,
    repo: String,
    by: String,
    pr: u64,
    body: String,
}

impl Simulator {
    /// A person comments in the moment when the next request of this method arrives whose path ends
    /// so, before it is carried out.
    pub fn comment_before(
        &self,
        (method, path): (&'static str, &str),
        (repo, by, pr): (&str, &str, u64),
        body: &str,
    ) {
        self.lock().interjections.push(Interjection {
            method,
            path: path.to_owned(),
            repo: repo.to_owned(),
            by: by.to_owned(),
            pr,
            body: body.to_owned(),
        });
    }
}

/// Lets those write who wait for this request.
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
