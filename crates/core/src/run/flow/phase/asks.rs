//! Requests from the command line to a phase, with or without an owner.

use super::super::super::model::{
    Approved, Ask, EffectResult, Entry, ForgeAct, ForgeAnswer, Injected, Life, Pause, PostKey,
    Stage, Timer, is_actionable,
};
use super::PhaseFlow;
use super::texts::injected_body;
use crate::agent::Budget;
use crate::forge::CommentVersion;
use crate::problem::{Kind, Problem};

impl PhaseFlow<'_> {
    pub(in crate::run) fn asked(&mut self, ask: Ask) {
        // While the closing posts are made, only a cleanup still applies, or a budget with which
        // the run can be resumed.
        if matches!(self.state.stage, Stage::Closing { .. }) && ask != Ask::Cleanup {
            if let Ask::Extend { budget, .. } = ask {
                self.run.grant(budget);
            }
            return;
        }
        match ask {
            Ask::Poll => self.poll_now(),
            Ask::Comment { id, author, text } => {
                if self.is_known(&id) || !is_actionable(&text) {
                    return;
                }
                self.state.injected.push(Injected {
                    id,
                    author,
                    text,
                    posting: false,
                });
                self.active();
                self.post_injected();
            }
            Ask::Approve { by, head } => {
                self.state.watch.grant(Approved { by, head });
                self.active();
                // Comments that were written before the approval are read before it counts.
                self.state.watch.fresh = false;
                self.go_on();
            }
            Ask::Extend { budget, rounds } => self.extend(budget, rounds),
            Ask::Mend { head, why } => self.mend(&head, why),
            Ask::Hear { head } => self.hear_again(&head),
            Ask::Landed { head } => {
                self.state.landed = Some(head);
                self.state.watch.fresh = false;
                self.go_on();
            }
            Ask::Conclude => {
                self.state.concludes = true;
                self.state.watch.fresh = false;
                self.go_on();
            }
            // A phase has no tasks.
            Ask::RetryTask { .. } | Ask::SkipTask { .. } | Ask::Pause | Ask::Unpause => {}
            Ask::Cleanup => {
                let problem = Problem::new(Kind::Interrupted, "cleaned up on request");
                self.leave_told(problem);
            }
        }
    }

    /// Whether a comment from the command line was posted or is queued.
    fn is_known(&self, id: &str) -> bool {
        let name = PostKey::Injected(id.to_owned()).to_string();
        let mut posts = self.run.posts.iter();
        posts.any(|post| post.effect.as_str() == name)
            || self.state.injected.iter().any(|one| one.id == id)
    }

    /// Raises the limits; the phase continues if that is enough.
    fn extend(&mut self, budget: Budget, rounds: u32) {
        self.active();
        self.state.extra_rounds = self.state.extra_rounds.saturating_add(rounds);
        self.run.grant(budget);
        if self.state.limit().is_none() {
            return;
        }
        self.state.pause = self.limit_reached().map(|why| Pause::Limit { why });
        self.state.counts.same_errors = 0;
        if self.state.pause.is_none() {
            self.state.watch.fresh = false;
            self.merge_again();
            self.go_on();
        }
    }

    /// Continues held or failed work because a person asked for it, and allows one more round at the limit.
    fn poll_now(&mut self) {
        self.active();
        self.state.watch.backoff.reset();
        self.run.timers.remove(&Timer::Hold);
        if let Some(Pause::Limit { .. }) = self.state.pause.take() {
            self.state.extra_rounds += 1;
        }
        self.try_now();
        self.merge_again();
        if self.run.work.pull_request.is_some() {
            self.poll()
        } else {
            self.go_on()
        }
    }

    /// Posts comments from the command line first, so that everybody sees the request and the reply
    /// has a place.
    pub(in crate::run) fn post_injected(&mut self) {
        if self.run.work.pull_request.is_none() {
            return;
        }
        let mut posts = Vec::new();
        for one in &mut self.state.injected {
            if !one.posting {
                one.posting = true;
                let body = injected_body(&one.author, &one.text);
                posts.push((body, PostKey::Injected(one.id.clone())));
            }
        }
        for (body, key) in posts {
            self.on_forge(ForgeAct::PostComment { body }, Some(key));
        }
    }

    pub(in crate::run) fn injected_posted(&mut self, id: &str, result: EffectResult) {
        let mut all = self.state.injected.iter();
        let Some(at) = all.position(|one| one.id == id) else {
            return;
        };
        let EffectResult::OnForge {
            answer: ForgeAnswer::Posted { comment },
        } = result
        else {
            // The next poll retries the post.
            self.state.injected[at].posting = false;
            return;
        };
        let one = self.state.injected.remove(at);
        let entry = Entry {
            key: CommentVersion::new(comment, &one.text),
            author: one.author,
            path: None,
            line: None,
            origin: None,
            thread: None,
            commit: self.run.work.head_sha.clone(),
            url: None,
            body: one.text,
            seen_at: self.now,
            edited_at: None,
            told: false,
            tries: 0,
            review: None,
            parts: Vec::new(),
            answers: Vec::new(),
            life: Life::Seen,
        };
        self.enter(entry, false);
        self.go_on();
    }
}
