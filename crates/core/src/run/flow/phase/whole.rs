//! Merges what a cruise built into its base. The commits exist; this phase reviews them as a whole,
//! lets programs check the plan's criteria, verifies the result of the merge, and informs people.
//!
//! Its branch never points at an unverified tree: a fixer's commit stays in the sandbox until it
//! passed, and moves the branch by the same action that lands a task.

use super::super::super::model::{
    BranchAt, Checked, ClosingPost, DoneWhen, Effect, EffectResult, ForgeAct, Left, LeftBy,
    LineAct, LineAnswer, OutcomeStatus, PLAN_PATH, PlanCheck, PostKey, Published, Receipt,
    ReceiptResult, Remark, ReviewOf, RollBackCost, Round, RoundJob, RoundStep, Stage,
};
use super::super::kit::{no_branch, no_commit};
use super::super::proof::{failure_of, is_proof};
use super::super::public_text::public;
use super::super::setup::sandbox_spec;
use super::PhaseFlow;
use super::ending::post;
use super::gaps::{Gap, gap_text, gaps};
use super::whole_text::{announcement, red_text};
use crate::forge::text::fit;
use crate::ids::{CommitSha, EffectKey};
use crate::problem::{Kind, Problem};
use crate::review::LastWord;
use crate::sandbox::Lifetime;
use crate::verify::{Verification, promotable_by, render};

/// How often the same announcement is tried.
const MOST_TRIES: u32 = 5;
/// How many bytes of a report on a failed commit a fixer gets.
pub(super) const LONGEST_REPORT: usize = 8 << 10;
/// The author of findings about unmet criteria.
const CONTRACT: &str = "contract";
/// The author of findings from a verification.
const VERIFICATION: &str = "verification";

