use super::file_changes::{changes, diff_of, lines};
use super::repository::{
    CONFLICT, FakeHead, FakeRepository, Files, MAIN, RepositoryState, full, tree_of,
};
use crate::ports::{
    CollectedWork, CommitObject, DiffStats, FileChange, Leftovers, MergeCommit, Merged, OwnBranch,
    Place, Push, Pushed, Repository, UsersBranch, VersionControl, WorkState,
};
use drive_core::forge::inert::Said;
use drive_core::ids::{BranchName, CommitSha, RemoteName};
use drive_core::problem::{Kind, Problem};
use drive_core::review::Change;
use drive_core::run::CommitSummary;
use drive_core::sandbox::{InProgress, Sandbox};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

impl VersionControl for FakeRepository {
    fn discover(&self, path: &Path) -> Result<Repository, Problem> {
        let state = self.alive()?;
        let head = state.refs.get(&full(MAIN)).cloned();
        Ok(Repository {
            common_dir: path.join(".git"),
            git_dir: path.join(".git"),
            top: Some(path.to_owned()),
            shallow: false,
            head_sha: CommitSha::new(head.ok_or_else(|| unknown(MAIN))?),
            branch: Some(BranchName::parse(MAIN)?),
        })
    }

    fn resolve(&self, place: Place<'_>, revision: &str) -> Result<CommitSha, Problem> {
        let found = self.alive()?.resolve(place, revision);
        found.map(CommitSha::new).ok_or_else(|| unknown(revision))
    }

    fn state(&self, place: Place<'_>) -> Result<WorkState, Problem> {
        state_of(&*self.alive()?, place)
    }

    fn make_messages_inert(
        &self,
        _: &Sandbox,
        _: &CommitSha,
        _: &Said,
        _: Option<&RemoteName>,
    ) -> Result<usize, Problem> {
        Ok(0)
    }

    fn collect_work(
        &self,
        place: Place<'_>,
        leftovers: &Leftovers,
        base: &str,
    ) -> Result<CollectedWork, Problem> {
        let mut state = self.alive()?;
        let mut found = state_of(&state, place)?;
        if let Place::Sandbox(sandbox) = place
            && found.in_progress.is_none()
        {
            state.commit_sandbox(&sandbox.id, &leftovers.message);
        }
        found.head_sha = state_of(&state, place)?.head_sha;
        Ok(CollectedWork {
            commits: state.between(base, &found.head_sha),
            builds_on_base: state.ancestors(&found.head_sha).contains(base),
            large: Vec::new(),
            nested: Vec::new(),
            state: found,
        })
    }

    fn commits(&self, _: Place<'_>, base: &str, head: &str) -> Result<Vec<CommitSummary>, Problem> {
        let state = self.alive()?;
        require(&state, &[base, head])?;
        Ok(state.between(base, head))
    }

    fn diff_stats(&self, _: Place<'_>, base: &str, head: &str) -> Result<DiffStats, Problem> {
        let state = self.alive()?;
        require(&state, &[base, head])?;
        let mut stats = DiffStats::default();
        for (path, before, after) in changes(&state, base, head) {
            let (insertions, deletions) = (lines(after.as_deref()), lines(before.as_deref()));
            stats.files += 1;
            stats.insertions += insertions;
            stats.deletions += deletions;
            stats.listed.push(FileChange {
                path: PathBuf::from(path),
                insertions: Some(insertions),
                deletions: Some(deletions),
            });
        }
        Ok(stats)
    }

    fn diff(&self, _: Place<'_>, base: &str, head: &str) -> Result<Change, Problem> {
        let state = self.alive()?;
        require(&state, &[base, head])?;
        let mut text = String::new();
        for (path, before, after) in changes(&state, base, head) {
            text.push_str(&diff_of(&path, before.as_deref(), after.as_deref()));
        }
        Ok(Change::parse(text.as_bytes()))
    }

    fn read_file(
        &self,
        _: Place<'_>,
        commit: &str,
        path: &str,
        limit: u64,
    ) -> Result<Option<String>, Problem> {
        let state = self.alive()?;
        require(&state, &[commit])?;
        let text = state.files(commit).remove(path);
        if text.as_ref().is_some_and(|text| text.len() as u64 > limit) {
            Err(Problem::new(
                Kind::StorageFailed,
                format!("`{path}` is too long"),
            ))
        } else {
            Ok(text)
        }
    }

