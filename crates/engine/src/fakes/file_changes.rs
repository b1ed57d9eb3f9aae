//! The differences between two commits of a fake repository.

use super::repository::RepositoryState;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The files that differ, with both versions.
pub(super) type FileTexts = (String, Option<String>, Option<String>);

pub(super) fn changes(state: &RepositoryState, base: &str, head: &str) -> Vec<FileTexts> {
    let (before, after) = (state.files(base), state.files(head));
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed = paths.into_iter().map(|path| {
        let (before, after) = (before.get(path).cloned(), after.get(path).cloned());
        (path.clone(), before, after)
    });
    changed
        .filter(|(_, before, after)| before != after)
        .collect()
}

pub(super) fn lines(text: Option<&str>) -> u64 {
    text.map_or(0, |text| text.lines().count() as u64)
}

/// The diff of a file as one hunk that replaces everything.
pub(super) fn diff_of(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    let side = |text: Option<&str>, letter: &str| match text {
        Some(_) => format!("{letter}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let range = |text: Option<&str>| format!("{},{}", lines(text).min(1), lines(text));
    let mut diff = format!(
        "diff --git a/{path} b/{path}\n--- {}\n+++ {}\n@@ -{} +{} @@\n",
        side(before, "a"),
        side(after, "b"),
        range(before),
        range(after)
    );
    for (sign, text) in [('-', before), ('+', after)] {
        for line in text.unwrap_or_default().lines() {
            let _ = writeln!(diff, "{sign}{line}");
        }
    }
    diff
}
