//! Saves a sandbox once: finds its contents, and the tree and parents of the commit that stores them.

use super::record::Record;
use super::sandboxes::GitSandboxes;
use super::{elsewhere, kept, nested};
use crate::files;
use crate::git::{self, Git, IgnoredFiles, Location, ScratchIndex, Status, Touches, Tracked};
use drive_core::ids::{CommitSha, SandboxId};
use drive_core::problem::{Kind, Problem};
use drive_core::sandbox::{InProgress, KeptWork};
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The maximum number of commits that one sandbox may leave on its own refs.
const MOST_ELSEWHERE: usize = 1_000;
/// The maximum nesting of repositories.
const MOST_ROUNDS: u32 = 8;

/// One saving: the folders, and the commit with which everything is compared.
pub(super) struct Saver<'a> {
    pub(super) git: &'a Git,
    record: &'a Record,
    /// The sandbox's own git folder.
    own: PathBuf,
    pub(super) at: Location,
    /// The user's repository.
    pub(super) users: Location,
    head: OnceCell<CommitSha>,
    /// A copy that is changed instead of the sandbox's own index.
    index: ScratchIndex,
    /// The paths that this index tracks.
    tracked: OnceCell<Tracked>,
}

impl<'a> Saver<'a> {
    pub(super) fn new(all: &'a GitSandboxes, record: &'a Record) -> Result<Self, Problem> {
        let own = all.folder_of(record).join(".git");
        Ok(Self {
            git: &all.git,
            record,
            index: ScratchIndex::fresh(&own, "keep")?,
            own,
            at: all.inside(record),
            users: Location::bare(&record.sandbox.git_dir),
            head: OnceCell::new(),
            tracked: OnceCell::new(),
        })
    }

    pub(super) fn head(&self) -> Result<&CommitSha, Problem> {
        if let Some(head) = self.head.get() {
            return Ok(head);
        }
        // The agent may have removed the head; the base always exists.
        let head = git::resolve(self.git, &self.at, "HEAD")
            .or_else(|_| git::resolve(self.git, &self.at, &self.record.sandbox.base_sha))?;
        Ok(self.head.get_or_init(|| head))
    }

    fn tracked(&self) -> Result<&Tracked, Problem> {
        if let Some(tracked) = self.tracked.get() {
            return Ok(tracked);
        }
        let tracked = Tracked::by_index(self.call(Touches::Objects))?;
        Ok(self.tracked.get_or_init(|| tracked))
    }

    pub(super) fn in_progress(&self) -> Result<Option<InProgress>, Problem> {
        git::load_in_progress(self.git, &self.at, &self.own)
    }

    /// Whether a merge stashed changes and did not restore them.
    pub(super) fn has_autostash(&self) -> Result<bool, Problem> {
        git::load_head(self.git, &self.at, &self.own, elsewhere::AUTOSTASH)
    }

    /// The changes, without files that drive copied in; a problem if something cannot be saved.
    pub(super) fn survey(&mut self) -> Result<Status, Problem> {
        let Some(folder) = self.folder() else {
            self.require_pushed()?;
            return Ok(Status::default());
        };
        let folder = folder.to_path_buf();
        self.copy_index()?;
        let mut status = self.look(&folder)?;
        for _ in 0..MOST_ROUNDS {
            if !self.absorb_nested(&status, &folder)? {
                break;
            }
            self.tracked = OnceCell::new();
            status = self.look(&folder)?;
        }
        self.require_keepable(&status, &folder)?;
        Ok(status)
    }

    fn look(&mut self, folder: &Path) -> Result<Status, Problem> {
        let mut status = git::status(self.git, &self.at, Some(self.index.path()))?;
        if status.incomplete {
            self.require_reachable(folder)?;
            status = git::status(self.git, &self.at, Some(self.index.path()))?;
        }
        if let Some(head) = &status.head {
            self.head = OnceCell::from(head.clone());
        }
        let ignored = IgnoredFiles::of(&self.record.sandbox.brought);
        status.retain_work(|path| !ignored.covers(folder, path));
        Ok(status)
    }

