use crate::files;
use crate::git::{Answer, Git, Location, Touches, Trial, commit_tree_at, committed_at, merge_tree};
use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::{Place, VersionControl};
use drive_engine::verify::{Candidates, Merging};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Reads facts about commits from git, and moves no ref. A merge that succeeds leaves objects in
/// the repository, which git removes once no workspace pins them; a failed merge leaves nothing.
pub struct GitCandidates {
    git: Git,
    scratch: PathBuf,
}

impl GitCandidates {
    /// Reads candidates; trial merges store their objects below the existing folder `scratch`.
    pub fn new(git: Git, scratch: &Path) -> Self {
        Self {
            git,
            scratch: scratch.to_path_buf(),
        }
    }

    /// Tries the merge with a separate folder for its objects, not in the caller's repository.
    fn try_merge(&self, common_dir: &Path, base: &str, head: &str) -> Result<Answer, Problem> {
        let own = OwnObjects::make(&self.scratch)?;
        let call = self
            .git
            .call(Place::Checkout(common_dir), Touches::Files)
            .env("GIT_OBJECT_DIRECTORY", &own.0)
            .env(
                "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                common_dir.join("objects"),
            );
        merge_tree(call, base, head).run()
    }

    /// The problem of commits without a common ancestor: the history is incomplete here, or there is none.
    fn unrelated(&self, repo: &Path, base: &str, head: &str) -> Result<Problem, Problem> {
        let shallow = self
            .git
            .call(Place::Checkout(repo), Touches::Objects)
            .args(["rev-parse", "--is-shallow-repository"])
            .line()?;
        let message = format!("{head} shares no commit with {base}");
        Ok(if shallow == "true" {
            Problem::new(
                Kind::HistoryShallow,
                format!("{message} in this shallow clone"),
            )
            .hint("run `git fetch --unshallow`, then verify again")
        } else {
            Problem::new(Kind::HistoryUnrelated, message)
                .hint("rebuild the commit from its base, or choose another `--base`")
        })
    }
}

impl Candidates for GitCandidates {
    fn resolve(&self, repo: &Path, revision: &str) -> Result<CommitSha, Problem> {
        self.git.resolve(Place::Checkout(repo), revision)
    }

    fn merge(&self, repo: &Path, base: &CommitSha, head: &CommitSha) -> Result<Merging, Problem> {
        let place = Place::Checkout(repo);
        if self.git.is_ancestor(place, base, head)? {
            return Ok(Merging::Clean {
                commit: head.clone(),
                tree: self.git.commit_object(place, head)?.tree,
            });
        }
        if self.git.merge_base(place, base, head)?.is_none() {
            return Err(self.unrelated(repo, base, head)?);
        }
        // The call runs in the git folder, because git before 2.41 reads the attributes of the
        // checkout it runs in.
        let common_dir = self.git.discover(repo)?.common_dir;
        let tried = self.try_merge(&common_dir, base, head)?;
        if let Trial::Conflicts(files) = Trial::read(&tried)? {
            let files = files.iter();
            let files = files.map(|file| file.to_string_lossy().into_owned());
            return Ok(Merging::Conflicts(files.collect()));
        }
        let call = self.git.call(Place::Checkout(&common_dir), Touches::Files);
        let merged = merge_tree(call, base, head).ok()?;
        let Trial::Clean(tree) = Trial::read(&merged)? else {
            return Err(merged.problem());
        };
        let location = Location::checkout(repo);
        let parents = [base.to_string(), head.to_string()];
        let message = format!("Merge {head} into {base} to verify it\n");
        let time = Some(committed_at(&self.git, &location, head)?);
        let tree_id = tree.as_str();
        let commit = commit_tree_at(&self.git, &location, tree_id, &parents, &message, time)?;
        Ok(Merging::Clean { commit, tree })
    }

    fn fork_point(
        &self,
        repo: &Path,
        base: &CommitSha,
        head: &CommitSha,
    ) -> Result<Option<CommitSha>, Problem> {
        self.git.merge_base(Place::Checkout(repo), base, head)
    }

    fn changed_paths(
        &self,
        repo: &Path,
        from: &CommitSha,
        to: &CommitSha,
    ) -> Result<Vec<String>, Problem> {
        let paths = self.git.changed_paths(Place::Checkout(repo), from, to)?;
        let paths = paths.iter();
        Ok(paths
            .map(|path| path.to_string_lossy().into_owned())
            .collect())
    }
}

/// A folder for objects that are not needed afterwards.
struct OwnObjects(PathBuf);

impl OwnObjects {
    fn make(scratch: &Path) -> Result<Self, Problem> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = scratch.join(format!("merge-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&dir).map_err(|error| {
            Problem::new(
                Kind::ScratchUnusable,
                format!("cannot make `{}`", dir.display()),
            )
            .because(error)
        })?;
        Ok(Self(dir))
    }
}

impl Drop for OwnObjects {
    fn drop(&mut self) {
        // If this fails, a few small files remain in the state directory.
        let _ = files::remove_tree(&self.0);
    }
}
