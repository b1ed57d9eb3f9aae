//! Removes temporary objects that a killed process left in the user's repository while it took over commits.

use super::take::{KEEP, KEEP_BYTES, WAITING};
use crate::files;
use std::path::Path;
use std::time::Duration;

/// Removes the remains of dead processes among the objects of a repository. What stays only costs some space.
pub(crate) fn sweep_takes(git_dir: &Path) {
    let objects = git_dir.join("objects");
    let packs = objects.join("pack");
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries(&objects) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let number = name
            .strip_prefix(WAITING)
            .and_then(|rest| rest.split('-').next());
        if number.is_some_and(is_gone) {
            let _ = files::remove_tree(&entry.path());
        }
    }
    for entry in entries(&packs) {
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == "keep") {
            let text = files::load_plain(&path, KEEP_BYTES).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            if text.trim_end().strip_prefix(KEEP).is_some_and(is_gone) {
                release(&path);
            }
        }
    }
}

/// Removes the mark of a transfer whose process has ended, and its pack if the pack has no index,
/// without which git does not see it. Another transfer may be moving the same pack now, so only an
/// old pack is removed.
fn release(keep: &Path) {
    let pack = keep.with_extension("pack");
    if pack.exists() && !keep.with_extension("idx").exists() {
        let modified = pack.metadata().and_then(|about| about.modified());
        let age = modified.ok().and_then(|at| at.elapsed().ok());
        if age.is_none_or(|age| age < UNFINISHED) {
            return;
        }
        let _ = std::fs::remove_file(keep.with_extension("rev"));
        let _ = std::fs::remove_file(&pack);
    }
    let _ = std::fs::remove_file(keep);
}

/// How long a pack without an index may belong to a running transfer.
const UNFINISHED: Duration = Duration::from_secs(60 * 60);

/// Whether no process has this pid now.
fn is_gone(number: &str) -> bool {
    let is_number = number.parse::<u32>().is_ok();
    is_number && !Path::new("/proc").join(number).exists() && Path::new("/proc/self").exists()
}
