//! Saves the work of a sandbox that exists nowhere else.

use super::record::Record;
use super::untouched::is_untouched;
use super::{Worktrees, kept, nested, refs};
use crate::files;
use crate::git::{
    self, Git, IgnoredFiles, Index, Location, ScratchIndex, Status, Touches, Tracked,
};
use drive_core::ids::{CommitSha, SandboxId};
use drive_core::problem::{Kind, Problem};
use drive_core::sandbox::{InProgress, KEPT_PREFIX, KeptAbout, KeptWork, Lifetime, Stage};
use std::cell::OnceCell;
use std::path::Path;

/// How many refs one run may need.
const REFS_LIMIT: u32 = 10_000;
/// The changes that a merge put aside before it began.
const AUTOSTASH: &str = "MERGE_AUTOSTASH";

/// Saves what would be lost with the sandbox. Its branch stays, and so does what is on it.
pub(super) fn keep(all: &Worktrees, record: &Record) -> Result<Option<KeptWork>, Problem> {
    if is_all_on_its_branch(all, record) {
        return Ok(None);
    }
    keep_but(all, record, |saver, status| {
        // What is checked out by the name of its branch is on that branch.
        let is_on_branch = status.branch.is_some() && status.branch == record.sandbox.branch;
        Ok(is_on_branch || git::unbranched(&all.git, &saver.at, saver.head()?)?.is_empty())
    })
}

/// Saves what would be lost when the sandbox's branch goes back to a commit.
pub(super) fn keep_after(
    all: &Worktrees,
    record: &Record,
    to: &str,
) -> Result<Option<KeptWork>, Problem> {
    keep_but(all, record, |saver, _| {
        git::is_ancestor(&all.git, &saver.at, saver.head()?, to)
    })
}

fn keep_but(
    all: &Worktrees,
    record: &Record,
    is_safe: impl Fn(&Saver<'_>, &Status) -> Result<bool, Problem>,
) -> Result<Option<KeptWork>, Problem> {
    let nobodys = record.sandbox.lifetime == Lifetime::Disposable;
    if nobodys || record.stage == Stage::Creating {
        return Ok(None);
    }
    let mut saver = Saver::new(all, record)?;
    let status = saver.survey()?;
    let in_progress = saver.in_progress()?;
    let is_finished = in_progress.is_none() && !saver.has_autostash()?;
    if status.is_clean() && is_finished && is_safe(&saver, &status)? {
        return Ok(None);
    }
    let own = record.sandbox.branch.as_ref();
    let base = Some(record.sandbox.base_sha.as_str());
    let unpushed = git::unpushed(&all.git, &saver.at, own, base)?;
    let tree = saver.tree(&status)?;
    let parents = saver.parents(&tree, is_finished)?;
    if let Some(same) = saver.already_kept(&tree, &parents)? {
        return Ok(Some(same));
    }
    let about = KeptAbout {
        run: record.sandbox.run.clone(),
        kept_at: all.clock.now(),
        branch: git::head_branch(&all.git, &saver.at)?,
        dirty_files: status.dirty_files(),
        unpushed_commits: count(unpushed.len()),
        in_progress,
    };
    let sha = git::commit_tree(&all.git, &saver.at, &tree, &parents, &about.message())?;
    let reference = saver.publish(&sha)?;
    Ok(Some(KeptWork {
        reference,
        sha,
        about,
    }))
}

/// Whether everything is on the sandbox's own branch: that is checked out, it is what the index
/// says, and the files are as the index says. A no means only that it takes a closer look.
pub(super) fn is_all_on_its_branch(all: &Worktrees, record: &Record) -> bool {
    let (at, admin) = (all.location_of(record), &record.sandbox.admin_dir);
    let folder = at.pinned.as_ref().and_then(|it| it.work_tree.clone());
    let (Some(folder), Some(branch)) = (folder, &record.sandbox.branch) else {
        return false;
    };
    let is_half_done = git::in_progress(admin).is_some() || admin.join(AUTOSTASH).exists();
    if is_half_done || git::has_reftable(admin) || admin.join("modules").exists() {
        return false;
    }
    let Ok(Some(index)) = Index::load(&admin.join("index")) else {
        return false;
    };
    let Some(tree) = &index.tree else {
        return false;
    };
    std::thread::scope(|scope| {
        let files = scope.spawn(|| is_untouched(&folder, &index, &record.sandbox.brought));
        let checked_out = all
            .git
            .call_at(at, Touches::Objects)
            .args(["for-each-ref", "--format=%(HEAD)%(tree)"])
            .arg(branch.full())
            .optional_line();
        let is_same = checked_out == Ok(Some(format!("*{tree}")));
        files.join().unwrap_or(false) && is_same
    })
}

/// One saving: the folders, and the commit everything is measured against.
struct Saver<'a> {
    git: &'a Git,
    record: &'a Record,
    at: Location,
    head: OnceCell<CommitSha>,
    /// Changed before anything is read, so that the sandbox's own index stays as it is.
    index: ScratchIndex,
}

