//! Removes the temporary objects that a killed take left in the user's repository.

use super::take::{KEEP, KEEP_BYTES, WAITING};
use crate::files;
use std::path::Path;

/// Removes what takes of processes that are gone left among the objects of a repository. What stays
/// costs a little space.
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
                let _ = std::fs::remove_file(&path);
            }
        }
    }
}

/// Whether no process has this number now.
fn is_gone(number: &str) -> bool {
    let is_number = number.parse::<u32>().is_ok();
    is_number && !Path::new("/proc").join(number).exists() && Path::new("/proc/self").exists()
}
