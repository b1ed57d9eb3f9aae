//! Copies untracked files from the caller's checkout into a sandbox.
//!
//! Files share their blocks if the file system supports it, and are copied otherwise. They are
//! never hard linked, because then the sandbox could write the caller's files. Links are recreated
//! if they stay inside, and left out otherwise.

use crate::files::{self, CloneOutcome};
use crate::git::{self, Git, Location, Touches};
use drive_core::Problem;
use drive_core::sandbox::{BringPattern, Brought, SandboxNote};
use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The maximum number of bytes that are copied for `seed` if blocks cannot be shared: caches are
/// useful, but must not fill a disk.
const SEED_COPY_BYTES: u64 = 4 << 30;
/// The maximum number of entries that are visited for one pattern.
const ENTRY_LIMIT: u32 = 1_000_000;
/// The maximum number of files in copied folders that git does not ignore: each is recorded.
const LISTED_FILES: usize = 5_000;
/// The maximum number of notes about files that were left out.
const NOTE_LIMIT: usize = 20;

/// The files that were copied.
#[derive(Debug, Default)]
pub(super) struct Haul {
    pub(super) things: Vec<Brought>,
    pub(super) notes: Vec<SandboxNote>,
}

/// Copies what the patterns match from `top` into the sandbox at `to`. Existing files are not overwritten.
pub(super) fn bring(
    git: &Git,
    top: &Path,
    to: &Location,
    copy: &[BringPattern],
    seed: &[BringPattern],
) -> Result<Haul, Problem> {
    let mut porter = Porter {
        top,
        sandbox: &to.dir,
        haul: Haul::default(),
        budget: u64::MAX,
    };
    for pattern in copy {
        porter.pattern(pattern)?;
    }
    porter.budget = SEED_COPY_BYTES;
    for pattern in seed {
        porter.pattern(pattern)?;
    }
    porter.take_stock(git, to)?;
    Ok(porter.haul)
}

struct Porter<'a> {
    top: &'a Path,
    sandbox: &'a Path,
    haul: Haul,
    budget: u64,
}

impl Porter<'_> {
    fn pattern(&mut self, pattern: &BringPattern) -> Result<(), Problem> {
        let matches = self.matches(pattern);
        if matches.is_empty() {
            self.note(SandboxNote::NothingMatched {
                pattern: pattern.as_str().to_owned(),
            });
        }
        for path in matches {
            if self.sandbox.join(&path).symlink_metadata().is_ok() {
                // It is tracked, so the sandbox contains it as of its base commit.
                continue;
            }
            if !is_inside(self.sandbox, &path) {
                self.leave_out(&path, "a tracked link is in the way");
                continue;
            }
            if self.is_in_submodule(&path) {
                self.leave_out(&path, "it is in a submodule that is not fetched");
                continue;
            }
            self.thing(&path)?;
        }
        Ok(())
    }

    /// Paths relative to the top that match the pattern. Below a match nothing is visited.
    fn matches(&self, pattern: &BringPattern) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut open = vec![PathBuf::from(pattern.base())];
        let mut seen = 0;
        while let Some(path) = open.pop() {
            seen += 1;
            if seen > ENTRY_LIMIT || !is_inside(self.top, &path) {
                continue;
            }
            let Ok(meta) = self.top.join(&path).symlink_metadata() else {
                continue;
            };
            if pattern.matches(&path) {
                found.push(path);
            } else if meta.is_dir() {
                open.extend(children(self.top, &path));
            }
        }
        found.sort();
        found
    }

    /// Whether a path is inside of a submodule: git checks out no other empty folder.
    fn is_in_submodule(&self, path: &Path) -> bool {
        path.ancestors().skip(1).any(|folder| {
            let entries = std::fs::read_dir(self.sandbox.join(folder));
            entries.is_ok_and(|mut entries| entries.next().is_none())
        })
    }

    fn thing(&mut self, path: &Path) -> Result<(), Problem> {
        let mut open = vec![path.to_path_buf()];
        while let Some(next) = open.pop() {
            if let Err(error) = self.entry(&next, &mut open) {
                if files::is_full(self.sandbox) {
                    return Err(super::problems::disk_full(self.sandbox));
                }
                self.leave_out(&next, &error.to_string());
            }
        }
        let there = self.sandbox.join(path);
        if let Ok(meta) = there.symlink_metadata() {
            self.haul.things.push(Brought {
                path: path.to_path_buf(),
                stamp: git::stamp_of(&there).filter(|_| !meta.is_dir()),
            });
        }
        Ok(())
    }

    /// Records what was copied. Changes in a folder that git ignores are never work. In another
    /// folder each copied file is recorded: files that are new or different later are work.
    fn take_stock(&mut self, git: &Git, to: &Location) -> Result<(), Problem> {
        let things = std::mem::take(&mut self.haul.things);
        let (folders, files): (Vec<_>, Vec<_>) =
            things.into_iter().partition(|one| one.stamp.is_none());
        self.haul.things = files;
        let ignored = ignored(git, to, &folders)?;
        for folder in folders {
            if ignored.contains(&folder.path) {
                self.haul.things.push(folder);
                continue;
            }
            let files = untracked(git, to, &folder.path)?;
            if self.haul.things.len() + files.len() > LISTED_FILES {
                let there = self.sandbox.join(&folder.path);
                files::remove_tree(&there)
                    .map_err(|error| super::problems::storage_problem(&there, &error))?;
                self.leave_out(&folder.path, "too many files that git does not ignore");
                continue;
            }
            let listed = files.into_iter().map(|path| Brought {
                stamp: git::stamp_of(&self.sandbox.join(&path)),
                path,
            });
            let listed: Vec<_> = listed.filter(|one| one.stamp.is_some()).collect();
            self.haul.things.extend(listed);
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, open: &mut Vec<PathBuf>) -> io::Result<()> {
        let (from, to) = (self.top.join(path), self.sandbox.join(path));
        let meta = from.symlink_metadata()?;
        if let Some(parent) = to.parent() {
            std::fs::create_dir_all(parent)?;
        }
        if meta.is_dir() {
            std::fs::create_dir_all(&to)?;
            open.extend(children(self.top, path));
        } else if meta.is_symlink() {
            self.link(path, &from, &to)?;
        } else if meta.is_file() && meta.len() > self.budget {
            self.leave_out(path, "too much to copy; this disk cannot share blocks");
        } else if meta.is_file() {
            if let CloneOutcome::Copied(bytes) = files::clone_file(&from, &to)? {
                self.budget = self.budget.saturating_sub(bytes);
            }
        } else {
            self.leave_out(path, "neither a file nor a folder");
        }
        Ok(())
    }

    fn link(&mut self, path: &Path, from: &Path, to: &Path) -> io::Result<()> {
        let target = std::fs::read_link(from)?;
        if stays_inside(path, &target) {
            std::os::unix::fs::symlink(target, to)
        } else {
            self.leave_out(path, "a link that leads out of the repository");
            Ok(())
        }
    }

    fn leave_out(&mut self, path: &Path, reason: &str) {
        self.note(SandboxNote::NotBrought {
            path: path.to_string_lossy().into_owned(),
            reason: reason.to_owned(),
        });
    }

    fn note(&mut self, note: SandboxNote) {
        if self.haul.notes.len() < NOTE_LIMIT {
            self.haul.notes.push(note);
        }
    }
}