impl<'a> Saver<'a> {
    fn new(all: &'a Worktrees, record: &'a Record) -> Result<Self, Problem> {
        Ok(Self {
            git: &all.git,
            record,
            at: all.location_of(record),
            head: OnceCell::new(),
            index: ScratchIndex::fresh(&record.sandbox.admin_dir, "keep")?,
        })
    }

    fn head(&self) -> Result<&str, Problem> {
        if let Some(head) = self.head.get() {
            return Ok(head);
        }
        // Whoever worked inside may have left no head at all: the base is always there.
        let head = git::resolve(self.git, &self.at, "HEAD")
            .or_else(|_| git::resolve(self.git, &self.at, &self.record.sandbox.base_sha))?;
        Ok(self.head.get_or_init(|| head))
    }

    fn in_progress(&self) -> Result<Option<InProgress>, Problem> {
        git::load_in_progress(self.git, &self.at, &self.record.sandbox.admin_dir)
    }

    /// Whether a merge put changes aside and has not brought them back.
    fn has_autostash(&self) -> Result<bool, Problem> {
        let admin = &self.record.sandbox.admin_dir;
        git::load_head(self.git, &self.at, admin, AUTOSTASH)
    }

    /// What is dirty, without what was brought along; a problem when something cannot be saved.
    fn survey(&mut self) -> Result<Status, Problem> {
        let Some(folder) = self.folder() else {
            self.require_pushed()?;
            return Ok(Status::default());
        };
        let folder = folder.to_path_buf();
        self.copy_index()?;
        let mut status = git::status(self.git, &self.at, Some(self.index.path()))?;
        if status.incomplete {
            self.require_reachable(&folder)?;
            status = git::status(self.git, &self.at, Some(self.index.path()))?;
        }
        if let Some(head) = &status.head {
            self.head = OnceCell::from(head.clone());
        }
        let ignored = IgnoredFiles::of(&self.record.sandbox.brought);
        status.retain_work(|path| !ignored.covers(&folder, path));
        self.require_keepable(&status, &folder)?;
        Ok(status)
    }

    /// Makes everything readable, and refuses where a file is out of reach that is not ignored.
    fn require_reachable(&self, folder: &Path) -> Result<(), Problem> {
        let unreachable =
            files::make_readable(folder).map_err(|error| super::storage_problem(folder, &error))?;
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
        if let Some(path) = status.submodules.first() {
            let what = format!("the changes in submodule `{}`", path.display());
            return Err(cannot_keep(id, &what));
        }
        let tracked = Tracked::by_index(self.call(Touches::Objects))?;
        let modules = self.record.sandbox.admin_dir.join("modules");
        if let Some(what) = nested::find_unsavable(self.git, &tracked, folder, &modules)? {
            return Err(cannot_keep(id, &what));
        }
        self.require_pushed()
    }

    fn require_pushed(&self) -> Result<(), Problem> {
        let modules = self.record.sandbox.admin_dir.join("modules");
        match nested::find_unpushed(self.git, &modules)? {
            Some(what) => Err(cannot_keep(&self.record.sandbox.id, &what)),
            None => Ok(()),
        }
    }

    /// A copy of the index without the flags that hide changes. A fresh one where there is none to
    /// copy.
    fn copy_index(&self) -> Result<(), Problem> {
        let copied = self.take_index().is_ok() && self.unhide().is_ok();
        if copied {
            return Ok(());
        }
        self.call(Touches::Files)
            .args(["read-tree", self.head()?])
            .ok()
            .map(drop)
    }

    /// With the time it was written: from that git tells which files may have changed in the same
    /// moment, and looks into those.
    fn take_index(&self) -> std::io::Result<()> {
        let own = self.record.sandbox.admin_dir.join("index");
        let written = std::fs::metadata(&own)?.modified()?;
        std::fs::copy(&own, self.index.path())?;
        let copy = std::fs::File::options()
            .write(true)
            .open(self.index.path())?;
        copy.set_modified(written)
    }

