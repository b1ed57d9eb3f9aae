//! Permissions of authors: asked of the forge and cached briefly.

use crate::ports::{Clock, Forge};
use drive_core::Problem;
use drive_core::forge::marker::MarkerCheck;
use drive_core::forge::trust::{self, OwnPosts, Trusted, Verdict};
use drive_core::forge::{Author, Comment, Permission};
use drive_core::time::{Timestamp, after};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long an answer is believed: long enough for one batch of comments, short enough that a
/// person who was removed is not listened to for long.
pub const PERMISSION_LIFETIME: Duration = Duration::from_secs(60);

/// Logins remembered at once.
const REMEMBERED: usize = 1024;

/// Asks the forge what people may do. No answer is never taken for a yes, and never remembered.
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

/// What was decided about a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Whether it starts work.
    pub verdict: Verdict,
    /// Why the forge gave no answer, where it was asked and gave none.
    pub problem: Option<Problem>,
}

impl Permissions {
    /// Permissions as this forge tells them.
    pub fn new(forge: Arc<dyn Forge>, clock: Arc<dyn Clock>) -> Self {
        Self {
            forge,
            clock,
            known: Mutex::default(),
        }
    }

    /// Judges one version of one comment. The forge is asked only where its answer decides.
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
        // Only our memory folds letters: how a forge compares names is its own business.
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
    /// A clock that was set back makes an answer old, not eternal.
    fn is_fresh(&self, now: Timestamp) -> bool {
        self.at <= now && now < after(self.at, PERMISSION_LIFETIME)
    }
}

#[cfg(test)]
mod tests;
