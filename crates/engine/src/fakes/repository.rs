//! A fake repository whose commits are plain values: parents, files and a subject.

use super::clock::FakeClock;
use super::lock::lock;
use super::machine::DriveProcess;
use crate::ports::{MergeCommit, Place};
use drive_core::ids::{BranchName, CommitSha, RunId, SandboxId, TreeSha};
use drive_core::problem::{Kind, Problem};
use drive_core::run::CommitSummary;
use drive_core::sandbox::{KEPT_PREFIX, KeptWork, Sandbox};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// The files of a commit or of a checkout, by path.
pub type Files = BTreeMap<String, String>;

/// The branch that the user's own checkout shows.
pub(super) const MAIN: &str = "main";
/// The beginning of an unresolved conflict.
pub(super) const CONFLICT: &str = "<<<<<<<";

/// A fake repository with its remotes and sandboxes. [`FakeRepository::of`] gives a handle that
/// works while its process is alive; agents and people can always act on it.
#[derive(Clone)]
pub struct FakeRepository {
    state: Arc<Mutex<RepositoryState>>,
    pub(super) process: DriveProcess,
    pub(super) clock: FakeClock,
}

#[derive(Default)]
pub(super) struct RepositoryState {
    commits: Vec<FakeCommit>,
    /// Refs by full name.
    pub(super) refs: BTreeMap<String, String>,
    /// The branches of each remote.
    pub(super) remotes: BTreeMap<String, BTreeMap<String, String>>,
    pub(super) sandboxes: BTreeMap<SandboxId, FakeSandbox>,
    pub(super) kept: Vec<KeptWork>,
    kept_count: u32,
}

pub(super) struct FakeCommit {
    pub(super) parents: Vec<String>,
    files: Files,
    subject: String,
    /// Whether the commit can be made again from its parents, so that nothing is lost with it.
    is_trial: bool,
}

pub(super) struct FakeSandbox {
    pub(super) sandbox: Sandbox,
    pub(super) head: FakeHead,
    pub(super) files: Files,
    /// The commit whose merge is in progress.
    pub(super) merging: Option<String>,
    /// Whether it was moved aside and its work is not saved yet.
    pub(super) retired: bool,
}

pub(super) enum FakeHead {
    Branch(BranchName),
    Detached(String),
}

impl FakeRepository {
    /// A repository with one commit of these files on `main`, which the remote `origin` contains too.
    pub fn new(process: DriveProcess, clock: FakeClock, files: Files) -> Self {
        let mut state = RepositoryState::default();
        let first = state.add(Vec::new(), files, "Begin");
        state.refs.insert(full(MAIN), first.clone());
        let origin = BTreeMap::from([(MAIN.to_owned(), first)]);
        state.remotes.insert("origin".to_owned(), origin);
        Self {
            state: Arc::new(Mutex::new(state)),
            process,
            clock,
        }
    }

    /// The same repository, as used by another process.
    pub fn of(&self, process: DriveProcess) -> Self {
        Self {
            process,
            ..self.clone()
        }
    }