    fn plain_files(
        &self,
        place: Place<'_>,
        commit: &str,
        names: &[&str],
        limit: u64,
    ) -> Result<Vec<(String, String)>, Problem> {
        let mut found = Vec::new();
        for name in names {
            let text = self.read_file(place, commit, name, limit)?;
            found.extend(text.map(|text| ((*name).to_owned(), text)));
        }
        Ok(found)
    }

    fn changed_paths(&self, _: Place<'_>, base: &str, head: &str) -> Result<Vec<PathBuf>, Problem> {
        let state = self.alive()?;
        require(&state, &[base, head])?;
        let changed = changes(&state, base, head).into_iter();
        Ok(changed.map(|(path, _, _)| PathBuf::from(path)).collect())
    }

    fn merge_base(&self, _: Place<'_>, a: &str, b: &str) -> Result<Option<CommitSha>, Problem> {
        let state = self.alive()?;
        require(&state, &[a, b])?;
        Ok(state.merge_base(a, b).map(CommitSha::new))
    }

    fn commit_object(&self, _: Place<'_>, commit: &CommitSha) -> Result<CommitObject, Problem> {
        let state = self.alive()?;
        require(&state, &[commit.as_str()])?;
        let parents = state.commit(commit).map(|one| one.parents.clone());
        Ok(CommitObject {
            tree: tree_of(&state.files(commit)),
            parents: parents.into_iter().flatten().map(CommitSha::new).collect(),
        })
    }

    fn is_ancestor(&self, _: Place<'_>, ancestor: &str, descendant: &str) -> Result<bool, Problem> {
        let state = self.alive()?;
        require(&state, &[ancestor, descendant])?;
        Ok(state.ancestors(descendant).contains(ancestor))
    }

    fn users_tip(&self, sandbox: &Sandbox, head: &CommitSha) -> Result<Option<CommitSha>, Problem> {
        let state = self.alive()?;
        let branch = sandbox.branch.as_ref();
        let tip = branch.and_then(|branch| state.refs.get(&branch.full()));
        let is_theirs = |tip: &&String| **tip != head.as_str();
        Ok(tip.filter(is_theirs).cloned().map(CommitSha::new))
    }

    fn create_branch(
        &self,
        _: Place<'_>,
        branch: &BranchName,
        at: &CommitSha,
    ) -> Result<(), Problem> {
        let mut state = self.alive()?;
        require(&state, &[at])?;
        if state.refs.contains_key(&branch.full()) {
            let message = format!("branch `{branch}` already exists");
            return Err(Problem::new(Kind::BranchExists, message));
        }
        state.refs.insert(branch.full(), at.to_string());
        Ok(())
    }

    fn advance_branch(
        &self,
        _: Place<'_>,
        branch: &BranchName,
        from: &CommitSha,
        to: &CommitSha,
    ) -> Result<(), Problem> {
        let mut state = self.alive()?;
        let is_expected = state
            .refs
            .get(&branch.full())
            .is_some_and(|now| now == from.as_str());
        let is_forward = state.ancestors(to).contains(from.as_str());
        let is_free = !state.sandboxes.values().any(|one| is_on(&one.head, branch));
        if !(is_expected && is_forward && is_free) {
            return Err(Problem::new(
                Kind::BranchMoved,
                format!("branch `{branch}` cannot be moved to {to}"),
            ));
        }
        state.refs.insert(branch.full(), to.to_owned().to_string());
        Ok(())
    }

    fn remote_url(&self, _: Place<'_>, remote: &RemoteName) -> Result<Option<String>, Problem> {
        let state = self.alive()?;
        let is_known = state.remotes.contains_key(remote.as_str());
        Ok(is_known.then(|| format!("fake:{remote}")))
    }

    fn fetch(&self, _: Place<'_>, remote: &RemoteName) -> Result<(), Problem> {
        require_remote(&*self.alive()?, remote)
    }

