//! Takes over commits from a sandbox's own repository into the user's.
//!
//! Confined git in the sandbox packs them; git outside computes every object's id again, in a
//! separate folder, and checks that the history is complete and its paths are harmless. Only then
//! are the objects added to the repository. The sandbox's own claims are never trusted.

use super::call::disk_full;
use super::commit::nested_repository;
use super::object_folders::{as_variable, object_folders};
use super::tracked::declared;
use super::{Answer, Call, Git, Location, Touches, case_clash, path_from};
use crate::files;
use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};
use rustix::fs::{Mode, OFlags};
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The maximum size of a pack, in bytes.
const PACK_BYTES: u64 = 8 << 30;
/// How much memory git outside reserves for one object: a small delta can expand to a huge object.
const MOST_MEMORY: &str = "1g";
/// The folder in the sandbox's git directory in which its git packs.
const PACKING: &str = "drive-take";
/// The prefix of folders in which new objects wait for their check. They are below the repository's
/// objects, and so on the same disk. `git gc --prune=now` removes folders that begin with `tmp_`
/// even while they are in use, so another prefix is needed.
pub(super) const WAITING: &str = "drive-take-";
/// The name of a pack until its own is known.
const NEW: &str = "pack-new";
/// The text, before the pid, of a file next to a new pack that keeps git from removing it.
pub(super) const KEEP: &str = "drive takes it: ";
pub(super) const KEEP_BYTES: u64 = 64;
const LINK: &str = "160000";

/// Commits that are being taken over from a sandbox's repository into the user's.
pub(crate) struct Take<'a> {
    pub(crate) git: &'a Git,
    /// The sandbox's own repository.
    pub(crate) from: &'a Location,
    /// The git directory of the user's repository.
    pub(crate) to: &'a Path,
    /// Commits that both have; only later ones are taken.
    pub(crate) since: &'a [CommitSha],
    pub(crate) paths: Paths,
    /// The tip of the sandbox's branch, which must build on one of the commits that both have.
    pub(crate) tip: Option<&'a CommitSha>,
}

/// The paths that the commits may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paths {
    /// Only paths that can be checked out everywhere, for a branch.
    Checked,
    /// All paths that git accepts, for work that is only saved.
    Any,
}

/// Protects the new objects from garbage collection until it is dropped, when a ref names them.
#[derive(Debug, Default)]
pub(crate) struct Held(Option<PathBuf>);

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(keep) = self.0.take() {
            // A file that remains costs a little space: a repack leaves its objects where they are.
            let _ = std::fs::remove_file(keep);
        }
    }
}

