//! Limits, and the closing posts of a phase.

use super::super::super::model::{
    Approved, ClosingPost, DoneWhen, Effect, EffectResult, ForgeAct, ForgeAnswer, Life,
    OutcomeStatus, PhaseEnd, PlanApproval, PlanCheck, PostKey, Stage,
};
use super::super::kit::{logs_hint, no_commit, show_hint};
use super::super::public_text::public;
use super::PhaseFlow;
use super::texts::{
    approved_comment, late_comment, limit_comment, pull_request_body, stopped_comment,
};
use crate::ids::{CommitSha, EffectKey};
use crate::problem::{Kind, Problem};
use crate::review::{Domain, LastWord, Move};
use crate::settings::TeamMode;

/// How often the same closing post is tried.
const MOST_TRIES: u32 = 5;

impl PhaseFlow<'_> {
    /// The limit that prevents an agent from starting, as text.
    pub(super) fn limit_reached(&self) -> Option<String> {
        if let Some(overrun) = self.overrun() {
            return Some(format!("the run {overrun}"));
        }
        let allowed = self.terms.watch?.max_rounds;
        let most = allowed.saturating_add(self.state.extra_rounds);
        (self.state.rounds >= most).then(|| format!("fixer round limit ({most}) reached"))
    }

    /// Posts one comment that says what is open and who must act.
    pub(super) fn post_limit(&mut self) {
        let limit = self.state.limit().unwrap_or_default();
        let body = limit_comment(limit, self.run, &self.state.ledger);
        self.mark_told_by_limit();
        let mut key = format!("limit/{}/{}", self.state.rounds, self.state.extra_rounds);
        if self.run.granted.is_some() {
            // With a raised budget, the limit may be reached again at the same number of rounds.
            key = format!("{key}/{}", self.run.spent.usage.counted());
        }
        self.on_forge(ForgeAct::PostComment { body }, Some(PostKey::Step(key)));
    }

    pub(super) fn limit_posted(&mut self, key: &EffectKey, effect: Effect, result: EffectResult) {
        if let EffectResult::Failed { problem } = result {
            return self.try_again(key, effect, &problem);
        }
        self.close_batch();
    }

    /// Ends an unwatched phase whose budget is used up.
    pub(super) fn stop_over_budget(&mut self) {
        let overrun = self.overrun().map(|overrun| overrun.to_string());
        let message = format!("the run {}", overrun.unwrap_or_default());
        let problem = Problem::new(Kind::BudgetExceeded, message);
        self.stop(OutcomeStatus::NeedsHuman, problem);
    }

    /// The approval that counts: it is for the current head, the plan is valid, and nothing is
    /// open. At a limit a person decides, and may approve although comments wait.
    pub(super) fn approved(&self) -> Option<Approved> {
        let waits = self.has_work();
        let is_open = waits && self.state.limit().is_none();
        if is_open
            || !self.state.injected.is_empty()
            || !matches!(self.state.plan, PlanCheck::Valid { .. })
        {
            return None;
        }
        let head = self.run.work.head_sha.as_ref()?;
        let given = &self.state.watch;
        let mut given = given.approvals.iter().chain(&given.granted);
        let by_person = given.find(|one| one.head == *head).cloned();
        let is_automatic = match self.terms.done() {
            DoneWhen::Approved(PlanApproval { auto_approve, .. }) => auto_approve,
            DoneWhen::Reviewed { .. }
            | DoneWhen::Merged { .. }
            | DoneWhen::Landed { .. }
            | DoneWhen::Asked => false,
        };
        by_person.or_else(|| {
            let all = self.state.next == Move::Done && self.last_word() == LastWord::Approved;
            let is_asking = self.state.ledger.questions().next().is_some();
            let may = is_automatic && self.objection().is_none() && !is_asking;
            (may && all && !waits).then(|| Approved {
                by: "--auto-approve".to_owned(),
                head: head.clone(),
            })
        })
    }

    /// Ends the phase after the plan was approved.
    pub(super) fn finish_approved(&mut self, approved: &Approved) {
        let plan_only = match self.terms.done() {
            DoneWhen::Approved(PlanApproval { plan_only, .. }) => plan_only,
            DoneWhen::Reviewed { .. }
            | DoneWhen::Merged { .. }
            | DoneWhen::Landed { .. }
            | DoneWhen::Asked => false,
        };
        self.state.end = Some(PhaseEnd::Approved {
            by: approved.by.clone(),
        });
        let mut posts = vec![post(ForgeAct::SetStatus {
            sha: approved.head.clone(),
            passed: true,
            description: "the plan is approved".to_owned(),
        })];
        posts.extend(self.last_texts().into_iter().map(post));
        posts.push(ClosingPost {
            act: ForgeAct::PostComment {
                body: approved_comment(approved, plan_only, &self.state.ledger),
            },
            key: Some(PostKey::Step(format!("approved/{}", approved.head))),
        });
        self.close_with(posts, OutcomeStatus::Succeeded, None);
    }

    /// Ends the phase after every review is done.
    pub(super) fn finish_reviewed(&mut self) {
        let Some(head) = self.head() else {
            return self.fail(no_commit());
        };
        self.keep_objections();
        let (word, reviewer) = (self.last_word(), &self.terms.reviewer);
        let open = self.open_reviews(&head);
        let is_objected = self.state.record.objections().next().is_some();
        let is_fixed = self.state.record.is_changed_since_objections(&head);
        match (word, self.terms.mode) {
            (LastWord::NeedsChanges, _) if !is_objected => self.finish_unseen(&head, &open),
            (LastWord::NeedsChanges, TeamMode::Sequential) if !is_fixed => {
                let problem = Problem::new(
                    Kind::NotApproved,
                    format!(
                        "reviewer `{reviewer}` requests changes, and the fixer changed nothing"
                    ),
                )
                .hint(format!("read its findings with {}", show_hint(self.run)));
                self.finish_with(word, OutcomeStatus::Failed, problem);
            }
            (LastWord::Approved, _) | (LastWord::NeedsChanges, TeamMode::Sequential) => {
                self.state.verdict = Some(word);
                self.finish_checked();
            }
            (LastWord::NeedsChanges, TeamMode::Pingpong | TeamMode::Github) => {
                let problem = Problem::new(
                    Kind::NotApproved,
                    format!("reviewer `{reviewer}` still requests changes{open}"),
                )
                .hint(format!(
                    "read its findings with {}; `--max-iterations` allows more rounds",
                    show_hint(self.run)
                ));
                self.finish_with(word, OutcomeStatus::Failed, problem);
            }
            (LastWord::Inconclusive, _) => {
                let problem = Problem::new(
                    Kind::ReviewInconclusive,
                    format!("reviewer `{reviewer}` gave no usable verdict{open}"),
                )
                .hint(format!(
                    "review the change yourself; {} shows what the reviewer said",
                    logs_hint(self.run)
                ));
                self.finish_with(word, OutcomeStatus::NeedsHuman, problem);
            }
        }
    }

    /// Ends the phase successfully: every review is done and nothing prevents it.
    pub(super) fn finish_well(&mut self) {
        let posts = self.review_posts(OutcomeStatus::Succeeded, None);
        self.close_with(posts, OutcomeStatus::Succeeded, None);
    }

    /// Ends the phase when the approved commit is not the head and no review is left for the head.
    fn finish_unseen(&mut self, head: &CommitSha, open: &str) {
        let approved = self.state.record.last_approved();
        let approved = approved.map_or("nothing", CommitSha::short);
        let problem = Problem::new(
            Kind::HeadNotReviewed,
            format!(
                "reviewer `{}` approved {approved}, but not the newer {}{open}",
                self.terms.reviewer,
                head.short()
            ),
        )
        .hint("review the newer commits yourself; `--max-iterations` allows more rounds");
        self.finish_with(LastWord::NeedsChanges, OutcomeStatus::Failed, problem);
    }

    /// Ends the phase with a problem after every review is done.
    pub(super) fn finish_with(&mut self, word: LastWord, status: OutcomeStatus, problem: Problem) {
        self.state.verdict = Some(word);
        if word == LastWord::Approved {
            // An approval by the reviews alone does not make the commit status green.
            self.state.end = Some(stopped(&problem));
        }
        let posts = self.review_posts(status, Some(&problem));
        self.close_with(posts, status, Some(problem));
    }

    /// Ends the phase before its work is done, and posts the reason on the pull request.
    pub(in crate::run) fn stop(&mut self, status: OutcomeStatus, problem: Problem) {
        let open = self.state.ledger.open().count() + self.state.findings.len();
        let problem = match (self.terms.done(), open) {
            (DoneWhen::Approved(_) | DoneWhen::Merged { .. } | DoneWhen::Asked, _) | (_, 0) => {
                problem
            }
            (DoneWhen::Reviewed { .. } | DoneWhen::Landed { .. }, 1) => {
                problem.cause("1 open comment")
            }
            (DoneWhen::Reviewed { .. } | DoneWhen::Landed { .. }, many) => {
                problem.cause(format!("{many} open comments"))
            }
        };
        let mut posts = Vec::new();
        if let DoneWhen::Reviewed { .. } | DoneWhen::Landed { .. } = self.terms.done()
            && self.run.work.pull_request.is_some()
        {
            let is_objected = self.state.record.objections().next().is_some();
            let word = match (is_objected, self.last_word()) {
                (true, _) => LastWord::NeedsChanges,
                (false, LastWord::Approved) => LastWord::Approved,
                (false, LastWord::NeedsChanges | LastWord::Inconclusive) => LastWord::Inconclusive,
            };
            self.state.verdict = Some(word);
            self.state.end = Some(stopped(&problem));
            posts = self.review_posts(status, Some(&problem));
        } else if self.run.work.pull_request.is_some() {
            self.state.end = Some(stopped(&problem));
            posts.extend(self.last_texts().into_iter().map(post));
        }
        posts.push(ClosingPost {
            act: ForgeAct::PostComment {
                body: stopped_comment(&problem, self.run, &self.state.ledger),
            },
            key: Some(PostKey::Step(self.stopped_key())),
        });
        self.close_with(posts, status, Some(problem));
    }

    /// Ends the phase on request. The description and the summary report that, unless they already
    /// report another end.
    pub(in crate::run) fn leave_told(&mut self, problem: Problem) {
        let mut posts = Vec::new();
        if self.run.work.pull_request.is_some() {
            self.state.end.get_or_insert_with(|| stopped(&problem));
            posts = self.last_texts();
        }
        self.leave_with(OutcomeStatus::Cancelled, Some(problem), posts);
    }

    /// The key of the last comment. A resumed run may stop again and then needs a new key.
    fn stopped_key(&self) -> String {
        match &self.run.resumption {
            None => "stopped".to_owned(),
            Some(resumption) => format!("stopped/{}", resumption.count),
        }
    }

    /// The closing posts of a reviewed pull request: it is marked ready for review if a person can
    /// take over, the commit gets a status, and the description gets the record. The pull request
    /// stays a draft if a larger budget lets the run continue.
    fn review_posts(&self, status: OutcomeStatus, failure: Option<&Problem>) -> Vec<ClosingPost> {
        let mut posts = Vec::new();
        let is_over_budget = failure.is_some_and(|why| why.kind == Kind::BudgetExceeded);
        let is_ready = match status {
            OutcomeStatus::Succeeded => true,
            OutcomeStatus::NeedsHuman => !is_over_budget,
            OutcomeStatus::Failed | OutcomeStatus::TimedOut | OutcomeStatus::Cancelled => false,
        };
        if self.terms.mode == TeamMode::Github {
            if is_ready {
                posts.push(post(ForgeAct::MarkReady));
            }
            let description = failure.map_or("ready for human review", |why| why.message.as_str());
            // A commit that was never pushed does not exist on the forge.
            posts.extend(self.state.pushed.iter().map(|sha| {
                post(ForgeAct::SetStatus {
                    sha: sha.clone(),
                    passed: status == OutcomeStatus::Succeeded,
                    description: public(description, self.run),
                })
            }));
        }
        posts.extend(self.last_texts().into_iter().map(post));
        posts
    }

    /// Corrects the result of a commit that did not pass verification: its status turns red, the
    /// description names it, and the report is posted.
    pub(in crate::run) fn close_unverified(
        &mut self,
        status: String,
        report: Option<String>,
        problem: Problem,
    ) {
        if self.terms.whole().is_some() {
            return self.announce(Some(problem));
        }
        let mut posts = Vec::new();
        self.state.end = Some(PhaseEnd::Unverified {
            why: status.clone(),
        });
        if self.terms.mode == TeamMode::Github {
            posts.extend(self.state.pushed.iter().map(|sha| {
                post(ForgeAct::SetStatus {
                    sha: sha.clone(),
                    passed: false,
                    description: public(&status, self.run),
                })
            }));
        }
        posts.extend(self.last_texts().into_iter().map(post));
        posts.extend(report.map(|body| post(ForgeAct::PostComment { body })));
        self.close_with(posts, OutcomeStatus::NeedsHuman, Some(problem));
    }

    /// The final description with the record, and the final summary if one was posted.
    pub(super) fn last_texts(&self) -> Vec<ForgeAct> {
        let body = pull_request_body(self.run, &self.state, self.request, true);
        let summary = self.state.summary_comment.map(|_| self.summary());
        // The root of a cruise writes the description.
        let is_own = !self.terms.is_on_line();
        let description = is_own.then_some(ForgeAct::UpdateBody { body });
        description.into_iter().chain(summary).collect()
    }

    /// Makes these posts, then ends the phase with this status.
    pub(in crate::run) fn close_with(
        &mut self,
        posts: Vec<ClosingPost>,
        status: OutcomeStatus,
        failure: Option<Problem>,
    ) {
        self.run.pending.clear();
        self.run.timers.clear();
        self.state.retry = None;
        let to_say = std::mem::take(&mut self.state.watch.to_say).into_iter();
        let said = to_say.map(|(key, body)| ClosingPost {
            act: ForgeAct::PostComment { body },
            key: Some(key),
        });
        let posts = said.chain(posts).collect();
        self.post_next(posts, status, failure);
    }

    fn post_next(
        &mut self,
        mut posts: Vec<ClosingPost>,
        status: OutcomeStatus,
        failure: Option<Problem>,
    ) {
        self.state.tries = 0;
        let is_read = matches!(self.state.stage, Stage::Closing { is_read: true, .. });
        let has_pr = self.run.work.pull_request.is_some();
        if posts.is_empty() && has_pr && !is_read && self.terms.is_watched() {
            return self.read_last(status, failure);
        }
        if posts.is_empty() || !has_pr {
            return match (self.terms.done(), status) {
                (DoneWhen::Reviewed { auto_merge: true }, OutcomeStatus::Succeeded) => {
                    self.promote();
                }
                (_, _) => self.leave(status, failure),
            };
        }
        let next = posts.remove(0);
        self.state.stage = Stage::Closing {
            posts,
            status,
            failure,
            is_read,
        };
        self.on_forge(next.act, next.key);
    }

    /// Polls the pull request once more after the closing posts, because somebody may have written
    /// before them.
    fn read_last(&mut self, status: OutcomeStatus, failure: Option<Problem>) {
        self.state.stage = Stage::Closing {
            posts: Vec::new(),
            status,
            failure,
            is_read: true,
        };
        let poll = ForgeAct::Poll {
            since: None,
            approvals: false,
            checks: None,
        };
        self.on_forge(poll, None);
    }

    /// Posts a list of the comments that were written before the closing posts and that no agent gets.
    pub(super) fn last_read(&mut self, key: &EffectKey, effect: Effect, result: EffectResult) {
        let Stage::Closing {
            status, failure, ..
        } = self.state.stage.clone()
        else {
            return;
        };
        let EffectResult::OnForge {
            answer: ForgeAnswer::Polled { poll },
        } = result
        else {
            let closing = (Vec::new(), status, failure);
            return self.closing_posted(closing, key, effect, &result);
        };
        let unread = self.unread(&poll.comments);
        let mut posts = Vec::new();
        if !unread.is_empty() {
            posts.push(ClosingPost {
                act: ForgeAct::PostComment {
                    body: late_comment(&unread),
                },
                key: Some(PostKey::Step(format!("late/{}", self.stopped_key()))),
            });
        }
        for entry in unread {
            let key = entry.key.clone();
            self.enter(entry, true);
            self.state.ledger.set(&key, Life::Left);
        }
        self.post_next(posts, status, failure);
    }

    /// Handles the result of a closing post. A failed one is retried for some minutes and does not
    /// change how the phase ends.
    pub(super) fn closing_posted(
        &mut self,
        (posts, status, failure): (Vec<ClosingPost>, OutcomeStatus, Option<Problem>),
        key: &EffectKey,
        effect: Effect,
        result: &EffectResult,
    ) {
        if let EffectResult::Failed { problem } = result {
            if self.state.tries < MOST_TRIES && !self.is_enough(problem) {
                return self.try_again(key, effect, problem);
            }
            self.warn(format!("could not update the pull request: {problem}"));
        }
        self.post_next(posts, status, failure);
    }

    /// The combined verdict of all reviews on the current commit.
    pub(in crate::run) fn last_word(&self) -> LastWord {
        if !self.terms.is_reviewed() {
            return LastWord::Approved;
        }
        let domains = self.terms.review_plan().domains;
        let head = self.run.work.head_sha.as_ref();
        head.map_or(LastWord::Inconclusive, |head| {
            self.state.record.last_word(&domains, head)
        })
    }

    /// The domains that do not approve a commit, as text.
    fn open_reviews(&self, head: &CommitSha) -> String {
        let domains = self.terms.review_plan().domains;
        let open = self.state.record.not_content(&domains, head);
        let open = open.iter().filter_map(|(domain, _)| domain.as_ref());
        let open: Vec<&str> = open.map(Domain::name).collect();
        if open.is_empty() {
            String::new()
        } else {
            format!(" ({})", open.join(", "))
        }
    }
}

fn stopped(problem: &Problem) -> PhaseEnd {
    PhaseEnd::Stopped {
        why: problem.message.clone(),
    }
}

pub(in crate::run) fn post(act: ForgeAct) -> ClosingPost {
    ClosingPost { act, key: None }
}
