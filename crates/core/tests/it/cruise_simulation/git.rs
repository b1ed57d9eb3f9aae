//! A simulated repository with one branch, its remote and one sandbox.

use crate::common::PLAN;
use drive_core::ids::CommitSha;
use drive_core::run::CommitSummary;
use drive_core::sandbox::KeptWork;
use drive_core::time::Timestamp;
use std::collections::BTreeSet;

/// The content of `plan.md`.
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
    parents: Vec<usize>,
    plan: PlanText,
    /// Its author removed it again.
    dropped: bool,
}

/// The files of the sandbox.
pub struct Tree {
    pub plan: PlanText,
    pub dirty: bool,
    /// A merge of this commit is in progress.
    merging: Option<usize>,
    /// Whether its conflicts are resolved.
    pub resolved: bool,
    /// Whether an agent that failed wrote in it.
    pub half_done: bool,
    /// The commit that is checked out if an agent left the branch.
    astray: Option<usize>,
}

/// The result of a merge.
pub enum Merge {
    Done,
    Replaced(KeptWork),
    Conflicts { ours: String, theirs: String },
}

pub struct Git {
    commits: Vec<Commit>,
    pub tree: Option<Tree>,
    tip: usize,
    remote: Option<usize>,
    /// The positions of the remote's branch, each with its begin by the steady clock.
    remotes: Vec<(i64, usize)>,
    /// Whether commits were removed from the remote.
    pub forced: bool,
    pub kept: Vec<KeptWork>,
    /// Living agents, by process.
    pub alive: Vec<i32>,
    pub last_pid: i32,
}

impl Git {
    pub fn new() -> Self {
        let base = Commit {
            parents: Vec::new(),
            plan: PlanText::Missing,
            dropped: false,
        };
        Self {
            commits: vec![base],
            tree: None,
            tip: 0,
            remote: None,
            remotes: Vec::new(),
            forced: false,
            kept: Vec::new(),
            alive: Vec::new(),
            last_pid: 100,
        }
    }

    /// The id of a commit. The first one has the id with which requests begin.
    pub fn sha(at: usize) -> String {
        match at {
            0 => "a".repeat(40),
            // The ids differ in the part that people see.
            _ => format!("{at:010x}{:030}", 0),
        }
    }

    fn at(&self, sha: &str) -> Option<usize> {
        if sha == Self::sha(0) {
            Some(0)
        } else {
            usize::from_str_radix(sha.get(..10)?, 16).ok()
        }
        .filter(|at| *at < self.commits.len())
    }

    pub fn head(&self) -> String {
        Self::sha(self.tip)
    }

    pub fn remote_head(&self) -> Option<String> {
        self.remote.map(Self::sha)
    }

    /// The position of the remote's branch at that time.
    pub fn remote_head_at(&self, steady: i64) -> Option<String> {
        let before = self.remotes.iter().rev().find(|(at, _)| *at <= steady);
        before.map(|(_, tip)| Self::sha(*tip))
    }

    pub fn create(&mut self) {
        if self.tree.is_none() {
            self.tree = Some(Tree {
                plan: self.commits[self.tip].plan,
                dirty: false,
                merging: None,
                resolved: false,
                half_done: false,
                astray: None,
            });
        }
    }

    fn add(&mut self, parents: Vec<usize>, plan: PlanText) -> usize {
        self.commits.push(Commit {
            parents,
            plan,
            dropped: false,
        });
        self.commits.len() - 1
    }

    /// Commits the changes, unless a merge is in progress.
    pub fn commit(&mut self) {
        let Some(tree) = &mut self.tree else { return };
        if tree.merging.is_none() && std::mem::take(&mut tree.dirty) {
            let (plan, astray) = (tree.plan, tree.astray);
            let new = self.add(vec![astray.unwrap_or(self.tip)], plan);
            match &mut self.tree {
                Some(tree) if astray.is_some() => tree.astray = Some(new),
                _ => self.tip = new,
            }
        }
    }

