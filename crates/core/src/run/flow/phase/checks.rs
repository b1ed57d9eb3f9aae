//! Checks of the published commit: a failure becomes a fixer round as long as that helps, and what
//! has not ended is waited for, within a limit.

use super::super::super::model::{
    DoneWhen, Makes, OutcomeStatus, PostKey, Reading, Remark, ReviewOf, Stage,
};
use super::super::kit::show_hint;
use super::PhaseFlow;
use super::texts::{check_text, same_failure};
use crate::forge::checks::{Check, CheckState, Checks, Gate, named};
use crate::problem::{Kind, Problem};
use crate::time::after;

/// On how many commits the same failure is seen before no fixer gets it any more.
const MOST_SAME: u32 = 3;
/// On how many commits a check fails, for whatever reason, before no fixer gets it any more.
const MOST_FAILURES: u32 = 8;
/// The author of what a check found.
const CI: &str = "CI";

impl PhaseFlow<'_> {
    /// Whether the next reading reads the checks as well: a whole one does, and every one until all
    /// have ended.
    pub(super) fn wants_checks(&self, is_whole: bool) -> bool {
        // What a plan's branch builds is the base, and no fault of the plan.
        let counts = match (&self.terms.makes, self.terms.done()) {
            (Makes::Plan { .. } | Makes::Amendments { .. }, _) => false,
            (Makes::Whole { .. }, _) => true,
            (Makes::Change { .. }, DoneWhen::Reviewed { auto_merge: true }) => true,
            (Makes::Change { .. }, _) => self.terms.hears_comments(),
        };
        if !counts || self.state.pushed.is_none() {
            return false;
        }
        let known = self.state.ci.of(self.state.pushed.as_ref());
        let is_pending = |check: &Check| check.state == CheckState::Pending && !check.is_own();
        is_whole || known.is_none_or(|known| known.checks.iter().any(is_pending))
    }

    /// Takes up the checks of the published commit. Returns whether one failed anew.
    pub(super) fn take_up_checks(&mut self, checks: Checks) -> bool {
        if Some(&checks.head) != self.state.pushed.as_ref() {
            return false;
        }
        let failing: Vec<Check> = checks.failing().cloned().collect();
        self.state.ci.read(checks);
        let mut news = false;
        for check in failing {
            if !self.state.ci.taken.insert(check.name.clone()) {
                continue;
            }
            news = true;
            let print = check.fingerprint();
            let failures = &mut self.state.ci.failures;
            let mut count = |key: String| {
                let seen = failures.entry(key).or_default();
                *seen += 1;
                *seen
            };
            let (same, any) = (count(print.clone()), count(format!("name/{}", check.name)));
            if same >= MOST_SAME || any >= MOST_FAILURES {
                let body = same_failure(&check, same);
                self.say(PostKey::Aside(format!("check/{print}")), body);
            } else {
                self.state.findings.push(Remark {
                    author: CI.to_owned(),
                    review: ReviewOf {
                        domain: None,
                        round: 0,
                    },
                    file: None,
                    line: None,
                    body: check_text(&check),
                });
            }
        }
        news
    }

    /// What the checks of the published commit say. Drive's own are left to the forge.
    fn checks_gate(&self) -> Gate {
        let known = self.state.ci.of(self.state.pushed.as_ref());
        known.map_or(Gate::Green, |known| self.state.ci.gate(known))
    }

    /// Waits for checks that have not ended, within the limit. Returns whether it waits.
    pub(super) fn wait_for_checks(&mut self) -> bool {
        if self.pending_checks().is_none() {
            return false;
        }
        let since = *self.state.ci.since.get_or_insert(self.now);
        if after(since, self.terms.checks_timeout) <= self.now {
            return false;
        }
        // The next reading is the one that concludes.
        self.state.watch.wants = Reading::Whole;
        self.state.stage = Stage::Watching;
        true
    }

    /// The checks that have not ended, or that the base requires and nobody has reported.
    pub(in crate::run) fn pending_checks(&self) -> Option<Vec<String>> {
        match self.checks_gate() {
            Gate::Pending { names } | Gate::Missing { names } => Some(names),
            Gate::Green | Gate::Red { .. } => None,
        }
    }

    /// What the checks have against success.
    pub(super) fn failed_checks(&self) -> Option<Problem> {
        let Gate::Red { names } = self.checks_gate() else {
            return None;
        };
        let problem = Problem::new(Kind::ChecksFailed, format!("{} failed", named(&names)));
        Some(problem.hint(format!(
            "read the logs on the forge; {} lists what was tried",
            show_hint(self.run)
        )))
    }

    /// What the checks have against a merge.
    pub(in crate::run) fn against_merge(&self) -> Option<Problem> {
        let pending = self.pending_checks().map(|names| {
            let message = format!(
                "{} still pending after `forge.checks_timeout`",
                named(&names)
            );
            Problem::new(Kind::ChecksPending, message).hint("merge it by hand once they passed")
        });
        self.failed_checks()
            .or(pending)
            .or_else(|| self.unread_checks())
    }

    /// Checks of the commit that the token cannot read.
    pub(super) fn unread_checks(&self) -> Option<Problem> {
        let why = self.state.ci.unreadable.as_ref()?;
        let message = format!("could not read the checks: {why}");
        let problem = Problem::new(Kind::ChecksPending, message);
        Some(problem.hint("let the token read checks and statuses, or merge it by hand"))
    }

    /// Ends well, unless a check failed, or nobody can tell whether one did.
    pub(super) fn finish_checked(&mut self) {
        match self.failed_checks().or_else(|| self.unread_checks()) {
            Some(problem) => {
                let word = self.last_word();
                self.finish_with(word, OutcomeStatus::NeedsHuman, problem);
            }
            None => self.finish_well(),
        }
    }
}
