//! Implements the port for reading and writing history. Each method calls a function of its topic.

use super::builder::Git;
use super::call::Touches;
use super::location::{Location, brought};
use super::messages::Judged;
use super::{
    branch, commit, discover, history, merge, merge_tree, remote, sandbox, state, unpublished,
    usual,
};
use drive_core::Problem;
use drive_core::forge::inert::Said;
use drive_core::ids::{BranchName, CommitSha, RemoteName};
use drive_core::review::Change;
use drive_core::run::CommitSummary;
use drive_core::sandbox::Sandbox;
use drive_engine::ports::{
    CollectedWork, CommitObject, DiffStats, Leftovers, MergeCommit, Merged, Place, Push, Pushed,
    Repository, VersionControl, WorkState,
};
use std::path::{Path, PathBuf};

impl Git {
    /// The diff from `base` to `head` as git prints it, up to a size, and whether it is longer.
    pub fn patch(
        &self,
        place: Place<'_>,
        base: &CommitSha,
        head: &CommitSha,
        most_bytes: usize,
    ) -> Result<(Vec<u8>, bool), Problem> {
        history::patch(self, &Location::history_of(place), base, head, most_bytes)
    }

    /// The commit of the default base branch; `None` if the branch is missing.
    pub fn main_tip(&self, repo: &Path) -> Result<Option<CommitSha>, Problem> {
        usual::main_tip(self, &Location::checkout(repo))
    }
}

impl VersionControl for Git {
    fn discover(&self, path: &Path) -> Result<Repository, Problem> {
        discover::discover(self, path)
    }

    fn resolve(&self, place: Place<'_>, revision: &str) -> Result<CommitSha, Problem> {
        history::resolve(self, &Location::history_of(place), revision)
    }

    fn state(&self, place: Place<'_>) -> Result<WorkState, Problem> {
        match place {
            Place::Checkout(_) => state::load(self, &Location::of(place)),
            Place::Sandbox(sandbox) => sandbox::load_state(self, sandbox),
        }
    }

    fn collect_work(
        &self,
        place: Place<'_>,
        leftovers: &Leftovers,
        base: &str,
    ) -> Result<CollectedWork, Problem> {
        commit::collect(self, place, leftovers, base)
    }

    fn make_messages_inert(
        &self,
        sandbox: &Sandbox,
        base: &CommitSha,
        said: &Said,
        remote: Option<&RemoteName>,
    ) -> Result<usize, Problem> {
        let judged = Judged {
            git: self,
            sandbox,
            inside: &Location::inside(&sandbox.path, &sandbox.git_dir),
            base,
            said,
            remote,
        };
        judged.make_inert()
    }

    fn commits(
        &self,
        place: Place<'_>,
        base: &str,
        head: &str,
    ) -> Result<Vec<CommitSummary>, Problem> {
        history::commits(self, &Location::history_of(place), base, head)
    }

    fn diff_stats(&self, place: Place<'_>, base: &str, head: &str) -> Result<DiffStats, Problem> {
        history::diff_stats(self, &Location::history_of(place), base, head)
    }

    fn diff(&self, place: Place<'_>, base: &str, head: &str) -> Result<Change, Problem> {
        history::diff(self, &Location::history_of(place), base, head)
    }

    fn read_file(
        &self,
        place: Place<'_>,
        commit: &str,
        path: &str,
        limit: u64,
    ) -> Result<Option<String>, Problem> {
        history::read_file(self, &Location::history_of(place), commit, path, limit)
    }

    fn plain_files(
        &self,
        place: Place<'_>,
        commit: &str,
        names: &[&str],
        limit: u64,
    ) -> Result<Vec<(String, String)>, Problem> {
        history::plain_files(self, &Location::history_of(place), commit, names, limit)
    }

    fn changed_paths(
        &self,
        place: Place<'_>,
        base: &str,
        head: &str,
    ) -> Result<Vec<PathBuf>, Problem> {
        history::changed_paths(self, &Location::history_of(place), base, head)
    }

    fn merge_base(&self, place: Place<'_>, a: &str, b: &str) -> Result<Option<CommitSha>, Problem> {
        history::merge_base(self, &Location::history_of(place), a, b)
    }

