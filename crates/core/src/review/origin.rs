//! Whether a finding can have been there before the change.

use crate::agent::answer::Finding;
use crate::forge::inline::FileDiff;

/// Takes back a reviewer's statement that a finding existed before, where the change itself may have
/// added the line: where it did, where the finding names a changed file and no line of it, and where
/// the lines of the diff are not known. Elsewhere only the reviewer can say it: a change can break code
/// that it does not touch.
pub fn require_older(findings: &mut [Finding], diff: &[FileDiff]) {
    for finding in findings {
        finding.pre_existing &= !is_added(finding, diff);
    }
}

fn is_added(finding: &Finding, diff: &[FileDiff]) -> bool {
    let (Some(path), false) = (finding.file.as_deref(), diff.is_empty()) else {
        return true;
    };
    let is_it = |file: &&FileDiff| {
        let new = file.new_path.as_deref();
        // A reviewer may write the whole path, or one of the diff's.
        new.is_some_and(|new| path == new || path.ends_with(&format!("/{new}")))
    };
    let Some(file) = diff.iter().find(is_it) else {
        return false;
    };
    if file.old_path.is_none() {
        return true;
    }
    let Some(first) = finding.line else {
        return true;
    };
    let last = finding.end_line.unwrap_or(first);
    // Without the edits, the lines around them count too.
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
        require_older(&mut all, &Change::parse(DIFF.as_bytes()).into_lines());
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
        require_older(&mut all, &[]);
        assert!(!all[0].pre_existing);
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