impl Take<'_> {
    /// Transfers these commits, with everything that they need.
    pub(crate) fn commits(
        &self,
        wanted: &[CommitSha],
        missing: &[CommitSha],
    ) -> Result<Held, Problem> {
        if missing.is_empty() {
            if self.paths == Paths::Checked {
                for commit in wanted {
                    self.check_paths(None, commit)?;
                }
            }
            return Ok(Held::default());
        }
        let waiting = Waiting::make(self.to)?;
        let packed = self.pack(missing, &waiting.pack())?;
        let name = self.index(&waiting)?;
        for commit in missing {
            self.check_kind(&waiting, commit)?;
        }
        self.check_count(&waiting, missing, packed)?;
        if self.paths == Paths::Checked {
            // A commit that was only saved before is checked when it reaches a branch.
            for commit in wanted {
                self.check_paths(Some(&waiting), commit)?;
            }
        }
        waiting.join_repository(&name)
    }

    /// The commits that the repository lacks.
    pub(crate) fn missing(
        git: &Git,
        to: &Path,
        wanted: &[CommitSha],
    ) -> Result<Vec<CommitSha>, Problem> {
        let list: String = wanted.iter().map(|sha| format!("{sha}\n")).collect();
        let answer = git
            .call_at(Location::bare(to), Touches::Objects)
            .config("core.commitGraph", "false")
            .args(["cat-file", "--batch-check=%(objectname) %(objecttype)"])
            .stdin(list)
            .ok()?;
        let text = String::from_utf8_lossy(&answer.stdout);
        let there: HashSet<&str> = text
            .lines()
            .filter_map(|line| line.strip_suffix(" commit"))
            .collect();
        let mut missing: Vec<CommitSha> = wanted.to_vec();
        missing.retain(|sha| !there.contains(sha.as_str()));
        missing.dedup();
        Ok(missing)
    }

    /// Lets git in the sandbox write a pack, copies it to the folder for checks, and returns the
    /// number of objects that it claims.
    fn pack(&self, wanted: &[CommitSha], to: &Path) -> Result<u32, Problem> {
        let own = self.from.dir.join(".git");
        // A link would redirect the writes below.
        if !own.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            return Err(refused("it has no repository"));
        }
        let folder = own.join(PACKING);
        let clear = || files::remove_tree(&folder).map_err(|error| unwritable(&folder, &error));
        clear()?;
        std::fs::create_dir(&folder).map_err(|error| unwritable(&folder, &error))?;
        let wanted = wanted.iter().map(|sha| format!("{sha}\n"));
        let known = self.since.iter().map(|sha| format!("^{sha}\n"));
        let answer = self
            .git
            .call_at(self.from.clone(), Touches::Files)
            .config("pack.useBitmaps", "false")
            .config("core.commitGraph", "false")
            .config("pack.threads", "1")
            .config("pack.packSizeLimit", "0")
            // The sparse algorithm also packs objects that the other side has.
            .config("pack.useSparse", "false")
            .args(["pack-objects", "--revs", "--quiet", "--delta-base-offset"])
            .arg(folder.join("pack"))
            .stdin(wanted.chain(known).collect::<String>())
            .run()?;
        if answer.code != 0 {
            return Err(failed(&answer, &folder, "git cannot read its commits"));
        }
        let name = answer.line();
        if CommitSha::parse(&name).is_none() {
            return Err(refused("git cannot pack its commits"));
        }
        let made = folder.join(format!("pack-{name}.pack"));
        let packed = copy_pack(&made, to)?;
        clear()?;
        Ok(packed)
    }

    /// Computes every object's name anew, and returns the name of the pack, which follows from them.
    fn index(&self, waiting: &Waiting) -> Result<String, Problem> {
        let answer = self
            .checking(waiting)
            .args(["index-pack", "--strict"])
            .arg(format!("--keep={KEEP}{}", std::process::id()))
            .arg(waiting.pack())
            .run()?;
        let line = answer.line();
        let name = line.rsplit('\t').next().unwrap_or(&line);
        if answer.code != 0 || CommitSha::parse(name).is_none() {
            return Err(failed(&answer, &waiting.folder, "its objects are damaged"));
        }
        Ok(name.to_owned())
    }

    fn check_kind(&self, waiting: &Waiting, commit: &CommitSha) -> Result<(), Problem> {
        let kind = self
            .checking(waiting)
            .args(["cat-file", "-t", commit])
            .run()?;
        if kind.code != 0 || kind.line() != "commit" {
            return Err(refused(&format!("{commit} is not a commit in it")));
        }
        Ok(())
    }

    /// Checks that the history is complete, and that the pack contains nothing else.
    fn check_count(
        &self,
        waiting: &Waiting,
        wanted: &[CommitSha],
        packed: u32,
    ) -> Result<(), Problem> {
        let answer = self
            .checking(waiting)
            .args(["rev-list", "--objects", "--no-object-names"])
            .args(wanted.iter().map(CommitSha::as_str))
            .arg("--not")
            .args(self.since.iter().map(CommitSha::as_str))
            .run()?;
        if answer.code != 0 {
            return Err(failed(
                &answer,
                &waiting.folder,
                "its history is incomplete",
            ));
        }
        let needed = answer.stdout.iter().filter(|byte| **byte == b'\n').count();
        if packed as usize > needed {
            return Err(refused("it holds objects that no commit of it needs"));
        }
        Ok(())
    }

    /// Checks, in every commit and not only in the last, for paths that git itself accepts but that
    /// fail in a checkout elsewhere.
    fn check_paths(&self, waiting: Option<&Waiting>, commit: &CommitSha) -> Result<(), Problem> {
        let commits = self
            .checking(waiting)
            .args(["rev-list", "--parents", commit.as_str(), "--not"])
            .args(self.since.iter().map(CommitSha::as_str))
            .ok()?;
        if self.tip == Some(commit) && !self.builds_on_known(&commits) {
            self.check_descent(waiting, commit)?;
        }
        let answer = self
            .checking(waiting)
            .args(["diff-tree", "--stdin", "-r", "-z", "-m", "--root"])
            .args(["--no-renames", "--no-commit-id"])
            .stdin(commits.stdout)
            .ok()?;
        let mut fields = answer.fields();
        let (mut added, mut links) = (Vec::new(), Vec::new());
        while let (Some(about), Some(path)) = (fields.next(), fields.next()) {
            let about = String::from_utf8_lossy(about);
            let mut words = about.trim_start_matches(':').split(' ');
            let (old, new) = (words.next(), words.next());
            if path.iter().any(|byte| *byte < b' ' || *byte == 0x7f) {
                let path = String::from_utf8_lossy(path);
                let path = path.escape_debug();
                return Err(refused(&format!("`{path}` has a control character")));
            }
            if new == Some(LINK) && old != Some(LINK) {
                links.push(path_from(path));
            } else if old == Some("000000") {
                added.push(path.to_vec());
            }
        }
        if !links.is_empty() {
            let declared = declared(self.checking(waiting), commit)?;
            links.retain(|link| !declared.contains(link));
        }
        if !links.is_empty() {
            // A submodule that a later commit removed has no target.
            let names = links.iter().map(|link| link.as_os_str());
            let answer = self
                .checking(waiting)
                .args(["ls-tree", "-z", "--full-tree", commit, "--"])
                .args(names)
                .ok()?;
            let row = answer.fields().find(|row| row.starts_with(LINK.as_bytes()));
            if let Some(at) = row.and_then(|row| row.iter().position(|byte| *byte == b'\t')) {
                return Err(nested_repository(&path_from(
                    &row.unwrap_or_default()[at + 1..],
                )));
            }
        }
        if added.is_empty() {
            return Ok(());
        }
        self.check_case(waiting, commit, &added)
    }

    /// Refuses two new names that differ only in case: they are the same file on many disks.
    fn check_case(
        &self,
        waiting: Option<&Waiting>,
        commit: &CommitSha,
        added: &[Vec<u8>],
    ) -> Result<(), Problem> {
        let answer = self
            .checking(waiting)
            .args(["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit])
            .ok()?;
        let added: HashSet<&[u8]> = added.iter().map(Vec::as_slice).collect();
        match case_clash::find(answer.fields(), &added) {
            Some((one, other)) => Err(refused(&format!(
                "`{}` and `{}` differ only in case",
                path_from(one).display(),
                path_from(other).display()
            ))),
            None => Ok(()),
        }
    }

    fn outside(&self, touches: Touches) -> Call<'_> {
        self.git
            .call_at(Location::bare(self.to), touches)
            .config("core.commitGraph", "false")
    }

    pub(super) fn checking<'w>(&self, waiting: impl Into<Option<&'w Waiting>>) -> Call<'_> {
        let call = self.outside(Touches::Files);
        let Some(waiting) = waiting.into() else {
            return call;
        };
        call.env("GIT_ALLOC_LIMIT", MOST_MEMORY)
            .env("GIT_OBJECT_DIRECTORY", &waiting.folder)
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", &waiting.known)
    }
}