    /// An agent checks out another branch, which starts at the run's or at its base.
    pub fn stray(&mut self, from_base: bool) {
        let at = if from_base { 0 } else { self.tip };
        if let Some(tree) = self.tree.as_mut().filter(|tree| tree.merging.is_none()) {
            tree.astray.get_or_insert(at);
        }
    }

    pub fn is_astray(&self) -> bool {
        self.tree.as_ref().is_some_and(|tree| tree.astray.is_some())
    }

    pub fn is_dirty(&self) -> bool {
        self.tree.as_ref().is_some_and(|tree| tree.dirty)
    }

    /// Returns the sandbox to its branch, with the commits that build on it; others are saved.
    pub fn come_back(&mut self, now: Timestamp) {
        let Some(tree) = &mut self.tree else { return };
        let Some(side) = tree.astray.take() else {
            return;
        };
        if self.holds(side, self.tip) {
            self.tip = side;
        } else {
            self.keep_at(side, now);
        }
        let plan = self.commits[self.tip].plan;
        if let Some(tree) = &mut self.tree {
            tree.plan = plan;
        }
    }

    /// The commits of the branch since the first, oldest first.
    pub fn history(&self) -> Vec<CommitSummary> {
        let all = self.reachable(self.tip);
        let commits = all
            .into_iter()
            .filter(|at| *at > 0)
            .map(|at| CommitSummary {
                sha: CommitSha::new(Self::sha(at)),
                subject: "a change".to_owned(),
            });
        commits.collect()
    }

    fn reachable(&self, tip: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut open = vec![tip];
        while let Some(at) = open.pop() {
            if found.insert(at) {
                open.extend(&self.commits[at].parents);
            }
        }
        found
    }

    pub fn plan_at(&self, sha: &str) -> PlanText {
        self.at(sha)
            .map_or(PlanText::Missing, |at| self.commits[at].plan)
    }

    /// Pushes, unless the remote has commits that are missing here.
    pub fn push(&mut self, sha: &str, now: i64) -> bool {
        let at = self.at(sha).expect("only commits that exist are pushed");
        if self.remote.is_some_and(|remote| !self.holds(at, remote)) {
            return false;
        }
        self.move_remote(at, now);
        true
    }

    fn move_remote(&mut self, to: usize, now: i64) {
        self.remote = Some(to);
        self.remotes.push((now, to));
    }

    /// Another person adds a commit to the remote's branch.
    pub fn others_push(&mut self, plan: PlanText, now: i64) {
        if let Some(remote) = self.remote {
            let new = self.add(vec![remote], plan);
            self.move_remote(new, now);
        }
    }

    /// Another person replaces the last commit of the remote's branch.
    pub fn others_rewrite(&mut self, plan: PlanText, now: i64) {
        let Some(remote) = self.remote.filter(|remote| *remote > 0) else {
            return;
        };
        let new = self.add(self.commits[remote].parents.clone(), plan);
        let safe = &self.reachable(new) | &self.reachable(self.tip);
        for at in self.reachable(remote).difference(&safe) {
            self.commits[*at].dropped = true;
        }
        self.forced = true;
        self.move_remote(new, now);
    }

    /// Merges the remote's branch. A merge in progress continues. If the branch was rewritten
    /// without our published commits, it replaces ours, which is saved.
    pub fn merge(&mut self, conflicts: bool, published: Option<&str>, now: Timestamp) -> Merge {
        let (Some(remote), Some(tree)) = (self.remote, &self.tree) else {
            return Merge::Done;
        };
        if tree.merging.is_none() {
            assert!(!tree.dirty, "a merge over work that is not safe");
            let published = published.and_then(|sha| self.at(sha));
            if published.is_some_and(|ours| !self.holds(remote, ours)) {
                let kept = self.roll_back(&Self::sha(remote), now);
                return Merge::Replaced(kept);
            }
            if self.holds(self.tip, remote) {
                return Merge::Done;
            }
            if let Some(tree) = &mut self.tree {
                tree.merging = Some(remote);
                tree.resolved = !conflicts;
            }
        }
        self.conclude()
    }

