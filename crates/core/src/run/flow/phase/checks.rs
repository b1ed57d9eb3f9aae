//! Checks of the published commit: a failed check starts a fixer round, up to a limit, and the
//! phase waits for unfinished checks, up to a timeout.

use super::super::super::model::{
    DoneWhen, Makes, OutcomeStatus, PostKey, Reading, Remark, ReviewOf, Stage,
};
use super::super::kit::show_hint;
use super::PhaseFlow;
use super::texts::{check_text, same_failure};
use crate::forge::checks::{Check, CheckState, Checks, Gate, named};
use crate::problem::{Kind, Problem};
use crate::time::after;

/// On how many commits the same failure may be seen before no fixer gets it any more.
const MOST_SAME: u32 = 3;
/// On how many commits a check may fail, for any reason, before no fixer gets it any more.
const MOST_FAILURES: u32 = 8;
/// The author of a check's finding.
const CI: &str = "CI";

impl PhaseFlow<'_> {
    /// Whether the next reading includes the checks: a whole reading does, and so does every
    /// reading until all checks have ended.
    pub(super) fn wants_checks(&self, is_whole: bool) -> bool {
        // On the branch of a plan, CI builds the code of the base, so its failures are not the plan's.
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

    /// Takes up the checks of the published commit. Returns whether there is a new failure.
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

    /// The combined result of the published commit's checks. Drive's own checks are left to the forge.
    fn checks_gate(&self) -> Gate {
        let known = self.state.ci.of(self.state.pushed.as_ref());
        known.map_or(Gate::Green, |known| self.state.ci.gate(known))
    }

    /// Waits for unfinished checks, up to the timeout. Returns whether it waits.
    pub(super) fn wait_for_checks(&mut self) -> bool {
        if self.pending_checks().is_none() {
            return false;
        }
        let since = *self.state.ci.since.get_or_insert(self.now);
        if after(since, self.terms.checks_timeout) <= self.now {
            return false;
        }
        // The reading that ends the wait must be a whole one.
        self.state.watch.wants = Reading::Whole;
        self.state.stage = Stage::Watching;
        true
    }

    /// Unfinished checks, and required checks that were not reported.
    pub(in crate::run) fn pending_checks(&self) -> Option<Vec<String>> {
        match self.checks_gate() {
            Gate::Pending { names } | Gate::Missing { names } => Some(names),
            Gate::Green | Gate::Red { .. } => None,
        }
    }

    /// The problem if a check failed.
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

    /// The problem if a failed or unfinished check prevents a merge.
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

    /// The problem of checks of the commit that the token cannot read.
    pub(super) fn unread_checks(&self) -> Option<Problem> {
        let why = self.state.ci.unreadable.as_ref()?;
        let message = format!("could not read the checks: {why}");
        let problem = Problem::new(Kind::ChecksPending, message);
        Some(problem.hint("let the token read checks and statuses, or merge it by hand"))
    }

    /// Ends successfully, unless a check failed or the checks are unreadable.
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
