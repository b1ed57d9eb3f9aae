//! Decides whether a finding can have existed before the change.

use crate::agent::answer::Finding;
use crate::forge::inline::FileDiff;

/// Corrects findings that a reviewer claims to be older than the change, if the change may have added them:
/// it added the line, or the finding names a changed file without a line, or the lines of the diff are
/// unknown. The lines are unknown for all files if the diff was cut, else for files that it deletes or shows
/// without lines. In other places only the reviewer can know: a change can break code that it does not touch.
pub fn require_older(findings: &mut [Finding], diff: &[FileDiff], is_cut: bool) {
    for finding in findings {
        finding.pre_existing &= !is_cut && !is_added(finding, diff);
    }
}

fn is_added(finding: &Finding, diff: &[FileDiff]) -> bool {
    let (Some(path), false) = (finding.file.as_deref(), diff.is_empty()) else {
        return true;
    };
    // A reviewer may write the whole path or the path in the diff.
    let is_path = |one: &String| path == one || path.ends_with(&format!("/{one}"));
    let is_it = |file: &&FileDiff| match (&file.old_path, &file.new_path) {
        (_, Some(new)) => is_path(new),
        (old, None) => old.as_ref().is_some_and(is_path),
    };
    let Some(file) = diff.iter().find(is_it) else {
        return false;
    };
    if file.old_path.is_none() || file.new_path.is_none() || file.hunks.is_empty() {
        return true;
    }
    let Some(first) = finding.line else {
        return true;
    };
    let last = finding.end_line.unwrap_or(first);
    // Without known edits, the lines around them count too.
    let added = match file.edits.as_slice() {
        [] => &file.hunks,
        _ => &file.edits,
    };
    let mut added = added.iter().map(|hunk| &hunk.new);
    added.any(|lines| lines.start <= last && first < lines.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::answer::{Confidence, Severity};
    use crate::review::Change;

    const DIFF: &str = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1,4 +1,5 @@\n one\n-two\n+2\n+zwei\n three\n four\ndiff --git a/b.rs b/b.rs\n--- /dev/null\n+++ b/b.rs\n@@ -0,0 +1 @@\n+new\n";

    fn finding(file: Option<&str>, line: Option<u64>, end_line: Option<u64>) -> Finding {
        Finding {
            file: file.map(str::to_owned),
            line,
            end_line,
            issue: "wrong".to_owned(),
            evidence: None,
            suggestion: None,
            replacement: None,
            severity: Severity::Major,
            confidence: Confidence::CERTAIN,
            pre_existing: true,
            refuted: None,
        }
    }

    fn is_older(file: Option<&str>, line: Option<u64>, end_line: Option<u64>) -> bool {
        let mut all = [finding(file, line, end_line)];
        require_older(
            &mut all,
            &Change::parse(DIFF.as_bytes()).into_lines(),
            false,
        );
        all[0].pre_existing
    }

    #[test]
    fn what_the_change_added_did_not_exist_before() {
        for (line, older) in [(1, true), (2, false), (3, false), (4, true), (90, true)] {
            assert_eq!(is_older(Some("a.rs"), Some(line), None), older, "{line}");
        }
        assert!(
            !is_older(Some("a.rs"), Some(1), Some(2)),
            "one of its lines"
        );
        assert!(!is_older(Some("b.rs"), None, None), "a new file");
        assert!(is_older(Some("c.rs"), None, None), "another file");
        assert!(!is_older(Some("a.rs"), None, None), "no line");
        assert!(!is_older(Some("/repo/a.rs"), Some(2), None), "a whole path");
        assert!(!is_older(None, None, None), "no file");
    }

    #[test]
    fn where_the_lines_of_the_diff_are_unknown_nothing_is_older() {
        let mut all = [finding(Some("c.rs"), Some(1), None)];
        require_older(&mut all, &[], false);
        assert!(!all[0].pre_existing);
        let mut all = [finding(Some("c.rs"), Some(1), None)];
        let diff = Change::parse(DIFF.as_bytes()).into_lines();
        require_older(&mut all, &diff, true);
        assert!(!all[0].pre_existing, "cut");
    }

    #[test]
    fn nothing_in_a_file_without_shown_lines_is_older() {
        let diff = "diff --git a/logo.png b/logo.png\nBinary files a/logo.png and b/logo.png differ\n\
                    diff --git a/run b/run\nold mode 100644\nnew mode 100755\n\
                    diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n\
                    @@ -1,2 +0,0 @@\n-one\n-two\n";
        let diff = Change::parse(diff.as_bytes()).into_lines();
        for file in ["logo.png", "run", "gone"] {
            let mut all = [finding(Some(file), Some(7), None)];
            require_older(&mut all, &diff, false);
            assert!(!all[0].pre_existing, "{file}");
        }
        assert!(!is_added(&finding(Some("b"), Some(7), None), &diff));
    }

    #[test]
    fn where_the_edits_are_unknown_the_lines_around_them_count_as_added() {
        let mut diff = Change::parse(DIFF.as_bytes()).into_lines();
        diff[0].edits.clear();
        let lines: Vec<u64> = (1..=7)
            .filter(|line| is_added(&finding(Some("a.rs"), Some(*line), None), &diff))
            .collect();
        assert_eq!(lines, [1, 2, 3, 4, 5]);
    }
}