impl PhaseFlow<'_> {
    /// Begins with the existing commits.
    pub(super) fn take_over(&mut self, head: &CommitSha, pull_request: &Published) {
        let Some(branch) = self.terms.branch.clone() else {
            return self.fail(no_branch());
        };
        if let Some(title) = &self.terms.title {
            self.state.title.clone_from(title);
        }
        self.run.work.branch = Some(branch.clone());
        self.run.work.head_sha = Some(head.clone());
        self.run.work.pull_request = Some(pull_request.clone());
        self.state.pushed = Some(head.clone());
        self.state.stage = Stage::CreatingSandbox;
        let mut spec = sandbox_spec(self.run, self.request, &branch);
        spec.lifetime = Lifetime::Persistent;
        spec.on_existing_branch = true;
        spec.held = true;
        self.run.decide(Effect::CreateSandbox { spec });
    }

    /// Removes the plan's file, unless it is to land. Returns whether the removal was started.
    pub(super) fn drop_plan(&mut self) -> bool {
        let is_wanted = self.terms.whole().is_some_and(|whole| whole.drops_plan);
        if !is_wanted || self.state.whole.dropped {
            return false;
        }
        self.state.whole.dropped = true;
        self.at(Round {
            number: self.state.rounds,
            job: RoundJob::Make,
            step: RoundStep::DropPlan,
            head_before: self.run.work.head_sha.clone(),
            answers: Vec::new(),
        });
        self.run.decide(Effect::WriteFile {
            sandbox: self.run.sandbox_id(),
            path: PLAN_PATH.to_owned(),
            text: None,
        });
        true
    }

    /// Verifies a commit before it is published, against the current branch.
    pub(super) fn verify_first(&mut self, mut round: Round) {
        let (Some(head), Some(line)) = (self.head(), self.own_branch()) else {
            return self.fail(no_commit());
        };
        round.step = RoundStep::Verify;
        self.at(round);
        // Tasks wrote the branch, including its settings.
        let rules = Some(self.base_sha());
        self.run.decide(Effect::Verify {
            head,
            base: line,
            rules,
        });
    }

    fn own_branch(&self) -> Option<BranchAt> {
        let branch = self.branch()?;
        let remote = self.remote();
        Some(BranchAt { remote, branch })
    }

    /// Moves the branch to a commit that passed. A commit that failed is taken back, and a fixer
    /// gets the reason.
    pub(super) fn verified_first(
        &mut self,
        mut round: Round,
        (key, effect): (&EffectKey, Effect),
        base: CommitSha,
        report: &Verification,
    ) {
        let (Some(head), Some(line)) = (self.head(), self.own_branch()) else {
            return self.fail(no_commit());
        };
        // Other people moved the branch to this commit. Their changes are verified with the merge
        // into the base.
        if base == head {
            return self.pushed(round);
        }
        // Somebody pushed meanwhile, so the verified commit does not contain their work. It does
        // once that is merged.
        let known = [&self.state.pushed, &self.state.whole.joined];
        if known.into_iter().all(|one| one.as_ref() != Some(&base)) {
            self.state.whole.joined = Some(base);
            return self.branch_moved(round);
        }
        let rules = if let Effect::Verify { rules, .. } = &effect {
            rules.as_ref().unwrap_or(&base)
        } else {
            &base
        };
        if let Some(tree) = promotable_by(rules, report, &head, &base).cloned() {
            self.state.whole.red = None;
            self.note_verified(&head, &base, report);
            round.step = RoundStep::Land;
            self.at(round);
            self.run.decide(Effect::OnLine {
                act: LineAct::Land {
                    line,
                    from: base,
                    commit: head,
                    tree,
                    offers: Vec::new(),
                },
            });
            return;
        }
        let why = failure_of(report);
        if !is_proof(report) {
            let problem = Problem::new(
                Kind::VerificationNotRun,
                format!("could not verify {head}: {why}"),
            );
            self.at(round);
            return self.try_again(key, effect, &problem);
        }
        let report = fit(&render::markdown(report), LONGEST_REPORT);
        let why = format!("{} did not pass verification: {why}", head.short());
        match round.job {
            RoundJob::Fix { .. } => {
                self.state.whole.red = Some(report);
                if self.terms.is_about_plan() {
                    self.state.plan = PlanCheck::Unread;
                }
                self.run.work.head_sha.clone_from(&round.head_before);
                self.roll_back(round, why, RollBackCost::Try);
            }
            RoundJob::Make | RoundJob::Adopt | RoundJob::CatchUp | RoundJob::CheckBase => {
                let problem = Problem::new(Kind::VerificationFailed, why).hint(
                    "look at the commits of the branch; `drive kept list` shows what was saved",
                );
                self.stop(OutcomeStatus::NeedsHuman, problem);
            }
        }
    }

    /// Adds the report of a failed verification to the next fixer's work.
    fn found_red(&mut self, head: &CommitSha, report: &str) {
        self.state
            .findings
            .push(remark(VERIFICATION, red_text(head, report)));
    }

    /// Continues after the branch was moved to the verified commit, or after somebody else moved it.
    pub(super) fn line_moved(&mut self, round: Round, answer: LineAnswer) {
        match answer {
            LineAnswer::CarsLanded => self.pushed(round),
            LineAnswer::LineMoved { tip: Some(_), .. } => self.branch_moved(round),
            LineAnswer::LineMoved { tip: None, .. } => {
                let what = "the branch of the cruise no longer exists";
                self.fail(Problem::new(Kind::BranchDeleted, what));
            }
            // Results that belong to other actions.
            LineAnswer::LineBegun
            | LineAnswer::Assembled { .. }
            | LineAnswer::TrainVerified { .. }
            | LineAnswer::Unheard { .. }
            | LineAnswer::ContractChecked { .. } => {}
        }
    }

    /// Concludes once every review is done and nothing is left to fix. An announcement stays valid
    /// until the commit changes.
    pub(super) fn conclude_whole(&mut self) {
        let head = self.head();
        let is_told = head.is_some() && self.state.whole.announced == head;
        if is_told {
            return self.weigh_again();
        }
        if self.waits_for_validator() {
            return;
        }
        if self.review_again() {
            return self.proceed();
        }
        if !self.hear_first() && !self.wait_for_checks() && !self.check_base() {
            self.check_contract();
        }
    }

    /// Updates an announcement: informs people again if somebody requests changes or a check fails
    /// since, and decides again if the obstacle is gone.
    fn weigh_again(&mut self) {
        if self.state.whole.left.is_none() {
            let since = self
                .objected_to()
                .or_else(|| self.failed_checks())
                .or_else(|| self.unread_checks());
            let is_ours = self.terms.done() == DoneWhen::Merged { auto: true };
            if since.is_some() {
                self.announce(since);
            } else if is_ours && !self.hear_first() && !self.wait_for_checks() {
                // A comment, a check or a stop kept drive from merging the commit.
                self.weigh();
            }
            return;
        }
        let is_approved = self.is_approved_since();
        let left = self.state.whole.left.as_ref();
        let may_change = left.is_some_and(|left| left.by == LeftBy::Circumstances);
        let is_free = may_change && self.standing().is_none();
        if !(is_approved || is_free) || self.hear_first() {
            return;
        }
        if is_approved {
            self.state.whole.approved = self.head();
        }
        self.weigh();
    }

    /// Whether a person approved the commit after drive could not merge it: the approval may be all
    /// that was missing.
    fn is_approved_since(&self) -> bool {
        let is_ours = self.terms.done() == DoneWhen::Merged { auto: true };
        let whole = &self.state.whole;
        let is_left = whole.left.is_some() && whole.approved != self.head();
        let mut given = self.state.watch.approvals.iter();
        is_ours && is_left && given.any(|one| Some(&one.head) == self.run.work.head_sha.as_ref())
    }

    /// Lets programs check the plan's criteria on exactly this commit.
    pub(super) fn check_contract(&mut self) {
        let (Some(head), Some(whole)) = (self.head(), self.terms.whole()) else {
            return self.fail(no_commit());
        };
        let checked = self.state.whole.checked.as_ref();
        let is_checked = checked.is_some_and(|checked| checked.commit == head);
        if whole.contract.is_empty() || is_checked {
            return self.judge();
        }
        self.state.stage = Stage::CheckingContract;
        self.run.decide(Effect::OnLine {
            act: LineAct::CheckContract {
                base: self.base_sha(),
                commit: head,
                checks: whole.contract.clone(),
            },
        });
    }

    /// The results of the checks, with their commit. If the checks could not run, handles that and
    /// returns `None`.
    pub(super) fn checked(
        &mut self,
        key: &EffectKey,
        effect: Effect,
        result: EffectResult,
    ) -> Option<(CommitSha, Vec<Receipt>)> {
        match (result, &effect) {
            (
                EffectResult::OnLine {
                    answer: LineAnswer::ContractChecked { receipts },
                },
                Effect::OnLine {
                    act: LineAct::CheckContract { commit, .. },
                },
            ) => return Some((commit.clone(), receipts)),
            (EffectResult::Failed { problem }, _) => self.try_again_or_fail(key, effect, problem),
            (_, _) => self.look_at_it_again(),
        }
        None
    }

    /// Takes the results of the contract's checks; a validator then judges what programs cannot check.
    pub(super) fn contract_checked(
        &mut self,
        key: &EffectKey,
        effect: Effect,
        result: EffectResult,
    ) {
        let Some((commit, receipts)) = self.checked(key, effect, result) else {
            return;
        };
        if self.head().as_ref() != Some(&commit) {
            return self.look_at_it_again();
        }
        let opinion = None;
        self.state.whole.checked = Some(Checked {
            commit,
            receipts,
            opinion,
        });
        self.judge();
    }

    /// Starts a fixer for failed criteria, as often as the settings allow.
    pub(super) fn close_gaps(&mut self) {
        // A fixer cannot change that a command could not run.
        let failed = self.gaps().into_iter();
        let failed = failed.filter(|gap| gap.result == ReceiptResult::Failed);
        let gaps: Vec<Remark> = failed.map(|gap| remark(CONTRACT, gap_text(&gap))).collect();
        let most = self.terms.whole().map_or(0, |whole| whole.max_waves);
        let may = self.state.whole.waves < most && self.limit_reached().is_none();
        if gaps.is_empty() || !may {
            return self.weigh();
        }
        self.state.whole.waves += 1;
        self.state.findings.extend(gaps);
        self.look_at_it_again();
    }

    pub(super) fn look_at_it_again(&mut self) {
        self.state.stage = Stage::Watching;
        self.close_batch();
    }

    fn gaps(&self) -> Vec<Gap<'_>> {
        let (Some(whole), Some(checked)) = (self.terms.whole(), &self.state.whole.checked) else {
            return Vec::new();
        };
        gaps(whole, checked)
    }

    /// Announces the obstacle to a merge, if there is one; else verifies the result of the merge.
    fn weigh(&mut self) {
        match self.against_whole() {
            Some(problem) => self.announce(Some(problem)),
            None => self.promote(),
        }
    }

    fn against_whole(&self) -> Option<Problem> {
        let word = match self.last_word() {
            LastWord::Approved => None,
            LastWord::NeedsChanges => Some((Kind::NotApproved, "requests changes")),
            LastWord::Inconclusive => Some((Kind::ReviewInconclusive, "gave no usable verdict")),
        };
        if let Some((kind, what)) = word {
            let reviewer = &self.terms.reviewer;
            let message = format!("reviewer `{reviewer}` {what} on the combined change");
            let problem = Problem::new(kind, message);
            return Some(problem.hint("read its findings, then decide yourself"));
        }
        self.gaps().first().map(Gap::problem)
    }

    /// Announces that the merge gives a verified tree; then drive merges if it may.
    pub(in crate::run) fn whole_verified(&mut self, protected: Vec<String>) {
        self.state.whole.protected = protected;
        // Somebody may have requested changes, or a check may have failed, during the verification.
        if let Some(problem) = self.objected_to().or_else(|| self.failed_checks()) {
            return self.announce(Some(problem));
        }
        if self.state.whole.announced == self.head() && self.state.whole.left.is_none() {
            return self.merge_or_wait();
        }
        self.announce(None);
    }

    /// Lets a fixer correct a merge that did not pass. Returns whether one does.
    pub(in crate::run) fn fix_unverified(
        &mut self,
        head: &CommitSha,
        report: &Verification,
    ) -> bool {
        let may = is_proof(report) && self.limit_reached().is_none();
        if may {
            let report = fit(&render::markdown(report), LONGEST_REPORT);
            self.found_red(head, &report);
            self.look_at_it_again();
        }
        may
    }

    /// Announces the state of the commit once: it can be merged, or only a person can decide.
    pub(in crate::run) fn announce(&mut self, problem: Option<Problem>) {
        let Some(head) = self.head() else {
            return self.fail(no_commit());
        };
        let body = announcement(self.run, &self.state, self.terms, problem.as_ref());
        let mut posts = Vec::new();
        if problem.is_none() {
            posts.push(post(ForgeAct::MarkReady));
        }
        posts.push(post(ForgeAct::SetStatus {
            sha: head.clone(),
            passed: problem.is_none(),
            description: problem.as_ref().map_or_else(
                || "verified; ready to merge".to_owned(),
                |problem| public(&problem.message, self.run),
            ),
        }));
        posts.extend(self.last_texts().into_iter().map(post));
        let standing = if problem.is_none() { "ready" } else { "left" };
        posts.push(ClosingPost {
            act: ForgeAct::PostComment { body },
            key: Some(PostKey::Step(format!(
                "announced/{head}/{standing}/{}",
                self.state.counts.verifications
            ))),
        });
        let by = match self.standing() {
            Some(_) => LeftBy::Circumstances,
            None => LeftBy::Decision,
        };
        self.state.whole.left = problem.map(|problem| Left {
            why: problem.message,
            by,
        });
        self.next_announcement(posts);
    }

    fn next_announcement(&mut self, mut posts: Vec<ClosingPost>) {
        self.state.tries = 0;
        if posts.is_empty() {
            self.state.whole.announced = self.head();
            self.active();
            return self.merge_or_wait();
        }
        let next = posts.remove(0);
        self.state.stage = Stage::Announcing { posts };
        self.on_forge(next.act, next.key);
    }

    /// Handles the result of an announcing post. A failed post is retried for some minutes and does
    /// not affect the commit.
    pub(super) fn announced(
        &mut self,
        posts: Vec<ClosingPost>,
        (key, effect): (&EffectKey, Effect),
        result: &EffectResult,
    ) {
        if let EffectResult::Failed { problem } = result {
            if self.state.tries < MOST_TRIES && !self.is_enough(problem) {
                return self.try_again(key, effect, problem);
            }
            self.warn(format!("could not update the pull request: {problem}"));
        }
        self.next_announcement(posts);
    }

    /// Merges a commit that passed everything if drive was asked to; else waits for a person to merge it.
    fn merge_or_wait(&mut self) {
        let is_ours = self.terms.done() == DoneWhen::Merged { auto: true };
        let judged = self.state.judged.as_ref();
        let verified = judged.map(|judged| (judged.head_sha.clone(), judged.base_sha.clone()));
        match verified.filter(|_| is_ours && self.state.whole.left.is_none()) {
            Some((head, base)) => {
                let protected = self.state.whole.protected.clone();
                self.merge_pull_request(head, base, protected);
            }
            None => {
                self.state.stage = Stage::Watching;
                self.go_on();
            }
        }
    }
}

fn remark(author: &str, body: String) -> Remark {
    Remark {
        author: author.to_owned(),
        review: ReviewOf {
            domain: None,
            round: 0,
        },
        file: None,
        line: None,
        body,
    }
}
