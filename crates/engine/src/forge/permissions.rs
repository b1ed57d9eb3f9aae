//! Permissions of authors, read from the forge and cached briefly.

use crate::ports::{Clock, Forge};
use drive_core::Problem;
use drive_core::forge::marker::MarkerCheck;
use drive_core::forge::trust::{self, OwnPosts, Trusted, Verdict};
use drive_core::forge::{Author, Comment, Permission};
use drive_core::time::{Timestamp, after};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long an answer is cached: long enough for one batch of comments, and short enough that a
/// person who lost access is not trusted for long.
pub const PERMISSION_LIFETIME: Duration = Duration::from_secs(60);

/// How many logins are cached.
const REMEMBERED: usize = 1024;

/// Reads people's permissions from the forge. A missing answer never grants anything and is never cached.
pub struct Permissions {
    forge: Arc<dyn Forge>,
    clock: Arc<dyn Clock>,
    known: Mutex<BTreeMap<String, Known>>,
}

#[derive(Clone, Copy)]
struct Known {
    permission: Permission,
    at: Timestamp,
}

/// A decision about a comment's author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Whether the comment starts work.
    pub verdict: Verdict,
    /// Why the forge gave no answer, if it was asked and gave none.
    pub problem: Option<Problem>,
}

impl Permissions {
    /// A cache of this forge's permissions.
    pub fn new(forge: Arc<dyn Forge>, clock: Arc<dyn Clock>) -> Self {
        Self {
            forge,
            clock,
            known: Mutex::default(),
        }
    }

    /// Judges one version of a comment. The forge is only asked if its answer matters.
    pub fn judge(
        &self,
        comment: &Comment,
        trusted: &Trusted,
        own: &OwnPosts,
        marker: &MarkerCheck,
    ) -> Judgement {
        let (permission, problem) = if trust::needs_permission(comment, trusted, own, marker) {
            self.ask(&comment.author)
        } else {
            (None, None)
        };
        Judgement {
            verdict: trust::judge(comment, permission, trusted, own, marker),
            problem,
        }
    }

    /// Whether an opinion counts: its author has write permission or is listed in the settings.
    pub fn judge_author(&self, author: &Author, trusted: &Trusted) -> Judgement {
        let unknown = trust::judge_author(author, None, trusted);
        let (permission, problem) = match unknown {
            Verdict::Ignore(trust::Reason::PermissionUnknown) => self.ask(author),
            Verdict::Ignore(_) | Verdict::Act => (None, None),
        };
        Judgement {
            verdict: trust::judge_author(author, permission, trusted),
            problem,
        }
    }

    /// The permission of an author, or the error of the forge.
    fn ask(&self, author: &Author) -> (Option<Permission>, Option<Problem>) {
        match author.login.as_deref().map(|login| self.of(login)) {
            Some(Ok(permission)) => (Some(permission), None),
            Some(Err(problem)) => (None, Some(problem)),
            None => (None, None),
        }
    }

    /// The cached permission of a login, not older than [`PERMISSION_LIFETIME`].
    pub fn of(&self, login: &str) -> Result<Permission, Problem> {
        // Only the cache ignores letter case; the forge compares names in its own way.
        let name = login.to_lowercase();
        let now = self.clock.now();
        if let Some(known) = self.lock().get(&name).filter(|known| known.is_fresh(now)) {
            return Ok(known.permission);
        }
        let permission = self.forge.permission(login)?;
        self.remember(
            name,
            Known {
                permission,
                at: now,
            },
        );
        Ok(permission)
    }

    fn remember(&self, login: String, answer: Known) {
        let mut known = self.lock();
        if known.len() >= REMEMBERED {
            known.retain(|_, old| old.is_fresh(answer.at));
        }
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(login, answer);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Whether a cached answer is still valid. After the clock was set back, it is not.
    fn is_fresh(&self, now: Timestamp) -> bool {
        self.at <= now && now < after(self.at, PERMISSION_LIFETIME)
    }
}

#[cfg(test)]
mod tests;