    /// The state; fails if the process is dead.
    pub(super) fn alive(&self) -> Result<MutexGuard<'_, RepositoryState>, Problem> {
        let state = lock(&self.state);
        self.process.check()?;
        Ok(state)
    }

    /// The tip of a local branch.
    pub fn branch(&self, name: &str) -> Option<String> {
        lock(&self.state).refs.get(&full(name)).cloned()
    }

    /// The tip of a remote's branch.
    pub fn remote_branch(&self, remote: &str, name: &str) -> Option<String> {
        lock(&self.state).remotes.get(remote)?.get(name).cloned()
    }

    /// The files of a commit.
    pub fn files_of(&self, sha: &str) -> Option<Files> {
        lock(&self.state).commit(sha).map(|one| one.files.clone())
    }

    /// Lets a person commit one file to a remote's branch.
    pub fn person_pushes(&self, remote: &str, branch: &str, path: &str, text: &str) -> String {
        let mut state = lock(&self.state);
        let branches = state.remotes.get(remote);
        let parent = branches.and_then(|branches| branches.get(branch)).cloned();
        let mut files = parent
            .as_deref()
            .and_then(|parent| state.commit(parent))
            .map_or_else(Files::new, |commit| commit.files.clone());
        files.insert(path.to_owned(), text.to_owned());
        let sha = state.add(parent.into_iter().collect(), files, "By hand");
        state.set_remote(remote, branch, &sha);
        sha
    }

    /// Lets a person create a remote's branch at a commit.
    pub fn person_branches(&self, remote: &str, branch: &str, at: &str) {
        lock(&self.state).set_remote(remote, branch, at);
    }

    /// Lets a person delete a remote's branch.
    pub fn person_deletes(&self, remote: &str, branch: &str) {
        let mut state = lock(&self.state);
        if let Some(branches) = state.remotes.get_mut(remote) {
            branches.remove(branch);
        }
    }

    /// Merges a commit into a remote's branch; `None` if they conflict.
    pub(super) fn merge_on_remote(
        &self,
        remote: &str,
        branch: &str,
        theirs: &str,
    ) -> Option<String> {
        let mut state = lock(&self.state);
        let ours = state.remotes.get(remote)?.get(branch)?.clone();
        let (files, conflicts) = state.merged_files(&state.files(&ours), &ours, theirs);
        if !conflicts.is_empty() {
            return None;
        }
        let sha = state.add(vec![ours, theirs.to_owned()], files, "Merge");
        state.set_remote(remote, branch, &sha);
        Some(sha)
    }

    /// The tree that a merge would have.
    pub(super) fn merged_tree(&self, ours: &str, theirs: &str) -> TreeSha {
        let state = lock(&self.state);
        tree_of(&state.merged_files(&state.files(ours), ours, theirs).0)
    }

    /// Commits that no branch, no remote and no saved work contains.
    pub fn lost_commits(&self) -> Vec<String> {
        let state = lock(&self.state);
        let remotes = state.remotes.values().flat_map(BTreeMap::values);
        let tips = state.refs.values().chain(remotes);
        let safe: BTreeSet<String> = tips.flat_map(|tip| state.ancestors(tip)).collect();
        let made = state.commits.iter().enumerate();
        let all = made
            .filter(|(_, commit)| !commit.is_trial)
            .map(|(number, _)| name(number));
        all.filter(|sha| !safe.contains(sha)).collect()
    }

    /// Every version of a file in any commit, including saved ones.
    pub fn versions_of(&self, path: &str) -> BTreeSet<String> {
        let state = lock(&self.state);
        let commits = state.commits.iter();
        commits
            .filter_map(|commit| commit.files.get(path).cloned())
            .collect()
    }

    /// The existing sandboxes.
    pub fn sandboxes(&self) -> Vec<SandboxId> {
        lock(&self.state).sandboxes.keys().cloned().collect()
    }

    /// All saved work, oldest first.
    pub fn saved_work(&self) -> Vec<KeptWork> {
        lock(&self.state).kept.clone()
    }

    /// The files of the sandbox in this folder, and whether they differ from its commit.
    pub(super) fn look_into(&self, folder: &Path) -> Option<(Files, bool)> {
        let state = lock(&self.state);
        let checkout = state.in_folder(folder)?;
        let is_dirty = state.dirty(checkout) > 0 || checkout.merging.is_some();
        Some((checkout.files.clone(), is_dirty))
    }

    /// Lets an agent write a file.
    pub(super) fn agent_writes(&self, folder: &Path, path: &str, text: &str) {
        let mut state = lock(&self.state);
        let mut all = state.sandboxes.values_mut();
        if let Some(checkout) = all.find(|one| one.sandbox.path == folder) {
            checkout.files.insert(path.to_owned(), text.to_owned());
        }
    }

    /// Lets an agent commit everything.
    pub(super) fn agent_commits(&self, folder: &Path, subject: &str) {
        let mut state = lock(&self.state);
        let id = state.in_folder(folder).map(|one| one.sandbox.id.clone());
        if let Some(id) = id {
            state.commit_sandbox(&id, subject);
        }
    }
}

impl RepositoryState {
    pub(super) fn add(&mut self, parents: Vec<String>, files: Files, subject: &str) -> String {
        self.commits.push(FakeCommit {
            parents,
            files,
            subject: subject.lines().next().unwrap_or_default().to_owned(),
            is_trial: false,
        });
        name(self.commits.len() - 1)
    }