    fn unhide(&self) -> Result<(), Problem> {
        let name_bytes = self.record.sandbox.base_sha.len() / 2;
        let is_plain = |index: Vec<u8>| !git::may_hide(&index, name_bytes);
        if std::fs::read(self.index.path()).is_ok_and(is_plain) {
            return Ok(());
        }
        let answer = self
            .call(Touches::Objects)
            .args(["ls-files", "-v", "-z"])
            .ok()?;
        let mut hidden = Vec::new();
        for row in answer.fields() {
            let Some((tag, path)) = row.split_at_checked(2) else {
                continue;
            };
            // Lower case: assumed unchanged. `S`: skipped, as in a sparse checkout; then it counts
            // only where the file is there.
            let skipped = tag[0].eq_ignore_ascii_case(&b's');
            let is_hidden = tag[0].is_ascii_lowercase() || skipped;
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

    /// The tree of everything as it lies in the folder.
    fn tree(&self, status: &Status) -> Result<String, Problem> {
        if status.is_clean() {
            return self.tree_of(self.head()?);
        }
        let add = || git::stage(status, || self.call(Touches::Files));
        if add()?.code != 0 {
            // A file that nobody may read, most likely.
            self.require_reachable(self.folder().unwrap_or(Path::new("/")))?;
            add()?.require()?;
        }
        // Writing a tree may look at a file again that was touched a moment ago, through its filter.
        self.call(Touches::Files).arg("write-tree").line()
    }

    fn parents(&self, tree: &str, is_finished: bool) -> Result<Vec<String>, Problem> {
        let mut parents = vec![self.head()?.to_owned()];
        parents.extend(self.staged(tree)?);
        if !is_finished {
            parents.extend(self.half_done().iter().map(CommitSha::to_string));
        }
        let mut seen = std::collections::HashSet::new();
        parents.retain(|sha| seen.insert(sha.clone()));
        Ok(parents)
    }

    /// A commit of what was staged, where that is neither the head nor what lies in the folder.
    fn staged(&self, tree: &str) -> Result<Option<String>, Problem> {
        if self.take_index().is_err() {
            return Ok(None);
        }
        let answer = self.call(Touches::Files).arg("write-tree").run()?;
        // Conflicts have no tree; they are in the folder with their marks.
        let staged = answer.line();
        if answer.code != 0 || staged == tree || staged == self.tree_of(self.head()?)? {
            return Ok(None);
        }
        let parents = [self.head()?.to_owned()];
        let message = "What was staged\n";
        // Saved again after a crash, it must be the same commit.
        let time = Some(self.record.sandbox.created_at);
        git::commit_tree_at(self.git, &self.at, &staged, &parents, message, time)
            .map(|sha| Some(sha.to_string()))
    }

    /// The commits an unfinished operation was about, and the changes it put aside before.
    fn half_done(&self) -> Vec<CommitSha> {
        let admin = &self.record.sandbox.admin_dir;
        let originals = [
            "rebase-merge/orig-head",
            "rebase-apply/orig-head",
            "rebase-merge/autostash",
            "rebase-apply/autostash",
        ];
        let originals = originals
            .into_iter()
            .filter_map(|name| std::fs::read_to_string(admin.join(name)).ok());
        let heads = [
            "MERGE_HEAD",
            "CHERRY_PICK_HEAD",
            "REVERT_HEAD",
            "REBASE_HEAD",
            AUTOSTASH,
        ];
        originals
            .map(|text| text.trim().to_owned())
            .chain(heads.map(str::to_owned))
            .filter_map(|name| git::resolve(self.git, &self.at, &name).ok())
            .collect()
    }

    /// The same work saved before: a crash came between saving it and removing the sandbox.
    fn already_kept(&self, tree: &str, parents: &[String]) -> Result<Option<KeptWork>, Problem> {
        let found = kept::load(self.git, &self.at, &self.prefix())?;
        Ok(found
            .into_iter()
            .find(|one| one.tree == tree && one.parents == parents)
            .map(|one| one.work))
    }

    fn publish(&self, sha: &str) -> Result<String, Problem> {
        let taken = kept::load(self.git, &self.at, &self.prefix())?.len();
        for number in count(taken) + 1..REFS_LIMIT {
            let name = format!("{}{number}", self.prefix());
            if refs::create(self.git, &self.at, &name, sha)? {
                return Ok(name);
            }
        }
        Err(Problem::new(
            Kind::TooMuchKept,
            format!(
                "run `{}` has too many saved states",
                self.record.sandbox.run
            ),
        )
        .hint("drop some with `drive kept drop REF`; `drive kept list` shows them"))
    }

    fn prefix(&self) -> String {
        format!("{KEPT_PREFIX}{}/", self.record.sandbox.run)
    }

    fn tree_of(&self, commit: &str) -> Result<String, Problem> {
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

    /// The folder, where it is still there.
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

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