/// Whether no folder in the path is a link: a link may lead out of the repository.
fn is_inside(top: &Path, path: &Path) -> bool {
    let mut folder = top.to_path_buf();
    for part in path.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        if folder
            .symlink_metadata()
            .is_ok_and(|meta| meta.is_symlink())
        {
            return false;
        }
    }
    true
}

/// The folders that git ignores as a whole.
fn ignored(git: &Git, at: &Location, folders: &[Brought]) -> Result<HashSet<PathBuf>, Problem> {
    if folders.is_empty() {
        return Ok(HashSet::new());
    }
    let mut names = Vec::new();
    for folder in folders {
        names.extend_from_slice(folder.path.as_os_str().as_bytes());
        names.push(0);
    }
    let answer = git
        .call_at(at.clone(), Touches::Objects)
        .args(["check-ignore", "-z", "--stdin"])
        .stdin(names)
        .run()?;
    match answer.code {
        0 | 1 => Ok(answer.fields().map(git::path_from).collect()),
        _ => Err(answer.problem()),
    }
}

/// The files below a folder that git neither tracks nor ignores.
fn untracked(git: &Git, at: &Location, folder: &Path) -> Result<Vec<PathBuf>, Problem> {
    let mut name = OsString::from(":(top,literal)");
    name.push(folder);
    let answer = git
        .call_at(at.clone(), Touches::Objects)
        .args(["ls-files", "--others", "--exclude-standard", "-z", "--"])
        .arg(name)
        .ok()?;
    Ok(answer.fields().map(git::path_from).collect())
}

fn children(top: &Path, path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(top.join(path)).into_iter().flatten();
    entries
        .flatten()
        .filter(|entry| !entry.file_name().eq_ignore_ascii_case(".git"))
        .map(|entry| path.join(entry.file_name()))
        .collect()
}

/// Whether a link at `path` with this target ends inside the repository.
fn stays_inside(path: &Path, target: &Path) -> bool {
    let mut depth = path.components().count().saturating_sub(1);
    for part in target.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_stays_inside_only_without_climbing_over_the_top() {
        let table = [
            ("a/b", "c", true),
            ("a/b", "../c", true),
            ("a/b", "../../c", false),
            ("a/b", "x/../../c", true),
            ("a/b", "x/../../../c", false),
            ("a", "/etc/passwd", false),
        ];
        for (path, target, inside) in table {
            assert_eq!(
                stays_inside(Path::new(path), Path::new(target)),
                inside,
                "{path} -> {target}"
            );
        }
    }
}