    fn fetch_branch(
        &self,
        place: Place<'_>,
        remote: &RemoteName,
        branch: &BranchName,
    ) -> Result<Option<CommitSha>, Problem> {
        self.remote_head(place, remote, branch)
    }

    fn conflicts(
        &self,
        _: Place<'_>,
        ours: &CommitSha,
        theirs: &CommitSha,
    ) -> Result<Vec<PathBuf>, Problem> {
        let state = self.alive()?;
        require(&state, &[ours, theirs])?;
        let (_, conflicts) = state.merged_files(&state.files(ours), ours, theirs);
        Ok(conflicts)
    }

    fn merge_commits(
        &self,
        _: Place<'_>,
        ours: &CommitSha,
        theirs: &CommitSha,
        leftovers: &Leftovers,
    ) -> Result<MergeCommit, Problem> {
        let mut state = self.alive()?;
        require(&state, &[ours, theirs])?;
        Ok(state.merge_commit(ours, theirs, &leftovers.message))
    }

    fn merge(
        &self,
        place: Place<'_>,
        theirs: &CommitSha,
        leftovers: &Leftovers,
    ) -> Result<Merged, Problem> {
        let mut state = self.alive()?;
        let sandbox = require_sandbox(place)?;
        let checkout = state.sandbox_at(sandbox)?;
        if let Some(begun) = checkout.merging.clone() {
            let files = unresolved(&checkout.files);
            return Ok(Merged::Conflicts {
                theirs: CommitSha::new(begun),
                files,
            });
        }
        require(&state, &[theirs])?;
        let ours = state.head_of(checkout);
        if state.ancestors(&ours).contains(theirs.as_str()) {
            return Ok(Merged::Done);
        }
        if state.dirty(checkout) == 0 && state.ancestors(theirs).contains(&ours) {
            let files = state.files(theirs);
            if let Some(checkout) = state.sandboxes.get_mut(&sandbox.id) {
                checkout.files = files;
            }
            state.move_head(&sandbox.id, theirs);
            return Ok(Merged::Done);
        }
        let (files, conflicts) = state.merged_files(&checkout.files, &ours, theirs);
        if let Some(checkout) = state.sandboxes.get_mut(&sandbox.id) {
            checkout.files = files;
            checkout.merging = Some(theirs.to_string());
        }
        if conflicts.is_empty() {
            state.commit_sandbox(&sandbox.id, &leftovers.message);
            return Ok(Merged::Done);
        }
        Ok(Merged::Conflicts {
            theirs: theirs.to_owned(),
            files: conflicts,
        })
    }

    fn conclude_merge(
        &self,
        place: Place<'_>,
        _: &CommitSha,
        theirs: &CommitSha,
        leftovers: &Leftovers,
    ) -> Result<Merged, Problem> {
        let mut state = self.alive()?;
        let sandbox = require_sandbox(place)?;
        let checkout = state.sandbox_at(sandbox)?;
        let files = unresolved(&checkout.files);
        if !files.is_empty() {
            let theirs = theirs.to_owned();
            return Ok(Merged::Conflicts { theirs, files });
        }
        let head = state.head_of(checkout);
        let is_given_up =
            checkout.merging.is_none() && !state.ancestors(&head).contains(theirs.as_str());
        if is_given_up {
            drop(state);
            return self.merge(place, theirs, leftovers);
        }
        state.commit_sandbox(&sandbox.id, &leftovers.message);
        Ok(Merged::Done)
    }

    fn remote_head(
        &self,
        _: Place<'_>,
        remote: &RemoteName,
        branch: &BranchName,
    ) -> Result<Option<CommitSha>, Problem> {
        let state = self.alive()?;
        require_remote(&state, remote)?;
        let branches = state.remotes.get(remote.as_str());
        let tip = branches.and_then(|branches| branches.get(branch.as_str()).cloned());
        Ok(tip.map(CommitSha::new))
    }

