use crate::files;
use crate::git::{Git, Touches};
use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::{Place, VersionControl};
use drive_engine::verify::Candidates;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Facts about commits, from git. Writes nothing into the repository.
pub struct GitCandidates {
    git: Git,
    scratch: PathBuf,
}

impl GitCandidates {
    /// Candidates whose trial merges leave their objects below `scratch`, a folder that exists.
    pub fn new(git: Git, scratch: &Path) -> Self {
        Self {
            git,
            scratch: scratch.to_path_buf(),
        }
    }
}

impl Candidates for GitCandidates {
    fn resolve(&self, repo: &Path, revision: &str) -> Result<CommitSha, Problem> {
        self.git.resolve(Place::Checkout(repo), revision)
    }

    fn conflicts(&self, repo: &Path, base: &str, head: &str) -> Result<Vec<String>, Problem> {
        let objects = self.git.discover(repo)?.common_dir.join("objects");
        // A trial merge writes trees: they go to a folder of their own, not to the caller's repository.
        let own = OwnObjects::make(&self.scratch)?;
        let answer = self
            .git
            .call(Place::Checkout(repo), Touches::Files)
            .env("GIT_OBJECT_DIRECTORY", &own.0)
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", &objects)
            .args([
                "merge-tree",
                "--write-tree",
                "-z",
                "--name-only",
                "--no-messages",
            ])
            .arg("--allow-unrelated-histories")
            .args([base, head])
            .run()?;
        match answer.code {
            0 => Ok(Vec::new()),
            1 => Ok(answer.fields().skip(1).map(lossy).collect()),
            _ => Err(answer.problem()),
        }
    }

    fn changed_paths(&self, repo: &Path, base: &str, head: &str) -> Result<Vec<String>, Problem> {
        let place = Place::Checkout(repo);
        let from = self.git.merge_base(place, base, head)?;
        let paths = self
            .git
            .changed_paths(place, from.as_deref().unwrap_or(base), head)?;
        Ok(paths
            .iter()
            .map(|path| path.to_string_lossy().into_owned())
            .collect())
    }
}

/// A folder for objects nobody needs afterwards.
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
        // What stays is a few small files in the state directory.
        let _ = files::remove_tree(&self.0);
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
