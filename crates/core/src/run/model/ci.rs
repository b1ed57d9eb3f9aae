//! The checks of a pull request, as last read.

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
    /// The checks as they were read last, without their logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<Checks>,
    /// The names of the checks that the commit before had: this one will have them too.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub expected: BTreeSet<String>,
    /// Why the token cannot read them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
    /// Since when they are waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Those whose failure was given to a fixer, or up, at this commit.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub taken: BTreeSet<String>,
    /// On how many commits each failure was seen.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<String, u32>,
}

impl Ci {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The checks of this commit.
    pub fn of(&self, head: Option<&CommitSha>) -> Option<&Checks> {
        let known = self.checks.as_ref();
        known.filter(|checks| Some(&checks.head) == head)
    }

    /// The verdict of the checks, without drive's own. No checks at all count as no result if the
    /// commit before had some.
    pub fn gate(&self, checks: &Checks) -> Gate {
        let others = checks.without_own();
        if others.checks.is_empty() && others.required.is_empty() && !self.expected.is_empty() {
            return Gate::Missing {
                names: self.expected.iter().cloned().collect(),
            };
        }
        gate(&others)
    }

    /// The checks that keep a commit from landing, as text.
    pub fn open(&self, head: Option<&CommitSha>) -> Option<String> {
        self.of(head).and_then(|known| self.against(known))
    }

    /// What these checks have against landing their commit, as text.
    pub fn against(&self, checks: &Checks) -> Option<String> {
        match self.gate(checks) {
            Gate::Green => None,
            Gate::Red { names } => Some(format!("{} failed", named(&names))),
            Gate::Pending { names } => Some(format!("{} pending", named(&names))),
            Gate::Missing { names } => Some(format!("{} missing", named(&names))),
        }
    }

    /// Takes up a reading, and forgets what was known of another commit.
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