    /// Merges two commits. The same merge gives the same commit.
    pub(super) fn merge_commit(&mut self, ours: &str, theirs: &str, message: &str) -> MergeCommit {
        let made = |state: &Self, sha: String| MergeCommit::Made {
            tree: tree_of(&state.files(&sha)),
            commit: CommitSha::new(sha),
        };
        if self.ancestors(ours).contains(theirs) {
            return made(self, ours.to_owned());
        }
        let (merged, files) = self.merged_files(&self.files(ours), ours, theirs);
        if !files.is_empty() {
            return MergeCommit::Conflicts { files };
        }
        let parents = vec![ours.to_owned(), theirs.to_owned()];
        let subject = message.lines().next().unwrap_or_default();
        let is_same = |one: &FakeCommit| one.parents == parents && one.subject == subject;
        if let Some(known) = self.commits.iter().position(is_same) {
            return made(self, name(known));
        }
        let sha = self.add(parents, merged, message);
        if let Some(commit) = self.commits.last_mut() {
            commit.is_trial = true;
        }
        made(self, sha)
    }

    pub(super) fn commit(&self, sha: &str) -> Option<&FakeCommit> {
        self.commits.get(number(sha)?)
    }

    pub(super) fn files(&self, sha: &str) -> Files {
        let commit = self.commit(sha);
        commit.map_or_else(Files::new, |commit| commit.files.clone())
    }

    pub(super) fn knows(&self, sha: &str) -> bool {
        self.commit(sha).is_some()
    }

    /// The subject of a commit and its first parent; empty texts if there is none.
    pub(super) fn subject_and_parent(&self, sha: &str) -> (&str, &str) {
        self.commit(sha).map_or(("", ""), |commit| {
            let parent = commit.parents.first().map_or("", String::as_str);
            (commit.subject.as_str(), parent)
        })
    }

    pub(super) fn ancestors(&self, sha: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut open = vec![sha.to_owned()];
        while let Some(sha) = open.pop() {
            if let Some(commit) = self.commit(&sha)
                && found.insert(sha)
            {
                open.extend(commit.parents.iter().cloned());
            }
        }
        found
    }

    /// The commits of `head` that `base` does not contain, oldest first.
    pub(super) fn between(&self, base: &str, head: &str) -> Vec<CommitSummary> {
        let known = self.ancestors(base);
        self.summaries(self.ancestors(head).difference(&known))
    }

