//! What people ask for from the command line while a cruise runs, or while nobody runs it.

use super::super::effect::EffectResult;
use super::super::forge_act::{ForgeAct, ForgeAnswer};
use super::super::outcome::OutcomeStatus;
use super::ledger::{Entry, Life, is_actionable};
use super::texts::injected_body;
use super::{Approved, Flight, HOLD, Stage};
use crate::Problem;
use crate::forge::CommentKey;
use serde::{Deserialize, Serialize};

/// How the names of comments from the command line begin.
const INJECTED: &str = "injected/";

/// Something a person asks of a cruise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "ask")]
pub enum Ask {
    /// Look at the pull request now, and go on where something waits.
    Poll,
    /// Act on this comment too.
    Comment {
        /// Its own name.
        id: String,
        /// Whose it is.
        author: String,
        /// What it says.
        text: String,
    },
    /// The plan is approved.
    Approve {
        /// By whom.
        by: String,
        /// The commit that was looked at.
        head: String,
    },
    /// End it, keep the work, remove the sandbox.
    Cleanup,
}

/// A comment from the command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Injected {
    /// Its own name.
    pub id: String,
    /// Whose it is.
    pub author: String,
    /// What it says.
    pub text: String,
    /// Whether it is being posted.
    pub posting: bool,
}

impl Flight<'_> {
    pub(super) fn asked(&mut self, ask: Ask) {
        // Once the last words are being said it is too late for anything else.
        if matches!(self.cruise.stage, Stage::Ending { .. }) && ask != Ask::Cleanup {
            return;
        }
        match ask {
            Ask::Poll => self.poll_now(),
            Ask::Comment { id, author, text } => {
                if self.is_known(&id) || !is_actionable(&text) {
                    return;
                }
                self.cruise.injected.push(Injected {
                    id,
                    author,
                    text,
                    posting: false,
                });
                self.active();
                self.post_injected();
            }
            Ask::Approve { by, head } => {
                self.cruise.watch.grant(Approved { by, head });
                self.active();
                // Whoever spoke before the approval is heard before it counts.
                self.cruise.watch.fresh = false;
                self.go_on();
            }
            Ask::Cleanup => {
                let problem = Problem::interrupted("cleaned up on request");
                self.leave(OutcomeStatus::Cancelled, Some(problem));
            }
        }
    }

    /// Whether a comment from the command line stands on the pull request or is about to.
    fn is_known(&self, id: &str) -> bool {
        let name = format!("{INJECTED}{id}");
        let mut posts = self.run.posts.iter();
        posts.any(|post| post.effect.as_str() == name)
            || self.cruise.injected.iter().any(|one| one.id == id)
    }

    /// A person asks: what was held back or failed goes on, and one more round is allowed at the limit.
    fn poll_now(&mut self) {
        self.active();
        self.cruise.watch.backoff.reset();
        self.cruise.hold = None;
        self.run.timers.remove(HOLD);
        if self.cruise.limit.take().is_some() {
            self.cruise.extra_rounds += 1;
        }
        self.try_now();
        self.look();
    }

    /// Comments from the command line are posted first, so that everybody sees what was asked for
    /// and the answer has a place.
    pub(super) fn post_injected(&mut self) {
        if self.run.work.pull_request.is_none() {
            return;
        }
        let mut posts = Vec::new();
        for one in &mut self.cruise.injected {
            if !one.posting {
                one.posting = true;
                let body = injected_body(&one.author, &one.text);
                posts.push((body, format!("{INJECTED}{}", one.id)));
            }
        }
        for (body, proof) in posts {
            self.on_forge(ForgeAct::PostComment { body }, Some(proof));
        }
    }

    pub(super) fn injected_posted(&mut self, proof: Option<&str>, result: EffectResult) {
        let id = proof.and_then(|proof| proof.strip_prefix(INJECTED));
        let mut all = self.cruise.injected.iter();
        let Some(at) = all.position(|one| Some(one.id.as_str()) == id) else {
            return;
        };
        let EffectResult::OnForge {
            answer: ForgeAnswer::Posted { comment },
        } = result
        else {
            // The next look tries again.
            self.cruise.injected[at].posting = false;
            return;
        };
        let one = self.cruise.injected.remove(at);
        self.cruise.ledger.insert(Entry {
            key: CommentKey {
                surface: comment.surface,
                id: comment.id,
                updated_at: self.now,
            },
            author: one.author,
            path: None,
            line: None,
            commit: self.run.work.head_sha.clone(),
            url: None,
            body: one.text,
            seen_at: self.now,
            tries: 0,
            life: Life::Seen,
        });
        self.go_on();
    }
}

/// Whether a post is a comment from the command line.
pub(super) fn is_injected(proof: Option<&str>) -> bool {
    proof.is_some_and(|proof| proof.starts_with(INJECTED))
}
