//! A repository with one branch, its remote and one sandbox.

use crate::common::PLAN;
use drive_core::run::CommitSummary;
use drive_core::sandbox::KeptWork;
use drive_core::time::Timestamp;

/// What `plan.md` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanText {
    Missing,
    Sound,
    Broken,
}

impl PlanText {
    pub fn text(self) -> Option<String> {
        match self {
            PlanText::Missing => None,
            PlanText::Sound => Some(PLAN.to_owned()),
            PlanText::Broken => Some("a plan without tasks".to_owned()),
        }
    }
}

struct Commit {
    parent: Option<usize>,
    plan: PlanText,
}

/// The files of the sandbox.
pub struct Tree {
    pub plan: PlanText,
    pub dirty: bool,
}

pub struct Git {
    commits: Vec<Commit>,
    pub tree: Option<Tree>,
    tip: usize,
    remote: Option<usize>,
    pub kept: Vec<KeptWork>,
    /// Agents that are alive, by process.
    pub alive: Vec<i32>,
    pub last_pid: i32,
}

impl Git {
    pub fn new() -> Self {
        let base = Commit {
            parent: None,
            plan: PlanText::Missing,
        };
        Self {
            commits: vec![base],
            tree: None,
            tip: 0,
            remote: None,
            kept: Vec::new(),
            alive: Vec::new(),
            last_pid: 100,
        }
    }

    /// The first commit has the name that requests start from.
    pub fn sha(at: usize) -> String {
        match at {
            0 => "a".repeat(40),
            _ => format!("{at:040x}"),
        }
    }

    fn at(&self, sha: &str) -> Option<usize> {
        (0..self.commits.len()).find(|at| Self::sha(*at) == sha)
    }

    pub fn head(&self) -> String {
        Self::sha(self.tip)
    }

    pub fn remote_head(&self) -> Option<String> {
        self.remote.map(Self::sha)
    }

    pub fn create(&mut self) {
        if self.tree.is_none() {
            self.tree = Some(Tree {
                plan: self.commits[self.tip].plan,
                dirty: false,
            });
        }
    }

    /// Commits what is dirty.
    pub fn commit(&mut self) {
        let Some(tree) = &mut self.tree else { return };
        if std::mem::take(&mut tree.dirty) {
            self.commits.push(Commit {
                parent: Some(self.tip),
                plan: tree.plan,
            });
            self.tip = self.commits.len() - 1;
        }
    }

    /// The commits of the branch since the first, oldest first.
    pub fn history(&self) -> Vec<CommitSummary> {
        let mut shas = Vec::new();
        let mut at = self.tip;
        while let Some(parent) = self.commits[at].parent {
            shas.push(Self::sha(at));
            at = parent;
        }
        let commits = shas.into_iter().rev().map(|sha| CommitSummary {
            sha,
            subject: "a change".to_owned(),
        });
        commits.collect()
    }

    pub fn plan_at(&self, sha: &str) -> PlanText {
        self.at(sha)
            .map_or(PlanText::Missing, |at| self.commits[at].plan)
    }

    pub fn push(&mut self, sha: &str) {
        let at = self.at(sha).expect("only commits that exist are pushed");
        assert!(
            self.remote.is_none_or(|remote| self.holds(at, remote)),
            "a push loses commits of the remote"
        );
        self.remote = Some(at);
    }

    fn holds(&self, tip: usize, wanted: usize) -> bool {
        let mut at = Some(tip);
        while let Some(one) = at {
            if one == wanted {
                return true;
            }
            at = self.commits[one].parent;
        }
        false
    }

    pub fn is_pushed(&self, sha: &str) -> bool {
        match (self.at(sha), self.remote) {
            (Some(at), Some(remote)) => self.holds(remote, at),
            _ => false,
        }
    }

    /// Every commit that was ever made is on the branch.
    pub fn nothing_lost(&self) -> bool {
        (0..self.commits.len()).all(|at| self.holds(self.tip, at))
    }

    /// Removes the sandbox; what is dirty is kept.
    pub fn remove(&mut self, now: Timestamp) -> Option<KeptWork> {
        let tree = self.tree.take()?;
        let unpushed = self.remote != Some(self.tip);
        if !tree.dirty && !unpushed {
            return None;
        }
        let mut kept = crate::common::kept();
        kept.sha = Self::sha(self.tip);
        kept.about.kept_at = now;
        self.kept.push(kept.clone());
        Some(kept)
    }
}
