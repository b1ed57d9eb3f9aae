//! The files of a task, and the files that its agents may not change.

use crate::forge::inline::FileDiff;
use crate::test_files::is_test_file;
use globset::GlobBuilder;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// How many files a list names at most.
const MOST_FILES: usize = 50;

/// The files of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskScope {
    /// Globs of the task's files; empty means all files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Globs of the files that hold the task's checks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// Globs of other files that the task may not change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
}

impl TaskScope {
    /// The changed files among its checks and its protected files.
    pub fn touched(&self, files: &[FileDiff]) -> Vec<String> {
        named(files, |path| {
            is_among(&self.checks, path) || is_among(&self.kept, path)
        })
    }

    /// The changed files outside its paths.
    pub fn outside(&self, files: &[FileDiff]) -> Vec<String> {
        named(files, |path| {
            !self.paths.is_empty() && !is_among(&self.paths, path)
        })
    }

    /// The check files and protected files that are named without a glob, so that they can be
    /// write-protected.
    pub fn held(&self) -> Vec<String> {
        let all = self.checks.iter().chain(&self.kept);
        let plain = all.filter(|path| !has_glob(path));
        plain.cloned().collect()
    }
}

/// The changed files that already held tests.
pub(in crate::run) fn changed_tests(files: &[FileDiff]) -> Vec<String> {
    let old = files.iter().filter(|file| file.old_path.is_some());
    let old: Vec<FileDiff> = old.cloned().collect();
    named(&old, is_test_file)
}

fn named(files: &[FileDiff], which: impl Fn(&str) -> bool) -> Vec<String> {
    let mut paths: Vec<String> = files
        .iter()
        .flat_map(|file| [&file.old_path, &file.new_path])
        .flatten()
        .filter(|path| which(path))
        .cloned()
        .collect();
    paths.sort();
    paths.dedup();
    paths.truncate(MOST_FILES);
    paths
}

fn has_glob(pattern: &str) -> bool {
    pattern.contains(['*', '?', '[', '{'])
}

/// Whether a pattern names the file, or a folder that contains it.
pub(in crate::run) fn is_among(patterns: &[String], path: &str) -> bool {
    patterns.iter().any(|pattern| {
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
        if has_glob(pattern) {
            let glob = GlobBuilder::new(pattern).literal_separator(true).build();
            return glob.is_ok_and(|glob| {
                let glob = glob.compile_matcher();
                Path::new(path).ancestors().any(|path| glob.is_match(path))
            });
        }
        Path::new(path).starts_with(pattern)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(path: &str) -> FileDiff {
        FileDiff {
            old_path: None,
            new_path: Some(path.to_owned()),
            hunks: Vec::new(),
            edits: Vec::new(),
        }
    }

    fn scope(paths: &[&str], checks: &[&str]) -> TaskScope {
        let owned = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect();
        TaskScope {
            paths: owned(paths),
            checks: owned(checks),
            kept: Vec::new(),
        }
    }

    #[test]
    fn a_pattern_names_a_file_a_folder_or_what_its_glob_matches() {
        let scope = scope(&["src", "docs/*.md"], &["tests/", "spec/**/*.rb"]);
        let files = ["src/a/b.rs", "docs/x.md", "docs/x/y.md", "srcs/a.rs"].map(changed);
        assert_eq!(scope.outside(&files), ["docs/x/y.md", "srcs/a.rs"]);
        let files = ["tests/a.rs", "spec/a/b.rb", "test/a.rs"].map(changed);
        assert_eq!(scope.touched(&files), ["spec/a/b.rb", "tests/a.rs"]);
        assert_eq!(scope.held(), ["tests/"]);
    }

    #[test]
    fn a_file_that_is_moved_away_is_touched() {
        let moved = FileDiff {
            old_path: Some("tests/a.rs".to_owned()),
            ..changed("b.rs")
        };
        assert_eq!(scope(&[], &["tests"]).touched(&[moved]), ["tests/a.rs"]);
    }

    #[test]
    fn a_task_without_paths_is_about_everything() {
        assert!(scope(&[], &[]).outside(&[changed("a")]).is_empty());
    }

    #[test]
    fn tests_that_were_there_before_are_told_and_new_ones_are_not() {
        let old = FileDiff {
            old_path: Some("tests/a.rs".to_owned()),
            ..changed("tests/a.rs")
        };
        let gone = FileDiff {
            old_path: Some("src/login_test.go".to_owned()),
            new_path: None,
            ..changed("")
        };
        let files = [old, gone, changed("tests/new.rs"), changed("src/a.rs")];
        assert_eq!(changed_tests(&files), ["src/login_test.go", "tests/a.rs"]);
    }

    #[test]
    fn a_kept_file_is_held_and_not_to_be_changed() {
        let kept = TaskScope {
            kept: vec!["plan.md".to_owned()],
            ..scope(&["src"], &[])
        };
        assert_eq!(kept.held(), ["plan.md"]);
        assert_eq!(kept.touched(&[changed("plan.md")]), ["plan.md"]);
    }
}