    fn commit_object(&self, place: Place<'_>, commit: &CommitSha) -> Result<CommitObject, Problem> {
        history::commit_object(self, &Location::history_of(place), commit)
    }

    fn is_ancestor(
        &self,
        place: Place<'_>,
        ancestor: &str,
        descendant: &str,
    ) -> Result<bool, Problem> {
        history::is_ancestor(self, &Location::history_of(place), ancestor, descendant)
    }

    fn users_tip(&self, sandbox: &Sandbox, head: &CommitSha) -> Result<Option<CommitSha>, Problem> {
        sandbox::users_tip(self, sandbox, head)
    }

    fn advance_branch(
        &self,
        place: Place<'_>,
        branch: &BranchName,
        from: &CommitSha,
        to: &CommitSha,
    ) -> Result<(), Problem> {
        match place {
            Place::Checkout(_) => branch::advance(self, &Location::of(place), branch, from, to),
            // The agent may have renamed or deleted its own branch.
            Place::Sandbox(sandbox) => {
                self.call(place, Touches::Objects)
                    .args(["update-ref", "--no-deref", &branch.full(), to])
                    .ok()?;
                sandbox::put_branch(self, sandbox, to)
            }
        }
    }

    fn create_branch(
        &self,
        place: Place<'_>,
        branch: &BranchName,
        at: &CommitSha,
    ) -> Result<(), Problem> {
        branch::create(self, &Location::history_of(place), branch, at)
    }

    fn merge_commits(
        &self,
        place: Place<'_>,
        ours: &CommitSha,
        theirs: &CommitSha,
        leftovers: &Leftovers,
    ) -> Result<MergeCommit, Problem> {
        merge_tree::merge_commits(self, place, (ours, theirs), leftovers)
    }

    fn remote_url(&self, place: Place<'_>, remote: &RemoteName) -> Result<Option<String>, Problem> {
        remote::url(self, &Location::history_of(place), remote)
    }

    fn fetch(&self, place: Place<'_>, remote: &RemoteName) -> Result<(), Problem> {
        remote::fetch(self, &Location::history_of(place), remote)
    }

    fn fetch_branch(
        &self,
        place: Place<'_>,
        remote: &RemoteName,
        branch: &BranchName,
    ) -> Result<Option<CommitSha>, Problem> {
        remote::fetch_branch(self, &Location::history_of(place), remote, branch)
    }

    fn conflicts(
        &self,
        place: Place<'_>,
        ours: &CommitSha,
        theirs: &CommitSha,
    ) -> Result<Vec<PathBuf>, Problem> {
        merge::conflicts(self, &Location::history_of(place), ours, theirs)
    }

    fn merge(
        &self,
        place: Place<'_>,
        theirs: &CommitSha,
        leftovers: &Leftovers,
    ) -> Result<Merged, Problem> {
        if let Place::Sandbox(sandbox) = place {
            sandbox::pin_theirs(self, sandbox, theirs)?;
        }
        merge::merge(
            self,
            &Location::of(place),
            theirs,
            leftovers,
            brought(place),
        )
    }

    fn conclude_merge(
        &self,
        place: Place<'_>,
        ours: &CommitSha,
        theirs: &CommitSha,
        leftovers: &Leftovers,
    ) -> Result<Merged, Problem> {
        let sides = merge::Sides { ours, theirs };
        merge::conclude(
            self,
            &Location::of(place),
            &sides,
            leftovers,
            brought(place),
        )
    }

    fn remote_head(
        &self,
        place: Place<'_>,
        remote: &RemoteName,
        branch: &BranchName,
    ) -> Result<Option<CommitSha>, Problem> {
        remote::head(self, &Location::history_of(place), remote, branch)
    }

    fn unpublished(
        &self,
        place: Place<'_>,
        push: &Push,
        base: &CommitSha,
        merged: Option<&CommitSha>,
    ) -> Result<Vec<u8>, Problem> {
        unpublished::unpublished(self, &Location::history_of(place), push, base, merged)
    }

    fn push(&self, place: Place<'_>, push: &Push) -> Result<Pushed, Problem> {
        remote::push(self, &Location::history_of(place), push)
    }
}
