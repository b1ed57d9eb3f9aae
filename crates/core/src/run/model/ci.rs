//! The last-read checks of a pull request.

use crate::forge::Checks;
use crate::forge::checks::{Gate, gate, named};
use crate::ids::CommitSha;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The checks of the published commit, and the failures so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ci {
    /// The checks as last read, without their logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<Checks>,
    /// The names of the previous commit's checks: this commit is expected to have them too.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub expected: BTreeSet<String>,
    /// Why the token cannot read the checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
    /// Since when the phase waits for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Names of the failed checks of this commit that were handed to a fixer, or given up.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub taken: BTreeSet<String>,
    /// On how many commits each failure was seen.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<String, u32>,
}

impl Ci {
    /// Whether no checks are known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The checks of this commit.
    pub fn of(&self, head: Option<&CommitSha>) -> Option<&Checks> {
        let known = self.checks.as_ref();
        known.filter(|checks| Some(&checks.head) == head)
    }

    /// The verdict of the checks, without drive's own. A commit without checks has no result yet if
    /// the commit before had some.
    pub fn gate(&self, checks: &Checks) -> Gate {
        let others = checks.without_own();
        if others.checks.is_empty() && others.required.is_empty() && !self.expected.is_empty() {
            return Gate::Missing {
                names: self.expected.iter().cloned().collect(),
            };
        }
        gate(&others)
    }

    /// The checks that prevent a commit from landing, as text.
    pub fn open(&self, head: Option<&CommitSha>) -> Option<String> {
        self.of(head).and_then(|known| self.against(known))
    }

    /// The objections of these checks against landing their commit, as text.
    pub fn against(&self, checks: &Checks) -> Option<String> {
        match self.gate(checks) {
            Gate::Green => None,
            Gate::Red { names } => Some(format!("{} failed", named(&names))),
            Gate::Pending { names } => Some(format!("{} pending", named(&names))),
            Gate::Missing { names } => Some(format!("{} missing", named(&names))),
        }
    }

    /// Takes up a reading, and forgets what was known about another commit.
    pub(in crate::run) fn read(&mut self, mut checks: Checks) {
        let is_same = self.of(Some(&checks.head)).is_some();
        if !is_same {
            self.taken.clear();
            self.since = None;
            let before = self.checks.take().map(|known| known.without_own().checks);
            let names = before.into_iter().flatten().map(|check| check.name);
            self.expected = names.collect();
        }
        for check in &mut checks.checks {
            check.failure = None;
        }
        self.checks = Some(checks);
    }
}
