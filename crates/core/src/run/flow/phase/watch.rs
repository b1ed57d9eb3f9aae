//! The watch: polls the pull request with backoff, which resets after any activity. Polling continues while
//! agents work, so that they are stopped when a person closes or merges the pull request.

use super::super::super::model::{
    Asking, ClosingPost, DoneWhen, Effect, EffectResult, Entry, ForgeAct, ForgeAnswer, Halt,
    OutcomeStatus, PhaseEnd, PollResult, PostKey, Reading, Stage, Timer,
};
use super::PhaseFlow;
use super::ending::post;
use super::texts;
use crate::agent::answer::ends_review;
use crate::forge::marker::visible;
use crate::forge::{Comment, PrState, newest};
use crate::problem::{Kind, Problem};
use crate::review::Move;
use crate::time::after;

/// How many failed polls in a row after the inactivity timeout end the phase nevertheless; that
/// takes some hours.
const LAST_POLLS: u32 = 50;

impl PhaseFlow<'_> {
    /// Polls the pull request now. Only one poll runs at a time.
    pub(in crate::run) fn poll(&mut self) {
        if self.is_pending(|act| matches!(act, ForgeAct::Poll { .. })) {
            if let Some(asking) = &mut self.state.watch.asking {
                asking.again = true;
            }
            return;
        }
        self.run.timers.remove(&Timer::Poll);
        let watch = &mut self.state.watch;
        let is_due = watch.whole_at.is_some_and(|at| at <= self.now);
        let since = watch
            .cursor
            .filter(|_| watch.wants == Reading::Changes && !is_due);
        // An approval or a request for changes that was read earlier may have been withdrawn since.
        let has_opinions = !(watch.approvals.is_empty() && watch.objections.is_empty());
        let approvals = since.is_none() || has_opinions;
        let head = self.state.pushed.clone();
        let checks = head.clone();
        let checks = checks.filter(|_| self.wants_checks(since.is_none()));
        let poll = ForgeAct::Poll {
            since,
            approvals,
            checks,
        };
        if self.on_forge(poll, None) {
            self.state.watch.asking = Some(Asking { head, again: false });
        }
    }

    /// Whether such an action is pending.
    pub(in crate::run) fn is_pending(&self, which: impl Fn(&ForgeAct) -> bool) -> bool {
        self.run.pending.values().any(|effect| match effect {
            Effect::OnForge { act, .. } => which(act),
            Effect::ChooseBranch { .. }
            | Effect::CreateSandbox { .. }
            | Effect::RunAgent { .. }
            | Effect::EndProcess { .. }
            | Effect::CommitWork { .. }
            | Effect::WriteFile { .. }
            | Effect::ReadFile { .. }
            | Effect::ReadDiff { .. }
            | Effect::Push { .. }
            | Effect::OpenPullRequest { .. }
            | Effect::Integrate { .. }
            | Effect::ConcludeMerge { .. }
            | Effect::RollBack { .. }
            | Effect::Verify { .. }
            | Effect::CheckLanded { .. }
            | Effect::OnLine { .. }
            | Effect::ToRun { .. }
            | Effect::Notify { .. }
            | Effect::RemoveSandbox { .. } => false,
        })
    }

    pub(in crate::run) fn polled(&mut self, is_whole: bool, result: EffectResult) {
        let mut failed = false;
        let asked = self.state.watch.asking.take();
        let again = asked.as_ref().is_some_and(|asked| asked.again);
        if let EffectResult::OnForge {
            answer: ForgeAnswer::Polled { poll },
        } = result
        {
            let head = asked.and_then(|asked| asked.head);
            self.note_reading(head, is_whole, poll.missing.as_ref());
            if self.take_up(*poll, is_whole) {
                return;
            }
        } else if let EffectResult::Failed { problem } = result {
            self.note_unread(&problem);
            failed = true;
            if !self.terms.is_watched() {
                // The work continues; the next poll reads from the same time.
                self.warn(format!("could not poll the pull request: {problem}"));
            }
        }
        if !failed && again {
            // A poll from before a request must not answer that request.
            self.poll();
        } else {
            if self.is_over(failed || self.state.watch.last_reading.is_none()) {
                return self.time_out();
            }
            let pause = self.state.watch.backoff.next_wait();
            let at = after(self.now, pause);
            self.run.timers.insert(Timer::Poll, at);
        }
        if failed && self.terms.is_watched() {
            return;
        }
        self.post_injected();
        self.react_next();
        self.tell_waiting();
        self.say_voided();
        self.say_next();
        self.describe_again();
        if failed || !again {
            self.state.watch.fresh = true;
            self.go_on();
        }
    }

    /// Takes up the result of a poll. Returns whether the phase ends.
    pub(in crate::run) fn take_up(&mut self, poll: PollResult, is_whole: bool) -> bool {
        // A whole reading may report an earlier time than the polls before it.
        self.state.watch.cursor = poll.next.max(self.state.watch.cursor);
        let mut news = false;
        let mut is_completed = false;
        if self.terms.hears_comments() {
            for comment in newest(&poll.comments) {
                if let Some(how) = self.state.put_aside(comment) {
                    self.state.ledger.withdraw(comment.key.comment(), how);
                    continue;
                }
                is_completed |= self.completes(comment);
                let Some(entry) = Entry::of_comment(comment, self.now) else {
                    // The comment was edited and no longer asks for anything.
                    let at = comment.key.updated_at;
                    self.state.ledger.take_back(comment.key.comment(), at);
                    continue;
                };
                if self.enter(entry, is_whole) {
                    self.state.watch.eyes.push_back(comment.key.comment());
                    news = true;
                }
            }
        }
        if is_completed {
            self.complete_review();
        }
        for key in &poll.answered {
            self.state.ledger.mark_answered(key);
        }
        if let Some(approvals) = poll.approvals {
            news |= self.state.watch.stand(approvals);
        }
        if poll.unchecked.is_some() && self.state.ci.unreadable.is_none() {
            let why = poll.unchecked.clone().unwrap_or_default();
            self.warn(format!("could not read the checks: {why}"));
        }
        self.state.ci.unreadable = poll.unchecked;
        if let Some(checks) = poll.checks {
            news |= self.take_up_checks(checks);
        }
        if let Some(objections) = poll.objections {
            self.state.watch.objections = objections;
            self.forget_objections();
        }
        if poll.queued == Some(false) && poll.state != Some(PrState::Merged) {
            self.left_queue();
        }
        self.state.record.overheard(&poll.comments, poll.ignored);
        if let Some(head) = poll.head {
            let known = [&self.state.pushed, &self.state.watch.caught];
            let is_known = known.into_iter().any(|one| one.as_ref() == Some(&head));
            self.state.watch.moved = (!is_known).then_some(head);
        }
        if self.state.next == Move::Done && self.has_work() {
            self.state.counts.late_rounds += 1;
        }
        if news {
            self.state.watch.backoff.reset();
            self.active();
        }
        let is_ended = matches!(poll.state, Some(PrState::Merged | PrState::Closed));
        if is_ended && !is_whole && !self.is_landing() {
            // Everything is read once more before the end.
            self.state.watch.wants = Reading::Whole;
            self.poll();
            return true;
        }
        match poll.state {
            // The result of drive's own merge says more.
            Some(PrState::Merged) if self.is_landing() => return false,
            Some(PrState::Merged) if self.is_landing_unchecked() => {
                self.run.pending.clear();
                self.check_landed(poll.merged_sha);
            }
            Some(PrState::Merged) if matches!(self.terms.done(), DoneWhen::Landed { .. }) => {
                self.finish_landed();
            }
            Some(PrState::Merged) => {
                self.state.end = Some(PhaseEnd::Merged);
                let posts = self.last_texts();
                self.leave_with(OutcomeStatus::Succeeded, None, posts);
            }
            Some(PrState::Closed) => {
                let problem = Problem::new(
                    Kind::PullRequestClosed,
                    "the pull request was closed without a merge",
                )
                .hint(
                    "its commits are on its local branch; to continue, start a new \
                     run",
                );
                self.state.end = Some(PhaseEnd::Closed);
                let posts = self.last_texts();
                self.leave_with(OutcomeStatus::Cancelled, Some(problem), posts);
            }
            Some(PrState::Open) | None => return false,
        }
        true
    }

    /// Whether a comment newly says that a review is complete.
    fn completes(&mut self, comment: &Comment) -> bool {
        let at = comment.key.updated_at;
        let is_new = self.state.watch.completed_at.is_none_or(|last| last < at);
        let is_it = is_new && visible(&comment.body).lines().any(ends_review);
        if is_it {
            self.state.watch.completed_at = Some(at);
        }
        is_it
    }

    /// Handles a completed review of a person. The comments do not wait for reviewers at work: the
    /// reviewers are stopped, and review the fixer's result instead.
    fn complete_review(&mut self) {
        let Stage::Reviewing { panel } = &mut self.state.stage else {
            return;
        };
        if !self.state.ledger.has_waiting() || panel.halt == Some(Halt::Completed) {
            return;
        }
        panel.halt = panel.halt.max(Some(Halt::Completed));
        let ending = panel.at_work.keys();
        let ending = ending.filter_map(|key| self.run.processes.get(key).cloned());
        for identity in ending.collect::<Vec<_>>() {
            self.run.decide(Effect::EndProcess { identity });
        }
    }

    fn is_landing(&self) -> bool {
        matches!(self.state.stage, Stage::Promoting | Stage::Landing)
    }

    /// Enters a comment or finding in the ledger and in its thread.
    /// Returns whether it is new.
    pub(in crate::run) fn enter(&mut self, entry: Entry, is_whole: bool) -> bool {
        let (thread, id) = (entry.thread, entry.key.id);
        let (author, body) = (entry.author.clone(), entry.body.clone());
        let (key, is_person) = (entry.key.clone(), entry.review.is_none());
        let is_new = self.state.ledger.insert(entry, is_whole);
        if is_new && is_person {
            self.state.ledger.answer_questions(&key);
        }
        if let Some(thread) = thread.filter(|_| is_new) {
            self.state.threads.add(thread, Some(id), &author, &body);
        }
        is_new
    }

    /// Posts the next 👀 reaction; only one is posted at a time. A failed reaction has no consequences.
    pub(in crate::run) fn react_next(&mut self) {
        if self.is_pending(|act| matches!(act, ForgeAct::React { .. })) {
            return;
        }
        if let Some(comment) = self.state.watch.eyes.pop_front() {
            self.on_forge(ForgeAct::React { comment }, None);
        }
    }

    /// Handles the inactivity timeout. The cruise's own work counts as activity, and a comment may
    /// have arrived since the last poll.
    pub(in crate::run) fn silence(&mut self) {
        // The parent decides how long the phase waits.
        if self.is_at_work() || self.waits_for_parent() {
            return self.wait_for_silence();
        }
        if self.run.work.pull_request.is_none() {
            return self.time_out();
        }
        self.state.watch.closing = Some(0);
        self.state.watch.wants = Reading::Whole;
        self.poll();
    }

    /// Whether this poll ends the phase.
    fn is_over(&mut self, failed: bool) -> bool {
        let Some(failures) = self.state.watch.closing else {
            return false;
        };
        if self.is_at_work() || (!failed && self.will_go_on()) {
            self.wait_for_silence();
            return false;
        }
        self.state.watch.closing = Some(failures + 1);
        !failed || failures + 1 >= LAST_POLLS
    }

    /// Whether work is in progress, or will continue after a pause.
    fn is_at_work(&self) -> bool {
        let is_watch = |effect: &Effect| {
            matches!(
                effect,
                Effect::ToRun { .. }
                    | Effect::OnForge {
                        act: ForgeAct::Poll { .. }
                            | ForgeAct::React { .. }
                            | ForgeAct::UpdateBody { .. },
                        ..
                    }
            )
        };
        let is_held = self.state.hold().is_some()
            && (self.has_work()
                || matches!(self.state.next, Move::Review { .. })
                || matches!(self.state.stage, Stage::Merging { .. }));
        // Retries do not count as work: otherwise each one would restart the inactivity timeout.
        let is_failing = self.state.tries > 0;
        is_held || !(is_failing || self.run.pending.values().all(is_watch))
    }

    /// Whether the worker will have something to do after this poll.
    fn will_go_on(&self) -> bool {
        let is_free = self.state.retry.is_none() && self.state.limit().is_none();
        is_free && (self.has_work() || self.state.next != Move::Done)
    }

    /// Restarts the inactivity timeout of a watched phase.
    pub(in crate::run) fn wait_for_silence(&mut self) {
        self.state.watch.closing = None;
        if let Some(watch) = &self.terms.watch {
            let end = after(self.now, watch.inactivity_timeout);
            self.run.timers.insert(Timer::Inactivity, end);
        }
    }

    fn time_out(&mut self) {
        let after = self.terms.watch.map(|watch| watch.inactivity_timeout);
        let body = texts::timed_out(after.unwrap_or_default());
        let open = match self.run.work.pull_request {
            Some(_) => "the pull request is still open; ",
            None => "",
        };
        let problem = Problem::new(Kind::Inactive, body.clone()).hint(format!(
            "{open}a longer `inactivity_timeout` in `[cruise]` allows more time"
        ));
        self.state.end = Some(PhaseEnd::TimedOut);
        let texts = self.last_texts().into_iter();
        let mut posts: Vec<ClosingPost> = texts.map(post).collect();
        posts.push(ClosingPost {
            act: ForgeAct::PostComment { body },
            key: Some(PostKey::Step("timeout".to_owned())),
        });
        self.close_with(posts, OutcomeStatus::TimedOut, Some(problem));
    }
}