    /// Turns nested repositories that are not submodules into plain folders. Returns whether there were any.
    fn absorb_nested(&self, status: &Status, folder: &Path) -> Result<bool, Problem> {
        let tracked = self.tracked()?;
        let has_git = |path: &PathBuf| git::has_entry(&folder.join(path), ".git");
        // Git does not show a repository in whose folder files are tracked. One that was ignored
        // later only appears as a deleted submodule.
        let links = tracked.links.iter().chain(&status.submodules);
        let mut links: BTreeSet<PathBuf> = links.filter(|path| has_git(path)).cloned().collect();
        if !links.is_empty() {
            let declared = git::declared(self.call(Touches::Objects), "")?;
            links.retain(|path| !declared.contains(path));
        }
        let folders = tracked.folders.iter().filter(|path| has_git(path));
        let all: BTreeSet<&PathBuf> = folders.chain(&links).chain(&status.nested).collect();
        for path in &all {
            git::absorb(self.git, &self.at, path)?;
        }
        if !links.is_empty() {
            let mut names = Vec::new();
            for path in &links {
                names.extend_from_slice(path.as_os_str().as_bytes());
                names.push(0);
            }
            self.call(Touches::Files)
                .args(["update-index", "--force-remove", "-z", "--stdin"])
                .stdin(names)
                .ok()?;
        }
        Ok(!all.is_empty())
    }

    /// Makes everything readable. Fails if a file that is not ignored stays unreadable.
    fn require_reachable(&self, folder: &Path) -> Result<(), Problem> {
        let unreachable = files::make_readable(folder)
            .map_err(|error| super::problems::storage_problem(folder, &error))?;
        for below in unreachable {
            let is_ignored = !below.as_os_str().is_empty()
                && self
                    .call(Touches::Files)
                    .args(["check-ignore", "--quiet", "--"])
                    .arg(&below)
                    .yes()?;
            if !is_ignored {
                return Err(cannot_keep(
                    &self.record.sandbox.id,
                    &format!("a file below `{}` that git cannot read", below.display()),
                ));
            }
        }
        Ok(())
    }

    fn require_keepable(&self, status: &Status, folder: &Path) -> Result<(), Problem> {
        let id = &self.record.sandbox.id;
        if let Some(path) = status.nested.first() {
            let what = format!("nested repository `{}`", path.display());
            return Err(cannot_keep(id, &what));
        }
        let has_git = |path: &&PathBuf| git::has_entry(&folder.join(path), ".git");
        if let Some(path) = status.submodules.iter().find(has_git) {
            let what = format!("the changes in submodule `{}`", path.display());
            return Err(cannot_keep(id, &what));
        }
        let tracked = self.tracked()?;
        let modules = self.own.join("modules");
        if let Some(what) = nested::find_unsavable(self.git, &self.at, tracked, folder, &modules)? {
            return Err(cannot_keep(id, &what));
        }
        self.require_pushed()
    }

    fn require_pushed(&self) -> Result<(), Problem> {
        let modules = self.own.join("modules");
        match nested::find_unpushed(self.git, &self.at, &modules)? {
            Some(what) => Err(cannot_keep(&self.record.sandbox.id, &what)),
            None => Ok(()),
        }
    }

    /// Copies the index without the flags that hide changes. Creates a new one if it cannot be copied.
    fn copy_index(&mut self) -> Result<(), Problem> {
        let copied = self.index.copy_own().is_ok() && self.unhide().is_ok();
        if copied {
            return Ok(());
        }
        self.tracked.take();
        self.call(Touches::Files)
            .args(["read-tree", self.head()?])
            .ok()
            .map(drop)
    }

    /// Removes the flags and collects the tracked paths; one command reports both.
    fn unhide(&self) -> Result<(), Problem> {
        let answer = self
            .call(Touches::Objects)
            .args(["ls-files", "-v", "--stage", "-z"])
            .ok()?;
        let rows = answer.fields().filter_map(|row| row.split_at_checked(2));
        let tracked = Tracked::read(rows.map(|(_, row)| row));
        self.tracked.get_or_init(|| tracked);
        let mut hidden = Vec::new();
        for row in answer.fields() {
            let tab = row.iter().position(|byte| *byte == b'\t');
            let (Some(tag), Some(tab)) = (row.first(), tab) else {
                continue;
            };
            let path = &row[tab + 1..];
            // Lower case means "assume unchanged". `S` means "skip worktree", as in a sparse
            // checkout; then a file counts only if it exists.
            let skipped = tag.eq_ignore_ascii_case(&b's');
            let is_hidden = tag.is_ascii_lowercase() || skipped;
            let is_there = || {
                self.folder().is_some_and(|folder| {
                    folder.join(git::path_from(path)).symlink_metadata().is_ok()
                })
            };
            if is_hidden && (!skipped || is_there()) {
                hidden.extend_from_slice(path);
                hidden.push(0);
            }
        }
        if hidden.is_empty() {
            return Ok(());
        }
        for flag in ["--no-assume-unchanged", "--no-skip-worktree"] {
            self.call(Touches::Files)
                .args(["update-index", flag, "-z", "--stdin"])
                .stdin(hidden.clone())
                .ok()?;
        }
        Ok(())
    }

