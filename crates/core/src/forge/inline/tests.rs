use super::*;
use crate::problem::{Kind, Problem};
use proptest::prelude::*;

const DIFF: &str = "diff --git a/src/a.rs b/src/a.rs
index 1111111..2222222 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -1,3 +1,3 @@
 fn a() {
+    b();
--- gone
 }
@@ -20 +21,2 @@ fn z() {
-old
+new
+newer
\\ No newline at end of file
diff --git a/gone.txt b/gone.txt
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/new.txt b/new.txt
--- /dev/null
+++ \"b/\\303\\244 \\\"x\\\".txt\"
@@ -0,0 +1 @@
+new
";

fn hunk(old: Range<u64>, new: Range<u64>) -> Hunk {
    Hunk { old, new }
}

#[test]
fn a_diff_is_read_file_by_file() {
    let expected = [
        FileDiff {
            old_path: Some("src/a.rs".into()),
            new_path: Some("src/a.rs".into()),
            hunks: vec![hunk(1..4, 1..4), hunk(20..21, 21..23)],
            ..FileDiff::default()
        },
        FileDiff {
            old_path: Some("gone.txt".into()),
            new_path: None,
            hunks: vec![hunk(1..2, 1..1)],
            ..FileDiff::default()
        },
        FileDiff {
            old_path: None,
            new_path: Some("ä \"x\".txt".into()),
            hunks: vec![hunk(1..1, 1..2)],
            ..FileDiff::default()
        },
    ];
    assert_eq!(parse_diff(DIFF), expected);
}

#[test]
fn a_line_of_the_diff_is_accepted_and_any_other_is_answered_with_those_that_are() {
    let files = [
        FileDiff {
            old_path: None,
            new_path: Some("a.rs".into()),
            hunks: vec![hunk(1..4, 1..5), hunk(20..21, 21..22), hunk(30..32, 31..31)],
            ..FileDiff::default()
        },
        FileDiff {
            old_path: None,
            new_path: Some("b.rs".into()),
            hunks: vec![],
            ..FileDiff::default()
        },
    ];
    assert_eq!(require_line(&files, "a.rs", 4), Ok(()));
    assert_eq!(require_line(&files, "a.rs", 21), Ok(()));
    let cases = [
        (
            ("a.rs", 5),
            Problem::new(
                Kind::LineNotInDiff,
                "line 5 of `a.rs` is not in the diff of the pull request",
            )
            .hint("the diff of `a.rs` shows these lines: 1-4, 21"),
        ),
        (
            ("b.rs", 1),
            Problem::new(
                Kind::LineNotInDiff,
                "line 1 of `b.rs` is not in the diff of the pull request",
            )
            .hint("`b.rs` has no line to comment on; leave out `--file` and `--line`"),
        ),
        (
            ("c.rs", 1),
            Problem::new(
                Kind::FileNotInDiff,
                "file `c.rs` is not in the diff of the pull request",
            )
            .hint("it changes these files: `a.rs`, `b.rs`"),
        ),
    ];
    for ((path, line), problem) in cases {
        assert_eq!(require_line(&files, path, line), Err(problem));
    }
}

#[test]
fn a_line_moves_with_what_is_written_above_it_and_goes_with_its_own_change() {
    // Two lines inserted after line 3, line 10 replaced by three, lines 20 and 21 removed.
    let hunks = [hunk(4..4, 4..6), hunk(10..11, 12..15), hunk(20..22, 24..24)];
    let cases = [
        (1, Some(1)),
        (3, Some(3)),
        (4, Some(6)),
        (9, Some(11)),
        (10, None),
        (11, Some(15)),
        (19, Some(23)),
        (20, None),
        (21, None),
        (22, Some(24)),
    ];
    for (line, expected) in cases {
        assert_eq!(follow_line(&hunks, line), expected, "line {line}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(
        lines in prop::collection::vec("(@@ -[0-9]{1,20},[0-9]{1,20} \\+[0-9]{1,20} @@|(---|\\+\\+\\+) .{0,9}|[-+ \\\\].{0,5})", 0..30),
        line: u64,
    ) {
        for file in parse_diff(&lines.join("\n")) {
            let path = file.new_path.clone().unwrap_or_default();
            let _ = require_line(std::slice::from_ref(&file), &path, line);
            let _ = follow_line(&file.hunks, line);
            let _ = hunk_up_to(&lines.join("\n"), line);
        }
    }
}

#[test]
fn the_hunk_of_a_line_ends_with_it() {
    let diff = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+3\n\
                @@ -9 +10,2 @@ fn x\n nine\n+ten\n\\ No newline at end of file";
    let table = [
        (1, Some("@@ -1,2 +1,3 @@\n one")),
        (2, Some("@@ -1,2 +1,3 @@\n one\n-two\n+2")),
        (3, Some("@@ -1,2 +1,3 @@\n one\n-two\n+2\n+3")),
        (4, None),
        (11, Some("@@ -9 +10,2 @@ fn x\n nine\n+ten")),
        (12, None),
    ];
    for (line, expected) in table {
        assert_eq!(hunk_up_to(diff, line).as_deref(), expected, "line {line}");
    }
}

#[test]
fn a_long_hunk_keeps_its_header_and_its_end() {
    let lines: Vec<String> = (1..=60).map(|n| format!("+{n}")).collect();
    let hunk = format!("@@ -0,0 +1,60 @@\n{}", lines.join("\n"));
    let kept = end_of_hunk(&hunk);
    assert!(
        kept.starts_with("@@ -0,0 +1,60 @@\n[20 lines left out]\n+21\n"),
        "{kept}"
    );
    assert!(kept.ends_with("+59\n+60"), "{kept}");
    assert_eq!(end_of_hunk("@@ -1 +1 @@\n-a\n+b"), "@@ -1 +1 @@\n-a\n+b");
}