/// A folder for objects that are not checked yet. It is removed when the value is dropped.
pub(super) struct Waiting {
    folder: PathBuf,
    objects: PathBuf,
    /// The repository's own objects, in the form in which git reads such lists.
    known: OsString,
}

impl Waiting {
    fn make(git_dir: &Path) -> Result<Self, Problem> {
        let objects = git_dir.join("objects");
        let number = crate::entropy::random_u32()?;
        let folder = objects.join(format!("{WAITING}{}-{number:08x}", std::process::id()));
        std::fs::create_dir_all(folder.join("pack"))
            .map_err(|error| unwritable(&folder, &error))?;
        Ok(Self {
            known: as_variable(&object_folders(git_dir)),
            folder,
            objects,
        })
    }

    /// The pack that is being checked.
    fn pack(&self) -> PathBuf {
        self.folder.join("pack").join(format!("{NEW}.pack"))
    }

    /// Moves the pack into the repository. Git sees it once its index, which is moved last, is
    /// there. A pack of the same name has the same content.
    fn join_repository(&self, name: &str) -> Result<Held, Problem> {
        let from = self.folder.join("pack");
        let to = self.objects.join("pack");
        let moved = || -> io::Result<Held> {
            std::fs::create_dir_all(&to)?;
            let new = |ending: &str| from.join(format!("{NEW}.{ending}"));
            let there = |ending: &str| to.join(format!("pack-{name}.{ending}"));
            if there("idx").exists() {
                return Ok(Held::default());
            }
            let held = Held(Some(there("keep")));
            for ending in ["keep", "pack", "rev", "idx"] {
                let file = match File::open(new(ending)) {
                    // Older versions of git write no such file.
                    Err(error) if error.kind() == io::ErrorKind::NotFound && ending == "rev" => {
                        continue;
                    }
                    opened => opened?,
                };
                file.sync_all()?;
                std::fs::rename(new(ending), there(ending))?;
            }
            files::sync_dir(&to)?;
            Ok(held)
        };
        moved().map_err(|error| unwritable(&to, &error))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // The next sweep removes what remains.
        let _ = files::remove_tree(&self.folder);
    }
}

