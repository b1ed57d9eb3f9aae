//! Finds files that many forges refuse because of their size.

use super::{Git, Location, Status, Touches, path_from};
use drive_core::ids::CommitSha;
use drive_core::problem::Problem;
use drive_engine::ports::LargeFile;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The size in bytes above which GitHub warns.
const LARGE_FILE: u64 = 50_000_000;

/// Large files that are about to be committed.
pub(super) fn uncommitted(folder: &Path, status: &Status) -> Vec<LargeFile> {
    let size = |path: &Path| folder.join(path).symlink_metadata().ok().map(|m| m.len());
    let paths = status.changed.iter().chain(&status.untracked);
    paths
        .filter_map(|path| {
            Some(LargeFile {
                path: path.clone(),
                bytes: size(path).filter(|bytes| *bytes > LARGE_FILE)?,
            })
        })
        .collect()
}

/// Large files in any commit since `base`, whoever made it: a forge refuses a file even if a later
/// commit removes it.
pub(super) fn committed(
    git: &Git,
    at: &Location,
    base: &str,
    head: &CommitSha,
) -> Result<Vec<LargeFile>, Problem> {
    let list = |args: &[&str]| {
        let call = git.call_at(at.clone(), Touches::Objects);
        let call = call.config("core.commitGraph", "false");
        call.args(["rev-list", "--objects"])
            .args(args.iter().copied())
            .args([head.as_str(), "--not", base])
            .ok()
    };
    // This omits large files and prints their names.
    let filter = format!("--filter=blob:limit={}", LARGE_FILE + 1);
    let answer = list(&[&filter, "--filter-print-omitted", "--no-object-names"])?;
    let text = String::from_utf8_lossy(&answer.stdout);
    let large: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix('~')).collect();
    if large.is_empty() {
        return Ok(Vec::new());
    }
    let sizes = git
        .call_at(at.clone(), Touches::Objects)
        .args(["cat-file", "--batch-check=%(objectname) %(objectsize)"])
        .stdin(large.iter().map(|id| format!("{id}\n")).collect::<String>())
        .ok()?;
    let sizes = String::from_utf8_lossy(&sizes.stdout).into_owned();
    let sizes: BTreeMap<&str, u64> = sizes
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(id, size)| Some((id, size.parse().ok()?)))
        .collect();
    let named = list(&[])?;
    let named = named.stdout.split(|byte| *byte == b'\n');
    let files = named.filter_map(|line| {
        let at = line.iter().position(|byte| *byte == b' ')?;
        let bytes = *sizes.get(std::str::from_utf8(&line[..at]).ok()?)?;
        let path: PathBuf = path_from(&line[at + 1..]);
        Some(LargeFile { path, bytes })
    });
    Ok(files.collect())
}