    /// The tree of everything in the folder.
    pub(super) fn tree(&self, status: &Status) -> Result<String, Problem> {
        if status.is_clean() {
            return self.tree_of(self.head()?);
        }
        let add = || git::stage(status, || self.call(Touches::Files));
        if add()?.code != 0 {
            // Probably a file is unreadable.
            self.require_reachable(self.folder().unwrap_or(Path::new("/")))?;
            add()?.require()?;
        }
        // Writing a tree may read a recently changed file again through its filter.
        self.call(Touches::Files).arg("write-tree").line()
    }

    pub(super) fn parents(&self, tree: &str, is_finished: bool) -> Result<Vec<String>, Problem> {
        let mut parents = vec![self.head()?.to_string()];
        parents.extend(self.staged(tree)?);
        if !is_finished {
            let half_done = elsewhere::half_done(self.git, &self.at, &self.own);
            parents.extend(half_done.iter().map(CommitSha::to_string));
        }
        let mut seen = HashSet::new();
        parents.retain(|sha| seen.insert(sha.clone()));
        Ok(parents)
    }

    /// A commit of the staged changes, if they differ from the head and from the folder.
    fn staged(&self, tree: &str) -> Result<Option<String>, Problem> {
        if self.index.copy_own().is_err() {
            return Ok(None);
        }
        let answer = self.call(Touches::Files).arg("write-tree").run()?;
        // Conflicts have no tree; they are in the folder with their markers.
        let staged = answer.line();
        if answer.code != 0 || staged == tree || staged == self.tree_of(self.head()?)? {
            return Ok(None);
        }
        let parents = [self.head()?.to_string()];
        let message = "Staged changes\n";
        // If it is saved again after a crash, it must be the same commit.
        let time = Some(self.record.sandbox.created_at);
        git::commit_tree_at(self.git, &self.at, &staged, &parents, message, time)
            .map(|sha| Some(sha.to_string()))
    }

    /// Commits that an agent left in the sandbox on its own branches, tags or stash.
    pub(super) fn elsewhere(
        &self,
        written: &HashSet<CommitSha>,
    ) -> Result<Vec<CommitSha>, Problem> {
        let mut found = elsewhere::tips(self.git, &self.at, &self.users, written)?;
        let head = self.head()?;
        found.retain(|sha| sha != head);
        if found.len() > MOST_ELSEWHERE {
            let what = format!("its {} branches, tags and stashes", found.len());
            return Err(cannot_keep(&self.record.sandbox.id, &what));
        }
        Ok(found)
    }

    /// The same work, if it was saved before: drive crashed between saving it and removing the sandbox.
    pub(super) fn already_kept(
        &self,
        tree: &str,
        parents: &[String],
    ) -> Result<Option<KeptWork>, Problem> {
        let found = kept::load(
            self.git,
            &self.users,
            &kept::prefix(&self.record.sandbox.run),
        )?;
        Ok(found
            .into_iter()
            .find(|one| one.tree == tree && one.parents == parents)
            .map(|one| one.work))
    }

    pub(super) fn tree_of(&self, commit: &str) -> Result<String, Problem> {
        self.call(Touches::Objects)
            .args(["rev-parse", "--verify", "--quiet"])
            .arg(format!("{commit}^{{tree}}"))
            .line()
    }

    fn call(&self, touches: Touches) -> git::Call<'_> {
        self.git
            .call_at(self.at.clone(), touches)
            .env("GIT_INDEX_FILE", self.index.path())
    }

    /// The folder, if it still exists.
    fn folder(&self) -> Option<&Path> {
        self.at.pinned.as_ref()?.work_tree.as_deref()
    }
}

fn cannot_keep(id: &SandboxId, what: &str) -> Problem {
    Problem::new(
        Kind::WorkCannotBeKept,
        format!("cannot remove sandbox `{id}`: {what} cannot be saved"),
    )
    .hint("save or remove it by hand, then remove the sandbox again")
}