/// Copies a pack out of a sandbox, and returns the number of objects that it claims. A process of
/// the agent may replace it meanwhile, so only a plain file is read, and only once.
fn copy_pack(from: &Path, to: &Path) -> Result<u32, Problem> {
    let unreadable = |error: io::Error| refused("its pack cannot be read").because(error);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(from, flags, Mode::empty());
    let pack = File::from(opened.map_err(|error| unreadable(error.into()))?);
    let meta = pack.metadata().map_err(unreadable)?;
    if !meta.is_file() {
        return Err(refused("its pack is not a regular file"));
    }
    if meta.len() > PACK_BYTES {
        let limit = PACK_BYTES >> 30;
        return Err(refused(&format!("its commits have more than {limit} GiB")));
    }
    let mut copy = File::create_new(to).map_err(|error| unwritable(to, &error))?;
    let mut pack = pack.take(meta.len());
    io::copy(&mut pack, &mut copy).map_err(|error| unwritable(to, &error))?;
    let mut head = [0; 12];
    let copy = File::open(to).and_then(|mut copy| copy.read_exact(&mut head));
    copy.map_err(unreadable)?;
    Ok(u32::from_be_bytes([head[8], head[9], head[10], head[11]]))
}

/// The problem of a failure of git: the sandbox's content, unless the disk is full.
fn failed(answer: &Answer, at: &Path, why: &str) -> Problem {
    if answer.met_full_disk() || files::is_full(at) {
        return disk_full(at);
    }
    refused(why).cause(answer.complaint())
}

fn refused(why: &str) -> Problem {
    Problem::new(
        Kind::WorkRefused,
        format!("the sandbox's commits are refused: {why}"),
    )
    .hint("its files are saved: `drive kept list`")
}

fn unwritable(path: &Path, error: &io::Error) -> Problem {
    let is_full =
        [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded].contains(&error.kind());
    if is_full || files::is_full(path) {
        return disk_full(path);
    }
    Problem::new(
        Kind::StorageFailed,
        format!("cannot write to `{}`", path.display()),
    )
    .because(error)
    .hint("check free space, and who owns the repository")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pack_larger_than_the_limit_and_what_is_no_file_are_not_copied() {
        let dir = tempfile::tempdir().unwrap();
        let (huge, to) = (dir.path().join("huge"), dir.path().join("to"));
        File::create(&huge)
            .unwrap()
            .set_len(PACK_BYTES + 1)
            .unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
        for from in [huge.as_path(), &link, dir.path()] {
            let refused = copy_pack(from, &to).unwrap_err();
            assert_eq!(refused.kind, Kind::WorkRefused, "{from:?}");
            assert!(!to.exists(), "{from:?}");
        }
    }
}