    fn unpublished(
        &self,
        _: Place<'_>,
        push: &Push,
        base: &CommitSha,
        merged: Option<&CommitSha>,
    ) -> Result<Vec<u8>, Problem> {
        let state = self.alive()?;
        require(&state, &[&push.sha])?;
        let known = [Some(base), merged, push.expected.as_ref()];
        let known: BTreeSet<String> = known
            .into_iter()
            .flatten()
            .flat_map(|sha| state.ancestors(sha))
            .collect();
        let mut patch = String::new();
        for sha in state.ancestors(&push.sha).difference(&known) {
            let (subject, before) = state.subject_and_parent(sha);
            let _ = write!(patch, "\0commit {sha}\n{subject}\n\0\n");
            for (path, before, after) in changes(&state, before, sha) {
                patch.push_str(&diff_of(&path, before.as_deref(), after.as_deref()));
            }
        }
        Ok(patch.into_bytes())
    }

    fn push(&self, _: Place<'_>, push: &Push) -> Result<Pushed, Problem> {
        let mut state = self.alive()?;
        require_remote(&state, &push.remote)?;
        require(&state, &[&push.sha])?;
        let branches = state.remotes.get(push.remote.as_str());
        let now = branches.and_then(|branches| branches.get(push.branch.as_str()).cloned());
        if now.as_deref() == Some(push.sha.as_str()) {
            return Ok(Pushed::UpToDate);
        }
        let history = state.ancestors(&push.sha);
        let adds = now.as_ref().is_none_or(|now| history.contains(now));
        if now.as_deref() != push.expected.as_deref() || !adds {
            let remote_head = now.map(CommitSha::new);
            return Ok(Pushed::Moved { remote_head });
        }
        state.set_remote(&push.remote, push.branch.as_str(), &push.sha);
        Ok(Pushed::Done)
    }
}

fn state_of(state: &RepositoryState, place: Place<'_>) -> Result<WorkState, Problem> {
    let Place::Sandbox(sandbox) = place else {
        let head = state.resolve(place, "HEAD");
        return Ok(WorkState {
            head_sha: CommitSha::new(head.ok_or_else(|| unknown("HEAD"))?),
            branch: Some(BranchName::parse(MAIN)?),
            in_progress: None,
            dirty_files: 0,
            own: None,
        });
    };
    let checkout = state.sandbox_at(sandbox)?;
    Ok(WorkState {
        head_sha: CommitSha::new(state.head_of(checkout)),
        branch: match &checkout.head {
            FakeHead::Branch(branch) => Some(branch.clone()),
            FakeHead::Detached(_) => None,
        },
        in_progress: checkout.merging.as_ref().map(|_| InProgress::Merge),
        dirty_files: state.dirty(checkout),
        own: sandbox.branch.as_ref().and_then(|branch| {
            let tip = state.refs.get(&branch.full())?;
            Some(OwnBranch {
                tip: CommitSha::new(tip.clone()),
                users: UsersBranch::Follows,
            })
        }),
    })
}

fn is_on(head: &FakeHead, branch: &BranchName) -> bool {
    match head {
        FakeHead::Branch(own) => own == branch,
        FakeHead::Detached(_) => false,
    }
}

fn unknown(revision: &str) -> Problem {
    Problem::new(
        Kind::UnknownRevision,
        format!("unknown revision `{revision}`"),
    )
}

fn require(state: &RepositoryState, shas: &[&str]) -> Result<(), Problem> {
    match shas.iter().find(|sha| !state.knows(sha)) {
        Some(sha) => Err(unknown(sha)),
        None => Ok(()),
    }
}

fn require_remote(state: &RepositoryState, remote: &RemoteName) -> Result<(), Problem> {
    if state.remotes.contains_key(remote.as_str()) {
        Ok(())
    } else {
        Err(unknown(remote))
    }
}

fn require_sandbox(place: Place<'_>) -> Result<&Sandbox, Problem> {
    match place {
        Place::Sandbox(sandbox) => Ok(sandbox),
        Place::Checkout(_) => Err(Problem::new(
            Kind::Internal,
            "nothing is ever merged in a person's own checkout",
        )),
    }
}

fn unresolved(files: &Files) -> Vec<PathBuf> {
    let open = files.iter().filter(|(_, text)| text.starts_with(CONFLICT));
    open.map(|(path, _)| PathBuf::from(path)).collect()
}
