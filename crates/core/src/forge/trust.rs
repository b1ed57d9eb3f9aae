//! Decides whose comments start work.
//!
//! On a public repository, strangers can comment, and text that reaches a prompt can act as an
//! instruction. Only authors with write permission, or named in the settings, are trusted. Other
//! comments are recorded and shown with the reason, and reach no agent.

use super::marker::MarkerCheck;
use super::{Author, Comment, CommentRef, Permission};
use crate::ids::EffectKey;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// Whether one version of a comment starts work. An edited comment is a new version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// The author is trusted.
    Act,
    /// The comment is stored, shown as ignored, and never put into a prompt.
    Ignore(Reason),
}

/// Why a comment is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "IgnoreReason")]
pub enum Reason {
    /// Drive wrote it.
    Own,
    /// It may be one of drive's own posts; judged again later.
    // It ends with a marker of ours under another text, and that marker's post is not recorded yet.
    MaybeOwn,
    /// Its account was deleted.
    NoAuthor,
    /// A bot or an app that the settings do not list.
    UnlistedBot,
    /// Its author may not push to the repository.
    NoWritePermission,
    /// The forge did not report the author's permission; judged again later.
    PermissionUnknown,
}

impl Reason {
    /// Whether this version of the comment need not be judged again. A forge that failed to answer
    /// must not make drive lose a maintainer's comment.
    pub fn is_final(self) -> bool {
        match self {
            Reason::Own | Reason::NoAuthor | Reason::UnlistedBot | Reason::NoWritePermission => {
                true
            }
            Reason::MaybeOwn | Reason::PermissionUnknown => false,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Own => "written by drive",
            Reason::MaybeOwn => "it ends with a marker of drive that is not recorded",
            Reason::NoAuthor => "its account was deleted",
            Reason::UnlistedBot => "a bot that `forge.trusted` does not list",
            Reason::NoWritePermission => "its author has no write permission",
            Reason::PermissionUnknown => "the permission of its author is not known yet",
        })
    }
}

/// The end of the login of an app's bot.
const BOT: &str = "[bot]";

/// Logins whose comments count in addition to those with write permission. Letter case is ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trusted(BTreeSet<String>);

impl Trusted {
    /// The logins of the settings' list; an `@` before a name is ignored.
    pub fn new<S: AsRef<str>>(logins: impl IntoIterator<Item = S>) -> Self {
        let names = logins.into_iter().map(|login| {
            let login = login.as_ref().trim();
            login.strip_prefix('@').unwrap_or(login).to_lowercase()
        });
        Self(names.filter(|name| !name.is_empty()).collect())
    }

    /// Whether this login is listed. The name of an app covers its bot, because only an
    /// administrator can let an app write here.
    pub fn contains(&self, login: &str) -> bool {
        let login = login.to_lowercase();
        let app = login.strip_suffix(BOT);
        self.0.contains(&login) || app.is_some_and(|app| self.0.contains(app))
    }
}

const LINE: &str = "/line/";

/// The end of the name of a review's effect, for the comment on the `n`th of its lines.
pub fn part_of_line(n: usize) -> String {
    format!("{LINE}{n}")
}

/// All posts that drive is known to have made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnPosts {
    comments: BTreeSet<CommentRef>,
    effects: BTreeSet<EffectKey>,
}

impl OwnPosts {
    /// Records a post of an effect.
    pub fn record(&mut self, comment: CommentRef, effect: EffectKey) {
        self.comments.insert(comment);
        self.effects.insert(effect);
    }

    /// Whether the posts of this effect, or of the review that it is a part of, are known.
    fn knows(&self, effect: &EffectKey) -> bool {
        let whole = effect.as_str().rsplit_once(LINE).filter(|(_, n)| {
            let is_number = n.bytes().all(|byte| byte.is_ascii_digit());
            is_number && !n.is_empty()
        });
        let whole = whole.map(|(whole, _)| EffectKey::new(whole));
        self.effects.contains(effect) || whole.is_some_and(|whole| self.effects.contains(&whole))
    }

    /// Whether drive posted the comment.
    pub fn contains(&self, comment: CommentRef) -> bool {
        self.comments.contains(&comment)
    }
}

/// Whether the author's permission matters at all. If not, the request for it is saved.
pub fn needs_permission(
    comment: &Comment,
    trusted: &Trusted,
    own: &OwnPosts,
    marker: &MarkerCheck,
) -> bool {
    let unknown = judge(comment, None, trusted, own, marker);
    unknown == Verdict::Ignore(Reason::PermissionUnknown)
}

/// Judges one version of a comment. `permission` is the forge's current answer; `None` if it gave none.
pub fn judge(
    comment: &Comment,
    permission: Option<Permission>,
    trusted: &Trusted,
    own: &OwnPosts,
    marker: &MarkerCheck,
) -> Verdict {
    if let Some(reason) = ours(comment.key.comment(), own, marker) {
        return Verdict::Ignore(reason);
    }
    judge_author(&comment.author, permission, trusted)
}

/// Judges an author, whatever they wrote. For an approval this suffices, because drive never approves.
pub fn judge_author(author: &Author, permission: Option<Permission>, trusted: &Trusted) -> Verdict {
    let Some(login) = known_login(author) else {
        return Verdict::Ignore(Reason::NoAuthor);
    };
    if trusted.contains(login) {
        return Verdict::Act;
    }
    if is_bot(author) {
        return Verdict::Ignore(Reason::UnlistedBot);
    }
    match permission {
        Some(Permission::Admin | Permission::Write) => Verdict::Act,
        Some(Permission::Read | Permission::None) => Verdict::Ignore(Reason::NoWritePermission),
        None => Verdict::Ignore(Reason::PermissionUnknown),
    }
}

fn ours(comment: CommentRef, own: &OwnPosts, marker: &MarkerCheck) -> Option<Reason> {
    if own.contains(comment) {
        return Some(Reason::Own);
    }
    match marker {
        MarkerCheck::Ours(_) => Some(Reason::Own),
        // The post of this effect is known and is another comment, so this one is a copy.
        MarkerCheck::Altered(claim) if own.knows(&claim.key) => None,
        MarkerCheck::Altered(_) => Some(Reason::MaybeOwn),
        MarkerCheck::Invalid | MarkerCheck::Absent => None,
    }
}

/// The author's login, if it is known. `ghost` is the account that GitHub shows instead of a deleted one.
fn known_login(author: &Author) -> Option<&str> {
    let login = author.login.as_deref()?.trim();
    (!login.is_empty() && !login.eq_ignore_ascii_case("ghost")).then_some(login)
}

/// Whether the author is a program.
pub fn is_bot(author: &Author) -> bool {
    let named_so = |login: &String| login.to_lowercase().ends_with(BOT);
    author.is_bot || author.login.as_ref().is_some_and(named_so)
}

#[cfg(test)]
mod tests;