    pub(super) fn summaries<'a>(
        &self,
        shas: impl Iterator<Item = &'a String>,
    ) -> Vec<CommitSummary> {
        // Ids are padded commit numbers, so their order is the order of age.
        let summary = |sha: &String| CommitSummary {
            sha: CommitSha::new(sha.clone()),
            subject: self
                .commit(sha)
                .map_or_else(String::new, |commit| commit.subject.clone()),
        };
        shas.map(summary).collect()
    }

    pub(super) fn merge_base(&self, a: &str, b: &str) -> Option<String> {
        let (a, b) = (self.ancestors(a), self.ancestors(b));
        a.intersection(&b).last().cloned()
    }

    pub(super) fn head_of(&self, checkout: &FakeSandbox) -> String {
        match &checkout.head {
            FakeHead::Branch(branch) => self.refs.get(&full(branch)).cloned().unwrap_or_default(),
            FakeHead::Detached(sha) => sha.clone(),
        }
    }

    /// The number of files that differ from the commit.
    pub(super) fn dirty(&self, checkout: &FakeSandbox) -> u32 {
        let committed = self.files(&self.head_of(checkout));
        let paths: BTreeSet<&String> = committed.keys().chain(checkout.files.keys()).collect();
        let differ = paths
            .into_iter()
            .filter(|path| committed.get(*path) != checkout.files.get(*path));
        u32::try_from(differ.count()).unwrap_or(u32::MAX)
    }

    pub(super) fn sandbox_at(&self, sandbox: &Sandbox) -> Result<&FakeSandbox, Problem> {
        let found = self.sandboxes.get(&sandbox.id);
        found
            .filter(|one| !one.retired)
            .ok_or_else(|| gone(sandbox))
    }

    fn in_folder(&self, folder: &Path) -> Option<&FakeSandbox> {
        let mut all = self.sandboxes.values();
        all.find(|one| one.sandbox.path == folder)
    }

    /// Commits the changed files, if there are any. This concludes a merge in progress.
    pub(super) fn commit_sandbox(&mut self, id: &SandboxId, subject: &str) {
        let Some(checkout) = self.sandboxes.get(id) else {
            return;
        };
        if self.dirty(checkout) == 0 && checkout.merging.is_none() {
            return;
        }
        let mut parents = vec![self.head_of(checkout)];
        parents.extend(checkout.merging.clone());
        let sha = self.add(parents, checkout.files.clone(), subject);
        self.move_head(id, &sha);
        if let Some(checkout) = self.sandboxes.get_mut(id) {
            checkout.merging = None;
        }
    }

    /// Moves the checked-out commit and its branch.
    pub(super) fn move_head(&mut self, id: &SandboxId, sha: &str) {
        let Some(checkout) = self.sandboxes.get_mut(id) else {
            return;
        };
        match &mut checkout.head {
            FakeHead::Branch(branch) => {
                self.refs.insert(full(branch), sha.to_owned());
            }
            FakeHead::Detached(head) => sha.clone_into(head),
        }
    }

    pub(super) fn set_remote(&mut self, remote: &str, branch: &str, sha: &str) {
        let branches = self.remotes.entry(remote.to_owned()).or_default();
        branches.insert(branch.to_owned(), sha.to_owned());
    }

    /// The files of `ours` merged with the changes of `theirs` since their common base; files that
    /// both changed are conflicts.
    pub(super) fn merged_files(
        &self,
        ours_now: &Files,
        ours: &str,
        theirs: &str,
    ) -> (Files, Vec<PathBuf>) {
        let base = self.merge_base(ours, theirs);
        let base = base.map_or_else(Files::new, |base| self.files(&base));
        let theirs = self.files(theirs);
        let (mut files, mut conflicts) = (ours_now.clone(), Vec::new());
        let paths: BTreeSet<&String> = base.keys().chain(theirs.keys()).collect();
        for path in paths {
            let (was, is, own) = (base.get(path), theirs.get(path), ours_now.get(path));
            if is == was || is == own {
                continue;
            }
            if own == was {
                match is {
                    Some(text) => files.insert(path.clone(), text.clone()),
                    None => files.remove(path),
                };
                continue;
            }
            let text = |text: Option<&String>| text.cloned().unwrap_or_default();
            let both = format!("{CONFLICT}\n{}=======\n{}>>>>>>>\n", text(own), text(is));
            files.insert(path.clone(), both);
            conflicts.push(PathBuf::from(path));
        }
        (files, conflicts)
    }

    /// A new ref name for saved work.
    pub(super) fn kept_name(&mut self, run: &RunId) -> String {
        self.kept_count += 1;
        format!("{KEPT_PREFIX}{run}/{}", self.kept_count)
    }

    pub(super) fn resolve(&self, place: Place<'_>, revision: &str) -> Option<String> {
        if revision == "HEAD" {
            return match place {
                Place::Checkout(_) => self.refs.get(&full(MAIN)).cloned(),
                Place::Sandbox(sandbox) => {
                    self.sandbox_at(sandbox).ok().map(|one| self.head_of(one))
                }
            };
        }
        if self.knows(revision) {
            return Some(revision.to_owned());
        }
        if let Some(rest) = revision.strip_prefix("refs/remotes/") {
            let (remote, branch) = rest.split_once('/')?;
            return self.remotes.get(remote)?.get(branch).cloned();
        }
        let found = self.refs.get(revision);
        found.or_else(|| self.refs.get(&full(revision))).cloned()
    }
}

pub(super) fn full(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

pub(super) fn gone(sandbox: &Sandbox) -> Problem {
    Problem::new(
        Kind::SandboxGone,
        format!("sandbox `{}` no longer exists", sandbox.id),
    )
}

fn name(number: usize) -> String {
    format!("{:040x}", number + 1)
}

fn number(sha: &str) -> Option<usize> {
    let is_full = sha.len() == 40;
    let number = usize::from_str_radix(sha, 16).ok().filter(|_| is_full)?;
    number.checked_sub(1)
}

/// The tree id of these files; equal files have the same one.
pub(super) fn tree_of(files: &Files) -> TreeSha {
    let mut hasher = DefaultHasher::new();
    files.hash(&mut hasher);
    let text = format!("{:040x}", hasher.finish());
    TreeSha::parse(&text).unwrap_or_else(|| unreachable!("40 digits"))
}