    /// Merges the base if it conflicts.
    pub fn merge_base(&mut self, conflicts: bool) -> Merge {
        let is_merging = self.is_merging();
        if conflicts && !is_merging {
            let base = self.add(vec![0], PlanText::Sound);
            self.commits[base].dropped = true;
            if let Some(tree) = &mut self.tree {
                assert!(!tree.dirty, "a merge over work that is not safe");
                tree.merging = Some(base);
                tree.resolved = false;
            }
        }
        self.conclude()
    }

    /// Commits the merge in progress if its conflicts are resolved.
    pub fn conclude(&mut self) -> Merge {
        let Some(tree) = &mut self.tree else {
            return Merge::Done;
        };
        let Some(theirs) = tree.merging else {
            return Merge::Done;
        };
        if !tree.resolved {
            return Merge::Conflicts {
                ours: Self::sha(self.tip),
                theirs: Self::sha(theirs),
            };
        }
        (tree.merging, tree.resolved, tree.dirty) = (None, false, false);
        self.tip = if self.holds(theirs, self.tip) {
            theirs
        } else {
            self.add(vec![self.tip, theirs], self.commits[theirs].plan)
        };
        let plan = self.commits[self.tip].plan;
        if let Some(tree) = &mut self.tree {
            tree.plan = plan;
        }
        Merge::Done
    }

    pub fn is_merging(&self) -> bool {
        self.tree
            .as_ref()
            .is_some_and(|tree| tree.merging.is_some())
    }

    /// Moves the branch back, and saves what that removes.
    pub fn roll_back(&mut self, to: &str, now: Timestamp) -> KeptWork {
        self.keep_side(now);
        let kept = self.keep(now);
        self.tip = self.at(to).expect("only to commits that exist");
        let plan = self.commits[self.tip].plan;
        self.tree = None;
        self.create();
        if let Some(tree) = &mut self.tree {
            tree.plan = plan;
        }
        kept
    }

    /// Saves the commits of an agent outside of the branch.
    fn keep_side(&mut self, now: Timestamp) {
        if let Some(side) = self.tree.as_ref().and_then(|tree| tree.astray) {
            self.keep_at(side, now);
        }
    }

    fn keep(&mut self, now: Timestamp) -> KeptWork {
        self.keep_at(self.tip, now)
    }

    fn keep_at(&mut self, at: usize, now: Timestamp) -> KeptWork {
        let mut kept = crate::common::kept();
        kept.sha = CommitSha::new(Self::sha(at));
        kept.about.kept_at = now;
        self.kept.push(kept.clone());
        kept
    }

    fn holds(&self, tip: usize, wanted: usize) -> bool {
        self.reachable(tip).contains(&wanted)
    }

    /// Whether others can see a commit, or could before it was removed.
    pub fn is_pushed(&self, sha: &str) -> bool {
        let Some(at) = self.at(sha) else { return false };
        if self.forced {
            self.remotes.iter().any(|(_, tip)| self.holds(*tip, at))
        } else {
            self.remote.is_some_and(|remote| self.holds(remote, at))
        }
    }

    /// Whether the remote has all commits of the branch.
    pub fn is_all_pushed(&self) -> bool {
        self.remote
            .is_some_and(|remote| self.holds(remote, self.tip))
    }

    /// Whether every commit ever made is on the branch, on the remote, or saved.
    pub fn nothing_lost(&self) -> bool {
        let kept = self.kept.iter().filter_map(|kept| self.at(&kept.sha));
        let tips = kept.chain([self.tip]).chain(self.remote);
        let safe: BTreeSet<usize> = tips.flat_map(|tip| self.reachable(tip)).collect();
        (0..self.commits.len()).all(|at| safe.contains(&at) || self.commits[at].dropped)
    }

    /// Removes the sandbox, and saves its changes.
    pub fn remove(&mut self, now: Timestamp) -> Option<KeptWork> {
        self.keep_side(now);
        let tree = self.tree.take()?;
        let is_safe = !tree.dirty && tree.merging.is_none() && self.is_all_pushed();
        (!is_safe).then(|| self.keep(now))
    }
}
